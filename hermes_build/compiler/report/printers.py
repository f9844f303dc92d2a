"""Prints findings: ``full`` for people, ``concise`` for a line each, ``json`` for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from hermes_build.compiler.diagnostics import Diagnostic, Span
from hermes_build.compiler.report.glyphs import visible
from hermes_build.compiler.report.snippet import Mark, Paint, draw

Sources: TypeAlias = Callable[[str], str | None]
"""Gives a file's text by its project-relative path, or ``None`` where there is none to show."""

JSON_VERSION = 1
"""The form of the JSON report: it grows when a reader of the old form could misread the new one."""

DEFAULT_WIDTH = 120
"""Cells for a source line where no terminal says how wide it is."""

_STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "frame": "1;34",
    "other": "1;34",
    "strong": "1",
}


def _coloured(style: str, text: str) -> str:
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if text else ""


def _plain(style: str, text: str) -> str:
    return text


def full(
    findings: Iterable[Diagnostic],
    sources: Sources,
    *,
    files: int | None = None,
    colour: bool = False,
    width: int = DEFAULT_WIDTH,
) -> str:
    """Every finding with its source lines, then a summary; ends with a line break.

    ``files`` is how many files were looked at, ``width`` how many cells a row may take. Characters
    that could act on a terminal or hide themselves are shown by number.
    """
    paint = _coloured if colour else _plain
    found = list(findings)
    texts: dict[str, list[str] | None] = {}

    def lines_of(path: str) -> list[str] | None:
        if path not in texts:
            text = sources(path)
            texts[path] = None if text is None else text.split("\n")
        return texts[path]

    blocks = ["\n".join(_block(one, lines_of, width, paint)) for one in found]
    blocks.append(paint("strong", summary(found, files=files)))
    return "\n\n".join(blocks) + "\n"


def concise(findings: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """A line a finding: ``path:line:column: error[CODE] message``; empty without findings."""
    paint = _coloured if colour else _plain
    rows = []
    for one in findings:
        place = f"{_place(one.span)}: " if one.span else ""
        head = paint(one.severity, f"{one.severity}[{one.code}]")
        rows.append(f"{place}{head} {visible(one.message)}\n")
    return "".join(rows)


def as_json(
    findings: Iterable[Diagnostic],
    *,
    files: int | None = None,
    more: Mapping[str, Any] | None = None,
) -> str:
    """One JSON object, in ASCII, whose schema is ``hermes-build schema output``.

    ``more`` are members that only some commands add.
    """
    found = list(findings)
    errors, warnings, infos = _counts(found)
    report = {
        "version": JSON_VERSION,
        "findings": [one.to_json() for one in found],
        "summary": {"errors": errors, "warnings": warnings, "infos": infos, "files": files},
        **(more or {}),
    }
    return json.dumps(report, indent=2) + "\n"


def summary(findings: Iterable[Diagnostic], *, files: int | None = None) -> str:
    """One sentence: how much was found, and among how many files if that is known."""
    errors, warnings, infos = _counts(list(findings))
    parts = [
        _counted(number, noun)
        for number, noun in ((errors, "error"), (warnings, "warning"), (infos, "remark"))
        if number
    ]
    among = "" if files is None else f" in {_counted(files, 'file')}"
    if not parts:
        return f"Found nothing to report{among}."
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"Found {listed}{among}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _counts(findings: Sequence[Diagnostic]) -> tuple[int, int, int]:
    severities = [one.severity for one in findings]
    return severities.count("error"), severities.count("warning"), severities.count("info")


def _place(span: Span) -> str:
    return f"{visible(span.path)}:{span.line}:{span.column}"


def _can_be_shown(mark: Mark, lines: int) -> bool:
    """Whether there is a place to point at, rather than the file as a whole or one past its end."""
    whole_file = mark.span == Span(mark.span.path) and not mark.label
    return not whole_file and 1 <= mark.span.line <= lines


def _block(
    one: Diagnostic, lines_of: Callable[[str], list[str] | None], width: int, paint: Paint
) -> list[str]:
    head = paint(one.severity, f"{one.severity}[{one.code}]")
    rows = [head + paint("strong", f": {visible(one.message)}")]
    by_path: dict[str, list[Mark]] = {}
    if one.span is not None:
        by_path[one.span.path] = [Mark(one.span, one.label, one.severity, "^")]
    for label in one.labels:
        by_path.setdefault(label.span.path, []).append(
            Mark(label.span, label.message, "other", "-")
        )
    marks = [mark for group in by_path.values() for mark in group]
    digits = max((len(str(max(m.span.line, m.span.end_line))) for m in marks), default=1)
    pad = " " * (digits + 1)
    arrow = "-->"
    for path, group in by_path.items():
        lines = lines_of(path)
        there = [m for m in group if lines is not None and _can_be_shown(m, len(lines))]
        # A place without text to show still is a place: its label stands beside it.
        for mark in [m for m in group if m not in there]:
            label_text = f": {visible(mark.label)}" if mark.label else ""
            rows.append(f"{pad}{paint('frame', arrow)} {_place(mark.span)}{label_text}")
            arrow = ":::"
        if lines is not None and there:
            rows.append(f"{pad}{paint('frame', arrow)} {_place(there[0].span)}")
            arrow = ":::"
            rows.append(f"{pad}{paint('frame', ' |')}")
            rows += draw(lines, there, digits, max(width - digits - 4, 20), paint)
    if marks:
        rows.append(f"{pad}{paint('frame', ' |')}")
    remarks = [("note", text) for text in one.notes] + [("help", text) for text in one.help]
    for kind, text in [*remarks, ("docs", f"hermes-build explain {one.code}")]:
        first, *rest = [visible(line) for line in text.split("\n")]
        rows.append(f"{pad} {paint('frame', '=')} {paint('strong', kind + ':')} {first}")
        rows += [f"{pad}   {' ' * len(kind)}  {line}" for line in rest]
    return rows
