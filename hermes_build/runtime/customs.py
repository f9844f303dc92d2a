"""Toolsets that a running program makes: the rules that the compiler holds declared ones to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hermes_build.ir import is_name
from hermes_build.layout import EVERY_TOOL, TOOL_ALIAS
from hermes_build.runtime.errors import ToolsetError
from hermes_build.runtime.nearest import did_you_mean
from hermes_build.runtime.resolution import SERVER_PREFIX, View

if TYPE_CHECKING:
    from hermes_build.runtime.drafts import Draft
    from hermes_build.runtime.toolsets import Toolsets

_NAME_RULE = "is 1 to 64 letters, digits, `_` and `-`, and begins with a letter or `_`"


def make(
    registry: Toolsets, draft: Draft, name: Any, description: Any, members: dict[str, Any]
) -> None:
    """Enter a toolset in a change.

    ``members`` are lists of names under ``tools``, ``includes`` and ``excludes``, or None.

    Raises:
        ToolsetError: when the compiler would refuse such a toolset.
    """
    view = View(registry, draft.overlay)
    _demand_free(view, draft, name)
    if not isinstance(description, str):
        raise ToolsetError(name, "type", "`description` must be text")
    tools, includes, excludes = (_names(name, key, members[key]) for key in members)
    known = view.there()
    for key, listed in (("tools", tools), ("excludes", excludes)):
        for one in listed:
            if one not in known:
                raise ToolsetError(name, "unknown-tool", _unknown_tool(registry, view, key, one))
    own = [_included(registry, draft, view, name, one, known) for one in includes]
    record = {
        "name": name,
        "description": description,
        "tools": tools,
        "includes": own,
        "excludes": excludes,
    }
    _demand_sense(view, record)
    # A toolset that only tools made may have had this name, and be included still.
    is_new = not any(name in one["includes"] for one in draft.toolsets.values())
    draft.write("toolsets", only_adds=is_new)[name] = record


def remove(draft: Draft, name: str) -> None:
    """Take a toolset that was made at run time out, with its aliases.

    Raises:
        ToolsetError: when another one includes it.
    """
    if name not in draft.toolsets:
        return
    for one in draft.toolsets.values():
        if name in one["includes"]:
            raise ToolsetError(name, "included", f"{one['name']!r} includes it: remove that first")
    del draft.write("toolsets")[name]
    if name in draft.aliases.values() and all(e.toolset != name for e in draft.entries.values()):
        aliases = draft.write("aliases")
        for alias in [alias for alias, target in aliases.items() if target == name]:
            del aliases[alias]


def demand_alias(draft: Draft, alias: Any) -> None:
    """Refuse what no toolset may be called, beside its name.

    Raises:
        ValueError: with what is wrong with it.
    """
    if alias in EVERY_TOOL:
        raise ValueError(f"{alias!r} is the name of a toolset: that of every tool.")
    if not isinstance(alias, str) or not is_name(alias):
        raise ValueError(f"An alias {_NAME_RULE}, and this is {alias!r}.")
    if alias.startswith(SERVER_PREFIX) or ("server", alias) in draft.handles:
        raise ValueError(f"{alias!r} is kept for an MCP server, and cannot be an alias.")


def _demand_free(view: View, draft: Draft, name: Any) -> None:
    """Refuse a name that no toolset may have, or that is taken."""
    if name in EVERY_TOOL:
        raise ToolsetError(name, "reserved", "this name means every tool")
    if not isinstance(name, str) or not is_name(name):
        raise ToolsetError(
            str(name),
            "name",
            f"a name {_NAME_RULE}",
        )
    if name.startswith(SERVER_PREFIX):
        raise ToolsetError(name, "reserved", f"`{SERVER_PREFIX}` begins the toolsets of servers")
    if ("server", name) in draft.handles:
        raise ToolsetError(name, "taken", "there is an MCP server of this name")
    own = view.canonical(name)
    if own == name:
        raise ToolsetError(name, "taken", "there is a toolset of this name already")
    if own is not None:
        raise ToolsetError(name, "taken", f"this name is an alias of the toolset {own!r}")


def _names(toolset: str, key: str, value: Any) -> list[str]:
    """A list of names, each once, as it was given."""
    if value is None:
        return []
    if not isinstance(value, list | tuple | set | frozenset):
        kind = type(value).__name__
        raise ToolsetError(toolset, "type", f"`{key}` must be a list of names, not {kind}")
    for one in value:
        if not isinstance(one, str):
            kind = type(one).__name__
            raise ToolsetError(toolset, "type", f"`{key}` must hold names, and holds {kind}")
    return list(dict.fromkeys(sorted(value) if isinstance(value, set | frozenset) else value))


def _unknown_tool(registry: Toolsets, view: View, key: str, name: str) -> str:
    alias = registry._catalogue.record(TOOL_ALIAS + name)
    if alias is not None:
        hint = f" It is an alias of the tool {alias['name']!r}."
    elif view.canonical(name) is not None:
        hint = " It is a toolset" + (": name it in `includes`." if key == "tools" else ".")
    else:
        hint = did_you_mean(name, registry.get_all_tool_names())
    return f"`{key}` names the unknown tool {name!r}.{hint}".removesuffix(".")


def _included(
    registry: Toolsets, draft: Draft, view: View, toolset: str, name: str, tools: frozenset[str]
) -> str:
    """The own name of a toolset to be included."""
    if name in EVERY_TOOL:
        return name
    if name == toolset:
        raise ToolsetError(toolset, "cycle", f"toolsets include each other: {name} -> {name}")
    own = view.canonical(name)
    if own is None:
        hint = did_you_mean(name, view.names())
        if name in tools:
            hint = " It is a tool: name it in `tools`."
        message = f"`includes` names the unknown toolset {name!r}.{hint}".removesuffix(".")
        raise ToolsetError(toolset, "unknown-toolset", message)
    path = _path(draft, own, toolset)
    if path:
        raise ToolsetError(toolset, "cycle", f"toolsets include each other: {' -> '.join(path)}")
    return own


def _path(draft: Draft, start: str, goal: str) -> list[str]:
    """The includes that lead from a custom toolset back to one in the making, if any do.

    One may include a toolset that only tools made; when those are gone, its name is free again.
    """
    if not any(goal in one["includes"] for one in draft.toolsets.values()):
        return []
    before = {start: goal}
    waiting = [start]
    while waiting:
        at = waiting.pop()
        for one in draft.toolsets.get(at, {}).get("includes", ()):
            if one == goal:
                path = [goal, at]
                while path[-1] != goal:
                    path.append(before[path[-1]])
                return path[::-1]
            if one not in before:
                before[one] = at
                waiting.append(one)
    return []


def _demand_sense(view: View, record: dict[str, Any]) -> None:
    """Refuse a toolset that holds nothing, and excludes that remove nothing."""
    name = record["name"]
    held = view.held(record)
    for one in record["excludes"]:
        if one not in held:
            message = f"`excludes` names {one!r}, which it does not hold"
            raise ToolsetError(name, "vain-exclude", message)
    if not held.difference(record["excludes"]):
        why = "everything in it is excluded" if held else "nothing is in it"
        raise ToolsetError(name, "empty", f"it resolves to no tool: {why}")
