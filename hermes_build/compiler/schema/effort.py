"""Refusing schemas, and values in them, that a validator would not come to an end with."""

from __future__ import annotations

from typing import Any

from hermes_build.compiler.schema.link import Linked
from hermes_build.compiler.schema.part import Part
from hermes_build.compiler.schema.refs import target_in
from hermes_build.ir import Schema
from hermes_build.keywords import subschemas
from hermes_build.looks import ANY, EVERY, count, multiplied

MOST_LOOKS = 100_000
"""At one value in a call: some ten milliseconds. Unions of thousands of types stay below."""

MOST_WITHIN = 5_000_000
"""At a value and all that is in it, once for each schema."""

MOST_FOR_A_VALUE = 20_000
"""At a default, an example and all that is inside it, where they come from repetition."""


class Effort:
    """Counts the looks that the schemas of one bundle take at values."""

    def __init__(self, bundle: Schema) -> None:
        self._bundle = bundle
        self._targets: dict[str, Schema | None] = {}

    def is_too_much(self, schema: Schema, value: Any) -> bool:
        """Whether judging ``value`` by ``schema`` takes more looks than a compile can wait for."""
        if not isinstance(value, dict | list) or not value:
            return False
        return multiplied(schema, value, self._target, MOST_FOR_A_VALUE)

    def costly(self) -> Schema | None:
        """Return a schema that takes more looks than a call can wait for, if there is one."""
        for value, most in ((ANY, MOST_LOOKS), (EVERY, MOST_WITHIN)):
            known: dict[tuple[int, int], int] = {}
            for _, node in subschemas(self._bundle):
                if count(node, value, self._target, most, known) > most:
                    return node
        return None

    def _target(self, ref: str) -> Schema | None:
        if ref not in self._targets:
            self._targets[ref] = target_in(self._bundle, ref)
        return self._targets[ref]


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
        "references multiply: a call would look at one value hundreds of thousands of times",
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
