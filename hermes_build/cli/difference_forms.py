"""Prints a comparison: for people, a line each, as JSON, or as Markdown for a review."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from hermes_build.bundle.differences import (
    Comparison,
    FieldChange,
    FileChange,
    ToolChange,
    ToolsetChange,
)
from hermes_build.bundle.sides import Side
from hermes_build.cli.present import counted
from hermes_build.compiler.report.glyphs import visible

JSON_VERSION = 1
"""The form of the JSON: it grows when a reader of the old form could misread the new one."""

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "reordered": "~"}
_PARTS = {
    "source": "text of the spec",
    "args": "what calls are held to",
    "result": "what results are held to",
    "prompt": "what a model reads",
    "runtime": "how it runs",
    "handler": "handler module",
    "module": "generated stub",
    "code": "handler's code",
}
_AROUND = 40
"""So many characters at least are shown before and after what differs in a long text."""

_SHORT = 60
"""So many characters of a value stand in a line of the concise form."""


def full(found: Comparison) -> str:
    """Every difference with its values, one below the other."""
    rows = [f"{found.old.label} -> {found.new.label}"]
    for tool in found.tools:
        rows += ["", f"{_SIGNS[tool.what]} tool {tool.name}{_why(tool)}"]
        rows += [f"    {row}" for field in tool.fields for row in _field_rows(field)]
    for toolset in found.toolsets:
        rows += ["", f"{_SIGNS[toolset.what]} toolset {toolset.name}"]
        rows += [f"    {row}" for row in _members(toolset)]
        rows += [f"    {row}" for field in toolset.fields for row in _field_rows(field)]
    others = [*_file_rows(found.files), *_fact_rows(found)]
    rows += ["", *others] if others else []
    rows += ["", summary(found), *filter(None, [not_compared(found)])]
    return "\n".join(map(visible, rows)) + "\n"


def concise(found: Comparison) -> str:
    """A line for every difference; nothing where there is none, or none was looked for."""
    return "".join(f"{visible(row)}\n" for row in _lines(found))


def as_json(found: Comparison) -> str:
    """One JSON object, in ASCII, with every field of every difference.

    ``equal`` is null where no difference was found, and not all was compared.
    """
    document = {
        "version": JSON_VERSION,
        "equal": found.equal,
        "detailed": found.detailed,
        "not_compared": list(found.not_compared),
        "old": _side_json(found.old),
        "new": _side_json(found.new),
        "tools": [asdict(one) for one in found.tools],
        "toolsets": [asdict(one) for one in found.toolsets],
        "files": [asdict(one) for one in found.files],
        "facts": [asdict(one) for one in found.facts],
    }
    return json.dumps(document, indent=2) + "\n"


def markdown(found: Comparison) -> str:
    """Sections with blocks that a review shows in two colours."""
    rows = [f"**{_escaped(found.old.label)}** → **{_escaped(found.new.label)}**: {summary(found)}"]
    if found.tools:
        rows += ["", "### Tools"]
    for tool in found.tools:
        rows += ["", f"- `{tool.name}` {tool.what}{_why(tool)}"]
        rows += _block(row for field in tool.fields for row in _diff_rows(field))
    if found.toolsets:
        rows += ["", "### Toolsets"]
    for toolset in found.toolsets:
        rows += ["", f"- `{toolset.name}` {toolset.what}"]
        fields = [row for field in toolset.fields for row in _diff_rows(field)]
        rows += _block([*_members(toolset), *fields])
    others = [*_file_rows(found.files), *_fact_rows(found)]
    if others:
        rows += ["", "### Files and the rest", "", "```diff", *others, "```"]
    if found.not_compared:
        rows += ["", f"_{not_compared(found)}_"]
    return "\n".join(map(visible, rows)) + "\n"


FORMS: dict[str, Callable[[Comparison], str]] = {
    "full": full,
    "concise": concise,
    "json": as_json,
    "markdown": markdown,
}


def summary(found: Comparison) -> str:
    """One sentence: how much is different, kind by kind."""
    if not found.differs:
        return "no difference" + (" in what was compared" if found.not_compared else "")
    parts = []
    for noun, changes in (
        ("tool", found.tools),
        ("toolset", found.toolsets),
        ("file", found.files),
    ):
        numbers = [
            (sum(one.what == what for one in changes), what)
            for what in ("added", "removed", "changed")
        ]
        told = [(number, what) for number, what in numbers if number]
        if len(told) == 1:
            parts.append(f"{counted(told[0][0], noun)} {told[0][1]}")
        elif told:
            total = counted(sum(number for number, _ in told), noun)
            parts.append(f"{total}: {', '.join(f'{number} {what}' for number, what in told)}")
    if found.facts:
        parts.append(f"{counted(len(found.facts), 'fact')} changed")
    return "; ".join(parts)


def not_compared(found: Comparison) -> str:
    """One sentence that says what was not compared; empty where all was."""
    told = "; ".join(found.not_compared)
    return f"not compared, since not both sides tell it: {told}" if told else ""


def _why(tool: ToolChange) -> str:
    if tool.what != "changed":
        return f" ({', '.join(tool.toolsets)})" if tool.toolsets else ""
    # The stub follows from the spec: it is news only where nothing else is.
    parts = [part for part in tool.parts if part not in ("module", "source")] or list(tool.parts)
    return f": {', '.join(_PARTS[part] for part in parts)}" if parts else ""


def _members(one: ToolsetChange) -> list[str]:
    return [*(f"+ tool {name}" for name in one.joined), *(f"- tool {name}" for name in one.left)]


def _field_rows(field: FieldChange) -> Iterator[str]:
    if field.what == "reordered":
        yield f"~ {field.pointer}: another order of keys"
    else:
        yield f"{_SIGNS[field.what]} {field.pointer}"
    old, new = _values(field)
    if field.what != "added":
        yield f"    - {old}"
    if field.what != "removed":
        yield f"    + {new}"


def _diff_rows(field: FieldChange) -> Iterator[str]:
    old, new = _values(field)
    if field.what != "added":
        yield f"- {field.pointer}: {old}"
    if field.what != "removed":
        yield f"+ {field.pointer}: {new}"


def _file_rows(files: Iterable[FileChange]) -> list[str]:
    """The files that people write, each; the others, of which there may be many, by number."""
    rows = []
    others: dict[str, int] = {}
    for one in files:
        if one.role in ("generated", "runtime"):
            others[one.role] = others.get(one.role, 0) + 1
        else:
            kind = "" if one.role == "program" else f" ({one.role})"
            rows.append(f"{_SIGNS[one.what]} file {one.path}{kind}")
    rows += [f"~ {counted(number, 'file')} ({role})" for role, number in sorted(others.items())]
    return rows


def _fact_rows(found: Comparison) -> list[str]:
    return [f"~ {one.name}: {_absent_or(one.old)} -> {_absent_or(one.new)}" for one in found.facts]


def _lines(found: Comparison) -> Iterator[str]:
    for tool in found.tools:
        if tool.what != "changed":
            yield f"tool {tool.name}: {tool.what}"
        for field in tool.fields:
            yield f"tool {tool.name}: {_line(field)}"
        if tool.what == "changed" and (not tool.fields or "code" in tool.parts):
            yield f"tool {tool.name}: changed{_why(tool)}"
    for one in found.toolsets:
        if one.what != "changed":
            yield f"toolset {one.name}: {one.what}"
            continue
        yield from (f"toolset {one.name}: {row}" for row in _members(one))
        yield from (f"toolset {one.name}: {_line(field)}" for field in one.fields)
        if not (one.joined or one.left or one.fields):
            yield f"toolset {one.name}: text changed"
    for file in found.files:
        yield f"file {file.path}: {file.what}"
    for fact in found.facts:
        yield f"{fact.name}: {_absent_or(fact.old)} -> {_absent_or(fact.new)}"


def _line(field: FieldChange) -> str:
    if field.what == "reordered":
        return f"{field.pointer} has another order of keys"
    if field.what == "added":
        return f"{field.pointer} added: {_short(field.new)}"
    if field.what == "removed":
        return f"{field.pointer} removed: {_short(field.old)}"
    return f"{field.pointer} changed: {_short(field.old)} -> {_short(field.new)}"


def _block(rows: Iterable[str]) -> list[str]:
    shown = [f"  {row}" for row in rows]
    return ["", "  ```diff", *shown, "  ```"] if shown else []


def _side_json(side: Side) -> dict[str, Any]:
    return {"label": side.label, "kind": side.kind, "digest": side.digest or None}


def _values(field: FieldChange) -> tuple[str, str]:
    """Both values as JSON; of two long texts, what differs and some words around it."""
    old, new = field.old, field.new
    if isinstance(old, str) and isinstance(new, str) and min(len(old), len(new)) > 3 * _AROUND:
        start = _cut(old, _common(old, new))
        end = _cut(old[::-1], min(_common(old[::-1], new[::-1]), len(old) - start))
        end = min(end, len(new) - start)
        head, tail = "…" if start else "", "…" if end else ""
        old, new = (f"{head}{text[start : len(text) - end]}{tail}" for text in (old, new))
    return _value(old), _value(new)


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    for place, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return place
    return min(len(one), len(other))


def _cut(text: str, common: int) -> int:
    """How much to leave out of what two texts begin with, so that a few words of it stay."""
    return max(text.rfind(" ", 0, max(common - _AROUND, 0)) + 1, 0)


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = _value(value)
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def _absent_or(value: Any) -> str:
    return "nothing" if value is None else str(value)


def _escaped(text: str) -> str:
    """Keep a label from being markup."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|~" else char for char in text)
