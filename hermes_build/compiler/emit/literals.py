"""The values that a schema writes out, enum members and defaults, as Python can hold them."""

from __future__ import annotations

from typing import Any, TypeAlias

from hermes_build.compiler.emit.combine import Impossible

Node: TypeAlias = dict[str, Any]

_MOST_MEMBERS = 10_000
"""Members of a ``Literal``: of more, neither the generator nor a type checker makes an end."""

_TYPES = {str: "string", bool: "boolean", int: "integer"}


def literal_type(values: list[Any]) -> Node:
    """Return the type of an enum; members that ``Literal`` cannot hold widen to their own types."""
    literal: list[Any] = []
    seen: set[tuple[type, Any]] = set()
    wider: dict[str, Node] = {}
    for value in values:
        if value is None or isinstance(value, str | bool | int):
            if (type(value), value) not in seen:
                seen.add((type(value), value))
                literal.append(value)
        elif isinstance(value, float):
            wider["number"] = {"type": "number"}
        elif isinstance(value, list):
            wider["array"] = {"type": "array"}
        else:
            wider["object"] = {"type": "object", "additionalProperties": {}}
    if "number" in wider:
        literal = [one for one in literal if isinstance(one, str | bool) or one is None]
    if len(literal) > _MOST_MEMBERS:
        kinds = dict.fromkeys(type(value) for value in literal if value is not None)
        wider = {_TYPES[kind]: {"type": _TYPES[kind]} for kind in kinds} | wider
        literal = [None] if None in literal else []
    if not literal and not wider:
        raise Impossible("an enum without members")
    parts: list[Node] = [{"enum": literal}] if literal else []
    if literal == [None]:
        parts = [{"type": "null"}]
    parts.extend(wider.values())
    return parts[0] if len(parts) == 1 else {"anyOf": parts}


def is_plain_default(value: Any, plain: Node) -> bool:
    """Whether a default can be written as it is, without an instance of another model."""
    return value in ([], None) or not isinstance(value, list | dict) or "$ref" not in repr(plain)


def default_value(value: Any, plain: Node) -> Any:
    """Return a default as it is to be written: JSON's 2.0 is the whole number 2."""
    whole = plain.get("type") == "integer" and isinstance(value, float)
    return int(value) if whole else value
