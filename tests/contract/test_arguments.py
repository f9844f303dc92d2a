"""Points 28 to 31 of the contract: what a handler gets of what was sent."""

from __future__ import annotations

import asyncio
import json
from copy import deepcopy
from typing import Any

import pytest

from hermes_build.runtime.coercion import Repair
from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import Make, error_of


class Handled:
    """What a handler was given, at its last call."""

    def __init__(self) -> None:
        self.calls = 0
        self.args: Any = None

    def __call__(self, args: dict[str, Any]) -> str:
        self.calls += 1
        self.args = args
        return "ran"


def one(part: Any, **more: Any) -> dict[str, Any]:
    """A schema with one property ``x``."""
    return {"type": "object", "properties": {"x": part}, **more}


def given(make: Make, schema: dict[str, Any], sent: Any) -> Any:
    """What the handler got for ``x``."""
    handled = Handled()
    answer = make(handled, schema).call("t", {"x": sent})
    assert answer == "ran", answer
    return handled.args["x"]


TEXT_OR = {"anyOf": [{"type": "integer"}, {"type": "array"}, {"type": "string"}]}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"type": "string"}, '{"a": [1, 2]}'),
        ({"type": "string"}, "42"),
        ({"type": "string"}, "true"),
        ({"type": "string"}, "null"),
        ({"type": "string"}, " padded \n"),
        ({"type": ["string", "integer"]}, "42"),
        ({"type": ["integer", "string", "null"]}, "null"),
        (TEXT_OR, "[1]"),
        (TEXT_OR, "7"),
        ({"oneOf": [{"type": "boolean"}, {"type": "string"}]}, "true"),
        ({"type": "array", "items": {"type": "string"}}, ["1", "[2]"]),
        ({}, "[]"),
        ({"type": "number"}, 1),
        ({"type": "array"}, []),
        ({"type": ["array", "null"]}, None),
    ],
)
def test_28_a_value_that_fits_is_never_touched(make: Make, part: Any, value: Any) -> None:
    got = given(make, one(part), value)
    assert got == value and type(got) is type(value)


def test_28_a_value_that_fits_stays_beside_one_that_is_repaired(make: Make) -> None:
    handled = Handled()
    schema = one({"type": "string"}, required=["n"])
    schema["properties"]["n"] = {"type": "integer"}
    make(handled, schema).call("t", {"x": '["1"]', "n": "2"})
    assert handled.args == {"x": '["1"]', "n": 2}


INTEGER, NUMBER = {"type": "integer"}, {"type": "number"}


@pytest.mark.parametrize(
    ("part", "sent", "value"),
    [
        (INTEGER, "42", 42),
        (INTEGER, "-7", -7),
        (INTEGER, "3.0", 3),
        (INTEGER, "1e3", 1000),
        (INTEGER, "9007199254740993", 9007199254740993),
        (INTEGER, "9007199254740993.0", 9007199254740993),
        (NUMBER, "9007199254740993", 9007199254740993),
        (NUMBER, "-0.5e-1", -0.05),
        (NUMBER, "3", 3),
    ],
)
def test_29_number_text_in_jsons_grammar_is_a_number_exactly(
    make: Make, part: Any, sent: str, value: Any
) -> None:
    got = given(make, one(part), sent)
    assert got == value and isinstance(got, type(value)) and not isinstance(got, bool)


NO_NUMBERS = (
    *("1_000", " 42", "42\n", " 42\n", "٤٢", "４２", "inf", "-inf", "nan", "Infinity", "NaN"),
    *("+1", "01", "0x10", "1.", ".5", "", "1e999", "4 2"),
)


@pytest.mark.parametrize("sent", NO_NUMBERS)
@pytest.mark.parametrize("part", [INTEGER, NUMBER], ids=["integer", "number"])
def test_29_other_text_is_no_number(make: Make, part: Any, sent: str) -> None:
    handled = Handled()
    assert "x: " in error_of(make(handled, one(part)).call("t", {"x": sent}))
    assert handled.calls == 0


def test_29_text_with_a_fraction_is_no_integer(make: Make) -> None:
    assert "x: " in error_of(make(Handled(), one(INTEGER)).call("t", {"x": "3.5"}))


