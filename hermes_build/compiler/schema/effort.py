"""How many looks a validator takes at a value: references multiply them without a bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hermes_build.compiler.keywords import IN_PLACE, children, subschemas
from hermes_build.compiler.schema.link import Linked
from hermes_build.compiler.schema.part import Part
from hermes_build.compiler.schema.refs import target_in
from hermes_build.ir import JsonObject, Schema

MOST_LOOKS = 100_000
"""At one value in a call: some ten milliseconds. Unions of thousands of types stay below."""

MOST_FOR_A_VALUE = 300_000
"""At a default, an example and all that is inside it."""

_MOST_PAIRS = 300_000
"""Pairs of a schema and a value that are told apart while looks are counted."""

_NO_CONTENT = object()


class Effort:
    """Counts the schemas of one bundle that judge a value, with each repetition.

    A definition that refers twice to the next one, thirty times over, is a short text that no
    validator ever comes to the end of.
    """

    def __init__(self, bundle: Schema) -> None:
        self._bundle = bundle
        self._targets: dict[str, Schema | None] = {}

    def is_too_much(self, schema: Schema, value: Any) -> bool:
        """Whether judging ``value`` by ``schema`` takes more looks than a compile can wait for."""
        if not isinstance(value, dict | list) or not value:
            return False
        return self._looks(schema, value, {}, MOST_FOR_A_VALUE) > MOST_FOR_A_VALUE

    def costly(self) -> Schema | None:
        """Return a schema that takes more than `MOST_LOOKS` at any value, if there is one."""
        known: dict[tuple[int, int], int] = {}
        for _, node in subschemas(self._bundle):
            if self._looks(node, _NO_CONTENT, known, MOST_LOOKS) > MOST_LOOKS:
                return node
        return None

    def _looks(
        self, schema: Schema, value: Any, known: dict[tuple[int, int], int], most: int
    ) -> int:
        """Count up to a little more than ``most``; the walk keeps its own stack."""
        start = (id(schema), id(value))
        stack: list[tuple[tuple[int, int], list[tuple[Schema, Any]] | None]] = [(start, None)]
        pairs = {start: (schema, value)}
        while stack:
            here, inner = stack.pop()
            if inner is None:
                if here in known:
                    continue
                known[here] = 1  # in place of what leads back here, which only odd documents do
                inner = list(self._inside(*pairs[here]))
                stack.append((here, inner))
                for pair in inner:
                    key = (id(pair[0]), id(pair[1]))
                    pairs[key] = pair
                    stack.append((key, None))
            else:
                total = 1 + sum(known[id(one), id(part)] for one, part in inner)
                known[here] = min(total, most + 1)
            if len(known) > _MOST_PAIRS:
                return most + 1
        return known[start]

    def _inside(self, schema: Schema, value: Any) -> Iterator[tuple[Schema, Any]]:
        """The pairs that judging one value by one schema leads to."""
        if not isinstance(schema, dict):
            return
        ref = schema.get("$ref")
        if isinstance(ref, str):
            target = self._target(ref)
            if target is not None:
                yield target, value
        for place, inner in children((), schema):
            if place[0] in IN_PLACE:
                yield inner, value
        if isinstance(value, dict):
            yield from _in_object(schema, value)
        elif isinstance(value, list):
            yield from _in_list(schema, value)

    def _target(self, ref: str) -> Schema | None:
        if ref not in self._targets:
            self._targets[ref] = target_in(self._bundle, ref)
        return self._targets[ref]


def _in_object(schema: JsonObject, value: JsonObject) -> Iterator[tuple[Schema, Any]]:
    properties = schema.get("properties", {})
    others = [
        schema[key]
        for key in ("additionalProperties", "unevaluatedProperties")
        if isinstance(schema.get(key), dict)
    ]
    others += schema.get("patternProperties", {}).values()
    for name, one in value.items():
        if name in properties:
            yield properties[name], one
        for inner in others:
            yield inner, one


def _in_list(schema: JsonObject, value: list[Any]) -> Iterator[tuple[Schema, Any]]:
    leading = schema.get("prefixItems", [])
    yield from zip(leading, value, strict=False)
    for key in ("items", "additionalItems", "contains", "unevaluatedItems"):
        inner = schema.get(key)
        if isinstance(inner, dict):
            for one in value:
                yield inner, one


def check_effort(linked: Linked) -> bool:
    """Report a schema that takes too many looks at a value; return whether there is none.

    Without references there cannot be one: every schema looks once at most.
    """
    if not linked.refers:
        return True
    costly = Effort(linked.schema).costly()
    if costly is None:
        return True
    part, pointer = _place(linked, costly)
    part.report(
        "HB1116",
        f"references multiply: one value would be looked at more than {MOST_LOOKS:,} times",
        *pointer,
        label="from here on",
        help=("let a schema refer to another once, and to the next from there",),
    )
    return False


def _place(linked: Linked, schema: Schema) -> tuple[Part, tuple[str | int, ...]]:
    """Where a schema of the bundle was written."""
    at = next(pointer for pointer, node in subschemas(linked.schema) if node is schema)
    for part in reversed(linked.parts):
        if at[: len(part.inside)] == part.inside:
            return part, at[len(part.inside) :]
    return linked.parts[0], ()
