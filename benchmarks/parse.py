"""What reading a spec costs, beside `yaml.load(text, CSafeLoader)` of the same text.

Prints medians of CPU time and their ratio, measured in turns in one run. The text is a spec of
4 KB; every round reads another name, so that nothing is remembered from the round before. `careful`
is the same spec with one alias, which the quick path leaves to the careful reader.

    python benchmarks/parse.py [--rounds 400]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import yaml

from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.examine import Declared, examine
from hermes_build.compiler.load import Document, Source, parse
from hermes_build.compiler.schema import Siblings
from hermes_build.compiler.sources import Sources

GOALS = {"parse": 1.0, "parse and validate": 1.3}

SPEC = """\
# yaml-language-server: $schema=https://json-schema.org/draft/2020-12/schema
name: search_files_{number}
toolset: file
title: Search files
emoji: "🔎"
description: |
  Search the text of files, or their names, below a folder.

  Use it instead of a shell's `grep`, `find` or `ls`: it is faster, respects the ignore files of
  the project and returns line numbers. In `content` mode the pattern is a regular expression; in
  `files` mode it is a glob such as `*.py`. Results come in the order in which files were last
  changed, the newest first, and files that are not text are passed over.

  A result that was cut off says so: ask again with `offset`, or narrow the search by `path` and
  `file_glob` rather than raising `limit`.
parameters:
  type: object
  properties:
    pattern:
      type: string
      description: A regular expression for `content`, a glob for `files`.
      minLength: 1
      maxLength: 4096
    target:
      type: string
      enum: [content, files]
      default: content
      description: Whether to search inside the files or among their names.
    path:
      type: string
      description: The folder to begin in, absolute or relative to the working folder.
      default: .
    file_glob:
      type: string
      description: Only look into files whose names fit this glob.
    limit: {type: integer, minimum: 1, maximum: 1000, default: 50, description: At most so many.}
    offset: {type: integer, minimum: 0, default: 0, description: Pass over so many results first.}
    output_mode:
      type: string
      enum: [content, files_only, count]
      default: content
      description: |
        `content` gives the lines that fit, `files_only` the names of files with such lines,
        `count` a number for each file.
    context: {type: integer, minimum: 0, maximum: 20, default: 0, description: Lines around a hit.}
    filters:
      type: array
      maxItems: 20
      description: Further conditions, all of which a file must meet.
      items:
        type: object
        properties:
          field:
            type: string
            enum: [size, modified, language]
            description: What to compare.
          operator:
            type: string
            enum: [lt, le, eq, ge, gt]
            description: How to compare it.
          value:
            anyOf:
              - {type: string, minLength: 1}
              - {type: number, minimum: 0}
            description: What to compare it with, as text or as a number of bytes or seconds.
        required: [field, operator, value]
        additionalProperties: false
    encoding: {type: string, default: utf-8, description: How the bytes of a file become text.}
    case: {type: boolean, default: true, description: Whether upper and lower case differ.}
    hidden: {type: boolean, default: false, description: Whether to look into hidden files too.}
    sort:
      type: object
      description: The order of the results.
      properties:
        by: {type: string, enum: [modified, name, size], default: modified}
        descending: {type: boolean, default: true}
      additionalProperties: false
  required: [pattern]
  additionalProperties: false
output_schema:
  type: object
  properties:
    total: {type: integer, minimum: 0}
    truncated: {type: boolean}
    matches:
      type: array
      items:
        type: object
        properties:
          path: {type: string}
          line: {type: integer, minimum: 1}
          text: {type: string}
        required: [path]
        additionalProperties: false
    next_offset: {type: integer, minimum: 0, description: Where the next page begins.}
  required: [total, matches]
  additionalProperties: false
requires:
  commands: [rg]
  platforms: [linux, macos, windows]
max_result_chars: 100000
timeout_seconds: 60
annotations: {read_only: true, destructive: false, idempotent: true, open_world: false}
tags: [filesystem, search]
aliases: [grep_files]
examples:
  - args: {pattern: "def main", path: src, file_glob: "*.py"}
  - args: {pattern: "*.md", target: files, limit: 10}
"""


def text(number: int) -> str:
    return SPEC.replace("{number}", str(number))


def plain_load(number: int) -> object:
    return yaml.load(text(number), Loader=yaml.CSafeLoader)


def our_parse(number: int) -> tuple[Document, ...]:
    return documents_of(text(number))


def careful_parse(number: int) -> tuple[Document, ...]:
    return documents_of(text(number).replace("[path]", "&path [path]") + "x-again: *path\n")


def our_examine(number: int) -> Declared:
    """Everything that one file can be judged by: shape, schemas, values, lint, digests."""
    source = Source("tool_specs/search_files.yaml", text(number), "")
    declared = examine(source, "specs", Sources([source]), Siblings("tool_specs"))
    if declared.findings or not declared.tools:
        raise SystemExit(f"the spec is refused: {declared.findings}")
    return declared


def documents_of(spec: str) -> tuple[Document, ...]:
    findings = Findings()
    documents = parse(Source("tool_specs/search_files.yaml", spec, ""), findings)
    if len(findings) or len(documents) != 1:
        raise SystemExit(f"the spec is not read: {list(findings)}")
    return documents


def medians(contenders: dict[str, Callable[[int], object]], rounds: int) -> dict[str, float]:
    """Return the median CPU time of each contender, in microseconds."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 20):
        for name, run in contenders.items():
            start = time.process_time_ns()
            run(number)
            times[name].append((time.process_time_ns() - start) / 1000)
    return {name: statistics.median(found[20:]) for name, found in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    rounds = parser.parse_args().rounds
    contenders: dict[str, Callable[[int], object]] = {
        "yaml.load": plain_load,
        "parse": our_parse,
        "careful": careful_parse,
        "parse and validate": our_examine,
    }
    found = medians(contenders, rounds)
    print(f"one spec of {len(text(1).encode()):,} bytes, median of {rounds} rounds, CPU time")
    met = True
    for name, cost in found.items():
        ratio = cost / found["yaml.load"]
        goal = GOALS.get(name)
        met = met and (goal is None or ratio <= goal)
        print(f"  {name:<20} {cost:8.0f} µs  {ratio:6.2f}x" + (f"  goal {goal}x" if goal else ""))
    return int(not met)


if __name__ == "__main__":
    raise SystemExit(main())
