"""Toolsets of a live program, read as compositions that prove themselves at compile time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hermes_build.compiler.adopt.live import RawToolset
from hermes_build.compiler.adopt.names import is_valid
from hermes_build.compiler.diagnostics import Findings
from hermes_build.ir import RESERVED_TOOLSETS, JsonObject

EVERY = "*"


def settle(
    toolsets: Sequence[RawToolset],
    tools: Mapping[str, str],
    names: Mapping[str, str],
    findings: Findings,
) -> list[JsonObject]:
    """The documents of the toolsets, under the names that tools and toolsets get here.

    A program ignores unknown members, circles and toolsets whose tools are not there without a
    word; a compiled project refuses them. What would be refused is left out with a finding, and
    what is left resolves to the same tools as it does there. A toolset that names no tool is kept:
    it waits for those that plugins bring.
    """
    rows: dict[str, RawToolset] = {}
    for one in toolsets:
        if one.name in RESERVED_TOOLSETS:
            _left_out(one, "its name means every tool", findings)
        else:
            rows[one.name] = one
    includes = {name: _known_includes(one, rows, findings) for name, one in rows.items()}
    direct = {name: _known_tools(one, tools, findings) for name, one in rows.items()}
    reached = {name: _reach(name, includes) for name in rows}
    documents: list[JsonObject] = []
    empty = {
        name for name in rows if EVERY not in reached[name] and not _union(reached[name], direct)
    }
    waiting = {name for name in empty if not any(rows[one].tools for one in reached[name])}
    aliases: set[str] = set(names.values())
    for name, one in rows.items():
        for what in one.dropped:
            findings.add("HB1305", f"the toolset `{name}` loses {what}")
        if name in empty - waiting:
            _left_out(one, "it holds no tool", findings)
            continue
        members: list[str] = [tools[tool] for tool in direct[name]]
        included = [
            names.get(other, other) for other in includes[name] if other not in empty - waiting
        ]
        if any(name in reached[other] for other in includes[name] if other != EVERY):
            findings.add(
                "HB1305",
                f"the toolset `{name}` includes itself by way of others: "
                "the tools that it resolves to are written out instead",
            )
            members = sorted(tools[tool] for tool in _union(reached[name], direct))
            included = [EVERY] if EVERY in reached[name] else []
        document: dict[str, Any] = {"name": names[name], "description": one.description}
        document["tools"] = members
        if included:
            document["includes"] = included
        known = [alias for alias in one.aliases if is_valid(alias) and alias not in aliases]
        aliases.update(known)
        for alias in one.aliases:
            if alias not in known:
                findings.add("HB1305", f"the alias `{alias}` of the toolset `{name}` is left out")
        if known:
            document["aliases"] = known
        if name in waiting:
            document["may_be_empty"] = True
        documents.append(document)
    return documents


def _left_out(one: RawToolset, why: str, findings: Findings) -> None:
    findings.add("HB1305", f"the toolset `{one.name}` is left out: {why}")


def _known_includes(
    one: RawToolset, rows: Mapping[str, RawToolset], findings: Findings
) -> list[str]:
    known: list[str] = []
    for other in one.includes:
        if other in RESERVED_TOOLSETS:
            known.append(EVERY)
        elif other in rows:
            known.append(other)
        else:
            findings.add(
                "HB1305",
                f"the toolset `{one.name}` loses the include `{other}`: there is no such toolset",
            )
    return list(dict.fromkeys(known))


def _known_tools(one: RawToolset, tools: Mapping[str, str], findings: Findings) -> list[str]:
    for tool in one.tools:
        if tool not in tools:
            findings.add(
                "HB1305", f"the toolset `{one.name}` loses `{tool}`: no such tool was imported"
            )
    return [tool for tool in one.tools if tool in tools]


def _reach(name: str, includes: Mapping[str, list[str]]) -> set[str]:
    """Every toolset that ``name`` includes, itself among them, without recursion."""
    reached: set[str] = set()
    stack = [name]
    while stack:
        one = stack.pop()
        if one not in reached:
            reached.add(one)
            stack.extend(includes.get(one, ()))
    return reached


def _union(reached: set[str], direct: Mapping[str, list[str]]) -> set[str]:
    return {tool for name in reached for tool in direct.get(name, ())}
