"""Arguments that do not fit are refused in words that say where, what and which value."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls.one_tool import Make, echo, error_of
from tests.runtime_program import READ_FILE


@pytest.mark.parametrize("args", [[], "x", 3, "[]", "", [("path", "a")]])
def test_arguments_that_are_no_object_are_refused(make: Make, args: Any) -> None:
    assert "must be a JSON object" in error_of(make(echo).call("t", args))


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({}, '"path" is a required property'),
        ({"path": ""}, 'path: must have at least 1 character, but is the text ""'),
        ({"path": "a", "limit": "3x"}, 'limit: must be an integer, but is the text "3x"'),
        ({"path": "a", "limit": 9999}, "limit: must be at most 2000, but is 9999"),
        ({"path": "a", "nope": 1}, "'nope' was unexpected"),
        ({"path": "a", "limit": True}, "limit: must be an integer, but is true"),
        ({"path": object()}, "not JSON"),
        ({1: 2}, "not JSON"),
    ],
)
def test_a_refusal_says_where_what_and_which_value(make: Make, args: Any, says: str) -> None:
    ran: list[object] = []
    registry = make(lambda args, **context: ran.append(args) or "ok")
    assert says in error_of(registry.call("t", args))
    assert not ran


def test_a_long_offending_value_is_shortened(make: Make) -> None:
    message = error_of(make(echo).call("t", {"path": "a", "limit": "x" * 100_000}))
    assert "more characters" in message
    assert len(message) < 500


def test_many_problems_are_cut_to_a_readable_few(make: Make) -> None:
    properties = {f"p{index}": {"type": "string"} for index in range(30)}
    registry = make(echo, {"type": "object", "properties": properties})
    message = error_of(registry.call("t", dict.fromkeys(properties, 1)))
    assert "and 25 more" in message


def test_a_union_says_what_each_branch_wanted(make: Make) -> None:
    union = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    registry = make(echo, {"type": "object", "properties": {"a": union}})
    message = error_of(registry.call("t", {"a": "x"}))
    assert 'a: must be an integer or null, but is the text "x"' in message


def test_a_union_of_which_one_branch_was_meant_says_what_is_wrong_within(make: Make) -> None:
    branch = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    union = {"anyOf": [branch, {"type": "null"}, {"const": "none"}]}
    registry = make(echo, {"type": "object", "properties": {"a": union}})
    message = error_of(registry.call("t", {"a": {"n": "x"}}))
    assert message.endswith(': a.n: must be an integer, but is the text "x".')
    assert 'must be "none"' in error_of(registry.call("t", {"a": 3}))


def test_the_members_of_an_enum_are_listed_up_to_a_readable_number(make: Make) -> None:
    properties = {
        "few": {"enum": ["add", "sub", "mul", "div"]},
        "many": {"enum": list(range(10_000))},
        "long": {"enum": ["x" * 10_000, *map(str, range(30))]},
    }
    registry = make(echo, {"type": "object", "properties": properties})
    message = error_of(registry.call("t", {"few": "x"}))
    assert 'few: must be one of "add", "sub", "mul", "div", but is the text "x"' in message
    message = error_of(registry.call("t", {"many": -1, "long": "y"}))
    assert "19 or 9980 others, but is -1" in message
    assert len(message) < 900


@pytest.mark.parametrize(
    ("schema", "value", "says"),
    [
        ({"type": "number"}, "1x", 'a: must be a number, but is the text "1x"'),
        ({"type": ["null", "string"]}, [1], "a: must be text or null, but is the list [1]"),
        ({"const": 3}, 4, "a: must be 3, but is 4"),
        ({"exclusiveMaximum": 9}, 9, "a: must be less than 9, but is 9"),
        ({"multipleOf": 2}, 3, "a: must be a multiple of 2, but is 3"),
        ({"pattern": "^a"}, "b", 'a: must match the pattern "^a", but is the text "b"'),
        ({"minItems": 2}, [1], "a: must have at least 2 items, but is the list [1]"),
        ({"maxProperties": 0}, {"b": 1}, "a: must have at most 0 properties, but is the object"),
        ({"uniqueItems": True}, [1, 1], "a: must not hold the same item twice"),
        ({"contains": {"const": 1}}, [2], "a: must hold as many items as its `contains`"),
        ({"propertyNames": {"maxLength": 1}}, {"bb": 1}, 'a: the name "bb" must have at most 1'),
        ({"not": {"type": "string"}}, "x", 'a: must not fit {"type": "string"}'),
        (False, 1, "a: must not be given, but is 1"),
        ({"oneOf": [{"minimum": 1}, {"minimum": 2}]}, 3, "must fit one of its alternatives only"),
        ({"items": {"required": ["b"]}}, [{}], 'a[0]: "b" is a required property'),
        ({"unevaluatedItems": False}, [1], "a: Unevaluated items are not allowed"),
    ],
)
def test_each_demand_is_told_in_plain_words(make: Make, schema: Any, value: Any, says: str) -> None:
    registry = make(echo, {"type": "object", "properties": {"a": schema}})
    assert says in error_of(registry.call("t", {"a": value}))


def test_a_misspelt_property_is_told_beside_the_one_that_was_meant(make: Make) -> None:
    properties = {"word": {}, "ignore_case": {}, "o": {"$ref": "#/$defs/o"}}
    inner = {"type": "object", "properties": {"depth": {}}, "additionalProperties": False}
    parameters = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": {"o": {"anyOf": [inner, {"type": "null"}]}},
    }
    call = make(echo, parameters).call
    assert "('wrod' was unexpected, did you mean 'word'?)" in error_of(call("t", {"wrod": 1}))
    # A property that is there already was not misspelt.
    message = error_of(call("t", {"wrod": 1, "word": 1}))
    assert "('wrod' was unexpected; there are only 'word', 'ignore_case', 'o')" in message
    message = error_of(call("t", {"wrod": 1, "ignoreCase": 1, "x": 2}))
    assert "'wrod', 'ignoreCase', 'x' were unexpected" in message
    assert "did you mean 'word' for 'wrod' and 'ignore_case' for 'ignoreCase'?" in message
    message = error_of(call("t", {"o": {"dept": 1}}))
    assert ": o: Additional properties are not allowed ('dept' was unexpected, did you" in message


def test_a_misspelt_property_that_has_a_default_is_told_as_well(make: Make) -> None:
    inner = {"properties": {"depth": {"default": 1}}, "additionalProperties": False}
    properties = {"limit": {"type": "integer", "default": 500}, "o": inner, "r": inner}
    properties["r"] = {**inner, "default": {}}
    parameters = {"type": "object", "properties": properties, "additionalProperties": False}
    call = make(echo, parameters).call
    assert "('limt' was unexpected, did you mean 'limit'?)" in error_of(call("t", {"limt": 1}))
    message = error_of(call("t", {"o": {"dept": 1}, "limt": 1}))
    assert "('dept' was unexpected, did you mean 'depth'?)" in message
    # What was sent itself was not misspelt.
    message = error_of(call("t", {"limit": 1, "limt": 1}))
    assert "there are only 'limit', 'o', 'r'" in message


def test_a_flood_of_unexpected_names_makes_a_short_message(make: Make) -> None:
    parameters = {"type": "object", "properties": {}, "additionalProperties": False}
    names = {f"{'x' * 1_000}{index}": 1 for index in range(500)}
    message = error_of(make(echo, parameters).call("t", names))
    assert "and 495 others were unexpected; there are none" in message
    assert len(message) < 600


def test_a_flood_of_problems_is_counted(make: Make) -> None:
    parameters = {"type": "object", "properties": {"a": {"items": {"type": "integer"}}}}
    message = error_of(make(echo, parameters).call("t", {"a": ["x"] * 3_000}))
    assert message.count(";") == 5
    assert message.endswith("; and 2995 more.")


def test_every_refusal_of_arguments_has_one_stable_word() -> None:
    from hermes_build.runtime.errors import Refusal
    from hermes_build.runtime.validation import Arguments

    deep: Any = {}
    for _ in range(300):
        deep = {"a": deep}
    gate = Arguments("t", READ_FILE)
    for args in ([], "x", {}, {"path": 1}, {"path": object()}, {"path": float("nan")}, deep):
        with pytest.raises(Refusal) as caught:
            gate.accept(args)
        assert caught.value.kind == "invalid_arguments", args
        assert caught.value.fields == {}


def test_arguments_nested_too_deeply_are_refused_not_crashed_on(make: Make) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    registry = make(echo, schema)
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert "nested more than" in error_of(registry.call("t", deep))
    while deep:  # taken apart by hand: freeing it would recurse
        deep = deep.pop("a")
