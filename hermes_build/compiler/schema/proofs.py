"""Contradictions that no value can meet: the cheap ones, each certain."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from hermes_build.compiler.diagnostics import Label
from hermes_build.compiler.schema.link import Linked
from hermes_build.compiler.schema.part import Part
from hermes_build.compiler.schema.refs import schema_at, target_in
from hermes_build.compiler.schema.required import Requirements
from hermes_build.ir import JsonObject, Schema
from hermes_build.keywords import Pointer, steps

_BOUNDS = (
    ("minLength", "maxLength", "text"),
    ("minItems", "maxItems", "list"),
    ("minProperties", "maxProperties", "object"),
    ("minContains", "maxContains", "list"),
)

_LOWER = frozenset(("minimum", "exclusiveMinimum"))
_SIZES = frozenset(("maxLength", "maxItems", "maxProperties", "maxContains", "minItems"))
_JOINS = frozenset(("allOf", "anyOf", "oneOf", "required"))
_WORTH_A_LOOK = frozenset(("maximum", "exclusiveMaximum", "enum")) | _SIZES | _JOINS
"""A schema without any of these has none of the contradictions that are looked for."""

_KINDS = {
    "number": {"integer", "fraction"},
    "integer": {"integer"},
}
"""What the types that overlap are made of; the others stand for themselves."""


@dataclass(frozen=True, slots=True)
class _Contradiction:
    """Where it shows, inside a schema, and what other keyword of the schema it contradicts."""

    place: Pointer
    message: str
    label: str
    other: str | None = None


def check_proofs(linked: Linked) -> set[Pointer]:
    """Report schemas that no value fits, and what ``required`` says in vain.

    Returns the places in the bundle of the schemas that no value fits. What is inside ``not`` or
    ``if`` is left alone: to refuse everything, or to ask for what may not be there, is its use.
    """
    found: set[Pointer] = set()
    requirements = Requirements(linked.schema)
    for part in linked.parts:
        for pointer, node in part.nodes:
            if isinstance(node, bool) or _WORTH_A_LOOK.isdisjoint(node):
                continue
            one = next(_contradictions(node, part, pointer, linked.schema), None)
            if one is not None and not hypothetical(pointer):
                found.add((*part.inside, *pointer))
                _report(part, pointer, one)
            elif "required" in node and not hypothetical(pointer):
                requirements.check(part, pointer, node)
    return found


def hypothetical(pointer: Pointer) -> bool:
    """Whether a schema stands inside ``not`` or ``if``."""
    return ("not" in pointer or "if" in pointer) and any(
        keyword in ("not", "if") for _, keyword in steps(pointer)
    )


def _report(part: Part, pointer: Pointer, one: _Contradiction) -> None:
    labels = []
    if one.other is not None:
        labels.append(Label(part.span(*pointer, one.other), "contradicts this"))
    part.report("HB1110", one.message, *pointer, *one.place, label=one.label, labels=labels)


def _contradictions(
    node: JsonObject, part: Part, pointer: Pointer, bundle: Schema
) -> Iterator[_Contradiction]:
    if not _LOWER.isdisjoint(node):
        yield from _numbers(node)
    if "enum" in node and not node["enum"]:
        yield _Contradiction(("enum",), "no value fits: the enum has no member", "empty")
    if not _SIZES.isdisjoint(node):
        yield from _sizes(node)
    if _JOINS.isdisjoint(node):
        return
    for keyword in ("anyOf", "oneOf"):
        if keyword in node and all(branch is False for branch in node[keyword]):
            yield _Contradiction(
                (keyword,), f"no value fits: every branch of `{keyword}` is false", "all false"
            )
    if "allOf" in node:
        yield from _all_of(schema_at(bundle, (*part.inside, *pointer)), bundle)
    properties = node.get("properties", {})
    for nth, name in enumerate(node.get("required", ())):
        if properties.get(name) is False:
            yield _Contradiction(
                ("required", nth),
                f"no object fits: `{name}` is required, and its schema is `false`",
                "can never be given",
            )


def _sizes(node: JsonObject) -> Iterator[_Contradiction]:
    """Bounds on sizes that cross."""
    for least, most, what in _BOUNDS:
        if most in node and least in node and node[least] > node[most]:
            yield _Contradiction(
                (most,),
                f"no {what} fits: `{least}` is {node[least]} and `{most}` is {node[most]}",
                f"less than `{least}`",
                least,
            )
    leading = len(node.get("prefixItems", ()))
    if node.get("items") is False and node.get("minItems", 0) > leading:
        yield _Contradiction(
            ("minItems",),
            f"no list fits: `items: false` allows {leading} items, and `minItems` asks for more",
            f"more than {leading}",
            "items",
        )


def _numbers(node: JsonObject) -> Iterator[_Contradiction]:
    """Bounds on numbers that leave nothing between them."""
    lower = [key for key in ("minimum", "exclusiveMinimum") if key in node]
    upper = [key for key in ("maximum", "exclusiveMaximum") if key in node]
    if not lower or not upper:
        return
    whole = node.get("type") == "integer"
    for low in lower:
        for high in upper:
            least, most = node[low], node[high]
            open_ended = low != "minimum" or high != "maximum"
            empty = least > most or (open_ended and least == most)
            if whole and not empty:
                first = math.floor(least) + 1 if low != "minimum" else math.ceil(least)
                last = math.ceil(most) - 1 if high != "maximum" else math.floor(most)
                empty = first > last
            if empty:
                yield _Contradiction(
                    (high,),
                    f"no number fits: `{low}` is {least} and `{high}` is {most}",
                    "leaves nothing",
                    low,
                )


def _all_of(node: Schema, bundle: Schema) -> Iterator[_Contradiction]:
    """Branches that share no type; refs are followed, unions inside branches are not."""
    assert isinstance(node, dict)  # it has an `allOf`
    left = _kinds(node, bundle)
    for nth, branch in enumerate(node["allOf"]):
        if branch is False:
            yield _Contradiction(
                ("allOf", nth), "no value fits: a branch of `allOf` is false", "false"
            )
        kinds = _kinds(branch, bundle)
        if kinds is None:
            continue
        left = kinds if left is None else left & kinds
        if not left:
            yield _Contradiction(
                ("allOf", nth),
                "no value fits: the branches of `allOf` share no type",
                "shares no type with what comes before",
            )
            return


def _kinds(schema: Schema, bundle: Schema) -> set[str] | None:
    """The types that a schema allows, with integers apart from other numbers; None for all."""
    found: set[str] | None = None
    seen: set[str] = set()
    while isinstance(schema, dict):
        named = schema.get("type")
        if named is not None:
            names = [named] if isinstance(named, str) else named
            kinds = set().union(*(_KINDS.get(one, {one}) for one in names))
            found = kinds if found is None else found & kinds
        ref = schema.get("$ref")
        if not isinstance(ref, str) or ref in seen:
            return found
        seen.add(ref)
        target = target_in(bundle, ref)
        schema = True if target is None else target
    return found
