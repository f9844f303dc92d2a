"""Type names of other languages, read as JSON Schema."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Pointer: TypeAlias = tuple[str | int, ...]

JSON_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
MAX_DEPTH = 200
"""How deep an imported definition may be nested; real ones stay below 12."""

_MAX_INTEGER = 2**53

_FOREIGN = {
    "array": "Array ArrayList Collection Deque HashSet Iterable LinkedHashSet LinkedList List "
    "Queue Sequence Set Slice Stack TreeSet Tuple Vector arraylist deque frozenset list queue "
    "sequence set slice stack tuple vector",
    "boolean": "Bool Boolean bool",
    "integer": "BigInt BigInteger Bigint Byte Int Integer Long Short bigint byte int int16 int32 "
    "int64 int8 long short uint uint16 uint32 uint64 uint8",
    "null": "None NoneType Null Void nil undefined void",
    "number": "BigDecimal Decimal Double Float Number decimal double float float32 float64",
    "object": "Dict Dictionary HashMap Hashmap Hashtable LinkedHashMap Map Mapping Object Record "
    "Struct TreeMap dict dictionary hash hashmap hashtable map mapping record struct",
    "string": "Char Character Str String Text char character str text varchar",
}

TYPE_NAMES: dict[str, str] = {
    **{name: target for target, names in _FOREIGN.items() for name in names.split()},
    **{name.upper(): name for name in JSON_TYPES},
}
"""What a foreign type name means; JSON Schema's own names are not among the keys."""

ANY_NAMES = frozenset({"", "Any", "ANY", "any", "dynamic", "mixed", "unknown"})
"""Names that admit every value: JSON Schema says this by giving no type."""

# Where the keywords of JSON Schema 2020-12, and of the drafts before it, hold schemas.
_SCHEMA = frozenset(
    {
        "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if",
        "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
_SCHEMA_LIST = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_SCHEMA_MAP = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)


@dataclass(frozen=True, slots=True)
class Change:
    """One place of a schema that was read differently from how it was written."""

    pointer: Pointer
    was: str
    now: str
    kind: str = "type"


@dataclass(frozen=True, slots=True)
class UnknownType:
    """A type name at ``pointer`` that no table knows."""

    pointer: Pointer
    name: str


def pointer_text(pointer: Pointer) -> str:
    """A place as people read it: ``parameters/properties/x``."""
    return "/".join(str(part) for part in pointer)


def map_types(schema: Any, at: Pointer, changes: list[Change], unknown: list[UnknownType]) -> Any:
    """Return ``schema`` with the type names of JSON Schema, its key order kept.

    Only the places where a schema may stand are read as schemas: a property called ``type``, a
    default or an enum member is data and stays as it is. Values that are no schema stay too.
    """
    if not isinstance(schema, dict):
        return schema

    def inner(value: Any, *more: str | int) -> Any:
        return map_types(value, (*at, *more), changes, unknown)

    # Drafts before 2020-12 wrote a tuple as a list under `items`, what follows it apart.
    old_tuple = isinstance(schema.get("items"), list) and "prefixItems" not in schema
    mapped: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type":
            names = _map_type(value, (*at, key), changes, unknown)
            if names is not None:
                mapped[key] = names
        elif key in _SCHEMA_MAP and isinstance(value, dict):
            mapped[key] = {name: inner(one, key, name) for name, one in value.items()}
        elif key == "items" and old_tuple:
            changes.append(Change((*at, key), "items", "prefixItems", "keyword"))
            mapped["prefixItems"] = [inner(one, key, nth) for nth, one in enumerate(value)]
        elif key == "additionalItems" and old_tuple:
            changes.append(Change((*at, key), "additionalItems", "items", "keyword"))
            mapped["items"] = inner(value, key)
        elif key in _SCHEMA_LIST and isinstance(value, list):
            mapped[key] = [inner(one, key, nth) for nth, one in enumerate(value)]
        elif key in _SCHEMA:
            mapped[key] = inner(value, key)
        else:
            mapped[key] = value
    return mapped


def _map_type(
    value: Any, at: Pointer, changes: list[Change], unknown: list[UnknownType]
) -> str | list[str] | Any | None:
    """The value of ``type`` in JSON Schema's words; ``None`` when every type is meant."""
    if isinstance(value, str):
        return _map_name(value, at, changes, unknown)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        unknown.append(UnknownType(at, repr(value)))
        return value
    names = [_map_name(one, (*at, nth), changes, unknown) for nth, one in enumerate(value)]
    if None in names:
        return None
    # Two foreign names may mean one JSON type, and JSON Schema forbids to name one twice.
    return list(dict.fromkeys(names))


def _map_name(
    name: str, at: Pointer, changes: list[Change], unknown: list[UnknownType]
) -> str | None:
    if name in JSON_TYPES:
        return name
    if name in ANY_NAMES:
        changes.append(Change(at, name, "any value"))
        return None
    target = TYPE_NAMES.get(name)
    if target is None:
        unknown.append(UnknownType(at, name))
        return name
    changes.append(Change(at, name, target))
    return target


def not_json(value: Any) -> tuple[Pointer, str] | None:
    """The first place whose value a spec cannot hold, with the reason; ``None`` when all fit.

    Floats beyond JSON, integers beyond ±2^53, text that is not Unicode, and nesting past
    ``MAX_DEPTH`` have no place in a spec. The walk keeps its own stack: the value may be deep.
    """
    stack: list[tuple[Pointer, Any]] = [((), value)]
    while stack:
        at, one = stack.pop()
        reason = _why_not(one) if not isinstance(one, dict | list) else None
        if len(at) > MAX_DEPTH:
            reason = f"is nested deeper than {MAX_DEPTH} levels"
        if reason is not None:
            return at, reason
        if isinstance(one, dict):
            for key in one:
                reason = _text_fault(key) if isinstance(key, str) else "has a key that is not text"
                if reason is not None:
                    return (*at, ascii(key)), reason
            stack.extend(((*at, key), item) for key, item in reversed(one.items()))
        elif isinstance(one, list):
            stack.extend(((*at, nth), item) for nth, item in reversed(list(enumerate(one))))
    return None


def _why_not(value: Any) -> str | None:
    for kind, fault in _FAULTS:
        if isinstance(value, kind):
            return fault(value)
    name = type(value).__name__
    return f"is {'an' if name[0].lower() in 'aeiou' else 'a'} {name}, which JSON cannot hold"


def _text_fault(value: str) -> str | None:
    lone = next((one for one in value if "\ud800" <= one <= "\udfff"), None)
    return None if lone is None else f"holds a lone surrogate (U+{ord(lone):04X})"


def _number_fault(value: float) -> str | None:
    return None if math.isfinite(value) else f"is {value}, which JSON cannot hold"


def _integer_fault(value: int) -> str | None:
    if abs(value) <= _MAX_INTEGER:
        return None
    return "is an integer beyond ±2^53, which readers of JSON round"


# The order matters: `bool` is an `int` to `isinstance`.
_FAULTS: tuple[tuple[type, Callable[[Any], str | None]], ...] = (
    (type(None), lambda _: None),
    (bool, lambda _: None),
    (str, _text_fault),
    (int, _integer_fault),
    (float, _number_fault),
)
