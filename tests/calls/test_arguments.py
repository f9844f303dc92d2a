"""Arguments that fit reach the handler as they were sent, with the defaults behind them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.calls.one_tool import ANY, Make, echo, error_of
from tests.runtime_program import READ_FILE


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
    assert registry.call("t", None) == registry.call("t") == registry.call("t", "null") == "{}"


def test_arguments_that_are_the_text_of_one_object_are_that_object(make: Make) -> None:
    registry = make(lambda args: json.dumps(args))
    expected = {"path": "[1]", "limit": 3, "offset": 1}
    for text in ('{"path": "[1]", "limit": 3}', ' {"path":"[1]","limit":"3"}\n'):
        assert json.loads(registry.call("t", text)) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"path":"a"}{"path":"a"}', "and one only: another is glued to it at character 13"),
        ('{"path":"a"} {"path":"b"}', "and one only: another is glued to it at character 14"),
        ('{"path":"a"}, and then', "and nothing more: other text follows it at character 13"),
        ('["a"]', "not a list."),
        ('"a"', "not a text."),
        ("true", "not a boolean."),
        ("4", "not a number."),
        ('{"path": "a"', "not text that is no JSON (Expecting"),
        ("path=a", "not text that is no JSON (Expecting"),
        ("", "not text that is no JSON (Expecting"),
        ('{"path": NaN}', "not text that is no JSON (NaN is no JSON value)"),
        ('{"path": 1e999}', "not text that is no JSON (1e999 is larger than any number"),
        ('{"path":"a","path":"b"}', "not text that is no JSON (the name 'path' stands twice"),
        ("[" * 100_000, "not text that is no JSON (it is nested too deeply)"),
        ('{"path":' * 100_000, "not text that is no JSON (it is nested too deeply)"),
    ],
)
def test_no_guess_is_made_at_text_that_is_not_one_object(make: Make, text: str, says: str) -> None:
    ran: list[object] = []
    message = error_of(make(lambda args: ran.append(args) or "ok").call("t", text))
    assert message.startswith("Arguments of t must be a JSON object, ")
    assert says in message
    assert len(message) < 300
    assert not ran


def test_half_a_character_in_the_text_of_arguments_is_replaced(make: Make) -> None:
    registry = make(lambda args: args["path"])
    assert registry.call("t", '{"path": "\\ud83d\\ude00 \\ud83d"}') == "😀 \ufffd"


def test_defaults_are_filled_in_at_every_level_that_is_there() -> None:
    from hermes_build.runtime.validation import Arguments

    inner = {
        "type": "object",
        "properties": {"n": {"type": "integer", "default": 1}, "o": {"$ref": "#/$defs/o"}},
    }
    parameters = {
        "type": "object",
        "properties": {"o": {"$ref": "#/$defs/o"}, "l": {"items": {"$ref": "#/$defs/o"}}},
        "$defs": {"o": inner},
    }
    gate = Arguments("t", parameters)
    sent: dict[str, Any] = {"o": {"o": {}}, "l": [{}, {"n": 2}]}
    assert gate.accept(sent) == {"o": {"o": {"n": 1}, "n": 1}, "l": [{"n": 1}, {"n": 2}]}
    assert sent == {"o": {"o": {}}, "l": [{}, {"n": 2}]}
    assert gate.accept({}) == {}
    # The parent may be there by a repair only.
    assert gate.accept({"o": '{"o": {}}'}) == {"o": {"o": {"n": 1}, "n": 1}}


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
        if not fits:  # repaired: no text is left where a number is wanted
            args = {**args, **{key: int(args[key]) for key in ("offset", "limit") if key in args}}
        assert Draft202012Validator(READ_FILE).is_valid(args)
        assert not any(isinstance(one, float) for one in filled.values())
        assert filled == {"offset": 1, "limit": 500, **args}
