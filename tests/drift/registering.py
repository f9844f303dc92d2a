"""What the tests of drift share: handlers that fit any tool, and what registering one finds."""

from __future__ import annotations

from typing import Any

from hermes_build.runtime.errors import SchemaDriftError
from hermes_build.runtime.registry import ToolRegistry

EMPTY = {"type": "object", "properties": {}, "additionalProperties": False}


def kinds(registry: ToolRegistry, handler: Any, name: str = "t", **claims: Any) -> list[str]:
    """The kinds of mismatch that registering gives."""
    try:
        registry.register(name, handler=handler, **claims)
    except SchemaDriftError as error:
        return [one.kind for one in error.mismatches]
    return []


def plain(args: dict[str, Any], **context: Any) -> str:
    return ""


async def coroutine(args: dict[str, Any], **context: Any) -> str:
    return ""
