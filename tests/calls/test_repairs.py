"""What does not fit is repaired by exact rules, at the places that fail alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hermes_build.runtime.coercion import Repair
from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.validation import Arguments
from tests.calls.one_tool import Make, error_of

INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
TEXT = {"type": "string"}
BOOLEAN = {"type": "boolean"}
INTEGERS = {"type": "array", "items": INTEGER}
TEXTS = {"type": "array", "items": TEXT}
POINT = {"type": "object", "properties": {"x": INTEGER}, "required": ["x"]}
POINTS = {"type": "array", "items": POINT}


def parameters(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, **more}


def repaired(schema: Any, value: Any) -> Any:
    """What a handler gets for ``a``; the caller's object is held to stay as it was."""
    args = {"a": value}
    before = copy.deepcopy(args)
    got = Arguments("t", parameters(schema)).accept(args)
    assert args == before
    return got["a"]


def refused(schema: Any, value: Any) -> str:
    with pytest.raises(Refusal) as caught:
        repaired(schema, value)
    assert caught.value.kind == "invalid_arguments"
    return caught.value.message


@pytest.mark.parametrize(
    ("schema", "sent", "got"),
    [
        (INTEGER, "42", 42),
        (INTEGER, "-7", -7),
        (INTEGER, "0", 0),
        (INTEGER, "9007199254740993", 9007199254740993),
        (INTEGER, "1234567890123456789012345678901", 1234567890123456789012345678901),
        (INTEGER, "3.0", 3),
        (INTEGER, "1e3", 1000),
        (INTEGER, "1.5E+1", 15),
        (INTEGER, "9007199254740993.0", 9007199254740993),
        (INTEGER, "90071992547409930e-1", 9007199254740993),
        (NUMBER, "42", 42),
        (NUMBER, "9007199254740993", 9007199254740993),
        (NUMBER, "2.5", 2.5),
        (NUMBER, "3.0", 3.0),
        (NUMBER, "-1e-3", -0.001),
        (NUMBER, "9007199254740993.0", 9007199254740993),
        ({"type": ["integer", "boolean"]}, "1", 1),
        ({"enum": [1, 2]}, "2", 2),
        ({"const": 3}, "3", 3),
    ],
)
def test_text_that_spells_a_number_becomes_that_very_number(
    schema: Any, sent: str, got: Any
) -> None:
    result = repaired(schema, sent)
    assert result == got
    assert type(result) is type(got)


@pytest.mark.parametrize(
    "text",
    [
        "1_000", " 42", "42\n", "\u0664\u0662", "\uff14", "inf", "Infinity", "nan", "NaN", "+1",
        "01", "0x10", "1.", ".5", "1e", "--1", "1,000", "42 apples", "", "true", "1e1000000000",
        "9" * 5_000, "1e-400",
    ],
)  # fmt: skip
@pytest.mark.parametrize("schema", [INTEGER, NUMBER])
def test_nothing_but_the_grammar_of_json_is_a_number(schema: Any, text: str) -> None:
    assert "but is the text" in refused(schema, text)


def test_a_number_that_would_lose_is_refused() -> None:
    refused(INTEGER, "3.5")
    refused(INTEGER, "1e-1")
    refused(NUMBER, "1e400")


def test_a_limit_holds_for_what_was_repaired() -> None:
    schema = {"type": "integer", "minimum": 1, "maximum": 9}
    assert repaired(schema, "9") == 9
    assert refused(schema, "10").endswith('a: must be an integer, but is the text "10".')


@pytest.mark.parametrize(
    ("text", "got"), [("true", True), ("false", False), ("True", True), ("FALSE", False)]
)
def test_true_and_false_in_any_case_become_what_they_say(text: str, got: bool) -> None:
    assert repaired(BOOLEAN, text) is got
    assert repaired({"const": got}, text) is got


@pytest.mark.parametrize("value", ["yes", "one", "", " true", "t", "truee", 1, 0, None, "ﬁalse"])
def test_nothing_else_becomes_true_or_false(value: Any) -> None:
    refused(BOOLEAN, value)


