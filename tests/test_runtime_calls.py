"""Calling tools: arguments in, JSON text out, and no exception whatever happens between."""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel

from hermes_build.runtime.registry import ToolRegistry
from hermes_build.runtime.result import tool_error, tool_result
from tests.runtime_program import READ_FILE, tool, write_program

Make = Callable[..., ToolRegistry]
ANY = {"type": "object"}


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a registry of one external tool ``t`` that a handler is bound to."""

    def make(handler: Any, parameters: Any = None, **fields: Any) -> ToolRegistry:
        record = tool("t", parameters, handler="external", **fields)
        registry = write_program(tmp_path, [record]).registry
        registry.register("t", handler=handler)
        return registry

    return make


def echo(args: dict[str, Any], **context: Any) -> str:
    return json.dumps({"args": args, "context": context})


def error_of(text: Any) -> str:
    assert isinstance(text, str)
    text.encode()
    value = json.loads(text)
    assert isinstance(value["error"], str)
    return str(value["error"])


# Arguments.


def test_arguments_and_context_reach_a_handler_apart(make: Make) -> None:
    registry = make(echo, ANY)
    assert json.loads(registry.call("t", {"task_id": 1}, task_id=2)) == {
        "args": {"task_id": 1},
        "context": {"task_id": 2},
    }
    assert json.loads(registry.dispatch("t", {})) == {"args": {}, "context": {}}


def test_what_fits_reaches_the_handler_as_the_very_object(make: Make) -> None:
    seen = []
    registry = make(lambda args, **context: seen.append(args) or "ok", ANY)
    args = {"content": "[1, 2]", "nested": {"a": [1]}}
    assert registry.call("t", args) == "ok"
    assert seen[0] is args


def test_none_means_no_arguments(make: Make) -> None:
    registry = make(lambda args: str(args), ANY)
    assert registry.call("t", None) == registry.call("t") == "{}"


@pytest.mark.parametrize("args", [[], "x", 3, '{"path": "a"}', [("path", "a")]])
def test_arguments_that_are_no_object_are_refused(make: Make, args: Any) -> None:
    assert "must be a JSON object" in error_of(make(echo).call("t", args))


def test_defaults_are_filled_in_behind_what_was_sent_and_the_input_stays(make: Make) -> None:
    registry = make(lambda args: list(args.items()) and json.dumps(args))
    args = {"limit": 3, "path": "a"}
    filled = registry.call("t", args)
    assert list(json.loads(filled).items()) == [("limit", 3), ("path", "a"), ("offset", 1)]
    assert args == {"limit": 3, "path": "a"}


def test_defaults_are_never_shared_between_calls(make: Make) -> None:
    parameters = {
        "type": "object",
        "properties": {"tags": {"type": "array", "default": []}},
        "additionalProperties": False,
    }

    def handler(args: dict[str, Any]) -> str:
        args["tags"].append("x")
        return json.dumps(args)

    registry = make(handler, parameters)
    assert registry.call("t", {}) == registry.call("t", {}) == '{"tags": ["x"]}'


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({}, '"path" is a required property'),
        ({"path": ""}, 'path: must have at least 1 character, but is the text ""'),
        ({"path": "a", "limit": "3"}, 'limit: must be an integer, but is the text "3"'),
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
        ({"type": "number"}, "1", 'a: must be a number, but is the text "1"'),
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


def test_a_default_that_would_spoil_a_good_call_is_left_out(make: Make) -> None:
    parameters = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "default": 1}},
        "maxProperties": 1,
        "additionalProperties": False,
    }
    registry = make(lambda args: json.dumps(args), parameters)
    assert json.loads(registry.call("t", {"a": 1})) == {"a": 1}
    assert json.loads(registry.call("t", {})) == {"b": 1}


def test_format_is_an_annotation(make: Make) -> None:
    registry = make(
        echo, {"type": "object", "properties": {"when": {"type": "string", "format": "date"}}}
    )
    assert json.loads(registry.call("t", {"when": "tomorrow"}))["args"] == {"when": "tomorrow"}


WHOLE = {
    "integer": {"type": "integer"},
    "bounded": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 5.0},
    "nullable": {"type": ["integer", "null"]},
    "enum": {"enum": ["auto", 1, 2]},
    "const": {"const": 3},
    "enum_of_numbers": {"type": "number", "enum": [1, 2]},
    "optional": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
    "referred": {"$ref": "#/$defs/count"},
    "list": {"type": "array", "items": {"type": "integer"}},
    "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "nested": {"type": "object", "properties": {"n": {"allOf": [{"type": "integer"}]}}},
}
WHOLE_DEFS = {"count": {"type": "integer"}}


@pytest.mark.parametrize(
    ("name", "sent", "got"),
    [
        ("integer", 1.0, 1),
        ("integer", 1e3, 1000),
        ("integer", -0.0, 0),
        ("integer", 1e300, int(1e300)),
        ("bounded", 20.0, 20),
        ("nullable", 2.0, 2),
        ("enum", 2.0, 2),
        ("const", 3.0, 3),
        ("enum_of_numbers", 2.0, 2),
        ("optional", 4.0, 4),
        ("referred", 4.0, 4),
        ("list", [1, 2.0, 3], [1, 2, 3]),
        ("pair", ["x", 2.0], ["x", 2]),
        ("map", {"a": 1.0}, {"a": 1}),
        ("nested", {"n": 1.0}, {"n": 1}),
    ],
)
def test_a_whole_number_is_an_int_where_a_schema_admits_no_other(
    name: str, sent: Any, got: Any
) -> None:
    from hermes_build.runtime.validation import Arguments

    seen: list[dict[str, Any]] = []
    part = {name: WHOLE[name]}
    for closed in ({"additionalProperties": False}, {}):
        parameters = {"type": "object", "properties": part, "$defs": WHOLE_DEFS, **closed}
        gate = Arguments("t", parameters)
        args = {name: sent}
        assert not gate.fit_as_they_are(args)
        seen.append(gate.accept(args))
        assert repr(args) == repr({name: sent})
    assert [repr(one) for one in seen] == [repr({name: got})] * 2


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number"}, 1.0),
        ({"type": ["integer", "number"]}, 2.0),
        ({}, 1.0),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, 1.0),
        ({"enum": [1, 2.0]}, 1.0),
        ({"type": "array", "items": {"type": "number"}}, [1.0, 2.0]),
        ({"minimum": 0}, 3.0),
    ],
)
@pytest.mark.parametrize("closed", [{"additionalProperties": False}, {}])
def test_a_float_stays_a_float_where_any_number_would_do(
    make: Make, schema: Any, value: Any, closed: Any
) -> None:
    seen: list[Any] = []
    parameters = {"type": "object", "properties": {"a": schema}, **closed}
    registry = make(lambda args: seen.append(args) or "ok", parameters)
    args = {"a": value}
    assert registry.call("t", args) == "ok"
    assert seen[0] is args
    assert repr(seen[0]) == repr({"a": value})


def test_a_default_of_an_integer_arrives_as_int_however_it_was_written(make: Make) -> None:
    parameters = {"type": "object", "properties": {"bounded": WHOLE["bounded"]}}
    assert make(lambda args: repr(args), parameters).call("t", {}) == "{'bounded': 5}"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "number"},
        {"type": "integer"},
        {"type": ["number", "null"]},
        {"type": ["integer", "null"], "default": None},
        {"enum": [None, 1]},
        {"type": "array"},
    ],
)
@pytest.mark.parametrize("closed", [{"additionalProperties": False}, {}])
def test_what_is_no_number_of_json_is_refused(
    make: Make, schema: Any, number: float, closed: Any
) -> None:
    ran: list[object] = []
    parameters = {"type": "object", "properties": {"a": schema}, **closed}
    registry = make(lambda args: ran.append(args) or "ok", parameters)
    value, path = ([1, number], "a[1]") if schema == {"type": "array"} else (number, "a")
    message = error_of(registry.call("t", {"a": value}))
    assert f"{path}: must be a number that JSON can hold, but is {number}" in message
    assert not ran
    assert registry.call("t", {"a": None}) == "ok" or "null" not in str(schema)


def test_null_is_handed_on_as_quickly_as_anything(make: Make) -> None:
    properties = {
        "a": {"type": ["string", "null"], "default": None},
        "b": {"type": ["number", "null"], "default": None},
        "c": {"enum": [None, "x"]},
    }
    seen: list[Any] = []
    parameters = {"type": "object", "properties": properties, "additionalProperties": False}
    registry = make(lambda args: seen.append(args) or "ok", parameters)
    for args in ({"a": "x"}, {"b": 1.5}, {"a": None, "b": None, "c": None}):
        assert registry.call("t", args) == "ok"
        assert seen.pop() == {"a": None, "b": None, **args}


@pytest.mark.parametrize("parameters", [READ_FILE, ANY])
def test_lone_surrogates_are_replaced_on_the_way_in_and_out(make: Make, parameters: Any) -> None:
    registry = make(lambda args: args["path"] + "\ud800", parameters)
    sent = {"path": "x\udfff"}
    assert registry.call("t", sent) == "x\ufffd\ufffd"
    assert sent == {"path": "x\udfff"}


def test_nested_surrogates_are_replaced_and_pairs_joined(make: Make) -> None:
    registry = make(lambda args: json.dumps(args, ensure_ascii=False), ANY)
    sent = {"a": [{"b\ud800": "\ud83d\ude00 \ud83d"}]}
    assert json.loads(registry.call("t", sent)) == {"a": [{"b\ufffd": "😀 \ufffd"}]}


def test_arguments_nested_too_deeply_are_refused_not_crashed_on(make: Make) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    registry = make(echo, schema)
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert "nested more than" in error_of(registry.call("t", deep))
    while deep:  # taken apart by hand: freeing it would recurse
        deep = deep.pop("a")


@settings(deadline=None, max_examples=200)
@given(
    args=st.dictionaries(
        st.sampled_from(["path", "offset", "limit", "x"]),
        st.none() | st.text() | st.integers() | st.floats() | st.lists(st.integers(), max_size=2),
    )
)
def test_the_quick_look_and_the_close_one_agree(args: dict[str, Any]) -> None:
    from jsonschema_rs import Draft202012Validator

    from hermes_build.runtime.errors import Refusal
    from hermes_build.runtime.validation import Arguments

    gate = Arguments("t", READ_FILE)
    if gate.fit_as_they_are(args):
        assert gate.accept(args) is args
    fits = Draft202012Validator(READ_FILE).is_valid(args)
    try:
        filled = gate.accept(args)
    except Refusal:
        assert not fits
    else:
        assert fits
        assert not any(isinstance(one, float) for one in filled.values())
        assert filled == {"offset": 1, "limit": 500, **args}


# Failures.


def test_an_unknown_tool_names_the_nearest(make: Make) -> None:
    registry = make(echo)
    assert "Unknown tool: tt" in error_of(registry.call("tt", {}))
    assert "Did you mean 't'?" in error_of(registry.call("T", {}))
    error_of(registry.call("\ud800", {}))
    error_of(registry.call("x" * 100_000, {}))
    error_of(registry.call(["t"], {}))  # type: ignore[arg-type]
    error_of(registry.call(None, {}))  # type: ignore[arg-type]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class UnspeakableExit(BaseException):
    def __repr__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("wrong"),
        SystemExit(3),
        asyncio.CancelledError(),
        Unspeakable(),
        UnspeakableExit(),
        RecursionError(),
        GeneratorExit(),
    ],
)
def test_nothing_that_a_handler_raises_escapes(make: Make, error: BaseException) -> None:
    def handler(args: dict[str, Any]) -> str:
        raise error

    assert type(error).__name__ in error_of(make(handler, ANY).call("t", {}))


def test_keyboard_interrupt_escapes(make: Make) -> None:
    def handler(args: dict[str, Any]) -> str:
        raise KeyboardInterrupt

    registry = make(handler, ANY)
    with pytest.raises(KeyboardInterrupt):
        registry.call("t", {})


def test_a_tool_that_nobody_bound_says_so(tmp_path: Path) -> None:
    registry = write_program(tmp_path, [tool("t", handler="external"), tool("u")]).registry
    assert "`handler: external`" in error_of(registry.call("t", {}))
    assert "No handler module registers" in error_of(registry.call("u", {}))


# Results.


@pytest.mark.parametrize(
    "result", [None, 42, 1.5, True, b"bytes", (1,), {1}, object(), {"_multimodal": True}]
)
def test_a_result_of_another_kind_breaks_the_contract(make: Make, result: Any) -> None:
    value = json.loads(make(lambda args: result, ANY).call("t", {}))
    assert value["error_type"] == "tool_result_contract"
    assert value["tool"] == "t"
    assert value["result_type"] == type(result).__name__
    assert "unsupported result type" in value["error"]


@pytest.mark.parametrize(
    "result", [{"a": float("nan")}, {"a": {1, 2}}, [object()], {"a": b"x"}, {(1, 2): 3}]
)
def test_a_dict_that_json_cannot_hold_breaks_the_contract(make: Make, result: Any) -> None:
    value = json.loads(make(lambda args: result, ANY).call("t", {}))
    assert value["error_type"] == "tool_result_contract"


def test_a_result_that_holds_itself_breaks_the_contract(make: Make) -> None:
    result: list[Any] = []
    result.append(result)
    value = json.loads(make(lambda args: result, ANY).call("t", {}))
    assert value["error_type"] == "tool_result_contract"


def test_dicts_and_lists_become_json_with_non_ascii_kept(make: Make) -> None:
    registry = make(lambda args: {"é": [1, ("x",), MappingProxyType({"b": None})]}, ANY)
    assert registry.call("t", {}) == '{"é": [1, ["x"], {"b": null}]}'


def test_a_multimodal_envelope_passes_as_the_very_object(make: Make) -> None:
    envelope = {"_multimodal": True, "content": [{"type": "text", "text": "\ud800"}]}
    assert make(lambda args: envelope, ANY).call("t", {}) is envelope


OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("schema", "result", "text"),
    [
        (OUTPUT, {"n": 1}, '{"n": 1}'),
        (OUTPUT, '{"n":1}', '{"n":1}'),
        (OUTPUT, tool_error("not found"), '{"error": "not found"}'),
        (OUTPUT, {"error": "not found"}, '{"error": "not found"}'),
        ({"type": ["integer", "null"]}, None, "null"),
        ({"type": ["integer", "null"]}, 3, "3"),
        ({"type": "string"}, "plain", "plain"),
        ({"type": "string"}, "3", "3"),
        (True, [1], "[1]"),
    ],
)
def test_with_an_output_schema_any_fitting_value_is_delivered(
    make: Make, schema: Any, result: Any, text: str
) -> None:
    assert make(lambda args: result, ANY, output_schema=schema).call("t", {}) == text


@pytest.mark.parametrize("result", [{}, {"n": "1"}, "text", None, [1]])
def test_a_result_off_its_output_schema_breaks_the_contract(make: Make, result: Any) -> None:
    value = json.loads(make(lambda args: result, ANY, output_schema=OUTPUT).call("t", {}))
    assert value["error_type"] == "tool_result_contract"
    assert "output_schema" in value["error"]


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({}, '`output_schema`: "n" is a required property'),
        ({"n": "1"}, 'n: must be an integer, but is the text "1"'),
        ('{"n": "1"}', 'n: must be an integer, but is the text "1"'),
        ("plain text", 'must be an object, but is the text "plain text"'),
        ({"n": "x" * 100_000}, "more characters"),
    ],
)
def test_a_result_off_its_output_schema_says_where_and_why(
    make: Make, result: Any, says: str
) -> None:
    message = error_of(make(lambda args: result, ANY, output_schema=OUTPUT).call("t", {}))
    assert says in message
    assert len(message) < 500


def test_text_that_only_python_takes_for_a_number_fits_no_schema_of_numbers(make: Make) -> None:
    registry = make(lambda args: "NaN", ANY, output_schema={"type": ["number", "null"]})
    assert "must be a number or null" in error_of(registry.call("t", {}))


class Point(BaseModel):
    n: int
    note: str | None = None
    dashed: int | None = Field(default=None, alias="dash-ed")
    label: str | None = None
    scale: int = 2


class Track(BaseModel):
    points: list[Point]
    first: Point | None = None


POINT = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "note": {"type": "string"},
        "dash-ed": {"type": "integer"},
        "label": {"type": ["string", "null"]},
        "scale": {"type": "integer"},
    },
    "required": ["n", "scale"],
    "additionalProperties": False,
}
TRACK = {
    "type": "object",
    "properties": {"points": {"type": "array", "items": POINT}, "first": POINT},
    "required": ["points"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "result", "data"),
    [
        (POINT, Point(n=1), {"n": 1, "scale": 2}),
        (POINT, Point(n=1, note="x"), {"n": 1, "note": "x", "scale": 2}),
        (POINT, Point.model_validate({"n": 1, "dash-ed": 3}), {"n": 1, "dash-ed": 3, "scale": 2}),
        # What was set to None is left out where the schema forbids null, and kept where it may be.
        (POINT, Point(n=1, note=None), {"n": 1, "scale": 2}),
        (POINT, Point(n=1, label=None), {"n": 1, "scale": 2, "label": None}),
        (
            TRACK,
            Track(points=[Point(n=1), Point(n=2, note="x")], first=Point(n=3)),
            {
                "points": [{"n": 1, "scale": 2}, {"n": 2, "note": "x", "scale": 2}],
                "first": {"n": 3, "scale": 2},
            },
        ),
        (TRACK, {"points": [Point(n=1)]}, {"points": [{"n": 1, "scale": 2}]}),
        (
            {"type": "array"},
            [Point(n=1), (Point(n=2),)],
            [{"n": 1, "scale": 2}, [{"n": 2, "scale": 2}]],
        ),
        (None, Point(n=1), {"n": 1, "scale": 2}),
        (None, {"points": [Point(n=1)]}, {"points": [{"n": 1, "scale": 2}]}),
        ({"type": "integer"}, RootModel[int](3), 3),
    ],
)
def test_a_model_is_delivered_as_the_data_that_its_schema_describes(
    make: Make, schema: Any, result: Any, data: Any
) -> None:
    fields = {} if schema is None else {"output_schema": schema}
    assert json.loads(make(lambda args: result, ANY, **fields).call("t", {})) == data


def test_a_model_of_one_text_is_delivered_as_text(make: Make) -> None:
    registry = make(lambda args: RootModel[str]("é"), ANY, output_schema={"type": "string"})
    assert registry.call("t", {}) == "é"


@pytest.mark.filterwarnings("ignore::UserWarning")  # pydantic has seen it too
def test_a_model_off_its_schema_says_where_and_why(make: Make) -> None:
    result = Point.model_construct(n="x", scale=1)
    text = make(lambda args: result, ANY, output_schema=POINT).call("t", {})
    assert 'n: must be an integer, but is the text "x"' in error_of(text)
    assert json.loads(text)["result_type"] == "Point"
    value = json.loads(make(lambda args: RootModel[int](3), ANY).call("t", {}))
    assert value["error_type"] == "tool_result_contract"


def test_tool_error_and_tool_result_are_strict() -> None:
    assert tool_error("né", code=404) == '{"error": "né", "code": 404}'
    assert tool_result(a=1) == tool_result({"a": 1}) == '{"a": 1}'
    assert tool_result() == "{}"
    assert tool_result([]) == "[]"
    with pytest.raises(ValueError, match="error"):
        tool_error("x", error="y")
    with pytest.raises(ValueError, match="both"):
        tool_result({"a": 1}, b=2)
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            tool_result({"a": number})


# Shapes.


def test_a_keyword_handler_gets_each_argument_by_name(make: Make) -> None:
    def handler(*, path: str, offset: int = 1, limit: int = 500, **context: Any) -> str:
        return json.dumps([path, offset, limit, context])

    registry = make(handler)
    text = registry.call("t", {"path": "a", "limit": 7}, task_id="x", path="spoof")
    assert json.loads(text) == ["a", 1, 7, {"task_id": "x"}]


def test_a_keyword_handler_never_loses_an_argument_silently(make: Make) -> None:
    open_root = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    registry = make(lambda *, a: a, open_root)
    assert registry.call("t", {"a": "x"}) == "x"
    assert "Unexpected arguments: b" in error_of(registry.call("t", {"a": "x", "b": 1}))


def test_context_never_stands_in_for_an_absent_argument(make: Make) -> None:
    parameters = {"type": "object", "properties": {"user": {"type": "string"}}}

    def handler(*, user: str | None = None, task_id: str | None = None) -> str:
        return json.dumps([user, task_id])

    registry = make(handler, parameters)
    assert registry.call("t", {}, user="root", task_id="x", other=1) == '[null, "x"]'


def test_a_handler_gets_the_context_that_it_asks_for(make: Make) -> None:
    registry = make(lambda args, task_id=None: json.dumps(task_id), ANY)
    assert registry.call("t", {}, task_id="x", other=1) == '"x"'
    assert registry.call("t", {}) == "null"


class Async:
    async def __call__(self, args: dict[str, Any]) -> str:
        return "called"


async def coroutine(args: dict[str, Any], **context: Any) -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_an_async_handler_runs_without_a_loop_and_inside_one(make: Make) -> None:
    registry = make(coroutine, ANY)
    assert registry.call("t", {}) == threading.current_thread().name

    async def inside() -> list[Any]:
        return [registry.call("t", {}), registry.call("t", {})]

    assert asyncio.run(inside()) == ["hermes-build-bridge"] * 2


def test_an_async_handler_may_call_an_async_tool_and_never_waits_for_itself(make: Make) -> None:
    async def handler(args: dict[str, Any]) -> str:
        depth = args["depth"]
        return str(registry.call("t", {"depth": depth - 1})) if depth else "bottom"

    registry = make(handler, ANY)

    async def inside() -> Any:
        return registry.call("t", {"depth": 3})

    assert registry.call("t", {"depth": 3}) == "bottom"
    assert asyncio.run(inside()) == "bottom"


FORKED = """
import asyncio, os, signal
from hermes_build.runtime.bridge import wait

