"""Deferred tools are found, read and called through three tools, within the session's set."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.registry import ToolRegistry
from tests.runtime_program import tool, toolset, write_program

TOOLS = {
    "create_invoice": "Make an invoice for a customer and send it by mail.",
    "delete_invoice": "Remove an invoice that was not paid.",
    "list_customers": "List the customers, newest first.",
    "resize_image": "Change the width and height of a picture.",
    "sendMail": "Deliver a message to an address.",
}
PARAMETERS = {
    "type": "object",
    "properties": {"customer": {"type": "string", "description": "Whose it is"}},
    "required": ["customer"],
}


@pytest.fixture
def registry(tmp_path: Path) -> ToolRegistry:
    tools = [
        tool(name, PARAMETERS, description=text, toolset="office", handler="external")
        for name, text in TOOLS.items()
    ]
    tools.append(tool("read", {"type": "object"}, toolset="file", handler="external"))
    sets = [toolset("office", sorted(TOOLS)), toolset("file", ["read"])]
    made = write_program(tmp_path, tools, toolsets=sets).registry
    for name in (*TOOLS, "read"):
        made.register(
            name, handler=lambda args, name=name, **_: json.dumps({"tool": name, "args": args})
        )
    return made


def found(answer: Any) -> list[str]:
    return [one["name"] for one in json.loads(answer)["tools"]]


def test_three_tools_stand_for_all_that_are_deferred(registry: ToolRegistry) -> None:
    session = registry.session(deferred=["office"])
    listed = [one["function"]["name"] for one in session.definitions()]
    assert listed == ["read", "tool_search", "tool_describe", "tool_call"]
    assert "There are 5 of them." in session.definitions()[1]["function"]["description"]
    assert session.explain("sendMail").deferred


def test_search_ranks_by_relevance(registry: ToolRegistry) -> None:
    session = registry.session(deferred=["office"])
    assert found(session.call("tool_search", {"query": "make invoices"}))[0] == "create_invoice"
    assert found(session.call("tool_search", {"query": "picture resizing"})) == ["resize_image"]
    assert found(session.call("tool_search", {"query": "mail", "limit": 1})) == ["sendMail"]
    answer = json.loads(session.call("tool_search", {"query": "zebra"}))
    assert answer["tools"] == [] and answer["total"] == 5


@pytest.mark.parametrize(
    "query",
    ['"', "AND", "NEAR(", "*", "name:x", "-mail OR", "'; DROP TABLE tools; --", "\x00", "é"],
)
def test_no_query_is_a_syntax_error(registry: ToolRegistry, query: str) -> None:
    session = registry.session(deferred=["office"])
    assert "tools" in json.loads(session.call("tool_search", {"query": query}))


def test_describe_gives_the_schema_and_call_calls(registry: ToolRegistry) -> None:
    session = registry.session(deferred=["office"])
    described = json.loads(session.call("tool_describe", {"name": "sendMail"}))
    assert described == registry.get_schema("sendMail")
    wanted = {"name": "sendMail", "arguments": {"customer": "Ada"}}
    answer = {"tool": "sendMail", "args": {"customer": "Ada"}}
    assert json.loads(session.call("tool_call", wanted)) == answer
    assert json.loads(asyncio.run(session.acall("tool_call", wanted))) == answer


def test_hooks_see_the_tool_that_is_really_called(registry: ToolRegistry) -> None:
    seen: list[str] = []
    registry.hooks.add("pre_tool_call", lambda tool_name: seen.append(tool_name))
    session = registry.session(deferred=["office"])
    session.call("tool_search", {"query": "mail"})
    session.call("tool_call", {"name": "sendMail", "arguments": {"customer": "Ada"}})
    assert seen == ["sendMail"]


def test_what_is_not_granted_is_neither_found_nor_read_nor_called(registry: ToolRegistry) -> None:
    session = registry.session(disabled=["sendMail"], deferred=["office"])
    assert "sendMail" not in found(session.call("tool_search", {"query": "mail message"}))
    assert "error" in json.loads(session.call("tool_describe", {"name": "sendMail"}))
    answer = session.call("tool_call", {"name": "sendMail", "arguments": {"customer": "Ada"}})
    assert "not in this session" in json.loads(answer)["error"]


def test_the_arguments_of_the_three_are_validated(registry: ToolRegistry) -> None:
    session = registry.session(deferred=["office"])
    assert "query" in json.loads(session.call("tool_search", {}))["error"]
    assert "customer" in json.loads(session.call("tool_call", {"name": "sendMail"}))["error"]
    nested = {"name": "tool_call", "arguments": {"name": "sendMail"}}
    assert "error" in json.loads(session.call("tool_call", nested))


def test_a_tool_that_comes_later_is_found(registry: ToolRegistry) -> None:
    session = registry.session(deferred=["*"])
    assert found(session.call("tool_search", {"query": "translate"})) == []
    schema = {
        "name": "translate",
        "description": "Translate text.",
        "parameters": {"type": "object"},
    }
    registry.plugin("words").register(
        name="translate", toolset="words", schema=schema, handler=lambda args: "ok"
    )
    assert found(session.call("tool_search", {"query": "translate"})) == ["translate"]


def test_a_session_without_deferred_tools_has_none_of_the_three(registry: ToolRegistry) -> None:
    assert (
        "Unknown tool"
        in json.loads(registry.session().call("tool_search", {"query": "x"}))["error"]
    )
