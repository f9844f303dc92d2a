"""A tool as a model sees it."""

from __future__ import annotations

from hermes_build.ir import JsonObject, Tool


def definition(tool: Tool) -> JsonObject:
    """Return the function definition: name, description and parameters, keys as authored."""
    return {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