def test_null_becomes_null_where_null_is_admitted_and_text_is_not() -> None:
    assert repaired({"type": ["integer", "null"]}, "null") is None
    assert repaired({"anyOf": [INTEGER, {"type": "null"}]}, "null") is None
    assert repaired({"type": ["string", "null"]}, "null") == "null"
    assert repaired({"anyOf": [TEXT, {"type": "null"}]}, "null") == "null"
    for text in ("Null", "None", " null", ""):
        refused({"type": ["integer", "null"]}, text)
    refused(INTEGER, "null")


@pytest.mark.parametrize(
    ("schema", "sent", "got"),
    [
        (TEXTS, '["a", "b"]', ["a", "b"]),
        (TEXTS, ' [ "1" ]\n', ["1"]),
        (INTEGERS, '[1, "2"]', [1, 2]),
        (INTEGERS, "[]", []),
        (POINT, '{"x": 1}', {"x": 1}),
        (POINT, '{"x": "1"}', {"x": 1}),
        (POINTS, '[{"x": "1"}, "{\\"x\\": 2}"]', [{"x": 1}, {"x": 2}]),
        ({"type": ["object", "array"]}, "[1]", [1]),
        ({"type": ["object", "array"]}, '{"a": [1]}', {"a": [1]}),
        ({"type": ["object", "integer"]}, '{"a": 1}', {"a": 1}),
        ({"type": "array"}, '["\\ud83d\\ude00", "\\ud83d"]', ["😀", "\ufffd"]),
        (INTEGERS, "[9007199254740993]", [9007199254740993]),
        (INTEGERS, "[2.0]", [2]),
    ],
)
def test_json_text_becomes_the_list_or_object_that_is_wanted(
    schema: Any, sent: str, got: Any
) -> None:
    assert repr(repaired(schema, sent)) == repr(got)


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (POINT, "[1]"),
        (POINT, "1"),
        (INTEGERS, "[1, 2"),
        (INTEGERS, "[1] [2]"),
        (INTEGERS, "[1] and more"),
        (TEXTS, '["a"'),
        (TEXTS, "[NaN]"),
        (TEXTS, "['a']"),
        (NUMBER | {"type": "array"}, "[1e999]"),
        ({"type": "object"}, '{"a": 1, "a": 2}'),
        ({"type": "object"}, '{"a": Infinity}'),
        ({"type": "object"}, "{'a': 1}"),
        ({"type": "array"}, "[" * 100_000),
        ({"type": "array"}, "[" * 300 + "]" * 300),
        ({"type": "object"}, '{"a":' * 300 + "1" + "}" * 300),
        (INTEGERS, "[" + "9" * 5_000 + "]"),
    ],
)
def test_text_is_never_read_as_json_that_it_is_not(schema: Any, text: str) -> None:
    assert len(refused(schema, text)) < 300


@pytest.mark.parametrize("text", ["[1, 2]", '{"a": 1}', "42", "true", "null", '["a"]', "[1, 2"])
@pytest.mark.parametrize(
    "schema",
    [
        TEXT,
        {},
        True,
        {"type": ["array", "string"]},
        {"anyOf": [{"type": "object"}, INTEGERS, INTEGER, BOOLEAN, {"type": "null"}, TEXT]},
        {"oneOf": [INTEGER, TEXT]},
        {"$ref": "#/properties/b"},
    ],
)
def test_text_stays_text_wherever_it_fits(schema: Any, text: str) -> None:
    args = {"a": text}
    root = parameters(schema)
    root["properties"]["b"] = {"anyOf": [INTEGERS, TEXT]}
    assert Arguments("t", root).accept(args) is args
    # And also where something else has to be repaired.
    root["properties"]["c"] = INTEGER
    assert Arguments("t", root).accept({"a": text, "c": "3"}) == {"a": text, "c": 3}


