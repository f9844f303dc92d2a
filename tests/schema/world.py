"""Checking a schema in a test: a spec as text, with the places of its findings marked in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hermes_build.compiler import load
from hermes_build.compiler.diagnostics import Diagnostic, Findings
from hermes_build.compiler.schema import (
    Checked,
    Siblings,
    check_examples,
    check_schema,
    check_shared,
)

SPEC = "tool_specs/tool.yaml"


@dataclass(frozen=True)
class Outcome:
    checked: Checked | None
    found: list[Diagnostic]

    @property
    def codes(self) -> list[str]:
        return [one.code for one in self.found]

    @property
    def schema(self) -> Any:
        assert self.checked is not None
        return self.checked.schema

    @property
    def help(self) -> str:
        return " ".join(line for one in self.found for line in one.help)


def siblings(files: dict[str, str]) -> Siblings:
    documents = {path: load.parse(_source(path, text), Findings()) for path, text in files.items()}
    return Siblings("tool_specs", frozenset(documents), lambda path: documents.get(path, ()))


def _source(path: str, text: str) -> load.Source:
    return load.Source(path, text, "")


def check(
    text: str,
    files: dict[str, str] | None = None,
    *,
    ours: bool = True,
    key: str = "parameters",
    path: str = SPEC,
) -> Outcome:
    document = load.document(path, text)
    findings = Findings()
    checked = check_schema(
        document,
        (key,),
        document.value[key],
        findings,
        root_object=key == "parameters",
        ours=ours,
        tool="tool",
        siblings=siblings(files or {}),
    )
    if checked is not None:
        check_examples(document, checked, findings, ours=ours, tool="tool")
    return Outcome(checked, findings.sorted())


def check_file(text: str, files: dict[str, str] | None = None) -> list[Diagnostic]:
    document = load.document("tool_specs/shared.yaml", text)
    findings = Findings()
    check_shared(document, findings, siblings({"tool_specs/shared.yaml": text, **(files or {})}))
    return findings.sorted()


def unmarked(text: str) -> tuple[str, list[tuple[int, int, int]]]:
    """Take the marks `«...»` out of a text; return their lines, first columns and ends."""
    places = []
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        while "«" in line:
            start = line.index("«")
            end = line.index("»") - 1
            places.append((number, start + 1, end + 1))
            line = line.replace("«", "", 1).replace("»", "", 1)
        lines.append(line)
    return "\n".join(lines), places


def places(found: list[Diagnostic]) -> list[tuple[int, int, int]]:
    return [
        (one.span.line, one.span.column, one.span.end_column)
        for one in found
        if one.span is not None
    ]
