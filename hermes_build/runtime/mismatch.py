"""One difference between a handler and its spec, and the places where the two stand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One difference between a handler and its spec.

    ``kind`` is a stable word for the difference, ``code`` the finding's code; ``spec`` and
    ``handler`` are places, as path and line, where they are known (line 0 means the whole file).
    """

    tool: str
    kind: str
    code: str
    message: str
    spec: tuple[str, int] | None = None
    handler: tuple[str, int] | None = None

    def render(self) -> str:
        """The message with both places under it, as `SchemaDriftError` prints it."""
        lines = [f"  {self.code} {self.tool}: {self.message}"]
        if self.spec:
            lines.append(f"    spec:    {show_place(self.spec)}")
        if self.handler:
            lines.append(f"    handler: {show_place(self.handler)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Every field as JSON data; a place is ``{"path", "line"}`` or null."""
        return {
            "tool": self.tool,
            "kind": self.kind,
            "code": self.code,
            "message": self.message,
            "spec": _place_json(self.spec),
            "handler": _place_json(self.handler),
        }


def show_place(place: tuple[str, int]) -> str:
    """A place as editors open it."""
    path, line = place
    return f"{path}:{line}" if line else path


def spec_place(record: Mapping[str, Any]) -> tuple[str, int] | None:
    """Where a tool's spec stands, from its record."""
    path, _, line = str(record.get("source", "")).rpartition(":")
    return (path, int(line)) if path and line.isdecimal() else None


def relative_path(path: str, root: str) -> str:
    """A path as specs have theirs: relative to the project, unless it is outside."""
    try:
        relative = os.path.relpath(path, root)
    except ValueError:  # another drive
        return path
    return path if relative.startswith("..") else relative.replace(os.sep, "/")


def _place_json(place: tuple[str, int] | None) -> dict[str, Any] | None:
    return {"path": place[0], "line": place[1]} if place else None
