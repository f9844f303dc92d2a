"""A program of several toolsets, for tests of sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_build.runtime.registry import ToolRegistry
from tests.runtime_program import tool, toolset, write_program

ANY: dict[str, Any] = {"type": "object"}

OWNERS = {
    "fetch": "web",
    "search": "web",
    "read": "file",
    "write": "file",
    "run": "terminal",
}


def make_registry(folder: Path, **more: dict[str, Any]) -> ToolRegistry:
    """A registry whose tools echo their names; ``more`` are fields by tool."""
    tools = [
        tool(name, ANY, toolset=owner, handler="external", **more.get(name, {}))
        for name, owner in OWNERS.items()
    ]
    sets = [
        toolset("web", ["fetch", "search"], aliases=["net"]),
        toolset("file", ["read", "write"]),
        toolset("terminal", ["run"]),
        toolset("coding", ["read", "run", "write"], includes=["file", "terminal"]),
        toolset("full", sorted(OWNERS), includes=["coding", "web"]),
    ]
    registry = write_program(folder, tools, toolsets=sets).registry
    for name in OWNERS:
        if not more.get(name, {}).get("requires", {}).get("check"):
            registry.register(name, handler=lambda args, name=name, **_: name)
    return registry
