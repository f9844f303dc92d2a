"""In what two bundles, locks or programs differ, as data: tool by tool, and field by field.

Which differences break whom is for others to say: what they need stands in the fields here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from hermes_build.bundle.format import PYLOCK
from hermes_build.bundle.sides import LOCK_FACTS, Record, Role, Side
from hermes_build.lock import LockedTool

What: TypeAlias = Literal["added", "removed", "changed"]

PARTS = ("source", "args", "result", "prompt", "runtime", "handler", "module")
"""The parts that a tool has in a lock; `ToolChange` knows ``code`` beside them."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One value in which two records differ.

    Attributes:
        pointer: where it is in the record, a JSON pointer such as ``/parameters/properties/path``.
        what: ``reordered`` says that the keys there, which a model reads in their order, have
            another one: ``old`` and ``new`` are the lists of them.
        old: the JSON value before; None where it was added.
        new: the JSON value after; None where it was removed.
    """

    pointer: str
    what: Literal["added", "removed", "changed", "reordered"]
    old: Any = None
    new: Any = None


@dataclass(frozen=True, slots=True)
class ToolChange:
    """One tool that came, went or is another.

    Attributes:
        name: the tool.
        what: what became of it.
        parts: which of `PARTS` have another digest or value, and ``code`` where the file of its
            handler module is another one.
        fields: the very values that changed; empty where one side is a lock.
        toolsets: the toolsets, sorted, that hold it: before, if it was removed, else after.
    """

    name: str
    what: What
    parts: tuple[str, ...] = ()
    fields: tuple[FieldChange, ...] = ()
    toolsets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolsetChange:
    """One toolset that came, went or is another.

    ``joined`` and ``left`` are tools that it resolves to, or did; of a whole toolset, all of them.
    ``fields`` are as in `ToolChange`; ``source_changed`` says that its document's text did.
    """

    name: str
    what: What
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    fields: tuple[FieldChange, ...] = ()
    source_changed: bool = False


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file; ``old`` and ``new`` are SHA-256 in hexadecimal digits, None where it is not."""

    path: str
    what: What
    role: Role
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class FactChange:
    """Anything else, such as ``runtime.version``; None where a side does not have it."""

    name: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """All in which ``new`` differs from ``old``, each kind sorted by name.

    ``detailed`` says that both sides know values, and not digests alone. ``not_compared`` are, in
    words, things in which the sides may differ, and of which one of them knows nothing.
    """

    old: Side
    new: Side
    tools: tuple[ToolChange, ...] = ()
    toolsets: tuple[ToolsetChange, ...] = ()
    files: tuple[FileChange, ...] = ()
    facts: tuple[FactChange, ...] = ()
    detailed: bool = True
    not_compared: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether a difference was found."""
        return bool(self.tools or self.toolsets or self.files or self.facts)

    @property
    def equal(self) -> bool | None:
        """Whether the sides are equal; None where nothing differs, and not all was compared."""
        if self.differs:
            return False
        return None if self.not_compared else True


def compare(old: Side, new: Side) -> Comparison:
    """Compare two sides by what both know."""
    files = tuple(_files(old, new))
    detailed = None not in (old.tools, new.tools, old.toolsets, new.toolsets)
    return Comparison(
        old,
        new,
        tuple(_tools(old, new, {one.path for one in files})),
        tuple(_toolsets(old, new)),
        files,
        tuple(_facts(old, new)),
        detailed,
        tuple(_not_compared(old, new)),
    )


def record_changes(old: Record, new: Record) -> tuple[FieldChange, ...]:
    """Return every value in which two JSON objects differ, pointer by pointer.

    Lists of equal length whose members are objects or lists are compared member by member; another
    list is one value. Numbers that are written differently are different.
    """
    return tuple(_changes("", old, new))


def _tools(old: Side, new: Side, files: set[str]) -> Iterator[ToolChange]:
    before = {one.name: one for one in old.lock.tools}
    after = {one.name: one for one in new.lock.tools}
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was is None or now is None:
            side, what = (new, "added") if was is None else (old, "removed")
            yield ToolChange(name, what, toolsets=_holders(side, name))  # type: ignore[arg-type]
            continue
        parts = [part for part in PARTS if getattr(was, part) != getattr(now, part)]
        if _module_files(was, old, files) or _module_files(now, new, files):
            parts.append("code")
        fields: tuple[FieldChange, ...] = ()
        if old.tools is not None and new.tools is not None:
            fields = record_changes(old.tools.get(name, {}), new.tools.get(name, {}))
        if parts or fields:
            yield ToolChange(name, "changed", tuple(parts), fields, _holders(new, name))


def _holders(side: Side, tool: str) -> tuple[str, ...]:
    return tuple(sorted(one.name for one in side.lock.toolsets if tool in one.tools))


def _module_files(tool: LockedTool, side: Side, files: set[str]) -> bool:
    """Whether one of these files is the handler module of a tool."""
    if tool.handler is None:
        return False
    source = side.facts.get("source", ".")
    folder = "" if source in (".", "") else f"{source}/"
    path = folder + tool.handler.replace(".", "/")
    return f"{path}.py" in files or f"{path}/__init__.py" in files


def _toolsets(old: Side, new: Side) -> Iterator[ToolsetChange]:
    before = {one.name: one for one in old.lock.toolsets}
    after = {one.name: one for one in new.lock.toolsets}
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        held_before = set(was.tools) if was else set()
        held_after = set(now.tools) if now else set()
        joined = tuple(sorted(held_after - held_before))
        left = tuple(sorted(held_before - held_after))
        if was is None or now is None:
            yield ToolsetChange(name, "added" if was is None else "removed", joined, left)
            continue
        fields: tuple[FieldChange, ...] = ()
        if old.toolsets is not None and new.toolsets is not None:
            # What it resolves to is in `joined` and `left` already.
            fields = record_changes(
                {**old.toolsets.get(name, {}), "resolved": []},
                {**new.toolsets.get(name, {}), "resolved": []},
            )
        source_changed = was.source != now.source
        if joined or left or fields or source_changed:
            yield ToolsetChange(name, "changed", joined, left, fields, source_changed)


def _not_compared(old: Side, new: Side) -> Iterator[str]:
    if old.kind == new.kind == "lock":
        return  # there is no more to two locks than what they say
    if not (_knows_all_files(old) and _knows_all_files(new)):
        yield from ("the code of handlers and what it needs", "files of specs", "the runtime")
    if not ("name" in old.facts and "name" in new.facts):
        yield "name, dependencies and versions of Python"
    elif not old.kind == new.kind == "bundle" and (PYLOCK in old.files or PYLOCK in new.files):
        yield "pinned versions of dependencies"


def _knows_all_files(side: Side) -> bool:
    """Whether more is known of the files than of a lock, which names the generated ones alone."""
    return bool(set(side.roles.values()) - {"generated"})


def _files(old: Side, new: Side) -> Iterator[FileChange]:
    all_known = _knows_all_files(old) and _knows_all_files(new)
    # What a project needs is pinned when a bundle is made of it.
    both = old.kind == new.kind == "bundle"
    before, after = (
        {
            path: digest
            for path, digest in side.files.items()
            if (all_known or side.roles[path] == "generated") and (both or path != PYLOCK)
        }
        for side in (old, new)
    )
    for path in sorted(before.keys() | after.keys()):
        was, now = before.get(path), after.get(path)
        if was != now:
            role = (new.roles if now is not None else old.roles)[path]
            yield FileChange(path, _what(was, now), role, was, now)


def _what(old: object, new: object) -> What:
    return "added" if old is None else "removed" if new is None else "changed"


def _facts(old: Side, new: Side) -> Iterator[FactChange]:
    names = old.facts.keys() | new.facts.keys()
    if not ("name" in old.facts and "name" in new.facts):  # one knows no more than a lock does
        names = {name for name in names if name.startswith(LOCK_FACTS)}
    elif not old.kind == new.kind == "bundle":
        names = {name for name in names if not name.startswith("pinned.")}
    for name in sorted(names):
        if not _equal(old.facts.get(name), new.facts.get(name)):
            yield FactChange(name, old.facts.get(name), new.facts.get(name))


def _changes(pointer: str, old: Any, new: Any) -> Iterator[FieldChange]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _object_changes(pointer, old, new)
    elif _are_alike(old, new):
        for index, (was, now) in enumerate(zip(old, new, strict=True)):
            yield from _changes(f"{pointer}/{index}", was, now)
    elif not _equal(old, new):
        yield FieldChange(pointer, "changed", old, new)


def _object_changes(pointer: str, old: Record, new: Record) -> Iterator[FieldChange]:
    common = [key for key in old if key in new]
    order = [key for key in new if key in old]
    # The order of a record's own fields is ours; further down it is the author's.
    if pointer and common != order:
        yield FieldChange(pointer, "reordered", common, order)
    for key in sorted(old.keys() | new.keys()):
        place = f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in new:
            yield FieldChange(place, "removed", old[key])
        elif key not in old:
            yield FieldChange(place, "added", None, new[key])
        else:
            yield from _changes(place, old[key], new[key])


def _are_alike(old: Any, new: Any) -> bool:
    """Whether two lists are compared member by member."""
    if not isinstance(old, list) or not isinstance(new, list) or len(old) != len(new):
        return False
    return any(isinstance(one, dict | list) for one in (*old, *new))


def _equal(old: Any, new: Any) -> bool:
    """Whether two JSON values are written alike; for Python, 1 is True and 1.0."""
    if type(old) is not type(new):
        return False
    if isinstance(old, list):
        return len(old) == len(new) and all(map(_equal, old, new))
    if isinstance(old, dict):
        return list(old) == list(new) and all(_equal(old[key], new[key]) for key in old)
    return bool(old == new)
