"""Tool definitions are read in every form that providers and MCP servers use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hermes_build.compiler.adopt.definitions import Definition, read_definitions
from hermes_build.compiler.diagnostics import Findings

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}


def read(value: Any) -> tuple[tuple[Definition, ...], Findings]:
    findings = Findings()
    text = value if isinstance(value, str) else json.dumps(value)
    return read_definitions(text, "tools.json", findings), findings


FORMS = {
    "chat completions": {
        "type": "function",
        "function": {"name": "find", "description": "Find.", "parameters": SCHEMA},
    },
    "responses": {"type": "function", "name": "find", "description": "Find.", "parameters": SCHEMA},
    "anthropic": {"name": "find", "description": "Find.", "input_schema": SCHEMA},
    "anthropic custom": {
        "type": "custom", "name": "find", "description": "Find.", "input_schema": SCHEMA,
    },
    "mcp": {"name": "find", "description": "Find.", "inputSchema": SCHEMA},
    "bare": {"name": "find", "description": "Find.", "parameters": SCHEMA},
    "wrapped": {
        "toolSpec": {"name": "find", "description": "Find.", "inputSchema": {"json": SCHEMA}}
    },
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_definition(form: str) -> None:
    (one,), findings = read([FORMS[form]])
    assert (one.name, one.description, one.parameters) == ("find", "Find.", SCHEMA)
    assert not list(findings)


ONE = FORMS["bare"]
WRAPPINGS = {
    "alone": ONE,
    "tools": {"tools": [ONE]},
    "functions": {"functions": [ONE]},
    "declarations": [{"functionDeclarations": [ONE]}],
    "reply of a server": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [ONE]}},
    "benchmark": {"id": "x", "question": [], "function": [ONE]},
    "lines": json.dumps(ONE) + "\n\n" + json.dumps({"tools": []}) + "\n",
    "byte order mark": "\ufeff" + json.dumps([ONE]),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_one_definition_is_found_in_every_wrapping(wrapping: str) -> None:
    found, findings = read(WRAPPINGS[wrapping])
    assert [one.name for one in found] == ["find"]
    assert not list(findings)


def test_what_mcp_says_beside_the_schema_is_kept() -> None:
    (one,), findings = read(
        {
            "name": "find",
            "title": "Find it",
            "inputSchema": SCHEMA,
            "outputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": True, "openWorldHint": False, "title": "Other"},
        }
    )
    assert one.title == "Find it"
    assert one.output_schema == {"type": "object"}
    assert one.annotations == {"read_only": True, "open_world": False}
    assert not list(findings)
    assert one.dropped == ("the annotation 'title' ('Other'), since it has a `title` too",)


def test_hints_that_contradict_each_other_lose_the_one_without_meaning() -> None:
    (one,), _ = read(
        {
            "name": "find",
            "inputSchema": SCHEMA,
            "annotations": {"readOnlyHint": True, "destructiveHint": True},
        }
    )
    assert one.annotations == {"read_only": True}
    assert "contradicts" in one.dropped[0]


def test_what_a_spec_has_no_place_for_is_listed() -> None:
    (one,), _ = read(
        {"type": "function", "cache": 1, "function": {**FORMS["bare"], "strict": True}}
    )
    assert [what.split(",")[0] for what in one.dropped] == ["'strict'", "'cache'"]


def test_each_item_of_a_list_has_its_own_line() -> None:
    text = '[\n {"name": "a"},\n\n {"name": "b"}\n, {"name":\n "c"}]'
    found, _ = read(text)
    assert [one.span.line for one in found if one.span] == [2, 4, 5]
    assert found[1].label == "item 2 (`b`)"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "no tool definition"),
        ("[]", "no tool definition"),
        ("{", "not JSON"),
        ("[1, 2", "not JSON"),
        ("[1 2]", "not JSON"),
        ("[{}], ", "not JSON"),
        ('{"name": "a", "name": "b"}', "twice"),
        ("[" * 100_000, "deep"),
        ("{}", "has no name"),
        ('{"name": ""}', "has no name"),
        ('{"name": 3}', "has no name"),
        ('"text"', "but text"),
        ("[null, 3]", "but null"),
        ('{"type": "web_search"}', "that the provider runs"),
        ('{"type": "bash_20250124", "name": "bash"}', "that the provider runs"),
        ('{"name": "a", "parameters": 3}', "not a schema"),
        ('{"name": "a", "parameters": true}', "not a schema"),
        ('{"name": "a", "description": 3}', "not text"),
        ('{"name": "a", "outputSchema": 3}', "not a schema"),
    ],
)
def test_what_is_no_definition_is_refused_with_the_reason(value: str, words: str) -> None:
    found, findings = read(value)
    assert not found
    assert {one.code for one in findings} == {"HB1304"}
    assert words in next(iter(findings)).message


def test_one_bad_item_does_not_spoil_the_others() -> None:
    found, findings = read([FORMS["bare"], 7, FORMS["mcp"]])
    assert len(found) == 2
    assert ["item 2" in one.message for one in findings] == [True]


def test_numbers_beyond_json_are_read_and_left_to_be_refused_by_name() -> None:
    (one,), _ = read(
        '{"name": "a", "parameters": {"a": NaN, "b": 1e999, "c": -' + "9" * 5000 + "}}"
    )
    assert set(map(str, one.parameters.values())) == {"nan", "inf", "-inf"}