@pytest.mark.parametrize(
    ("sent", "value"), [("true", True), ("True", True), ("FALSE", False), ("false", False)]
)
def test_29_true_and_false_in_any_case_are_booleans(make: Make, sent: str, value: bool) -> None:
    assert given(make, one({"type": "boolean"}), sent) is value


@pytest.mark.parametrize("sent", ["yes", "1", "0", "t", " true", "", 1, 0], ids=repr)
def test_29_nothing_else_is_a_boolean(make: Make, sent: Any) -> None:
    assert "x: " in error_of(make(Handled(), one({"type": "boolean"})).call("t", {"x": sent}))


LIST = {"type": "array", "items": {"type": "integer"}}
REFERRED = {"$defs": {"n": INTEGER, "list": {"type": "array", "items": {"$ref": "#/$defs/n"}}}}


@pytest.mark.parametrize(
    ("schema", "sent", "value"),
    [
        (one(LIST), "[1, 2]", [1, 2]),
        (one({"type": "object"}), '{"a": [1]}', {"a": [1]}),
        (one(LIST), 5, [5]),
        (one(LIST), "5", [5]),
        (one({"type": "array", "items": {"type": "string"}}), "a.txt", ["a.txt"]),
        (one({"type": "array", "items": {"type": "object"}}), {"a": 1}, [{"a": 1}]),
        (one({"type": ["integer", "null"]}), "null", None),
        (one({"anyOf": [{"type": "null"}, INTEGER]}), "null", None),
        (one({"anyOf": [{"type": "boolean"}, INTEGER]}), "7", 7),
        (one({"oneOf": [LIST, {"type": "null"}]}), '["1"]', [1]),
        (one({"$ref": "#/$defs/n"}, **REFERRED), "7", 7),
        (one({"$ref": "#/$defs/list"}, **REFERRED), ["7", 8, "9"], [7, 8, 9]),
        (one(LIST), ["1", "2"], [1, 2]),
        (one(one(INTEGER)), {"x": "1"}, {"x": 1}),
        (one(one(LIST)), '{"x": ["1"]}', {"x": [1]}),
        (one({"type": "object", "additionalProperties": INTEGER}), {"k": "1"}, {"k": 1}),
        (one({"type": "array", "prefixItems": [INTEGER]}), ["1"], [1]),
    ],
)
def test_29_a_repair_is_guided_by_the_schema_wherever_the_value_stands(
    make: Make, schema: dict[str, Any], sent: Any, value: Any
) -> None:
    assert given(make, schema, sent) == value


def test_29_null_text_is_text_where_text_is_admitted_and_an_error_where_null_is_not(
    make: Make,
) -> None:
    assert given(make, one({"type": ["string", "null"]}), "null") == "null"


def test_29_null_text_stays_where_null_is_not_admitted(make: Make) -> None:
    assert "x: " in error_of(make(Handled(), one(INTEGER)).call("t", {"x": "null"}))


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        ({"type": "integer", "minimum": 10}, "5"),
        ({"type": "integer", "enum": [1, 2]}, "3"),
        ({"type": "array", "items": INTEGER, "minItems": 2}, "1"),
        (LIST, '["1", "two"]'),
        ({"type": "array", "items": {"type": "string"}}, '["a", "b"'),
        (one(INTEGER, required=["y"]), '{"x": 1}'),
        (LIST, None),
    ],
)
def test_29_a_repair_is_kept_only_if_the_whole_then_fits(make: Make, part: Any, sent: Any) -> None:
    handled = Handled()
    registry = make(handled, one(part))
    reported: list[Any] = []
    registry.hooks.add("post_tool_call", lambda args, repairs: reported.append((args, repairs)))
    assert "x" in error_of(registry.call("t", {"x": sent}))
    assert handled.calls == 0
    assert reported == [({"x": sent}, ())]


