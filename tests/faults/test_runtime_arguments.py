"""Faults of arguments that somebody reported: what is meant arrives, and nothing is guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import RegistrationError
from tests.contract.programs import error_of, offer, one_tool, several


def holding(part: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": part}, "additionalProperties": False, **more}


TREE = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"rich_text": {"type": "array", "items": {"type": "object"}}},
    },
}

ARRIVE: dict[str, tuple[Any, Any, Any]] = {
    # A schema of one property, what is sent, what the handler gets.
    "hermes-agent#59186 16 digits": ({"type": "integer"}, "9007199254740993", 9007199254740993),
    "hermes-agent#59186 an id": ({"type": "integer"}, "1234567890123456789", 1234567890123456789),
    "hermes-agent#59186 as a number": ({"type": "integer"}, 9007199254740993, 9007199254740993),
    "hermes-agent#44976 below the first level": (
        TREE,
        [{"rich_text": {"item": {"a": 1}}}],
        [{"rich_text": [{"a": 1}]}],
    ),
    "hermes-agent#14811 a list in text": ({"type": "array"}, '["a", "b"]', ["a", "b"]),
    "hermes-agent#14811 an object in text": ({"type": "object"}, '{"a": 1}', {"a": 1}),
    "hermes-agent#47940 text that looks like a list": ({"type": "string"}, "[1,2]", "[1,2]"),
    "hermes-agent#47940 where text is admitted": (
        {"type": ["string", "array"]},
        "[1,2]",
        "[1,2]",
    ),
    "claudlos/hermes-katana#28 anyOf": (
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "42",
        42,
    ),
    "claudlos/hermes-katana#28 oneOf": (
        {"oneOf": [{"type": "boolean"}, {"type": "null"}]},
        "true",
        True,
    ),
    "claudlos/hermes-katana#28 a reference": ({"$ref": "#/$defs/n"}, "42", 42),
    "fastmcp#330 digits for a text": ({"type": "string"}, "12345", "12345"),
    "fastmcp#330 an object for a text": ({"type": "string"}, '{"a":1}', '{"a":1}'),
    "text 'null' where text is admitted": ({"type": ["string", "null"]}, "null", "null"),
    "text 'null' where it is not": ({"type": ["integer", "null"]}, "null", None),
    "a property of any kind": (True, {"a": [None]}, {"a": [None]}),
    "hermes-agent#102757 half a character": ({"type": "string"}, "x\ud800", "x\ufffd"),
    "hermes-agent#102757 two halves": ({"type": "string"}, "\ud83d\ude00", "😀"),
    "hermes-agent#102757 in a list": ({"type": "array"}, ["\udc00"], ["\ufffd"]),
}


@pytest.mark.parametrize(("part", "sent", "got"), ARRIVE.values(), ids=ARRIVE)
def test_what_is_meant_arrives_exactly(tmp_path: Path, part: Any, sent: Any, got: Any) -> None:
    seen: list[Any] = []

    def handler(args: dict[str, Any]) -> str:
        seen.append(args["x"])
        return "ran"

    schema = holding(part, **{"$defs": {"n": {"type": "integer"}}})
    registry = one_tool(tmp_path, handler, schema)
    for _ in range(2):
        assert registry.call("t", {"x": sent}) == "ran"
    assert repr(seen) == repr([got, got])


REFUSED: dict[str, tuple[Any, Any]] = {
    "hermes-agent#61693 objects where texts are due": (
        holding({"type": "array", "items": {"type": "string"}}),
        {"x": [{"url": "a"}]},
    ),
    "hermes-agent#6841 two objects glued": (holding({}), '{"x":1}{"x":1}'),
    "hermes-agent#50892 a list": (holding({}), []),
    "hermes-agent#50892 a number": (holding({}), 3),
    "hermes-agent#59186 a fraction": (holding({"type": "integer"}), {"x": "3.5"}),
    "hermes-agent#59186 beyond a number": (holding({"type": "number"}), {"x": "1.5e400"}),
    "an integer beyond all memory": (holding({"type": "integer"}), {"x": "1e999999999"}),
    "space around digits": (holding({"type": "integer"}), {"x": " 42\n"}),
    "an underscore in digits": (holding({"type": "integer"}), {"x": "1_000"}),
    "digits that are not ASCII": (holding({"type": "integer"}), {"x": "٤٢"}),
    "an infinity": (holding({"type": "number"}), {"x": "Infinity"}),
    "a property that is refused": (holding(False), {"x": 1}),
    "a very deep text": (holding({"type": "array"}), {"x": "[" * 100_000}),
    "a very deep text that closes": (
        holding({"type": "array"}),
        {"x": "[" * 100_000 + "]" * 100_000},
    ),
    "not a number": (holding({"type": "number"}), {"x": float("nan")}),
    "hermes-agent#32376 half of two": (
        {
            "type": "object",
            "properties": {"action": {"enum": ["send", "list"]}, "target": {}},
            "if": {"properties": {"action": {"const": "send"}}},
            "then": {"required": ["target"]},
        },
        {"action": "send"},
    ),
}


@pytest.mark.parametrize(("schema", "sent"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_meant_never_reaches_the_handler(
    tmp_path: Path, schema: Any, sent: Any
) -> None:
    ran: list[Any] = []
    registry = one_tool(tmp_path, lambda args: ran.append(args) or "ran", schema)
    for _ in range(2):
        assert "rguments" in error_of(registry.call("t", sent))
    assert not ran


def test_null_is_no_arguments(tmp_path: Path) -> None:
    """After hermes-agent#50892."""
    registry = one_tool(tmp_path, lambda args: json.dumps(args), holding({"default": 1}))
    assert registry.call("t", None) == registry.call("t", "null") == '{"x": 1}'


def test_a_name_that_is_doubled_is_unknown_and_names_its_neighbour(tmp_path: Path) -> None:
    """After hermes-agent#6841."""
    error = error_of(several(tmp_path).call("readread", {}))
    assert "Unknown tool: readread" in error
    assert "'read'" in error


MAGIC = ["args", "kwargs", "self", "cls", "_path", "handler", "name", "class", "a b", "context"]


@pytest.mark.parametrize("name", MAGIC)
@pytest.mark.parametrize("takes", ["a dict", "anything"])
def test_no_parameter_has_a_meaning_of_its_own(tmp_path: Path, name: str, takes: str) -> None:
    """After langchain-ai/langchain#35796 and openai/openai-agents-python#4107."""
    seen: list[Any] = []

    def plain(args: dict[str, Any]) -> str:
        seen.append(args)
        return "ran"

    def anything(args: dict[str, Any], **context: Any) -> str:
        seen.append(args)
        return "ran"

    handler = plain if takes == "a dict" else anything
    parameters = {"type": "object", "properties": {name: {"type": "integer"}}}
    parameters["required"] = [name]
    registry = several(tmp_path)
    registry.plugin("p").register(**offer("x", schema={"parameters": parameters}, handler=handler))
    definition = registry.get_definition("x")
    assert definition is not None
    assert definition["function"]["parameters"] == parameters
    for caller in (registry, registry.session(session_id="s")):
        assert caller.call("x", {name: 1}, task_id="t") == "ran"
    assert seen == [{name: 1}] * 2


def test_a_handler_that_would_drop_every_argument_is_refused(tmp_path: Path) -> None:
    """After hermes-agent#64025: a catch-all is no signature that can be held against a schema."""
    plugin = several(tmp_path).plugin("p")
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    with pytest.raises(RegistrationError, match="no parameter for the property `path`"):
        plugin.register(
            **offer("x", schema={"parameters": parameters}, handler=lambda **given: "ran")
        )
