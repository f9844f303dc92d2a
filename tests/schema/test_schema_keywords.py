"""Walking a schema by the table of keywords, and the verdicts that hold for any schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hermes_build.compiler.schema.values import _enum_is_plain, _fits_plainly
from hermes_build.keywords import (
    ANNOTATIONS,
    HOLDS,
    KNOWN,
    TYPES,
    depth,
    steps,
    strip_prompt,
    subschemas,
)
from tests.schema.world import check


def test_every_keyword_of_the_metaschema_is_known_or_refused_on_purpose() -> None:
    from jsonschema_specifications import REGISTRY

    base = "https://json-schema.org/draft/2020-12/"
    listed = set(REGISTRY.contents(f"{base}schema")["properties"])
    for name in (
        *("core", "applicator", "unevaluated", "validation", "meta-data"),
        *("format-annotation", "content"),
    ):
        listed |= set(REGISTRY.contents(f"{base}meta/{name}")["properties"])
    refused = {"$id", "$dynamicRef", "$dynamicAnchor", "$vocabulary"}
    refused |= {"$recursiveRef", "$recursiveAnchor", "dependencies"}
    assert listed - refused == KNOWN


def test_names_of_properties_and_data_are_no_keywords() -> None:
    schema = {
        "properties": {"properties": {"type": "object"}, "$ref": True, "default": {"items": {}}},
        "default": {"properties": {"a": {}}},
        "enum": [{"items": {}}],
        "$defs": {"not": {"not": False}},
        "prefixItems": [True, "text"],
        "x-note": {"items": {}},
    }
    assert [pointer for pointer, _ in subschemas(schema)] == [
        (),
        ("properties", "properties"),
        ("properties", "$ref"),
        ("properties", "default"),
        ("properties", "default", "items"),
        ("$defs", "not"),
        ("$defs", "not", "not"),
        ("prefixItems", 0),
    ]


def test_steps_leave_names_and_numbers_out() -> None:
    pointer = ("properties", "not", "anyOf", 0, "items", "default", "items")
    assert [keyword for _, keyword in steps(pointer)] == ["properties", "anyOf", "items", "default"]
    assert depth(("properties", "not", "anyOf", 0, "items")) == 3


def test_stripping_keeps_what_decides() -> None:
    schema = {
        "title": "t",
        "description": "d",
        "default": {"description": "data"},
        "properties": {
            "description": {"description": "d", "type": "string", "default": "x"},
            "examples": {"examples": ["x"], "enum": [{"title": "data"}]},
        },
    }
    assert strip_prompt(schema) == {
        "default": {"description": "data"},
        "properties": {
            "description": {"type": "string", "default": "x"},
            "examples": {"enum": [{"title": "data"}]},
        },
    }
    assert schema["title"] == "t"


scalars = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "#", "b c", 1.5])
)
names = st.sampled_from(
    [
        *sorted(KNOWN | HOLDS.keys()),
        "a",
        "b",
        "nullable",
        "#ref",
        "x-a",
        "$id",
        "$dynamicRef",
        "type",
        "required",
        "default",
    ]
)
refs = st.sampled_from(
    ["#", "#/properties/a", "#/$defs/a", "#a", "x.yaml#/$defs/a", "", "a b", "#/~2"]
)
junk = st.recursive(
    scalars | refs | st.sampled_from(TYPES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(junk, st.booleans(), st.sampled_from(["parameters", "output_schema"]))
def test_nothing_that_yaml_can_hold_is_too_odd_to_judge(schema: Any, ours: bool, key: str) -> None:
    outcome = check(json.dumps({key: schema}), ours=ours, key=key)
    if outcome.checked is None:
        assert [one for one in outcome.found if one.severity == "error"]
    else:
        jsonschema_rs.Draft202012Validator(outcome.schema, offline=True)


_value = scalars | st.lists(scalars, max_size=2) | st.dictionaries(names, scalars, max_size=2)
_size = st.integers(0, 3)
_number = st.integers(-3, 3) | st.sampled_from([0.5, 1.0])
_kind = st.sampled_from(TYPES)
LEAF: dict[str, st.SearchStrategy[Any]] = {
    "type": _kind | st.lists(_kind, min_size=1, max_size=3, unique=True),
    "enum": st.lists(_value, max_size=3),
    "const": _value,
    "default": _value,
    "examples": st.lists(_value, max_size=2),
    "description": st.sampled_from(["", "d"]),
    "format": st.sampled_from(["date", "email"]),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _size),
    **dict.fromkeys(("minProperties", "maxProperties"), _size),
    "uniqueItems": st.booleans(),
    "required": st.lists(st.sampled_from("abc"), unique=True, max_size=2),
}
leaves = st.fixed_dictionaries({}, optional=LEAF)


def valid_schemas() -> st.SearchStrategy[Any]:
    """Schemas that the metaschema accepts, with values that need not fit."""

    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        many = st.lists(inner, min_size=1, max_size=2)
        held = {
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "items": inner,
            "additionalProperties": inner,
            "not": inner,
            "anyOf": many,
            "allOf": many,
            "oneOf": many,
        }
        return st.fixed_dictionaries({}, optional={**LEAF, **held})

    return st.recursive(st.booleans() | leaves, around, max_leaves=4)


values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(valid_schemas())
def test_a_valid_schema_is_always_judged_to_the_end(schema: Any) -> None:
    outcome = check(json.dumps({"output_schema": schema}), key="output_schema")
    assert outcome.schema == schema
    assert not {"HB1101", "HB1107", "HB1114"} & set(outcome.codes)


@settings(max_examples=60, deadline=None)
@given(valid_schemas(), values)
def test_what_fits_plainly_fits(schema: Any, value: Any) -> None:
    assume(isinstance(schema, dict))
    engine = jsonschema_rs.Draft202012Validator(schema, offline=True)
    if _fits_plainly(schema, value):
        assert engine.is_valid(value)
    if "enum" in schema and _enum_is_plain(schema, schema["enum"]):
        assert all(map(engine.is_valid, schema["enum"]))


@settings(max_examples=60, deadline=None)
@given(valid_schemas(), values)
def test_every_value_of_a_clean_schema_fits_and_every_bad_one_is_told(
    schema: Any, value: Any
) -> None:
    outcome = check(json.dumps({"output_schema": schema}), key="output_schema")
    told = {"HB1103", "HB1104", "HB1105", "HB1110"} & set(outcome.codes)
    bad = False
    for _, node in subschemas(schema):
        if isinstance(node, dict):
            judge = Draft202012Validator(node)
            held = [*node.get("examples", ()), *node.get("enum", ())]
            held += [node[key] for key in ("default", "const") if key in node]
            bad = bad or not all(map(judge.is_valid, held))
    assert bool(told) >= bad
    stripped = strip_prompt(schema)
    assert strip_prompt(stripped) == stripped
    assert all(
        ANNOTATIONS.isdisjoint(node) for _, node in subschemas(stripped) if isinstance(node, dict)
    )
    assert Draft202012Validator(stripped).is_valid(value) == Draft202012Validator(schema).is_valid(
        value
    )


@settings(max_examples=60, deadline=None)
@given(leaves, values)
def test_a_proof_is_right(schema: Any, value: Any) -> None:
    """A contradiction refuses every value of the kind that it speaks of."""
    outcome = check(json.dumps({"output_schema": schema}), key="output_schema")
    for one in outcome.found:
        if one.code != "HB1110":
            continue
        if one.message.startswith("no value") or one.message.startswith("no member"):
            kinds: tuple[type, ...] = (object,)
        elif one.message.startswith("no number"):
            kinds = (int, float)
        else:
            kinds = {"text": (str,), "list": (list,), "object": (dict,)}[one.message.split()[1]]
        if isinstance(value, kinds) and not (isinstance(value, bool) and object not in kinds):
            assert not jsonschema_rs.is_valid(schema, value)
