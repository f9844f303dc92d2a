"""The keywords of JSON Schema 2020-12, by what each one's value holds.

Whoever walks a schema goes by this table: a property may be called ``$ref``, ``default`` or
``definitions``, and a default may look like a schema. Only a place that the table names is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

from hermes_build.ir import JsonObject, Schema

Pointer: TypeAlias = tuple[str | int, ...]
Holds: TypeAlias = Literal["schema", "list", "map"]

HOLDS: dict[str, Holds] = {
    "$defs": "map",
    "definitions": "map",
    "properties": "map",
    "patternProperties": "map",
    "dependentSchemas": "map",
    "dependencies": "map",
    "allOf": "list",
    "anyOf": "list",
    "oneOf": "list",
    "prefixItems": "list",
    "items": "schema",
    "additionalItems": "schema",
    "contains": "schema",
    "additionalProperties": "schema",
    "propertyNames": "schema",
    "unevaluatedItems": "schema",
    "unevaluatedProperties": "schema",
    "not": "schema",
    "if": "schema",
    "then": "schema",
    "else": "schema",
    "contentSchema": "schema",
}
"""Which keywords hold a schema, a list of schemas, or a map from names to schemas.

``definitions``, ``dependencies`` and ``additionalItems`` are of older dialects; schemas that come
from elsewhere still have them. There ``items`` may be a list, and a dependency a list of names.
"""

_HOLDING = frozenset(HOLDS)

IN_PLACE = frozenset(
    ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
)
"""Keywords whose schemas judge the same value as the schema that holds them."""

ANNOTATIONS = frozenset(
    ("title", "description", "examples", "$comment", "deprecated", "readOnly", "writeOnly")
)
"""Keywords that tell a reader something and change no verdict; ``default`` is not among them."""

KNOWN = frozenset(
    (
        *("$schema", "$ref", "$anchor", "$defs", "$comment", "definitions"),
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"),
        *("prefixItems", "items", "contains", "properties", "patternProperties"),
        *("additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties"),
        *("type", "const", "enum", "multipleOf", "maximum", "exclusiveMaximum", "minimum"),
        *("exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems"),
        *("uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties"),
        *("required", "dependentRequired"),
        *("title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples"),
        *("format", "contentEncoding", "contentMediaType", "contentSchema"),
    )
)
"""The keywords that a spec may use: JSON Schema 2020-12 without what renames or moves a schema."""

ALLOWED_EXTENSIONS = frozenset(("x-mcp-header", "x-order"))
"""The ``x-`` names that a spec may use; their values are opaque."""

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")


def subschemas(schema: Any, at: Pointer = ()) -> Iterator[tuple[Pointer, Schema]]:
    """Yield a schema and all that are inside it, in document order, each with its pointer.

    A place that should hold a schema and holds something else is passed over: the metaschema
    speaks of it.
    """
    stack: list[tuple[Pointer, Schema]] = [(at, schema)] if isinstance(schema, dict | bool) else []
    while stack:
        pointer, node = stack.pop()
        yield pointer, node
        if node.__class__ is dict and not _HOLDING.isdisjoint(node):
            stack += children(pointer, node)[::-1]


def children(pointer: Pointer, schema: JsonObject) -> list[tuple[Pointer, Schema]]:
    """Return the schemas directly inside a schema, in document order, each with its pointer."""
    found: list[tuple[Pointer, Schema]] = []
    for key in schema:
        if key not in HOLDS:
            continue
        holds, value = HOLDS[key], schema[key]
        if value.__class__ is dict:
            if holds == "map":
                within = (*pointer, key)
                for name, inner in value.items():
                    if inner.__class__ is dict or inner.__class__ is bool:
                        found.append(((*within, name), inner))
            elif holds == "schema":
                found.append(((*pointer, key), value))
        elif value.__class__ is list:
            if holds == "list" or key == "items":
                for nth, inner in enumerate(value):
                    if inner.__class__ is dict or inner.__class__ is bool:
                        found.append(((*pointer, key, nth), inner))
        elif value.__class__ is bool and holds == "schema":
            found.append(((*pointer, key), value))
    return found


def steps(pointer: Pointer) -> Iterator[tuple[int, str | int]]:
    """Yield the keywords along a pointer, each with its index, up to one that holds no schema.

    Names of properties and numbers of list entries are left out, so that a property called
    ``not`` is no step.
    """
    index = 0
    while index < len(pointer):
        key = pointer[index]
        yield index, key
        holds = HOLDS.get(key) if isinstance(key, str) else None
        if holds is None:
            return
        listed = index + 1 < len(pointer) and isinstance(pointer[index + 1], int)
        index += 2 if holds in ("map", "list") or (key == "items" and listed) else 1


def depth(pointer: Pointer) -> int:
    """How many schemas there are above the one at a pointer."""
    return sum(1 for _ in steps(pointer))


def rebuild(schema: Schema, change: Callable[[JsonObject], JsonObject]) -> Schema:
    """Return a schema with ``change`` applied to each mapping at a schema's place, inner first.

    Parts that do not change are shared with the original, which is never touched; ``change`` must
    return its argument or a new mapping.
    """
    if not isinstance(schema, dict):
        return schema
    changed: JsonObject | None = None
    for key, value in schema.items():
        holds = HOLDS.get(key)
        if holds is None:
            continue
        new = _rebuild_value(value, holds, key, change)
        if new is not value:
            if changed is None:
                changed = dict(schema)
            changed[key] = new
    return change(schema if changed is None else changed)


def _rebuild_value(
    value: Any, holds: Holds, key: str, change: Callable[[JsonObject], JsonObject]
) -> Any:
    if isinstance(value, dict):
        if holds == "schema":
            return rebuild(value, change)
        if holds == "map":
            mapped = {name: rebuild(inner, change) for name, inner in value.items()}
            return mapped if any(mapped[name] is not value[name] for name in value) else value
    elif isinstance(value, list) and (holds == "list" or key == "items"):
        listed = [rebuild(inner, change) for inner in value]
        return listed if any(a is not b for a, b in zip(listed, value, strict=True)) else value
    return value


def strip_prompt(schema: Schema) -> Schema:
    """Return a schema without the keywords that only tell a reader something.

    What is left decides which values fit and what defaults are filled in; the lock keeps separate
    digests of this and of the whole. Defaults, enum members and constants are data and stay whole,
    and so do properties that are named like a keyword.
    """
    return rebuild(schema, _without_annotations)


def _without_annotations(schema: JsonObject) -> JsonObject:
    if ANNOTATIONS.isdisjoint(schema):
        return schema
    return {key: value for key, value in schema.items() if key not in ANNOTATIONS}
