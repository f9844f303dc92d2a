"""Points 32 to 35 of the contract: the order of a call, its hooks, and its ids."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import tool_error
from hermes_build.runtime.call import Call
from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import (
    Make,
    Recorder,
    echo,
    error_of,
    fields_of,
    offer,
    says,
    several,
)

ORDER = ["pre_tool_call", "handler", "post_tool_call", "transform_tool_result"]
IDS = {"session_id": "s1", "task_id": "t1", "tool_call_id": "c1", "turn_id": "u1"}


@pytest.mark.parametrize("way", ["call", "acall"])
def test_32_the_order_is_pre_handler_post_transform(make: Make, way: str) -> None:
    seen: list[str] = []

    def handler(args: dict[str, Any]) -> str:
        seen.append("handler")
        return "ran"

    registry = make(handler)
    for name in ("transform_tool_result", "post_tool_call", "pre_tool_call"):
        registry.hooks.add(name, lambda name=name: seen.append(name))
    answer = registry.call("t", {}) if way == "call" else asyncio.run(registry.acall("t", {}))
    assert answer == "ran" and seen == ORDER


def test_32_all_hooks_get_name_arguments_and_ids(make: Make) -> None:
    registry = make(echo)
    recorder = Recorder(registry)
    registry.call("t", {"a": 1}, **IDS)
    for _, values in recorder.seen:
        assert values["tool_name"] == "t" and values["args"] == {"a": 1}
        assert {name: values[name] for name in IDS} == IDS
    recorder.seen.clear()
    registry.call("t", {"a": 1})
    registry.call("t", {"a": 1}, **dict.fromkeys(IDS))
    assert len(recorder.seen) == 6
    for _, values in recorder.seen:
        assert {name: values[name] for name in IDS} == dict.fromkeys(IDS, "")


def test_32_the_arguments_are_those_that_the_handler_is_given_and_frozen(make: Make) -> None:
    def handler(args: dict[str, Any]) -> Any:
        given = dict(args)
        args.clear()
        return given

    registry = make(handler)
    recorder = Recorder(registry)
    registry.hooks.add_execution_middleware(lambda proceed, call: proceed({"a": [2]}))
    assert fields_of(registry.call("t", {"a": [1]})) == {"a": [2]}
    before, after, transform = (values["args"] for _, values in recorder.seen)
    assert before == {"a": [1]} and after == transform == {"a": [2]}
    for args in (before, after, transform):
        with pytest.raises(TypeError, match="cannot be changed"):
            args["a"].append(3)


def broken(args: dict[str, Any]) -> str:
    raise ValueError("wrong")


OUTCOMES: dict[str, tuple[Any, dict[str, Any], str, str | None, str]] = {
    "a result": (says("ran"), {}, "ok", None, ""),
    "an error that is returned": (
        lambda args: tool_error("none"),
        {},
        "error",
        "tool_error",
        "none",
    ),
    "an exception": (broken, {}, "error", "handler_exception", "ValueError: wrong"),
    "another kind": (lambda args: 3, {}, "error", "tool_result_contract", "unsupported"),
    "bad arguments": (says("ran"), {"n": "x"}, "error", "invalid_arguments", "n: "),
}


@pytest.mark.parametrize(
    ("handler", "args", "status", "error_type", "message"), OUTCOMES.values(), ids=OUTCOMES
)
def test_32_post_and_transform_also_get_the_outcome(
    make: Make,
    handler: Any,
    args: dict[str, Any],
    status: str,
    error_type: str | None,
    message: str,
) -> None:
    registry = make(handler, {"type": "object", "properties": {"n": {"type": "integer"}}})
    recorder = Recorder(registry)
    answer = registry.call("t", args)
    after, transform = recorder.last("post_tool_call"), recorder.last("transform_tool_result")
    assert after == transform
    assert after["result"] == answer
    assert (after["status"], after["error_type"]) == (status, error_type)
    assert (message in after["error_message"]) if message else after["error_message"] is None
    duration = after["duration_ms"]
    assert type(duration) is int and duration >= 0 and duration == transform["duration_ms"]


NEVER: dict[str, tuple[str, str]] = {
    "an unknown tool": ("nope", "unknown_tool"),
    "one that lacks something": ("read", "unavailable"),
    "one that is not granted": ("run", "not_granted"),
}


@pytest.mark.parametrize(("name", "kind"), NEVER.values(), ids=NEVER)
def test_32_a_call_that_never_reaches_a_handler_has_an_outcome_too(
    tmp_path: Path, name: str, kind: str
) -> None:
    registry = several(tmp_path, read={"requires": {"env": ["CONTRACT_NEVER_SET"]}})
    recorder = Recorder(registry)
    answer = registry.session(["file"]).call(name, {})
    assert recorder.names == ["post_tool_call", "transform_tool_result"]
    values = recorder.last("post_tool_call")
    assert (values["status"], values["error_type"]) == ("error", kind)
    assert values["error_message"] == error_of(answer)
    assert values["duration_ms"] == 0


def test_32_without_listeners_nothing_is_built_or_called(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    registry = make(says("ran"))
    session = registry.session()
    assert registry.call("t", {}) == session.call("t", {}) == "ran"  # made ready
    built: list[Any] = []
    monkeypatch.setattr(Call, "__init__", lambda self, *args: built.append(args))
    assert registry.call("t", {}, **IDS) == session.call("t", {}, **IDS) == "ran"
    assert built == []
    monkeypatch.undo()
    # With the first listener, the next call is seen; without the last one, no more.
    seen: list[str] = []

    def listener(tool_name: str) -> None:
        seen.append(tool_name)

    registry.hooks.add("post_tool_call", listener)
    assert registry.call("t", {}) == session.call("t", {}) == "ran"
    assert seen == ["t", "t"]
    registry.hooks.unregister(listener)
    assert registry.call("t", {}) == "ran" and seen == ["t", "t"]


@pytest.mark.parametrize("way", ["call", "acall", "session", "run-time tool"])
def test_33_a_pre_hook_blocks_with_a_message(registry: ToolRegistry, way: str) -> None:
    ran: list[str] = []

    def handler(args: dict[str, Any]) -> str:
        ran.append("zoom")
        return "ran"

    registry.plugin("p").register(**offer("zoom", handler=handler))
    name = "zoom" if way == "run-time tool" else "read"
    registry.hooks.add("pre_tool_call", lambda: {"action": "block", "message": "Not today."})
    recorder = Recorder(registry)
    call: Any = registry.session().call if way == "session" else registry.call
    answer = asyncio.run(registry.acall(name, {})) if way == "acall" else call(name, {})
    assert fields_of(answer) == {"error": "Not today."}
    assert ran == []
    values = recorder.last("post_tool_call")
    assert (values["status"], values["error_type"]) == ("blocked", "plugin_block")
    assert values["error_message"] == "Not today." and values["result"] == answer
    assert values["duration_ms"] == 0


@pytest.mark.parametrize("error", [RuntimeError, SystemExit, asyncio.CancelledError])
def test_33_a_pre_hook_that_raises_blocks(make: Make, error: type[BaseException]) -> None:
    ran: list[int] = []

    def handler(args: dict[str, Any]) -> str:
        ran.append(1)
        return "ran"

    def policy() -> None:
        raise error("password=hunter2hunter2")

    registry = make(handler)
    registry.hooks.add("pre_tool_call", policy)
    recorder = Recorder(registry)
    message = error_of(registry.call("t", {}))
    assert "Blocked" in message and "hunter2hunter2" not in message
    assert recorder.last("post_tool_call")["status"] == "blocked"
    assert ran == []


@pytest.mark.parametrize("answer", ["block", {"action": "approve"}, False, ["block"]], ids=repr)
def test_33_an_answer_that_is_not_understood_blocks_too(make: Make, answer: Any) -> None:
    registry = make(says("ran"))
    registry.hooks.add("pre_tool_call", lambda: answer)
    assert "Blocked" in error_of(registry.call("t", {}))


def test_33_a_pre_hook_fires_exactly_once_a_call(registry: ToolRegistry) -> None:
    fired: list[str] = []
    registry.hooks.add("pre_tool_call", lambda tool_name: fired.append(tool_name))
    registry.hooks.add_argument_middleware(lambda name, args, call: {**args, "a": 1})
    registry.hooks.add_execution_middleware(lambda proceed, call: proceed({"a": 2}))
    session = registry.session(deferred=["file"])
    found = session.call("tool_call", {"name": "read", "arguments": {}})
    assert found == "read" and fired == ["read"]
    registry.call("run", {})
    session.call("fetch", {})
    asyncio.run(session.acall("search", {}))
    assert fired == ["read", "run", "fetch", "search"]


def test_34_what_post_returns_or_raises_changes_nothing(make: Make) -> None:
    registry = make(says("ran"))
    called: list[int] = []

    def failing() -> None:
        called.append(1)
        raise SystemExit(3)

    registry.hooks.add("post_tool_call", lambda: "other")
    registry.hooks.add("post_tool_call", lambda: {"action": "block", "message": "no"})
    registry.hooks.add("post_tool_call", failing)
    registry.hooks.add("post_tool_call", lambda: called.append(2))
    assert registry.call("t", {}) == "ran"
    assert called == [1, 2]


def test_34_the_first_text_of_the_transforms_wins(make: Make) -> None:
    registry = make(says("ran"))
    for answer in (None, 3, {"a": 1}, "first", "second"):
        registry.hooks.add("transform_tool_result", lambda answer=answer: answer)
    assert registry.call("t", {}) == "first"
    assert asyncio.run(registry.acall("t", {})) == "first"


def test_34_an_empty_text_is_a_text(make: Make) -> None:
    registry = make(says("ran"))
    registry.hooks.add("transform_tool_result", lambda: "")
    assert registry.call("t", {}) == ""


def test_34_none_and_non_text_and_exceptions_keep_the_result(make: Make) -> None:
    def failing() -> str:
        raise SystemExit(3)

    registry = make(says("ran"))
    for answer in (None, 3, b"bytes", ["x"], {"result": "x"}, True):
        registry.hooks.add("transform_tool_result", lambda answer=answer: answer)
    registry.hooks.add("transform_tool_result", failing)
    assert registry.call("t", {}) == "ran"


def told(answer: Any) -> dict[str, Any]:
    context: dict[str, Any] = json.loads(answer)["context"]
    return {name: context.get(name) for name in ("session_id", "task_id")}


async def echo_later(args: dict[str, Any], **context: Any) -> str:
    await asyncio.sleep(0)
    return echo(args, **context)


@pytest.mark.parametrize("timeout", [None, 600], ids=["no time-out", "time-out"])
@pytest.mark.parametrize("handler", [echo, echo_later], ids=["sync", "async"])
@pytest.mark.parametrize("listened", [False, True], ids=["short way", "whole way"])
def test_35_session_and_task_ids_reach_the_handler_on_every_path(
    make: Make, handler: Any, timeout: float | None, listened: bool
) -> None:
    is_async = handler is echo_later
    registry = make(handler, timeout_seconds=timeout, is_async=is_async, toolset="file")
    if listened:
        Recorder(registry)
        registry.hooks.add_execution_middleware(lambda proceed, call: proceed())
    ids = {"session_id": "s1", "task_id": "t1"}
    session = registry.session(session_id="s1")
    deferring = registry.session(session_id="s1", deferred=["t"])
    bridged = {"name": "t", "arguments": {}}
    for _ in range(2):  # the first call makes the tool ready, the second finds it so
        assert told(registry.call("t", {}, **ids)) == ids
        assert told(registry.dispatch("t", {}, **ids)) == ids
        assert told(session.call("t", {}, task_id="t1")) == ids
        assert told(deferring.call("tool_call", bridged, task_id="t1")) == ids
        assert told(asyncio.run(registry.acall("t", {}, **ids))) == ids
        assert told(asyncio.run(session.acall("t", {}, task_id="t1"))) == ids
        assert told(asyncio.run(deferring.acall("tool_call", bridged, task_id="t1"))) == ids


def test_35_the_ids_of_a_call_are_its_own(registry: ToolRegistry) -> None:
    registry.plugin("p").register(**offer("zoom", handler=echo))
    session = registry.session(session_id="s1")
    assert told(session.call("zoom", {}, task_id="a")) == {"session_id": "s1", "task_id": "a"}
    assert told(session.narrow().call("zoom", {})) == {"session_id": "s1", "task_id": None}
    narrow = session.narrow(session_id="s2")
    assert told(narrow.call("zoom", {}, task_id="b")) == {"session_id": "s2", "task_id": "b"}
