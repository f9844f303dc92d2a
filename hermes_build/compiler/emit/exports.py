"""A catalog in the forms that model providers and MCP clients read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from hermes_build.compiler.emit.definition import definition
from hermes_build.ir import RESERVED_TOOLSETS, Catalog, Tool


def select(catalog: Catalog, toolsets: Sequence[str]) -> tuple[Tool, ...]:
    """Return the tools of the named toolsets, each once and by name; of all, where none is named.

    Raises:
        KeyError: a name is neither a toolset, nor an alias of one, nor ``all`` or ``*``.
    """
    if not toolsets or set(RESERVED_TOOLSETS) & set(toolsets):
        return catalog.tools
    by_name = {name: one for one in catalog.toolsets for name in (one.name, *one.aliases)}
    wanted = {tool for name in toolsets for tool in by_name[name].resolved}
    return tuple(tool for tool in catalog.tools if tool.name in wanted)


def openai(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return the ``tools`` array of a chat completion."""
    return [{"type": "function", "function": definition(tool)} for tool in tools]


def mcp(tools: Sequence[Tool]) -> dict[str, Any]:
    """Return the result of an MCP ``tools/list``, of protocol revision 2026-07-28."""
    return {"tools": [_mcp_tool(tool) for tool in tools]}


def _mcp_tool(tool: Tool) -> dict[str, Any]:
    hints = {
        "readOnlyHint": tool.annotations.read_only,
        "destructiveHint": tool.annotations.destructive,
        "idempotentHint": tool.annotations.idempotent,
        "openWorldHint": tool.annotations.open_world,
    }
    given = {key: value for key, value in hints.items() if value is not None}
    listed: dict[str, Any] = {"name": tool.name}
    if tool.title:
        listed["title"] = tool.title
    if tool.description:
        listed["description"] = tool.description
    listed["inputSchema"] = tool.parameters
    if tool.output_schema is not None:
        listed["outputSchema"] = tool.output_schema
    if given:
        listed["annotations"] = given
    return listed


PROVIDERS: dict[str, Callable[[Sequence[Tool]], Any]] = {"openai": openai, "mcp": mcp}


def export(catalog: Catalog, provider: str, toolsets: Sequence[str] = ()) -> str:
    """Return the JSON text for one of `PROVIDERS`; tools stand by name, keys as authored."""
    value = PROVIDERS[provider](select(catalog, toolsets))
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def is_export(path: str) -> bool:
    """Whether a file holds what `export` gives, of whichever tools."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (ValueError, RecursionError):
        return False
    if isinstance(found, list):
        return all(isinstance(one, dict) and one.keys() == {"type", "function"} for one in found)
    return isinstance(found, dict) and found.keys() == {"tools"}
