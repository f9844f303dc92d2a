"""A result is delivered as JSON text that fits its schema, or the answer says why it is not."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel, Field, RootModel

from hermes_build.runtime.result import tool_error, tool_result
from tests.calls.one_tool import ANY, Make, error_of


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
