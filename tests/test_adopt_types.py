"""Type names of other languages become those of JSON Schema, at the places of schemas alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_build.compiler.adopt.typenames import (
    ANY_NAMES,
    JSON_TYPES,
    TYPE_NAMES,
    Change,
    UnknownType,
    map_types,
    not_json,
)


def mapped(schema: Any) -> tuple[Any, list[Change], list[UnknownType]]:
    changes: list[Change] = []
    unknown: list[UnknownType] = []
    return map_types(schema, ("parameters",), changes, unknown), changes, unknown


@pytest.mark.parametrize(
    ("foreign", "target"),
    [
        ("dict", "object"), ("HashMap", "object"), ("Hashtable", "object"), ("Object", "object"),
        ("float", "number"), ("double", "number"), ("Double", "number"), ("NUMBER", "number"),
        ("tuple", "array"), ("ArrayList", "array"), ("Array", "array"), ("list", "array"),
        ("Set", "array"), ("Queue", "array"), ("Stack", "array"), ("ARRAY", "array"),
        ("String", "string"), ("str", "string"), ("char", "string"), ("STRING", "string"),
        ("long", "integer"), ("Integer", "integer"), ("byte", "integer"), ("Bigint", "integer"),
        ("int", "integer"), ("Boolean", "boolean"), ("bool", "boolean"), ("None", "null"),
    ],
)  # fmt: skip
def test_a_foreign_type_name_is_read_as_json_schema(foreign: str, target: str) -> None:
    schema, changes, unknown = mapped({"type": foreign})
    assert schema == {"type": target}
    assert changes == [Change(("parameters", "type"), foreign, target)]
    assert not unknown


@pytest.mark.parametrize("name", sorted(ANY_NAMES))
def test_any_becomes_no_type_at_all(name: str) -> None:
    schema, changes, _ = mapped({"type": name, "description": "x"})
    assert schema == {"description": "x"}
    assert [one.was for one in changes] == [name]


def test_a_list_of_type_names_is_mapped_and_names_each_once() -> None:
    assert mapped({"type": ["float", "double", "None"]})[0] == {"type": ["number", "null"]}
    assert mapped({"type": ["str", "any"]})[0] == {}


def test_an_unknown_type_name_is_told_with_its_place() -> None:
    _, _, unknown = mapped({"properties": {"x": {"items": {"type": "Wibble"}}}})
    assert unknown == [UnknownType(("parameters", "properties", "x", "items", "type"), "Wibble")]
    assert mapped({"type": 3})[2] and mapped({"type": {"type": "dict"}})[2]


def test_data_that_looks_like_a_schema_is_left_alone() -> None:
    data = {"type": "dict"}
    schema = {
        "type": "object",
        "properties": {"type": {"type": "string", "default": data, "enum": ["dict", data]}},
        "const": data,
        "examples": [data],
        "x-note": data,
        "required": ["type"],
        "dependentRequired": {"type": ["dict"]},
    }
    result, changes, unknown = mapped(copy.deepcopy(schema))
    assert result == schema
    assert not changes and not unknown


def test_every_place_of_a_schema_is_reached_and_key_order_is_kept() -> None:
    leaf = {"type": "dict"}
    schema = {
        "additionalProperties": leaf, "$defs": {"type": leaf}, "allOf": [leaf], "anyOf": [leaf],
        "not": leaf, "if": leaf, "then": leaf, "else": leaf, "prefixItems": [leaf], "items": leaf,
        "contains": leaf, "propertyNames": leaf, "patternProperties": {"^a": leaf},
        "dependentSchemas": {"a": leaf}, "unevaluatedProperties": leaf, "oneOf": [leaf],
        "unevaluatedItems": leaf, "contentSchema": leaf, "definitions": {"type": leaf},
        "properties": {"type": leaf}, "type": "dict",
    }  # fmt: skip
    result, changes, _ = mapped(schema)
    assert list(result) == list(schema)
    assert len(changes) == len(schema)
    assert "dict" not in str(result)


def test_a_tuple_of_an_older_draft_is_spelt_as_todays() -> None:
    schema, changes, _ = mapped({"items": [{"type": "float"}], "additionalItems": False})
    assert schema == {"prefixItems": [{"type": "number"}], "items": False}
    assert [one.kind for one in changes] == ["keyword", "type", "keyword"]


def test_the_table_never_renames_what_is_json_schema_already() -> None:
    assert not set(TYPE_NAMES) & set(JSON_TYPES)
    assert set(TYPE_NAMES.values()) <= set(JSON_TYPES)
    assert not set(TYPE_NAMES) & ANY_NAMES


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["type", "properties", "items", "anyOf", "default", "x"]), inner
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_mapping_never_raises_and_mapping_twice_changes_nothing_more(value: Any) -> None:
    once, _, unknown = mapped(value)
    assert not_json(value) is None
    if not unknown:
        twice, changes, _ = mapped(once)
        assert twice == once
        assert not changes


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (2**53 + 1, "2^53"),
        (-(10**30), "2^53"),
        ("a\ud800", "U+D800"),
        ({"\udfff": 1}, "U+DFFF"),
        ({3: 1}, "not text"),
        ((1, 2), "tuple"),
        ({1, 2}, "set"),
    ],
)
def test_a_value_that_json_cannot_hold_is_found_with_its_place(value: Any, words: str) -> None:
    fault = not_json({"a": [0, value]})
    assert fault is not None
    assert fault[0][:2] == ("a", 1)
    assert words in fault[1]


def test_very_deep_values_are_refused_and_not_walked_for_ever() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    fault = not_json(value)
    assert fault is not None and "deeper" in fault[1]
