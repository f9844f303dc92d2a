"""A repair follows the schema wherever it leads: unions, references, and whatever is nested."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.validation import Arguments

INTEGER = {"type": "integer"}
NULL = {"type": "null"}
INTEGERS = {"type": "array", "items": INTEGER}


def object_of(**parts: Any) -> dict[str, Any]:
    return {"type": "object", "properties": parts}


def closed(**parts: Any) -> dict[str, Any]:
    return {**object_of(**parts), "additionalProperties": False}


def repair(schema: dict[str, Any], args: Any) -> Any:
    before = copy.deepcopy(args)
    try:
        return Arguments("t", schema).accept(args)
    finally:
        assert args == before


def refused(schema: dict[str, Any], args: Any) -> str:
    with pytest.raises(Refusal) as caught:
        repair(schema, args)
    return caught.value.message


@pytest.mark.parametrize(
    ("schema", "sent", "got"),
    [
        (object_of(o=object_of(n=INTEGER)), {"o": {"n": "1"}}, {"o": {"n": 1}}),
        (object_of(l={"items": object_of(n=INTEGER)}), {"l": [{"n": "1"}]}, {"l": [{"n": 1}]}),
        (
            object_of(l={"prefixItems": [True, INTEGER], "items": INTEGERS}),
            {"l": ["1", "1", "1"]},
            {"l": ["1", 1, [1]]},
        ),
        ({"type": "object", "additionalProperties": INTEGER}, {"x": "1"}, {"x": 1}),
        (
            {**object_of(x={"type": "string"}), "additionalProperties": INTEGER},
            {"x": "1", "y": "1"},
            {"x": "1", "y": 1},
        ),
        (
            {
                "type": "object",
                "patternProperties": {"^n": INTEGER, r"^\p{Lu}": INTEGER},
                "additionalProperties": {"type": "boolean"},
            },
            {"n1": "1", "Éa": "2", "b": "true"},
            {"n1": 1, "Éa": 2, "b": True},
        ),
        ({"type": "object", "allOf": [object_of(n=INTEGER)]}, {"n": "1"}, {"n": 1}),
        (
            {"type": "object", "allOf": [object_of(n={"minimum": 1}), object_of(n=INTEGER)]},
            {"n": "1"},
            {"n": 1},
        ),
        (
            {
                **object_of(n={"$ref": "#/$defs/n"}),
                "$defs": {"n": {"$ref": "#/$defs/m"}, "m": INTEGER},
            },
            {"n": "1"},
            {"n": 1},
        ),
        (
            {**object_of(n={"$ref": "#/$defs/a~1b%25"}), "$defs": {"a/b%": INTEGER}},
            {"n": "1"},
            {"n": 1},
        ),
        (
            {"$id": "https://example.org/t", **object_of(n={"$ref": "#/$defs/n"}),
             "$defs": {"n": {"anyOf": [object_of(b=INTEGER), INTEGERS]}}},
            {"n": {"b": "1"}},
            {"n": {"b": 1}},
        ),
        (object_of(n={"anyOf": [INTEGER, NULL]}), {"n": "42"}, {"n": 42}),
        (object_of(n={"oneOf": [INTEGER, NULL]}), {"n": "42"}, {"n": 42}),
        (object_of(n={"anyOf": [{"anyOf": [INTEGERS, NULL]}, NULL]}), {"n": "[1]"}, {"n": [1]}),
        (object_of(n={"anyOf": [object_of(m=INTEGER), NULL]}), {"n": {"m": "1"}}, {"n": {"m": 1}}),
        (
            object_of(n={"anyOf": [INTEGERS, {"type": "array", "items": {"type": "boolean"}}]}),
            {"n": ["true", "false"]},
            {"n": [True, False]},
        ),
        (
            object_of(n={"anyOf": [closed(a=INTEGER), closed(b=INTEGER)]}),
            {"n": {"b": "1"}},
            {"n": {"b": 1}},
        ),
        (
            {"type": "object", "anyOf": [closed(a=INTEGER), closed(b=INTEGER)]},
            {"b": "1"},
            {"b": 1},
        ),
        (
            object_of(
                n={"anyOf": [closed(a=INTEGER), {"type": "array", "items": closed(b=INTEGER)}]}
            ),
            {"n": {"b": "1"}},
            {"n": [{"b": 1}]},
        ),
    ],
)  # fmt: skip
def test_a_repair_is_found_wherever_the_schema_leads(
    schema: dict[str, Any], sent: Any, got: Any
) -> None:
    assert repr(repair(schema, sent)) == repr(got)


def test_a_union_told_apart_by_a_constant_repairs_the_branch_that_is_named() -> None:
    one = {**object_of(kind={"const": "n"}, value=INTEGER), "required": ["kind", "value"]}
    two = {**object_of(kind={"const": "b"}, value={"type": "boolean"}), "required": ["kind"]}
    for keyword in ("anyOf", "oneOf"):
        schema = object_of(l={"type": "array", "items": {keyword: [one, two]}})
        sent = [{"kind": "b", "value": "true"}, {"kind": "n", "value": "1"}, {"kind": "b"}]
        got = repair(schema, {"l": sent})
        assert got == {"l": [{"kind": "b", "value": True}, {"kind": "n", "value": 1}, sent[2]]}
        refused(schema, {"l": [{"kind": "b", "value": "1"}]})


def test_what_fits_is_the_same_object_beside_what_was_repaired() -> None:
    either = {"anyOf": [closed(a=INTEGER), closed(a={"type": "string"}), INTEGERS]}
    schema = object_of(x=either, y={"anyOf": [INTEGERS, object_of()]}, n=INTEGER)
    args: dict[str, Any] = {"x": {"a": "1"}, "y": [1, 2], "n": "1"}
    got = repair(schema, args)
    assert got == {**args, "n": 1}
    assert got["x"] is args["x"]
    assert got["y"] is args["y"]


def test_where_two_readings_fit_the_order_is_fixed() -> None:
    boolean = {"type": "boolean"}
    # A scalar before a list, a list that is spelt out before one that is made.
    assert repair(object_of(a={"anyOf": [INTEGERS, INTEGER]}), {"a": "3"}) == {"a": 3}
    assert repair(object_of(a={"anyOf": [INTEGER, INTEGERS]}), {"a": "3"}) == {"a": 3}
    small = {"type": "integer", "maximum": 2}
    assert repair(object_of(a={"anyOf": [small, INTEGERS]}), {"a": "3"}) == {"a": [3]}
    rows = {"type": "array", "items": {"type": "array"}}
    assert repair(object_of(a=rows), {"a": "[1, 2]"}) == {"a": [[1], [2]]}
    texts = {"type": "array", "items": {"enum": ["true", "null"]}}
    assert repair(object_of(a={"anyOf": [texts, boolean]}), {"a": "true"}) == {"a": True}
    assert repair(object_of(a={"anyOf": [texts, NULL]}), {"a": "null"}) == {"a": None}
    # Of branches that an object can be made to fit, the first.
    for first, second, got in ((INTEGER, boolean, 1), (boolean, INTEGER, 1)):
        union = {"anyOf": [closed(v=first), closed(v=second)]}
        assert repair(object_of(a=union), {"a": {"v": "1"}}) == {"a": {"v": got}}
    union = {"anyOf": [closed(v=INTEGER, w=INTEGERS), closed(v=INTEGER, w=INTEGER)]}
    assert repair(object_of(a=union), {"a": {"v": "1", "w": "2"}}) == {"a": {"v": 1, "w": [2]}}


def test_of_a_union_that_only_one_may_fit_no_branch_is_taken_that_fits_two() -> None:
    union = {"oneOf": [object_of(v=INTEGER), object_of(v={"type": ["integer", "boolean"]})]}
    refused(object_of(a=union), {"a": {"v": "1"}})
    assert repair(object_of(a=union), {"a": {"v": "true"}}) == {"a": {"v": True}}


def test_a_schema_that_holds_itself_is_followed_as_far_as_the_value_goes() -> None:
    schema = object_of(n=INTEGER, children={"type": "array", "items": {"$ref": "#"}})
    sent = {"children": [{"n": "1", "children": '[{"n": "2", "children": {"n": "3"}}]'}]}
    assert repair(schema, sent) == {
        "children": [{"n": 1, "children": [{"n": 2, "children": [{"n": 3}]}]}]
    }


def test_lists_within_lists_of_themselves_come_to_an_end() -> None:
    itself = {"type": "array", "items": {"$ref": "#/$defs/l"}}
    schema = {**object_of(a={"$ref": "#/$defs/l"}), "$defs": {"l": itself}}
    for value in (3, "x", {"b": 1}, {"item": {"item": {"item": 3}}}):
        refused(schema, {"a": value})
    schema["$defs"]["l"] = {"anyOf": [itself, INTEGER]}
    assert repair(schema, {"a": "3"}) == {"a": 3}
    assert repair(schema, {"a": [["3"], "4"]}) == {"a": [[3], 4]}
    refused(schema, {"a": "x"})


def test_references_and_unions_in_a_circle_come_to_an_end() -> None:
    definitions = {
        "a": {"$ref": "#/$defs/b"},
        "b": {"$ref": "#/$defs/a"},
        "u": {"anyOf": [object_of(u={"$ref": "#/$defs/u"}, n=INTEGER), {"$ref": "#/$defs/v"}]},
        "v": {"type": "array", "items": {"$ref": "#/$defs/u"}},
    }
    schema = {**object_of(u={"$ref": "#/$defs/u"}), "$defs": definitions}
    assert repair(schema, {"u": {"u": {"u": [{"n": "1"}]}}}) == {"u": {"u": {"u": [{"n": 1}]}}}
    refused(schema, {"u": {"u": "x"}})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": True, "b": False, "c": INTEGER}},
        {"type": "object", "properties": {"c": INTEGER}, "additionalProperties": True},
        {**object_of(c=INTEGER), "patternProperties": {"^a": True}, "allOf": [True]},
        object_of(a={"items": True, "prefixItems": [True, False]}, c=INTEGER),
        object_of(a={"anyOf": [True, False]}, c=INTEGER),
        object_of(a={"items": False}, c=INTEGER),
    ],
)
def test_schemas_that_are_true_or_false_are_borne(schema: dict[str, Any]) -> None:
    assert repair(schema, {"a": "1", "c": "1"}) == {"a": "1", "c": 1}
    refused(schema, {"a": "1", "c": "x"})


def test_what_a_text_holds_is_repaired_as_if_it_had_been_sent() -> None:
    schema = object_of(a={"type": "array", "items": object_of(n=INTEGER, l=INTEGERS)})
    text = '[{"n": "1", "l": "2"}, "{\\"l\\": \\"[3]\\"}"]'
    assert repair(schema, {"a": text}) == {"a": [{"n": 1, "l": [2]}, {"l": [3]}]}


def test_conditions_and_negations_guide_no_repair_but_are_held_to() -> None:
    schema = {
        **object_of(kind={"type": "string"}, n={"type": ["integer", "boolean"]}),
        "if": object_of(kind={"const": "i"}),
        "then": object_of(n=INTEGER),
        "not": {"properties": {"n": {"const": 13}}},
    }
    assert repair(schema, {"kind": "i", "n": "1"}) == {"kind": "i", "n": 1}
    refused(schema, {"kind": "i", "n": "true"})
    refused(schema, {"kind": "j", "n": "13"})


def test_a_default_may_be_what_makes_a_repair_whole() -> None:
    schema = {**object_of(n=INTEGER, d={**INTEGER, "default": 5}), "required": ["d"]}
    assert repair(schema, {"n": "1"}) == {"n": 1, "d": 5}
    most = {**object_of(n=INTEGER, d={**INTEGER, "default": 5}), "maxProperties": 1}
    assert repair(most, {"n": "1"}) == {"n": 1}
