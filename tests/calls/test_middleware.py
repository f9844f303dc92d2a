"""Middleware changes what is sent and how a handler runs, and nothing goes past validation."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.calls.one_tool import ANY, Make, echo, error_of


def test_argument_middleware_changes_what_is_validated(make: Make) -> None:
    registry = make(echo)
    registry.hooks.add_argument_middleware(lambda name, args, call: {**args, "limit": 3})
    registry.hooks.add_argument_middleware(lambda name, args, call: None)
    assert json.loads(registry.call("t", {"path": "a"}))["args"]["limit"] == 3
    registry.hooks.add_argument_middleware(lambda name, args, call: {**args, "limit": 0})
    assert "limit" in error_of(registry.call("t", {"path": "a"}))


def test_argument_middleware_that_fails_ends_the_call(make: Make) -> None:
    ran: list[Any] = []
    registry = make(lambda args: ran.append(args) or "done", ANY)

    def failing(name: str, args: Any, call: Any) -> Any:
        raise RuntimeError("no")

    registry.hooks.add_argument_middleware(failing)
    assert "RuntimeError" in error_of(registry.call("t", {}))
    assert not ran


@pytest.mark.parametrize("is_async", [False, True])
def test_execution_middleware_runs_around_the_handler(make: Make, is_async: bool) -> None:
    order: list[str] = []

    def sync_handler(args: dict[str, Any]) -> str:
        order.append(f"handler {args}")
        return "done"

    async def async_handler(args: dict[str, Any]) -> str:
        return sync_handler(args)

    registry = make(async_handler if is_async else sync_handler, ANY)

    def outer(proceed: Any, call: Any) -> Any:
        order.append("outer")
        return f"<{proceed()}>"

    def inner(proceed: Any, call: Any) -> Any:
        order.append("inner")
        return proceed({"changed": call.tool_name})

    registry.hooks.add_execution_middleware(outer)
    registry.hooks.add_execution_middleware(inner)
    assert registry.call("t", {}) == "<done>"
    assert asyncio.run(registry.acall("t", {})) == "<done>"
    assert order == ["outer", "inner", "handler {'changed': 't'}"] * 2


def test_arguments_that_execution_middleware_gives_are_validated(make: Make) -> None:
    registry = make(echo)
    registry.hooks.add_execution_middleware(lambda proceed, call: proceed({"path": ""}))
    assert "path" in error_of(registry.call("t", {"path": "a"}))


@pytest.mark.parametrize("way", ["call", "acall"])
def test_all_see_the_arguments_that_execution_middleware_went_on_with(make: Make, way: str) -> None:
    registry = make(echo)
    seen: list[Any] = []
    registry.hooks.add("pre_tool_call", lambda args: seen.append(args))
    for hook in ("post_tool_call", "transform_tool_result"):
        registry.hooks.add(hook, lambda args, repairs: seen.append((args, [*repairs])))
    registry.hooks.add_execution_middleware(lambda proceed, call: seen.append(call) or proceed())
    registry.hooks.add_execution_middleware(
        lambda proceed, call: proceed({**call.arguments, "limit": "9"})
    )
    sent = {"path": "a", "limit": 3, "offset": 1}
    answer = registry.call("t", sent) if way == "call" else asyncio.run(registry.acall("t", sent))
    changed = {**sent, "limit": 9}
    assert json.loads(answer)["args"] == changed
    first, call, after, transform = seen
    assert first == sent and call.arguments == changed
    assert after == transform == (changed, [*call.repairs])
    assert [one.path for one in call.repairs] == ["limit"]


def test_what_middleware_tries_again_runs_with_the_arguments_of_that_try(make: Make) -> None:
    registry = make(lambda args: str(args["n"]), ANY)
    seen: list[Any] = []
    registry.hooks.add("post_tool_call", lambda args: seen.append(args))
    registry.hooks.add_execution_middleware(lambda proceed, call: proceed({"n": 2}) + proceed())
    assert registry.call("t", {"n": 1}) == "21"
    assert seen == [{"n": 1}]


def test_middleware_changes_arguments_through_proceed_alone(make: Make) -> None:
    registry = make(echo)

    def rewrite(proceed: Any, call: Any) -> Any:
        call.arguments["limit"] = "many"
        return proceed()

    registry.hooks.add_execution_middleware(rewrite)
    assert "cannot be changed" in error_of(registry.call("t", {"path": "a"}))


def test_a_handler_may_change_what_middleware_went_on_with(make: Make) -> None:
    def handler(args: dict[str, Any]) -> Any:
        args["list"].append(2)
        return args

    registry = make(handler, ANY)
    registry.hooks.add_execution_middleware(lambda proceed, call: proceed(call.arguments))
    registry.hooks.add_execution_middleware(lambda proceed, call: proceed({**call.arguments}))
    sent = {"list": [1]}
    assert json.loads(registry.call("t", sent)) == {"list": [1, 2]}
    assert sent == {"list": [1]}


def test_middleware_that_leaves_during_a_call_is_still_in_it(make: Make) -> None:
    registry = make(lambda args: "done", ANY)

    def last(proceed: Any, call: Any) -> Any:
        return f"<{proceed()}>"

    def first(proceed: Any, call: Any) -> Any:
        registry.hooks.unregister(last)
        registry.hooks.unregister(first)
        return proceed()

    registry.hooks.add_execution_middleware(first)
    registry.hooks.add_execution_middleware(last)
    assert registry.call("t", {}) == "<done>"
    assert registry.call("t", {}) == "done"
