"""In what two locks differ: what `--check` and `--locked` print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hermes_build.lock import Lock, LockedFile, LockedTool, LockedToolset

_TOOL_FIELDS = ("source", "args", "result", "prompt", "runtime", "handler", "module")


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """One thing in which two locks differ; ``field`` is empty when the whole entry came or went."""

    kind: str
    name: str
    field: str
    what: str

    def __str__(self) -> str:
        subject = f"{self.kind} {self.name}" if self.name else self.kind
        return f"{subject}: {self.field} {self.what}" if self.field else f"{subject} {self.what}"


def differences(old: Lock, new: Lock) -> list[Difference]:
    """Return in what ``new`` differs from ``old``, kind by kind and sorted by name.

    ``what`` is ``added``, ``removed`` or ``changed``.
    """
    found: list[Difference] = []
    if old.runtime != new.runtime:
        found.append(Difference("runtime", "", "", "changed"))
    for kind, before, after in (
        ("version", old.versions, new.versions),
        ("template", old.templates, new.templates),
        ("file", _digests(old.files), _digests(new.files)),
    ):
        found += _changed(kind, before, after)
    found += _entries("tool", old.tools, new.tools, _TOOL_FIELDS)
    found += _entries("toolset", old.toolsets, new.toolsets, ("source", "tools"))
    return found


def _digests(files: Iterable[LockedFile]) -> dict[str, str]:
    return {one.path: one.digest for one in files}


def _changed(kind: str, old: Mapping[str, object], new: Mapping[str, object]) -> list[Difference]:
    found = []
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            found.append(Difference(kind, name, "", "added"))
        elif name not in new:
            found.append(Difference(kind, name, "", "removed"))
        elif old[name] != new[name]:
            found.append(Difference(kind, name, "", "changed"))
    return found


def _entries(
    kind: str,
    old: Iterable[LockedTool | LockedToolset],
    new: Iterable[LockedTool | LockedToolset],
    fields: tuple[str, ...],
) -> list[Difference]:
    before = {one.name: one for one in old}
    after = {one.name: one for one in new}
    found = []
    for one in _changed(kind, before, after):
        if one.what != "changed":
            found.append(one)
            continue
        was, now = before[one.name], after[one.name]
        found += [
            Difference(kind, one.name, field, "changed")
            for field in fields
            if getattr(was, field) != getattr(now, field)
        ]
    return found
