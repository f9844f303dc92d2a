"""The program that the tests of the registry share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import offer as offer_of
from tests.contract.programs import says
from tests.contract.programs import schema as schema_of
from tests.runtime_program import tool, toolset, write_program

__all__ = ["TEXT", "make_registry", "offer", "says", "schema"]

TEXT: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "additionalProperties": False,
}


def schema(name: str, parameters: Any = None) -> dict[str, Any]:
    """What a registration at run time passes as its schema; it takes a text by default."""
    return schema_of(name, TEXT if parameters is None else parameters)


def offer(name: str, **fields: Any) -> dict[str, Any]:
    """The arguments of a registration at run time; ``fields`` replace or add to the usual ones."""
    return offer_of(name, **{"schema": schema(name), **fields})


def make_registry(root: Path) -> ToolRegistry:
    """Four tools in two toolsets, a composition of both, and one that is guarded."""
    tools = [
        tool("read_file", TEXT, annotations={"read_only": True}, aliases=["cat"], module="files"),
        tool("write_file", TEXT, module="files"),
        tool("web_search", TEXT, toolset="web", handler="external", emoji="🔍"),
        tool("web_fetch", TEXT, toolset="web", handler="external", max_result_chars=9),
    ]
    toolsets = [
        toolset("file", ["read_file", "write_file"], aliases=["files"], description="Files."),
        toolset("web", ["web_fetch", "web_search"]),
        {
            "name": "debugging",
            "tools": [],
            "includes": ["file", "web"],
            "excludes": ["write_file", "wipe"],
            "resolved": ["read_file", "web_fetch", "web_search"],
        },
        {
            "name": "safe",
            "description": "What only reads.",
            "tools": ["read_file"],
            "includes": ["web"],
            "guards": {"forbid_tags": ["exec"], "require": {"read_only": True}},
            "resolved": ["read_file", "web_fetch", "web_search"],
        },
        {"name": "everything", "includes": ["*"], "resolved": [one["name"] for one in tools]},
    ]
    source = (
        "from {generated}.registry import registry\n"
        "@registry.handler('read_file')\n"
        "def read(args): return 'read'\n"
        "@registry.handler('write_file')\n"
        "def write(args): return 'written'\n"
    )
    program = write_program(root, tools, toolsets=toolsets, handlers={"files": source})
    registry = program.registry
    registry.register("web_search", handler=says("found"))
    registry.register("web_fetch", handler=says("fetched"))
    return registry
