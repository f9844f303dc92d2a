"""Which rule of a toolset let a tool in, or kept it out."""

from __future__ import annotations

from collections.abc import Mapping

from hermes_build.ir import RESERVED_TOOLSETS, Toolset

MEANS_ALL = RESERVED_TOOLSETS
"""What stands for every tool in a toolset's ``includes``."""


def why(one: Toolset, tool: str, toolsets: Mapping[str, Toolset]) -> str:
    """Say which rule of a toolset decided on a tool, as the end of "it is in because ...".

    ``toolsets`` are all resolved ones by name, so that a tool can be followed to its list.
    """
    if tool in one.excludes:
        return f"`{one.name}` excludes it (excludes are applied last)"
    if tool in (one.tools or ()):
        return f"`{one.name}` lists it" if one.declared else "its spec names this toolset"
    for name in one.includes:
        if name in MEANS_ALL:
            return f'`{one.name}` includes "{name}", every tool'
    chain = _chain(one, tool, toolsets)
    if chain:
        last = toolsets.get(chain[-1], one)
        how = "lists it" if tool in (last.tools or ()) else "includes every tool"
        return f"it comes through {' -> '.join(f'`{name}`' for name in chain)}, which {how}"
    return f"nothing in `{one.name}` names it"


def _chain(one: Toolset, tool: str, toolsets: Mapping[str, Toolset]) -> list[str]:
    """The shortest chain of includes from a toolset to the one that names a tool, or all."""
    paths: list[list[str]] = [[one.name]]
    seen = {one.name}
    for path in paths:
        at = toolsets.get(path[-1], one if path[-1] == one.name else None)
        if at is None or tool not in at.resolved:
            continue
        if tool in (at.tools or ()) or set(at.includes) & set(MEANS_ALL):
            return path
        for name in at.includes:
            if name not in seen:
                seen.add(name)
                paths.append([*path, name])
    return []
