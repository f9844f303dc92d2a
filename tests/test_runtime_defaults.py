"""Filling in the defaults of a schema."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from hermes_build.runtime.defaults import make_plan
from hermes_build.runtime.validation import subschema_check


def fill(schema: dict[str, Any], value: Any) -> Any:
    plan = make_plan(schema, subschema_check(schema))
    return value if plan is None else plan.fill(value)


def properties(**parts: Any) -> dict[str, Any]:
    return {"type": "object", "properties": parts}


ONE = {"type": "integer", "default": 1}
INNER = properties(a=ONE)


@pytest.mark.parametrize(
    ("schema", "value", "filled"),
    [
        (properties(a=ONE), {}, {"a": 1}),
        (properties(a=ONE), {"a": None}, {"a": None}),
        (properties(a=ONE), [], []),
        (properties(o=INNER), {}, {}),
        (properties(o=INNER), {"o": {}}, {"o": {"a": 1}}),
        (properties(o={**INNER, "default": {}}), {}, {"o": {"a": 1}}),
        (properties(l={"items": INNER}), {"l": [{}, 3, {"a": 2}]}, {"l": [{"a": 1}, 3, {"a": 2}]}),
        (
            properties(l={"prefixItems": [True, INNER], "items": INNER}),
            {"l": [{}, {}, {}]},
            {"l": [{}, {"a": 1}, {"a": 1}]},
        ),
        ({"additionalProperties": INNER}, {"x": {}}, {"x": {"a": 1}}),
        ({**properties(x=True), "additionalProperties": INNER}, {"x": {}}, {"x": {}}),
        ({"$ref": "#/$defs/d", "$defs": {"d": INNER}}, {}, {"a": 1}),
        ({"allOf": [INNER, properties(b=ONE)]}, {}, {"a": 1, "b": 1}),
        (properties(a={"$ref": "#/$defs/d"}) | {"$defs": {"d": ONE}}, {}, {"a": 1}),
        (properties(a={"$ref": "#/$defs/d", "default": 2}) | {"$defs": {"d": ONE}}, {}, {"a": 2}),
        (properties(a={"$ref": "#/$defs/a~1b%25"}) | {"$defs": {"a/b%": ONE}}, {}, {"a": 1}),
        ({"anyOf": [INNER]}, {}, {}),
        ({"oneOf": [INNER], "if": INNER, "then": INNER}, {}, {}),
    ],
)
def test_defaults_are_filled_in_wherever_their_parent_is_present(
    schema: dict[str, Any], value: Any, filled: Any
) -> None:
    before = copy.deepcopy(value)
    assert fill(schema, value) == filled
    assert value == before


@pytest.mark.parametrize(
    "part",
    [
        {"type": "string", "default": None},
        {"type": "integer", "default": "x"},
        {"enum": ["a"], "default": "b"},
        {"$ref": "#/$defs/nope", "default": 1},
        {"$ref": "https://example.org/schema", "default": 1},
        {"type": "array", "items": {"type": "string"}, "default": [1]},
        {"type": "number", "default": float("nan")},
    ],
)
def test_a_default_that_its_own_schema_refuses_is_not_filled_in(part: dict[str, Any]) -> None:
    assert fill(properties(a=part), {}) == {}


def test_a_schema_that_holds_itself_is_followed_as_far_as_the_value_goes() -> None:
    schema = properties(a=ONE, child={"$ref": "#"})
    assert fill(schema, {"child": {"child": {}}}) == {
        "a": 1,
        "child": {"a": 1, "child": {"a": 1}},
    }


def test_a_default_that_calls_for_itself_ends() -> None:
    schema = properties(child={"$ref": "#", "default": {}}, a=ONE)
    assert fill(schema, {})["a"] == 1


def test_references_in_a_circle_end() -> None:
    schema = {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    }
    assert fill(schema, {}) == {}


def test_a_root_with_an_id_still_resolves_its_own_references() -> None:
    schema = {"$id": "https://example.org/t", **properties(a={"$ref": "#/$defs/d"})}
    assert fill({**schema, "$defs": {"d": ONE}}, {}) == {"a": 1}


def test_what_is_complete_comes_back_as_the_very_object() -> None:
    schema = properties(o=INNER, l={"items": INNER})
    value = {"o": {"a": 1}, "l": [{"a": 2}]}
    assert fill(schema, value) is value


_leaf = st.sampled_from(
    [
        {"type": "integer", "default": 1},
        {"type": "string", "default": None},
        {"type": "string"},
        {"default": {}},
        True,
    ]
)
_schemas = st.recursive(
    _leaf,
    lambda inner: (
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(lambda p: properties(**p))
        | inner.map(lambda one: {"type": "array", "items": one})
        | inner.map(lambda one: {"allOf": [one]})
    ),
    max_leaves=8,
)
_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=2),
    lambda inner: (
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=150)
@given(schema=_schemas.filter(lambda one: isinstance(one, dict)), value=_values)
def test_filling_keeps_a_fitting_value_fitting_and_is_done_in_one_go(
    schema: dict[str, Any], value: Any
) -> None:
    before = copy.deepcopy(value)
    filled = fill(schema, value)
    assert value == before
    assert fill(schema, filled) == filled
    validator = Draft202012Validator(schema)
    if validator.is_valid(value):
        assert validator.is_valid(filled)