async def inside():
    return wait(asyncio.sleep(0, "done"))

asyncio.run(inside())
child = os.fork()
if child == 0:
    signal.alarm(20)  # a process that waits for ever is ended
    print(asyncio.run(inside()), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_an_async_handler_runs_in_a_forked_process_too() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True)
    assert done.stdout == "done\n"


def test_context_variables_reach_an_async_handler(make: Make) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

    async def handler(args: dict[str, Any]) -> str:
        return variable.get()

    registry = make(handler, ANY)
    variable.set("seen")

    async def inside() -> Any:
        return registry.call("t", {})

    assert registry.call("t", {}) == asyncio.run(inside()) == "seen"


def test_async_is_read_from_callable_objects_too(make: Make) -> None:
    assert make(Async(), ANY).call("t", {}) == "called"


def test_a_coroutine_from_a_sync_handler_is_reported_and_closed(
    make: Make, recwarn: pytest.WarningsRecorder
) -> None:
    value = json.loads(make(lambda args: coroutine(args), ANY).call("t", {}))
    assert value["error_type"] == "tool_result_contract"
    assert "async" in value["error"]
    assert not [one for one in recwarn if "never awaited" in str(one.message)]


def test_is_async_may_be_said_where_it_cannot_be_seen(tmp_path: Path) -> None:
    registry = write_program(tmp_path, [tool("t", ANY, handler="external", is_async=True)]).registry
    registry.register("t", handler=lambda args, **context: coroutine(args), is_async=True)
    assert registry.call("t", {}) == threading.current_thread().name


