"""How many looks a validator takes at a value: references multiply them without a bound.

A definition that refers twice to the next one, thirty times over, is a short text that no validator
ever comes to the end of. Here looks are counted without being taken, each pair of a schema and a
value once.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

    Pair: TypeAlias = tuple[Any, Any]
    Known: TypeAlias = dict[tuple[int, int], int]

ANY = object()
"""Stands for a value without content."""

EVERY = object()
"""Stands for a value that has something for each schema in another, once."""

_MOST_STEPS = 2_000_000
"""Where counting gives up: so many steps take a second or two."""

_MANY = 10**15

_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLES = ("not", "if", "then", "else")
_MAPS = ("dependentSchemas", "dependencies")
_OF_PROPERTIES = ("additionalProperties", "unevaluatedProperties")
_OF_ITEMS = ("items", "additionalItems", "contains", "unevaluatedItems")


def count(schema: Any, value: Any, target: Callable[[str], Any], most: int, known: Known) -> int:
    """Return the looks at ``value`` and all that is in it, or ``most + 1`` where there are more.

    Args:
        schema: the schema that judges it.
        value: a JSON value, `ANY` or `EVERY`.
        target: what a ``$ref`` leads to; None where it leads nowhere.
        known: what was counted before by the same arguments but for the first; it is added to.
    """
    return _walk(schema, value, target, most, known)[0]


def multiplied(schema: Any, value: Any, target: Callable[[str], Any], most: int) -> bool:
    """Whether a value gets more than ``most`` looks because they multiply, not by being large."""
    looks, steps = _walk(schema, value, target, _MANY, {})
    return looks > max(most, 10 * steps)


def _walk(
    schema: Any, value: Any, target: Callable[[str], Any], most: int, known: Known
) -> tuple[int, int]:
    """Count looks; the steps that this takes are what they would be if each was taken once."""
    start = _key(schema, value)
    pairs: dict[tuple[int, int], Pair] = {start: (schema, value)}
    # The walk keeps its own stack: a chain of references may be longer than Python's.
    stack: list[tuple[tuple[int, int], list[tuple[int, int]] | None]] = [(start, None)]
    steps = 1
    while stack:
        here, inner = stack.pop()
        if inner is not None:
            known[here] = min(1 + sum(known[one] for one in inner), most + 1)
        elif here not in known:
            known[here] = 1  # for what leads back here at the same value, which odd schemas do
            inner = []
            stack.append((here, inner))
            for pair in _inside(*pairs[here], target):
                one = _key(*pair)
                inner.append(one)
                if one not in known:
                    pairs[one] = pair
                    stack.append((one, None))
            steps += len(inner)
        if steps > _MOST_STEPS:
            return most + 1, 0
    return known[start], steps


def _key(schema: Any, value: Any) -> tuple[int, int]:
    """What tells a pair from others; values without content are all alike."""
    has_content = value is EVERY or isinstance(value, dict | list)
    return id(schema), id(value if has_content else ANY)


def _inside(schema: Any, value: Any, target: Callable[[str], Any]) -> Iterator[Pair]:
    """The pairs that judging one value by one schema leads to."""
    if not isinstance(schema, dict):
        return
    reference = schema.get("$ref")
    if isinstance(reference, str):
        yield target(reference), value
    for key in _LISTS:
        if key in schema:
            for inner in schema[key]:
                yield inner, value
    for key in _SINGLES:
        if key in schema:
            yield schema[key], value
    for key in _MAPS:
        if key in schema:
            for inner in schema[key].values():
                yield inner, value
    if isinstance(value, dict):
        yield from _in_object(schema, value)
    elif isinstance(value, list):
        yield from _in_list(schema, value)
    elif value is EVERY:
        for inner in (*schema.get("properties", {}).values(), *schema.get("prefixItems", ())):
            yield inner, EVERY
        for inner in schema.get("patternProperties", {}).values():
            yield inner, EVERY
        for key in (*_OF_PROPERTIES, *_OF_ITEMS):
            if key in schema:
                yield schema[key], EVERY


def _in_object(schema: dict[str, Any], value: dict[str, Any]) -> Iterator[Pair]:
    properties = schema.get("properties", {})
    others = [schema[key] for key in _OF_PROPERTIES if key in schema]
    others += schema.get("patternProperties", {}).values()
    for name, one in value.items():
        if name in properties:
            yield properties[name], one
        for inner in others:
            yield inner, one


def _in_list(schema: dict[str, Any], value: list[Any]) -> Iterator[Pair]:
    yield from zip(schema.get("prefixItems", ()), value, strict=False)
    for key in _OF_ITEMS:
        if isinstance(schema.get(key), dict):
            for one in value:
                yield schema[key], one
