"""A schema where it stands in its document: the door through which findings on it leave."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from hermes_build.compiler.diagnostics import Findings, Label, Severity, Span
from hermes_build.compiler.load import Document
from hermes_build.ir import Schema
from hermes_build.keywords import Pointer, subschemas

WARNINGS_ELSEWHERE = frozenset(
    ("HB1103", "HB1104", "HB1105", "HB1106", "HB1109", "HB1110", "HB1113")
)
"""What is a warning in a schema that is not ours: it is kept as it came and still validates."""


@dataclass(frozen=True)
class Part:
    """A schema in a document at ``at``.

    ``inside`` is where the bundled schema holds it: ``()`` for the schema that is checked,
    ``("$defs", name)`` for one that was copied from another file. ``ours`` says whether its author
    is the project's; ``tool`` names the tool in findings, and is None for what tools share.
    ``shared`` says that it stands in a file of ``$defs``, where ``#`` means the file.
    """

    document: Document
    at: Pointer
    schema: Schema
    findings: Findings
    ours: bool = True
    tool: str | None = None
    root_object: bool = False
    shared: bool = False
    inside: Pointer = ()

    @property
    def path(self) -> str:
        """The file that the schema stands in, relative to the project."""
        return self.document.source.path

    @property
    def root(self) -> Schema:
        """What ``#`` means in the schema: itself, or its whole file when tools share it."""
        if self.shared:
            return self.document.value  # type: ignore[no-any-return]
        return self.schema

    @cached_property
    def nodes(self) -> list[tuple[Pointer, Schema]]:
        """The schema and all inside it, with pointers that begin at this schema."""
        return list(subschemas(self.schema))

    def span(self, *pointer: str | int, key: bool = False) -> Span:
        """Where a place in the schema stands; with ``key``, the mapping key itself."""
        return self.document.at(*self.at, *pointer, key=key)

    def report(
        self,
        code: str,
        message: str,
        *pointer: str | int,
        key: bool = False,
        label: str = "",
        labels: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: Iterable[str] = (),
        severity: Severity | None = None,
    ) -> None:
        """Add a finding at a place in the schema."""
        if severity is None and not self.ours and code in WARNINGS_ELSEWHERE:
            severity = "warning"
        self.findings.add(
            code,
            message,
            self.span(*pointer, key=key),
            label=label,
            labels=labels,
            notes=notes,
            help=help,
            severity=severity,
            tool=self.tool,
        )