# Lazy loading.


def test_a_call_imports_only_the_module_of_its_tool(tmp_path: Path) -> None:
    source = (
        "from {generated}.registry import registry\n"
        "@registry.handler('NAME')\n"
        "def handler(args, **context):\n    return 'NAME ran'\n"
    )
    program = write_program(
        tmp_path,
        [tool("a", ANY, module="first", aliases=["old_a"]), tool("b", ANY, module="second")],
        handlers={"first": source.replace("NAME", "a"), "second": source.replace("NAME", "b")},
    )
    assert program.registry.call("old_a", {}) == "a ran"
    assert program.registry.call("a", {}) == "a ran"
    assert f"{program.handlers}.first" in sys.modules
    assert f"{program.handlers}.second" not in sys.modules


def test_a_module_that_fails_is_reported_with_the_tools_lost_and_tried_once(tmp_path: Path) -> None:
    source = (
        "from {generated}.registry import registry\n"
        "registry.register('a', handler=lambda args: 'half')\n"
        "import builtins\n"
        "builtins.tries = getattr(builtins, 'tries', 0) + 1\n"
        "raise SystemExit('no config')\n"
    )
    program = write_program(
        tmp_path,
        [tool("a", ANY, module="files"), tool("b", ANY, module="files")],
        handlers={"files": source},
    )
    for name in ("a", "b", "a"):
        message = error_of(program.registry.call(name, {}))
        assert f"{program.handlers}.files" in message
        assert "SystemExit: no config" in message
        assert "files.py:5" in message
        assert "Tools lost: a, b." in message
    import builtins

    assert builtins.tries == 1  # type: ignore[attr-defined]
    del builtins.tries  # type: ignore[attr-defined]


def test_many_threads_may_make_the_first_call(tmp_path: Path) -> None:
    source = (
        "import time\nfrom {generated}.registry import registry\ntime.sleep(0.05)\n"
        "@registry.handler('a')\ndef handler(args):\n    return 'ran'\n"
    )
    program = write_program(tmp_path, [tool("a", ANY, module="slow")], handlers={"slow": source})
    registry = program.registry
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda: answers.append(registry.call("a", {}))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["ran"] * 8


def test_pydantic_arguments_arrive_as_the_model(tmp_path: Path) -> None:
    source = (
        "from {generated}.tools import read_file\n"
        "@read_file.implements\n"
        "def handler(args: read_file.Args, **context):\n"
        "    return f'{type(args).__name__} {args.path} {args.limit}'\n"
    )
    program = write_program(
        tmp_path, [tool("read_file", module="files")], handlers={"files": source}, pydantic=True
    )
    assert program.registry.call("read_file", {"path": "a"}) == "ReadFileArgs a 500"
