"""A result is delivered as JSON text that fits its schema, or the answer says why it is not."""

from __future__ import annotations

import enum
import json
import warnings
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


async def answer() -> str:
    return "x"


@pytest.mark.parametrize("fields", [{}, {"output_schema": OUTPUT}, {"output_schema": True}])
@pytest.mark.parametrize("kind", ["coroutine", "dict"])
def test_a_coroutine_in_a_result_breaks_the_contract_and_warns_of_nothing(
    make: Make, fields: Any, kind: str
) -> None:
    registry = make(
        lambda args: answer() if kind == "coroutine" else {"a": [answer()]}, ANY, **fields
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = json.loads(registry.call("t", {}))
    assert value["error_type"] == "tool_result_contract"
    assert value["result_type"] == kind
    assert kind != "coroutine" or "must be registered as async" in value["error"]


class Opaque:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no attributes")


@pytest.mark.parametrize("fields", [{}, {"output_schema": OUTPUT}])
def test_an_object_that_is_no_data_breaks_the_contract_by_its_type(make: Make, fields: Any) -> None:
    for result in ((n for n in (1,)), Opaque(), Opaque, memoryview(b"")):
        registry = make(lambda args, result=result: result, ANY, **fields)
        value = json.loads(registry.call("t", {}))
        assert value["error_type"] == "tool_result_contract"
        assert value["result_type"] == type(result).__name__


def test_a_model_that_cannot_dump_itself_breaks_the_contract(make: Make) -> None:
    class Holder(BaseModel):
        inner: Any = None

    circle = Holder()
    circle.inner = circle
    for result in (circle, Holder(inner=object())):
        value = json.loads(make(lambda args, result=result: result, ANY).call("t", {}))
        assert value["error_type"] == "tool_result_contract"
        assert value["result_type"] == "Holder"


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [500, 100_000])
@pytest.mark.parametrize("schema", [OUTPUT, {"type": "array", "items": {"type": "object"}}])
@pytest.mark.parametrize("as_text", [False, True])
def test_json_that_is_nested_too_deeply_to_be_judged_breaks_the_contract(
    make: Make, levels: int, schema: Any, as_text: bool
) -> None:
    result = "[" * levels + "]" * levels if as_text else nested(levels)
    value = json.loads(make(lambda args: result, ANY, output_schema=schema).call("t", {}))
    assert value["error_type"] == "tool_result_contract"


def test_deep_text_is_delivered_where_text_is_what_is_declared(make: Make) -> None:
    for levels in (500, 40_000):
        text = "[" * levels + "]" * levels
        registry = make(lambda args, text=text: text, ANY, output_schema={"type": "string"})
        assert registry.call("t", {}) == text
        assert make(lambda args, text=text: text, ANY).call("t", {}) is text


@pytest.mark.parametrize("fields", [{}, {"output_schema": {"type": "string"}}])
def test_lone_surrogates_of_a_result_are_replaced(make: Make, fields: Any) -> None:
    assert make(lambda args: "a\ud800", ANY, **fields).call("t", {}) == "a\ufffd"
    assert make(lambda args: "\ud83d\ude00", ANY, **fields).call("t", {}) == "\U0001f600"


def test_lone_surrogates_inside_data_are_replaced(make: Make) -> None:
    for fields in ({}, {"output_schema": {"type": "object"}}):
        registry = make(lambda args: {"\udfff": ["\ud800"]}, ANY, **fields)
        assert registry.call("t", {}) == '{"\ufffd": ["\ufffd"]}'


def test_a_member_of_an_enumeration_of_texts_is_its_text(make: Make) -> None:
    class Colour(str, enum.Enum):  # noqa: UP042 - the kind that prints as its name
        RED = "red"

    for fields in ({}, {"output_schema": {"type": "string"}}):
        text = make(lambda args: Colour.RED, ANY, **fields).call("t", {})
        assert (type(text), text) == (str, "red")


@pytest.mark.parametrize(
    ("schema", "result", "text"),
    [
        ({"type": ["object", "null"]}, None, "null"),
        ({"type": ["object", "null"]}, {"a": 1}, '{"a": 1}'),
        ({"type": "array"}, (1, 2), "[1, 2]"),
        ({"anyOf": [{"type": "boolean"}, {"type": "number"}]}, 0.5, "0.5"),
        ({"enum": ["a", 1]}, 1, "1"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}, 1, "1"),
    ],
)
def test_an_output_schema_need_not_be_of_an_object(
    make: Make, schema: Any, result: Any, text: str
) -> None:
    assert make(lambda args: result, ANY, output_schema=schema).call("t", {}) == text


def test_an_error_of_any_fields_passes_every_output_schema_and_an_error_object_does_not(
    make: Make,
) -> None:
    text = tool_error("no such file", code=404, detail={"path": ["a"]})
    assert make(lambda args: text, ANY, output_schema=OUTPUT).call("t", {}) is text
    result = {"error": {"code": 404}}
    assert "output_schema" in error_of(
        make(lambda args: result, ANY, output_schema=OUTPUT).call("t", {})
    )


class Unspeakable(Exception):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __str__(self) -> str:
        raise self.error


def test_tool_error_tells_an_exception_whatever_its_text_does() -> None:
    assert tool_error(ValueError("né")) == '{"error": "né"}'
    assert tool_error(ValueError()) == '{"error": "ValueError"}'
    assert tool_error(SystemExit()) == '{"error": "SystemExit"}'
    for error in (RuntimeError(), SystemExit(3), RecursionError()):
        assert tool_error(Unspeakable(error), code=1) == '{"error": "Unspeakable", "code": 1}'
    with pytest.raises(KeyboardInterrupt):
        tool_error(Unspeakable(KeyboardInterrupt()))


def test_tool_error_hides_the_credentials_of_an_exception() -> None:
    error = RuntimeError("refused: sk-abcdef1234567890, postgres://u:hunter2@h")
    assert tool_error(error) == '{"error": "refused: sk-ab…[masked], postgres://u:[masked]@h"}'


def test_helpers_refuse_what_nothing_could_read_and_keep_what_utf8_cannot_carry() -> None:
    for make_text in (tool_result, lambda data: tool_error("x", data=data)):
        with pytest.raises(ValueError, match="nested too deeply"):
            make_text(nested(100_000))
        with pytest.raises(TypeError, match="type object has no form in JSON"):
            make_text([object()])
    assert tool_error("a\ud800", **{"\udfff": 1}) == '{"error": "a\ufffd", "\ufffd": 1}'
    assert tool_result(a="\ud800") == '{"a": "\ufffd"}'


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
