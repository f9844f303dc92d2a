"""Conjunctions and unions of JSON Schemas, flattened to a list of plain alternatives.

``allOf``, a ``$ref`` with constraining siblings, and a union beside other keywords are all
conjunctions. Each is merged here, so that what is left is a union of schemas that have none of
these keywords. Where a merge cannot be exact the result is wider, never narrower.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import unquote

import jsonschema_rs

Node: TypeAlias = dict[str, Any]

_METASCHEMA = "https://json-schema.org/draft/2020-12/schema"
_MOST_PRODUCTS = 64
_MOST_STEPS = 100_000
_SHAPES = frozenset(
    {
        "$ref",
        "additionalProperties",
        "enum",
        "items",
        "patternProperties",
        "prefixItems",
        "properties",
        "type",
    }
)
_COMBINING = frozenset({"$ref", "allOf", "anyOf", "oneOf", "const"})
UNSURE = "\0unsure"
"""Marks an alternative that stands for a branch, in which the runtime fills no defaults."""

_ANNOTATIONS = ("description", "default", UNSURE)
_TESTS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: _is_whole(value),
}


def _is_whole(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


@cache
def _metaschema() -> jsonschema_rs.Draft202012Validator:
    # The library's own check follows a `$schema` to wherever it leads, even over the network.
    return jsonschema_rs.Draft202012Validator({"$ref": _METASCHEMA}, offline=True)


def is_schema(value: Any) -> bool:
    """Whether a value is valid JSON Schema 2020-12, whatever ``$schema`` it names."""
    return _metaschema().is_valid(value)


class Impossible(ValueError):
    """No value can fit a schema; its text is the reason."""


class Unresolved(ValueError):
    """A reference that leads to nothing, or back to itself; its text is the reason."""


class Resolver:
    """Follows the local references of one schema."""

    __slots__ = ("_targets", "root", "steps")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.steps = 0
        self._targets: dict[str, Any] = {}

    def resolve(self, ref: Any) -> Any:
        """Return the schema that a reference within the same document leads to.

        Raises:
            Unresolved: when it leads to nothing, or out of the document.
        """
        if ref == "#":
            return self.root
        if not isinstance(ref, str) or not ref.startswith("#/"):
            raise Unresolved(f"`$ref` {ref!r} does not lead into this schema by a pointer")
        if ref not in self._targets:
            self._targets[ref] = self._find(ref)
        return self._targets[ref]

    def _find(self, ref: str) -> Any:
        node = self.root
        for part in ref[2:].split("/"):
            step = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and step in node:
                node = node[step]
            elif isinstance(node, list) and step.isdecimal() and int(step) < len(node):
                node = node[int(step)]
            else:
                raise Unresolved(f"`$ref` {ref!r} leads to nothing")
        # A pointer may lead to any value: to `properties` as a whole, or into an example.
        if not isinstance(node, dict | bool) or not is_schema(node):
            raise Unresolved(f"`$ref` {ref!r} leads to something that is not a schema")
        return node


def flatten(schema: Any, resolver: Resolver, seen: frozenset[str] = frozenset()) -> list[Node]:
    """Return the alternatives of ``schema``: at least one, none with a conjunction or union.

    An alternative has ``$ref`` only beside annotations.

    Raises:
        Impossible: when no value can fit.
        Unresolved: when a reference leads nowhere or a conjunction contains itself.
    """
    if schema is False:
        raise Impossible("`false`")
    if schema is True:
        return [{}]
    if not isinstance(schema, dict):
        raise Unresolved(f"not a schema: {str(schema)[:60]!r}")
    resolver.steps += 1
    if resolver.steps > _MOST_STEPS:
        raise Unresolved("its conjunctions and unions have too many combinations")
    own = {name: one for name, one in schema.items() if name not in _COMBINING}
    if "const" in schema:
        value = schema["const"]
        if "enum" in own and not any(_same(value, one) for one in own["enum"]):
            raise Impossible("`const` is not a member of `enum`")
        own["enum"] = [value]
    if "enum" in own:
        own["enum"] = _fitting(own["enum"], own.get("type"))
    choices = [own]
    if "$ref" in schema:
        choices = _product(choices, [{"$ref": schema["$ref"]}], resolver, seen)
    for one in schema.get("allOf", ()):
        choices = _product(choices, flatten(one, resolver, seen), resolver, seen)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            choices = _unite(choices, schema[keyword], resolver, seen)
    return choices


def _unite(
    choices: list[Node], branches: list[Any], resolver: Resolver, seen: frozenset[str]
) -> list[Node]:
    alternatives: list[Node] = []
    for branch in branches:
        try:
            for one in flatten(branch, resolver, seen):
                alternatives.append(one | {UNSURE: True})
        except Impossible:
            continue
    if not alternatives:
        raise Impossible("every branch of a union is impossible")
    shaped = all(not _SHAPES.isdisjoint(one) for one in choices)
    if shaped and any(_SHAPES.isdisjoint(one) for one in alternatives):
        # A branch that only restricts leaves the shape as it is, so the union is that shape.
        return choices
    if shaped and len(choices) * len(alternatives) > _MOST_PRODUCTS:
        return choices
    return _product(choices, alternatives, resolver, seen)


def _product(
    left: list[Node], right: list[Node], resolver: Resolver, seen: frozenset[str]
) -> list[Node]:
    if len(left) > 1 and len(left) * len(right) > _MOST_PRODUCTS:
        return left
    found: list[Node] = []
    reason = "its parts exclude each other"
    for one in left:
        for other in right:
            try:
                found.extend(_both(one, other, resolver, seen))
            except Impossible as impossible:
                reason = str(impossible)
    if not found:
        raise Impossible(reason)
    return found


def _both(left: Node, right: Node, resolver: Resolver, seen: frozenset[str]) -> list[Node]:
    for one, other in ((left, right), (right, left)):
        if "$ref" in one:
            same = other.get("$ref") == one["$ref"]
            if same or (_SHAPES.isdisjoint(other) and "required" not in other):
                return [{"$ref": one["$ref"]} | _annotations(left, right)]
            ref = one["$ref"]
            if ref in seen:
                raise Unresolved(f"`$ref` {ref!r} is part of its own conjunction")
            target = flatten(resolver.resolve(ref), resolver, seen | {ref})
            if UNSURE in one:
                other = other | {UNSURE: True}
            return _product([other], target, resolver, seen | {ref})
    return [_merge(left, right)]


def _annotations(left: Node, right: Node) -> Node:
    return {
        name: left[name] if name in left else right[name]
        for name in _ANNOTATIONS
        if name in left or name in right
    }


def _merge(left: Node, right: Node) -> Node:
    merged = {**right, **left}
    for name in left.keys() & right.keys():
        one, other = left[name], right[name]
        if name == "type":
            merged[name] = _types(one, other)
        elif name == "properties" or name == "patternProperties":
            merged[name] = {
                **one,
                **{
                    key: _and(one[key], value) if key in one else value
                    for key, value in other.items()
                },
            }
        elif name == "required":
            merged[name] = list(dict.fromkeys([*one, *other]))
        elif name in ("additionalProperties", "items"):
            merged[name] = _and(one, other)
        elif name == "prefixItems":
            longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
            merged[name] = [_and(*pair) for pair in zip(longer, shorter, strict=False)]
            merged[name] += longer[len(shorter) :]
        elif name == "enum":
            merged[name] = _shared(one, other)
        elif name not in _ANNOTATIONS and one != other:
            del merged[name]
    if "enum" in merged:
        merged["enum"] = _fitting(merged["enum"], merged.get("type"))
    return merged


def _and(one: Any, other: Any) -> Any:
    if one == other or other is True:
        return one
    if one is True:
        return other
    if one is False or other is False:
        return False
    # Of two schemas for one place, the runtime fills in the defaults of the first.
    return {"allOf": [one, {"anyOf": [other]}]}


def _types(one: Any, other: Any) -> Any:
    left = [one] if isinstance(one, str) else list(one)
    right = [other] if isinstance(other, str) else list(other)
    both = [kind for kind in left if kind in right or (kind == "integer" and "number" in right)] + [
        kind for kind in right if kind == "integer" and "number" in left and kind not in left
    ]
    if not both:
        raise Impossible(f"a value is never both {' or '.join(left)} and {' or '.join(right)}")
    return both[0] if len(both) == 1 else both


def _fitting(values: list[Any], kinds: Any) -> list[Any]:
    if kinds is not None:
        tests = [
            _TESTS[kind]
            for kind in ([kinds] if isinstance(kinds, str) else kinds)
            if kind in _TESTS
        ]
        values = [value for value in values if any(test(value) for test in tests)]
    if not values:
        raise Impossible("an enum without a member that fits its type")
    return values


def _shared(one: list[Any], other: list[Any]) -> list[Any]:
    """Return the values of one list that are also in another."""
    plain = {(isinstance(value, bool), value) for value in other if not _is_container(value)}
    rest = [value for value in other if _is_container(value)]
    return [
        value
        for value in one
        if (
            any(_same(value, each) for each in rest)
            if _is_container(value)
            else (isinstance(value, bool), value) in plain
        )
    ]


def _is_container(value: Any) -> bool:
    return isinstance(value, list | dict)


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; unlike in Python, ``true`` is not 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