def test_text_stays_text_where_text_is_admitted_and_this_one_is_not() -> None:
    short = {"type": "string", "maxLength": 1}
    refused({"type": ["integer", "string"], "maxLength": 1}, "42")
    refused({"anyOf": [INTEGER, short]}, "42")
    refused({"anyOf": [{"type": "null"}, short]}, "null")
    refused({"anyOf": [TEXTS, {"type": "string", "pattern": "^x"}]}, '["a"]')


def test_texts_that_are_all_listed_leave_the_others_to_be_repaired() -> None:
    schema = {"anyOf": [INTEGER, {"enum": ["auto", "7"]}]}
    assert repaired(schema, "42") == 42
    assert repaired(schema, "7") == "7"
    assert repaired({"enum": ["auto", 1, None]}, "null") is None
    refused(schema, "none")


@pytest.mark.parametrize(
    ("schema", "sent", "got"),
    [
        (TEXTS, "a", ["a"]),
        (TEXTS, '{"a": 1}', ['{"a": 1}']),
        (INTEGERS, 3, [3]),
        (INTEGERS, "3", [3]),
        (INTEGERS, 3.0, [3]),
        (POINTS, {"x": "1"}, [{"x": 1}]),
        (POINTS, '{"x": "1"}', [{"x": 1}]),
        ({"type": "array", "items": BOOLEAN}, False, [False]),
        ({"type": "array", "items": INTEGERS}, "3", [[3]]),
        ({"type": "array", "items": INTEGERS}, ["3", [4]], [[3], [4]]),
        ({"type": "array", "prefixItems": [INTEGER], "items": False}, "3", [3]),
        ({"anyOf": [INTEGERS, {"type": "null"}]}, "3", [3]),
        ({"type": "array"}, 0, [0]),
    ],
)
def test_a_bare_value_becomes_the_only_element_of_a_list(schema: Any, sent: Any, got: Any) -> None:
    assert repr(repaired(schema, sent)) == repr(got)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (TEXTS, 3),
        (TEXTS, None),
        (TEXTS, ""),
        (TEXTS, "null"),
        ({"type": "array"}, None),
        (INTEGERS, "x"),
        ({**TEXTS, "minItems": 2}, "a"),
        (POINTS, {"y": 1}),
        (TEXTS, [{"url": "x"}]),
    ],
)
def test_what_would_not_fit_in_a_list_is_not_put_into_one(schema: Any, value: Any) -> None:
    refused(schema, value)


@pytest.mark.parametrize(
    ("schema", "sent", "got"),
    [
        (INTEGERS, {"item": ["1", 2]}, [1, 2]),
        (INTEGERS, {"item": "1"}, [1]),
        (POINTS, {"item": {"x": "1"}}, [{"x": 1}]),
        (POINTS, {"item": [{"x": "1"}]}, [{"x": 1}]),
        ({"type": "array", "items": {"type": "object"}}, {"item": {"b": 1}}, [{"b": 1}]),
        ({"type": "array"}, {"item": {"item": 1}}, [{"item": 1}]),
    ],
)
def test_an_object_of_one_item_stands_for_a_list(schema: Any, sent: Any, got: Any) -> None:
    assert repaired(schema, sent) == got


def test_an_object_of_one_item_below_the_first_level_stands_for_a_list() -> None:
    text = {"type": "object", "properties": {"text": TEXT}, "additionalProperties": False}
    block = {"type": "object", "properties": {"rich_text": {"type": "array", "items": text}}}
    schema = {"type": "array", "items": block}
    sent = [{"rich_text": {"item": {"text": "a"}}}, {"rich_text": {"item": [{"text": "b"}]}}]
    assert repaired(schema, sent) == [
        {"rich_text": [{"text": "a"}]},
        {"rich_text": [{"text": "b"}]},
    ]


