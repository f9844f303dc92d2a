"""Which defaults a handler can rely on, by the runtime's own rule.

The runtime fills a missing property only with a default that validates against that property's own
schema; real specs break this often (``null`` on a property that forbids it). Where filled arguments
no longer fit the whole schema, it hands them on as they came. The types that a handler sees follow
both, or they would promise a value that never comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs

_URI = "urn:hermes-build:root"
_PLAIN = frozenset({"type", "default", "description", "title", "examples", "deprecated"})
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


class Defaults:
    """Judges the defaults of one schema, whose references lead into ``root``."""

    __slots__ = ("_registry", "_root")

    def __init__(self, root: Any) -> None:
        self._root = root
        self._registry: jsonschema_rs.Registry | None = None

    def fits(self, schema: dict[str, Any]) -> bool:
        """Whether the default of ``schema``, which must have one, is valid against it."""
        value = schema["default"]
        kind = schema.get("type")
        if isinstance(kind, str) and kind in _TYPES:
            is_kind = isinstance(value, _TYPES[kind]) and (
                kind == "boolean" or not isinstance(value, bool)
            )
            if is_kind and schema.keys() <= _PLAIN:
                return True
            if not is_kind and not isinstance(value, float):
                return False
        return self._validate(schema, value)

    def _validate(self, schema: dict[str, Any], value: Any) -> bool:
        placed = _placed({name: one for name, one in schema.items() if name != "default"})
        try:
            if self._registry is None:
                self._registry = jsonschema_rs.Registry([(_URI, self._root)])
            judge = jsonschema_rs.Draft202012Validator(
                placed, registry=self._registry, offline=True
            )
            return judge.is_valid(value)
        except (ValueError, jsonschema_rs.ReferencingError):
            # A schema that cannot be compiled accepts nothing that could be relied on.
            return False


def _placed(schema: Any) -> Any:
    """Return ``schema`` with its local references made absolute, as it now stands alone."""
    if isinstance(schema, list):
        return [_placed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _URI + one
        if name == "$ref" and isinstance(one, str) and one.startswith("#")
        else one
        if name in ("enum", "const", "default", "examples")
        else _placed(one)
        for name, one in schema.items()
    }


# A property more, or another value, may break what these say of an object or an array.
_DELICATE = frozenset(
    {
        "$dynamicRef",
        "contains",
        "dependencies",
        "dependentRequired",
        "dependentSchemas",
        "if",
        "maxProperties",
        "not",
        "propertyNames",
        "unevaluatedProperties",
    }
)
# These object only where something inside is filled in.
_WATCHFUL = ("anyOf", "const", "enum", "oneOf", "patternProperties", "uniqueItems")
_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_MAPS = frozenset({"$defs", "definitions", "patternProperties", "properties"})
_SINGLES = frozenset({"additionalProperties", "items"})
_NOTES = frozenset({"$comment", "$defs", "$schema", "definitions", "default", "deprecated"}) | {
    "description",
    "examples",
    "title",
}
_SHAPE = _NOTES | {"properties", "required", "type"}


def mentions_default(schema: Any) -> bool:
    """Whether a default stands anywhere in a schema."""
    return any("default" in one for one in _nodes(schema))


def fills_safely(schema: Any, resolve: Callable[[Any], Any]) -> bool:
    """Whether arguments that fit a schema are sure to fit it still once defaults are filled in.

    Errs towards no: it asks whether a keyword that could object stands where it could.
    ``resolve`` follows a reference.
    """
    return all(_is_safe(one, resolve) for one in _nodes(schema))


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every subschema that is an object, the whole among them."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict):
            continue
        yield node
        for name, value in node.items():
            if name in _MAPS and isinstance(value, dict):
                waiting.extend(value.values())
            elif name in _LISTS and isinstance(value, list):
                waiting.extend(value)
            elif name in _SINGLES:
                waiting.append(value)


def _is_safe(node: dict[str, Any], resolve: Callable[[Any], Any]) -> bool:
    if not _DELICATE.isdisjoint(node):
        return False
    joins = "allOf" in node or ("$ref" in node and not node.keys() <= _NOTES | {"$ref"})
    watches = any(name in node for name in _WATCHFUL)
    if not (joins or watches) or not _fills_inside(node):
        return True
    if watches:
        return False
    parts = [*node["allOf"]] if "allOf" in node else []
    own = {name: one for name, one in node.items() if name not in ("allOf", "$ref")}
    if "$ref" in node:
        parts.append({"$ref": node["$ref"]})
    if own.keys() <= _NOTES and len(parts) == 1:
        return True
    return _are_apart([own, *parts], resolve)


def _fills_inside(node: dict[str, Any]) -> bool:
    """Whether the runtime may fill in a default inside a value of this schema."""
    inner = [*node.get("properties", {}).values(), *node.get("prefixItems", ())]
    inner += [node[name] for name in ("items", "additionalProperties") if name in node]
    return (
        "$ref" in node
        or "allOf" in node
        or any("default" in one or "$ref" in one for part in inner for one in _nodes(part))
    )


def _are_apart(parts: list[Any], resolve: Callable[[Any], Any]) -> bool:
    """Whether schemas of one value only add properties to it, each its own."""
    names: set[str] = set()
    for part in parts:
        one = resolve(part["$ref"]) if isinstance(part, dict) and "$ref" in part else part
        if not isinstance(one, dict) or not one.keys() <= _SHAPE:
            return False
        properties = one.get("properties", {}).keys()
        if names & properties:
            return False
        names |= properties
    return True
