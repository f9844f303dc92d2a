"""The one finding type, and the list that every stage adds to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hermes_build.compiler.codes import CODES

Severity: TypeAlias = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a source file: lines and columns count characters from 1, the end is exclusive.

    ``path`` is relative to the project, with forward slashes.
    """

    path: str
    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that a finding speaks of, with what is to be seen there."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: data first, so that tests and printers read fields rather than sentences.

    ``label`` is the short text under the marker at ``span``; ``message`` is the headline.
    """

    code: str
    severity: Severity
    message: str
    span: Span | None = None
    label: str = ""
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    tool: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Every field as JSON data; the form that ``--format json`` prints."""
        return {
            "code": self.code,
            "name": CODES[self.code].name,
            "severity": self.severity,
            "message": self.message,
            "span": _span_json(self.span),
            "label": self.label,
            "labels": [
                {"span": _span_json(one.span), "message": one.message} for one in self.labels
            ],
            "notes": list(self.notes),
            "help": list(self.help),
            "tool": self.tool,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Diagnostic:
        """Undo `to_json`."""
        return Diagnostic(
            code=data["code"],
            severity=data["severity"],
            message=data["message"],
            span=Span(**data["span"]) if data["span"] else None,
            label=data["label"],
            labels=tuple(Label(Span(**one["span"]), one["message"]) for one in data["labels"]),
            notes=tuple(data["notes"]),
            help=tuple(data["help"]),
            tool=data["tool"],
        )


def _span_json(span: Span | None) -> dict[str, Any] | None:
    if span is None:
        return None
    return {
        "path": span.path,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def position(one: Diagnostic) -> tuple[str, int, int, str, str]:
    """Where a finding stands in a report: by file, line, column, code, message."""
    if one.span is None:
        return ("", 0, 0, one.code, one.message)
    return (one.span.path, one.span.line, one.span.column, one.code, one.message)


_CROWD = 200
"""So many findings have help that takes time to find: nobody mends more in one go."""


class Findings:
    """The findings so far, in the order in which stages added them."""

    def __init__(self, found: Iterable[Diagnostic] = ()) -> None:
        self._all: list[Diagnostic] = list(found)

    def add(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        label: str = "",
        labels: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: Iterable[str] = (),
        severity: Severity | None = None,
        tool: str | None = None,
    ) -> None:
        """Add one finding; its severity is its code's own unless the caller says otherwise."""
        self._all.append(
            Diagnostic(
                code=code,
                severity=severity or CODES[code].severity,
                message=message,
                span=span,
                label=label,
                labels=tuple(labels),
                notes=tuple(notes),
                help=tuple(help),
                tool=tool,
            )
        )

    def extend(self, found: Iterable[Diagnostic]) -> None:
        """Add findings that were made elsewhere."""
        self._all.extend(found)

    @property
    def crowded(self) -> bool:
        """Whether there are so many findings that none needs a nearest name any more."""
        return len(self._all) >= _CROWD

    @property
    def has_errors(self) -> bool:
        """Whether the pipeline must stop before its next stage."""
        return any(one.severity == "error" for one in self._all)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def sorted(self) -> list[Diagnostic]:
        """The findings by place, each once: one cause is one finding."""
        return sorted(dict.fromkeys(self._all), key=position)
