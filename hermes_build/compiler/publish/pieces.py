"""Small builders that keep the published schemas readable."""

from __future__ import annotations

from collections.abc import Iterable

from hermes_build.ir import RESERVED_TOOLSETS, TOOL_NAME, JsonObject

DIALECT = "https://json-schema.org/draft/2020-12/schema"

VARIABLE = "^[A-Za-z_][A-Za-z0-9_]*$"
MODULE = "^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*$"


def text(description: str, **more: object) -> JsonObject:
    """A text field."""
    return {"type": "string", "description": description, **more}


def flag(description: str, **more: object) -> JsonObject:
    """A field that is true or false."""
    return {"type": "boolean", "description": description, **more}


def above_zero(kind: str, description: str, **more: object) -> JsonObject:
    """A number above 0; ``kind`` is ``integer`` or ``number``."""
    return {"type": kind, "description": description, "exclusiveMinimum": 0, **more}


def listed(description: str, items: JsonObject, **more: object) -> JsonObject:
    """A list of ``items``."""
    return {"type": "array", "description": description, "items": items, **more}


def mapped(description: str, values: JsonObject, **more: object) -> JsonObject:
    """A mapping from any name to ``values``."""
    return {
        "type": "object",
        "description": description,
        "additionalProperties": values,
        **more,
    }


def closed(
    description: str, properties: JsonObject, required: Iterable[str] = (), **more: object
) -> JsonObject:
    """A mapping that knows all its keys."""
    node: JsonObject = {
        "type": "object",
        "description": description,
        "properties": properties,
        "additionalProperties": False,
        **more,
    }
    if needed := list(required):
        node["required"] = needed
    return node


def document(title: str, description: str, node: JsonObject) -> JsonObject:
    """A whole schema, with its dialect and title."""
    return {"$schema": DIALECT, "title": title, "description": description, **node}


def name(description: str, **more: object) -> JsonObject:
    """The name of a tool, in the form that every provider accepts."""
    return text(description, pattern=TOOL_NAME, **more)


def toolset_name(description: str, **more: object) -> JsonObject:
    """The name of a toolset: a name that is not reserved."""
    reserved = {"enum": list(RESERVED_TOOLSETS)}
    return name(description, **more) | {"not": reserved}