def test_30_what_was_repaired_is_reported_to_hooks(make: Make) -> None:
    schema = one(LIST)
    schema["properties"]["n"] = INTEGER
    registry = make(Handled(), schema)
    reported: list[tuple[Repair, ...]] = []
    for hook in ("pre_tool_call", "post_tool_call", "transform_tool_result"):
        registry.hooks.add(hook, lambda repairs: reported.append(repairs))
    registry.call("t", {"x": [1, "2"], "n": "3"})
    repairs = (Repair("x[1]", "number", '"2"', "2"), Repair("n", "number", '"3"', "3"))
    assert reported == [repairs] * 3
    reported.clear()
    registry.call("t", {"x": [1], "n": 3})
    assert reported == [()] * 3


NESTED = one(
    {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
)


def test_30_what_cannot_be_repaired_is_an_error_with_path_constraint_and_value(
    make: Make,
) -> None:
    handled = Handled()
    registry = make(handled, NESTED)
    error = error_of(registry.call("t", {"x": [{"n": 1}, {"n": "many"}]}))
    assert "t" in error
    assert "x[1].n" in error and "must be an integer" in error and '"many"' in error
    error = error_of(asyncio.run(registry.acall("t", {"x": [{"n": 1}, {"n": "many"}]})))
    assert "x[1].n" in error
    assert handled.calls == 0


def test_30_the_offending_value_is_shortened(make: Make) -> None:
    handled = Handled()
    registry = make(handled, one(INTEGER))
    error = error_of(registry.call("t", {"x": "long " * 10_000}))
    assert "long long" in error and len(error) < 1_000
    assert handled.calls == 0


@pytest.mark.parametrize("sent", [[1], 3, True, "no JSON", "[1]", "{} {}", '{"a": 1}{"a": 2}'])
def test_30_arguments_that_are_no_object_are_an_error(make: Make, sent: Any) -> None:
    handled = Handled()
    assert "JSON object" in error_of(make(handled).call("t", sent))
    assert handled.calls == 0


DEFAULTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "default": 1},
        "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        "inner": {"type": "object", "properties": {"deep": {"type": "boolean", "default": True}}},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"w": {"type": "integer", "default": 9}}},
        },
    },
}


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        ({}, {"n": 1, "tags": []}),
        (None, {"n": 1, "tags": []}),
        ({"n": 2, "inner": {}}, {"n": 2, "tags": [], "inner": {"deep": True}}),
        ({"inner": {"deep": False}}, {"n": 1, "tags": [], "inner": {"deep": False}}),
        ({"rows": [{}, {"w": 1}]}, {"n": 1, "tags": [], "rows": [{"w": 9}, {"w": 1}]}),
        ({"n": "2", "rows": "[{}]"}, {"n": 2, "tags": [], "rows": [{"w": 9}]}),
    ],
)
def test_31_defaults_are_filled_in_wherever_the_parent_object_is_there(
    make: Make, sent: Any, got: Any
) -> None:
    handled = Handled()
    registry = make(handled, DEFAULTS)
    before = deepcopy(sent)
    assert registry.call("t", sent) == "ran"
    assert handled.args == got
    assert asyncio.run(registry.acall("t", sent)) == "ran"
    assert handled.args == got
    assert sent == before  # what was sent is never changed


def test_31_arguments_of_none_mean_none_are_given(make: Make) -> None:
    handled = Handled()
    registry = make(handled)
    assert registry.call("t") == registry.call("t", None) == registry.call("t", {}) == "ran"
    assert handled.args == {}


def test_31_a_default_is_nobodys_to_change(make: Make) -> None:
    def handler(args: dict[str, Any]) -> str:
        args["tags"].append("mine")
        args["added"] = 1
        return json.dumps(args["tags"])

    registry: ToolRegistry = make(handler, DEFAULTS)
    sent: dict[str, Any] = {}
    for _ in range(2):
        assert registry.call("t", sent) == '["mine"]'
    assert sent == {}
    assert registry.get_schema("t")["parameters"] == DEFAULTS  # type: ignore[index]


def test_31_a_missing_property_without_a_default_stays_missing(make: Make) -> None:
    handled = Handled()
    assert "is a required property" in error_of(
        make(handled, one(INTEGER, required=["x"])).call("t", None)
    )
    assert handled.calls == 0
