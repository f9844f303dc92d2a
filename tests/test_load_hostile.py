"""Texts made to exhaust a reader: each ends in a finding, within bounds of time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from hermes_build.compiler import load
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.yaml12 import dialect as yaml12
from hermes_build.compiler.yaml12 import reading as yaml_read

SIZE = 1024 * 1024
SECONDS = 10.0  # A generous bound: each takes well under a second where nothing else runs.

BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 60)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 20_000))

# name, text, the code of the first finding (None: the text is good)
HOSTILE = [
    ("a thousand brackets", "[" * 1000, "HB0010"),
    ("a hundred thousand brackets", "[" * 100_000, "HB0010"),
    ("brackets all the way", "[" * SIZE, "HB0010"),
    ("braces all the way", "{a: " * (SIZE // 4), "HB0010"),
    ("closed, but 201 deep", "[" * 201 + "]" * 201, "HB0010"),
    ("mappings 201 deep", "{a: " * 201 + "}" * 201, "HB0010"),
    ("dashes all the way", "- " * (SIZE // 2), "HB0010"),
    ("question marks all the way", "? " * (SIZE // 2), "HB0010"),
    ("an indentation a line", "".join(" " * n + "a:\n" for n in range(1400)), "HB0010"),
    ("keys of lists of keys", "{[{[" * (SIZE // 4), "HB0010"),
    ("an alias bomb", BOMB, "HB0006"),
    ("a chain of aliases", CHAIN, "HB0010"),
    ("many circles", "a: &a [*a]\n---\n" * 20_000, "HB0007"),
    ("many anchors", "".join(f"- &a{n} x\n" for n in range(30_000)), None),
    ("many aliases", "- &a x\n" + "- *a\n" * 30_000, None),
    ("one long key", "a" * SIZE + ": 1", "HB0002"),
    ("many duplicates", "a: 1\n" * 30_000, "HB0003"),
    ("many values", "- 1\n" * 300_000, "HB0011"),
    ("many documents", "a: 1\n---\n" * 30_000 + "a: 1\n", None),
    ("many empty documents", "---\n" * 50_000, "HB0012"),
    ("a quote never closed", '"' + "a " * (SIZE // 2), "HB0002"),
    ("blanks all the way", " " * SIZE, "HB0012"),
    ("tabs all the way", "\t" * SIZE, "HB0002"),
    ("line ends all the way", "\n" * SIZE, "HB0012"),
    ("comments all the way", "# x\n" * (SIZE // 4), "HB0012"),
    ("anchors on nothing", "&a " * (SIZE // 3), "HB0002"),
    ("many tags", "- !t x\n" * 30_000, "HB0004"),
    ("many cut texts", "- a b #1\n" * 30_000, "HB0013"),
    ("many glued comments", "a b #" * (SIZE // 5), "HB0013"),
    ("a number without end", "- " + "9" * SIZE, "HB0009"),
    ("a fraction without end", "- 0." + "9" * SIZE, "HB0009"),
    ("a hexadecimal number without end", "- 0x" + "f" * SIZE, "HB0009"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code"), [pytest.param(t, c, id=n) for n, t, c in HOSTILE])
def test_a_hostile_text_is_done_with_in_time(text: str, code: str | None) -> None:
    findings = Findings()
    started = time.process_time()
    source = load.Source("p.yaml", text, "")
    documents = load.parse(source, findings)
    for document in documents[-1:]:
        document.at("a", 0)
    source.suppressions()
    assert time.process_time() - started < SECONDS
    assert (next(iter(findings)).code if len(findings) else None) == code
    assert len(findings) <= yaml_read.MAX_FINDINGS + 1


@pytest.mark.parametrize(
    "text", ["[" * 1000, "- " * 100_000, "{a: " * 201 + "}" * 201, BOMB, "? " * 500]
)
def test_the_python_parser_keeps_the_same_bounds(text: str) -> None:
    findings = Findings()
    started = time.process_time()
    assert yaml_read.read("p.yaml", text, findings, libyaml=False) == []
    assert time.process_time() - started < SECONDS
    assert [one.code for one in findings] in (["HB0010"], ["HB0006"])


def test_two_hundred_levels_are_allowed_everywhere() -> None:
    for text in ("[" * 200 + "]" * 200, "{a: " * 199 + "{}" + "}" * 199, "- " * 199 + "[]"):
        findings = Findings()
        (document,) = load.parse(load.Source("p.yaml", text, ""), findings)
        assert list(findings) == []
        assert document.at(*[0] * 200).line == 1
        for libyaml in {yaml12.HAS_LIBYAML, False}:
            assert len(yaml_read.read("p.yaml", text, findings, libyaml=libyaml)) == 1


def test_many_directives_are_found_in_time() -> None:
    line = "# hermes-build: ignore[HB1201] why\n"
    text = line * 10_000 + "a: 1\n" + line * 10_000
    started = time.process_time()
    found = load.Source("p.yaml", text, "").suppressions()
    assert time.process_time() - started < SECONDS
    assert len(found) == 20_000
    assert {one.line for one in found[:10_000]} == {10_001}


LIMITED = """
import resource, sys
limit = 700 * 1024 * 1024
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from hermes_build.compiler import load
from hermes_build.compiler.diagnostics import Findings
size = 8 * 1024 * 1024
bomb = "a0: &a0 [x, x]\\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\\n" for n in range(1, 60)
)
for text in (
    "[" * size, "- " * (size // 2), "- 1\\n" * (size // 4), "a: {b: c}\\n" * (size // 10), bomb,
):
    findings = Findings()
    load.parse(load.Source("p.yaml", text, ""), findings)
    print(next(iter(findings)).code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="bounds the address space of a process")
def test_hostile_texts_of_the_largest_size_stay_within_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PYTHONPATH": os.getcwd()},
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout.split() == ["HB0010", "HB0010", "HB0011", "HB0011", "HB0006"]