def test_an_object_of_one_item_stays_where_it_may_be_meant() -> None:
    own = {"type": "object", "properties": {"item": {"type": "array", "items": INTEGER}}}
    assert repaired({"type": "array", "items": own}, {"item": ["1"]}) == [{"item": [1]}]
    union = {"type": "array", "items": {"anyOf": [{"type": "null"}, {"allOf": [own]}]}}
    assert repaired(union, {"item": [1]}) == [{"item": [1]}]
    assert repaired({"type": "object"}, {"item": [1]}) == {"item": [1]}
    for value in ({"item": None}, {"item": [1], "b": 2}, {"items": [1]}, {}):
        refused(INTEGERS, value)


def test_nothing_else_is_turned_into_something_else() -> None:
    refused(TEXT, 12345)
    refused(TEXT, True)
    refused(TEXT, ["a"])
    refused(INTEGER, True)
    refused(INTEGER, [1])
    refused(INTEGER, None)
    refused(POINT, None)
    refused(POINT, [["x", 1]])


def test_what_is_repaired_only_in_part_is_refused_as_it_was_sent() -> None:
    schema = {
        "type": "object",
        "properties": {"line": INTEGER, "size": {"type": "integer", "minimum": 1}},
    }
    with pytest.raises(Refusal) as caught:
        Arguments("t", schema).accept({"line": "120", "size": 0})
    assert caught.value.message == (
        'Invalid arguments for t: line: must be an integer, but is the text "120"; '
        "size: must be at least 1, but is 0."
    )


def test_a_repair_reaches_the_handler_with_defaults_behind_it(make: Make) -> None:
    seen: list[Any] = []
    registry = make(lambda args: seen.append(args) or "ok")
    sent = {"limit": "3", "path": "a"}
    assert registry.call("t", sent) == "ok"
    assert list(seen[0].items()) == [("limit", 3), ("path", "a"), ("offset", 1)]
    assert sent == {"limit": "3", "path": "a"}
    assert "limit: must be at most 2000" in error_of(registry.call("t", {"path": "", "limit": 9e9}))
    assert len(seen) == 1


def test_every_repair_is_reported_with_its_place() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": INTEGER,
            "ok": {"type": "boolean"},
            "none": {"type": ["integer", "null"]},
            "list": TEXTS,
            "json": POINT,
            "collapsed": INTEGERS,
            "deep": {"type": "array", "items": POINT},
            "text": TEXT,
        },
    }
    sent = {
        "n": "1", "ok": "TRUE", "none": "null", "list": "x" * 200, "json": '{"x": "1"}',
        "collapsed": {"item": [1]}, "deep": [{"x": 1}, {"x": "2"}], "text": "3",
    }  # fmt: skip
    arguments, repairs = Arguments("t", schema).accept_reporting(sent)
    assert arguments["deep"] == [{"x": 1}, {"x": 2}]
    assert arguments["deep"][0] is sent["deep"][0]  # type: ignore[index]
    long = '["' + "x" * 78 + "… (124 more characters)"
    assert repairs == (
        Repair("n", "number", '"1"', "1"),
        Repair("ok", "boolean", '"TRUE"', "true"),
        Repair("none", "null", '"null"', "null"),
        Repair("list", "list", '"' + "x" * 79 + "… (122 more characters)", long),
        Repair("json", "json", '"{\\"x\\": \\"1\\"}"', '{"x": 1}'),
        Repair("collapsed", "item", '{"item": [1]}', "[1]"),
        Repair("deep[1].x", "number", '"2"', "2"),
    )


def test_what_was_not_repaired_is_reported_as_nothing() -> None:
    closed = parameters({"type": "integer", "default": 1}, additionalProperties=False)
    for schema in (closed, parameters({"type": "integer", "default": 1})):
        gate = Arguments("t", schema)
        for args in ({}, {"a": 2}, {"a": 2.0}, None):
            assert gate.accept_reporting(args)[1] == ()
            assert gate.accept_reporting(args)[0] == gate.accept(args)
    arguments, repairs = Arguments("t", closed).accept_reporting('{"a": "3"}')
    assert arguments == {"a": 3}
    assert repairs == (Repair("", "json", '"{\\"a\\": \\"3\\"}"', '{"a": 3}'),)
