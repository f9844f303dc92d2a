"""Counting looks comes to what taking each of them would."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_build.looks import ANY, EVERY, _inside, count, multiplied

NAMES = ("a", "b")
LEVELS = 6


@st.composite
def bundles(draw: st.DrawFn) -> dict[str, Any]:
    """Definitions by number, each referring to later ones alone, so that looks have an end."""

    def schema(level: int, depth: int) -> Any:
        kind = draw(st.sampled_from(["ref", "all", "if", "object", "list", "plain"]))
        if kind == "ref" and level < LEVELS:
            return {"$ref": str(draw(st.integers(level + 1, LEVELS)))}
        if depth == 0 or kind in ("ref", "plain"):
            return draw(st.sampled_from([True, {}, {"type": "string"}]))
        inner = [schema(level, depth - 1) for _ in range(2)]
        if kind == "all":
            return {"allOf": inner, "anyOf": inner[:1]}
        if kind == "if":
            return {"if": inner[0], "not": inner[1]}
        if kind == "object":
            return {"properties": {"a": inner[0]}, "additionalProperties": inner[1]}
        return {"prefixItems": inner[:1], "items": inner[1]}

    return {str(level): schema(level, 2) for level in range(LEVELS, -1, -1)}


values = st.recursive(
    st.sampled_from([None, 1, "x"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=2)
    ),
    max_leaves=6,
)


def taken(schema: Any, value: Any, bundle: dict[str, Any]) -> int:
    return 1 + sum(taken(one, part, bundle) for one, part in _inside(schema, value, bundle.get))


@settings(max_examples=150, deadline=None)
@given(bundle=bundles(), value=st.one_of(values, st.sampled_from([ANY, EVERY])))
def test_a_count_is_the_number_of_looks(bundle: dict[str, Any], value: Any) -> None:
    assert count(bundle["0"], value, bundle.get, 10**9, {}) == taken(bundle["0"], value, bundle)


def test_a_count_ends_where_looks_do_not() -> None:
    bundle = {str(nth): {"allOf": [{"$ref": str(nth + 1)}] * 2} for nth in range(10_000)}
    assert count(bundle["0"], ANY, bundle.get, 1000, {}) == 1001
    assert multiplied(bundle["0"], 1, bundle.get, 1000)


def test_what_leads_back_to_itself_counts_once() -> None:
    bundle = {"0": {"$ref": "0"}}
    assert count(bundle["0"], ANY, bundle.get, 1000, {}) == 2


def test_a_large_value_is_no_multiplication() -> None:
    schema = {"items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}
    assert not multiplied(schema, [1] * 100_000, {}.get, 1000)
