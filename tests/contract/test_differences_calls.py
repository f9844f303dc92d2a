"""The differences from hermes-agent that are meant, in calls: from the arguments to the result."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import ANY, INTEGER, Make, echo, error_of, fields_of, one_tool
from tests.runtime_program import tool, write_program


def test_difference_what_is_denied_cannot_be_called(registry: ToolRegistry) -> None:
    session = registry.session(["full"], ["terminal"])
    deferring = registry.session(["full"], ["terminal"], deferred=["web"])
    for answer in (
        session.call("run", {}),
        asyncio.run(session.acall("run", {})),
        deferring.call("tool_call", {"name": "run"}),
    ):
        assert "not in this session" in error_of(answer)
    assert session.call("read", {}) == "read"


def test_difference_an_unavailable_tool_answers_what_is_missing(needy: ToolRegistry) -> None:
    for call in (needy.call, needy.session().call):
        error = error_of(call("read", {}))
        assert "not available" in error and "set CONTRACT_KEY" in error


def test_difference_arguments_are_validated_and_defaults_filled_in(make: Make) -> None:
    calls: list[dict[str, Any]] = []

    def handler(args: dict[str, Any]) -> str:
        calls.append(args)
        return "ran"

    registry = make(handler, INTEGER)
    assert "n: " in error_of(registry.call("t", {"n": [1]})) and calls == []
    assert registry.call("t", {}) == "ran" and calls == [{"n": 7}]


@pytest.mark.parametrize("value", ["42", "true", "null", '["a"]', '{"a": 1}'])
def test_difference_what_fits_is_never_coerced(make: Make, value: str) -> None:
    part = {"type": ["integer", "boolean", "array", "object", "null", "string"]}
    registry = make(echo, {"type": "object", "properties": {"x": part}})
    assert fields_of(registry.call("t", {"x": value}))["args"] == {"x": value}


@pytest.mark.parametrize("text", ["1_000", " 42", "٤٢", "infinity"])
def test_difference_numbers_are_read_as_json_writes_them(make: Make, text: str) -> None:
    registry = make(echo, INTEGER)
    assert "n: " in error_of(registry.call("t", {"n": text}))
    exact = fields_of(registry.call("t", {"n": "9007199254740993"}))
    assert exact["args"] == {"n": 9007199254740993}


def test_difference_text_of_a_broken_list_is_not_put_into_one(make: Make) -> None:
    part = {"type": "array", "items": {"type": "string"}}
    registry = make(echo, {"type": "object", "properties": {"x": part}})
    assert "x: " in error_of(registry.call("t", {"x": '["a", "b'}))
    assert fields_of(registry.call("t", {"x": "a"}))["args"] == {"x": ["a"]}


def test_difference_the_callers_arguments_are_not_written_to(make: Make) -> None:
    sent = {"n": "42"}
    assert fields_of(make(echo, INTEGER).call("t", sent))["args"] == {"n": 42}
    assert sent == {"n": "42"}


def test_difference_dicts_and_lists_are_results(tmp_path: Path) -> None:
    assert one_tool(tmp_path / "a", lambda args: {"a": [1]}).call("t", {}) == '{"a": [1]}'
    assert one_tool(tmp_path / "b", lambda args: [1]).call("t", {}) == "[1]"
    output = {"type": "integer"}
    registry = one_tool(tmp_path / "c", lambda args: args["n"], output_schema=output)
    assert registry.call("t", {"n": 3}) == "3"
    assert fields_of(registry.call("t", {"n": "x"}))["error_type"] == "tool_result_contract"


@pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError, GeneratorExit])
def test_difference_system_exit_does_not_end_the_agent(
    make: Make, error: type[BaseException]
) -> None:
    def handler(args: dict[str, Any]) -> str:
        raise error

    assert error.__name__ in error_of(make(handler).dispatch("t", {}))


def test_difference_a_time_out_is_the_tools_own(make: Make) -> None:
    returned = threading.Event()

    def handler(args: dict[str, Any]) -> str:
        returned.wait(60)
        return "late"

    registry = make(handler, timeout_seconds=0.05)
    assert "timed out" in error_of(registry.call("t", {}))
    assert "timed out" in error_of(asyncio.run(registry.acall("t", {})))
    returned.set()


def test_difference_one_loop_serves_all_threads(make: Make) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def handler(args: dict[str, Any]) -> str:
        loops.append(asyncio.get_running_loop())
        return "ran"

    registry = make(handler, is_async=True)
    registry.call("t", {})
    thread = threading.Thread(target=registry.call, args=("t", {}))
    thread.start()
    thread.join(60)
    assert len(loops) == 2 and loops[0] is loops[1]


def test_difference_a_tool_of_the_agent_loop_is_bound_by_it(tmp_path: Path) -> None:
    registry = write_program(tmp_path, [tool("todo", ANY, handler="external")]).registry
    assert "`handler: external`" in error_of(registry.call("todo", {}))
    todos: list[str] = []
    registry.register("todo", handler=lambda args: todos.append(args["add"]) or f"{len(todos)}")  # type: ignore[func-returns-value]
    assert registry.call("todo", {"add": "milk"}) == "1"
