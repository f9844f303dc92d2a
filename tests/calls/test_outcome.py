"""What came of a call is told as data, by every way of calling."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from hermes_build.runtime import Outcome, tool_error
from hermes_build.runtime.registry import ToolRegistry
from tests.calls.one_tool import ANY, Make
from tests.contract.programs import echo

Run = Callable[..., Outcome]


def plain(registry: ToolRegistry) -> Run:
    return registry.run


def from_async_code(registry: ToolRegistry) -> Run:
    return lambda *args, **context: asyncio.run(registry.arun(*args, **context))


def of_a_session(registry: ToolRegistry) -> Run:
    return registry.session().run


def of_a_session_from_async_code(registry: ToolRegistry) -> Run:
    session = registry.session()
    return lambda *args, **context: asyncio.run(session.arun(*args, **context))


WAYS = [plain, from_async_code, of_a_session, of_a_session_from_async_code]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Callable[[ToolRegistry], Run]:
    chosen: Callable[[ToolRegistry], Run] = request.param
    return chosen


def raising(args: dict[str, Any]) -> str:
    raise ValueError("wrong")


ENVELOPE = {"_multimodal": True, "content": [], "error": "no picture"}

OUTCOMES: dict[str, tuple[Any, Any, str, str | None, str | None]] = {
    "a text": (lambda args: "done", {}, "ok", None, None),
    "data": (lambda args: {"a": 1}, {}, "ok", None, None),
    "an error that is returned": (
        lambda args: tool_error("no such file"),
        {},
        "error",
        "tool_error",
        "no such file",
    ),
    "an envelope that holds one": (lambda args: ENVELOPE, {}, "error", "tool_error", "no picture"),
    "an exception": (
        raising,
        {},
        "error",
        "handler_exception",
        "[TOOL_ERROR] Tool execution failed: ValueError: wrong",
    ),
    "nothing that a model could get": (lambda args: 3, {}, "error", "tool_result_contract", None),
    "arguments that do not fit": (
        lambda args: "done",
        {"n": "many"},
        "error",
        "invalid_arguments",
        None,
    ),
    "text that only speaks of one": (lambda args: '{"error": ', {}, "ok", None, None),
}


@pytest.mark.parametrize(
    ("handler", "args", "status", "error_type", "message"), OUTCOMES.values(), ids=OUTCOMES
)
@pytest.mark.parametrize("listened", [False, True])
def test_an_outcome_says_what_hooks_are_told_and_has_the_answer(
    make: Make,
    way: Callable[[ToolRegistry], Run],
    handler: Any,
    args: Any,
    status: str,
    error_type: str | None,
    message: str | None,
    listened: bool,
) -> None:
    parameters = {"type": "object", "properties": {"n": {"type": "integer"}}}
    registry = make(handler, parameters)
    seen: list[dict[str, Any]] = []
    if listened:
        registry.hooks.add("post_tool_call", lambda **told: seen.append(told))
    outcome = way(registry)("t", args)
    assert outcome.result == registry.call("t", args)
    assert (outcome.status, outcome.error_type) == (status, error_type)
    assert outcome.ok is (status == "ok")
    assert (outcome.error_message is None) is outcome.ok
    if message is not None:
        assert outcome.error_message == message
    for told in seen:
        assert (told["status"], told["error_type"]) == (status, error_type)
        assert told["error_message"] == outcome.error_message


def test_repairs_and_time_are_told(make: Make, way: Callable[[ToolRegistry], Run]) -> None:
    outcome = way(make(echo))("t", {"path": "a", "limit": "7"}, task_id="t1")
    told = json.loads(outcome.result)
    assert told["args"]["limit"] == 7 and told["context"]["task_id"] == "t1"
    assert [one.path for one in outcome.repairs] == ["limit"]
    assert type(outcome.duration_ms) is int and outcome.duration_ms >= 0
    with pytest.raises(AttributeError):
        outcome.status = "error"  # type: ignore[misc]


def test_what_is_blocked_says_so_and_a_transformed_answer_is_the_result(
    make: Make, way: Callable[[ToolRegistry], Run]
) -> None:
    registry = make(lambda args: "done", ANY)
    registry.hooks.add("transform_tool_result", lambda result: result.replace("done", "told"))
    assert way(registry)("t").result == "told"
    registry.hooks.add("pre_tool_call", lambda: {"action": "block", "message": "Not today."})
    outcome = way(registry)("t")
    assert (outcome.status, outcome.error_type) == ("blocked", "plugin_block")
    assert outcome.error_message == "Not today."
    assert json.loads(outcome.result) == {"error": "Not today."}


def test_deferred_tools_are_run_and_what_finds_them_has_an_outcome_too(make: Make) -> None:
    registry = make(lambda args: "done", ANY)
    session = registry.session(deferred=["t"])
    assert session.run("tool_call", {"name": "t", "arguments": {}}).result == "done"
    found = session.run("tool_search", {"query": "tool"})
    assert found.ok and json.loads(found.result)["total"] == 1
    for outcome in (
        session.run("tool_describe", {"name": "nobody"}),
        asyncio.run(session.arun("tool_describe", {"name": "nobody"})),
    ):
        assert (outcome.status, outcome.error_type) == ("error", "tool_error")
        assert "no tool 'nobody'" in str(outcome.error_message)


def test_a_cancelled_caller_gets_no_outcome(make: Make) -> None:
    async def handler(args: dict[str, Any]) -> str:
        await asyncio.sleep(60)
        return "done"

    async def main() -> None:
        task = asyncio.create_task(registry.arun("t"))
        await asyncio.sleep(0)
        task.cancel()
        await task

    registry = make(handler, ANY, is_async=True)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
