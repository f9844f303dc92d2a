"""Hooks see every call once and in order; a policy that fails shuts the door."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.hookspecs import hookimpl
from tests.calls.one_tool import ANY, Make, echo, error_of

IDS = {"session_id": "s", "task_id": "t", "tool_call_id": "c", "turn_id": "u"}


def recorder(seen: list[tuple[str, dict[str, Any]]], name: str) -> Any:
    def hook(**values: Any) -> None:
        seen.append((name, values))

    return hook


def test_the_order_is_pre_handler_post_transform_and_each_fires_once(make: Make) -> None:
    order: list[str] = []

    def handler(args: dict[str, Any]) -> str:
        order.append("handler")
        return "done"

    registry = make(handler, ANY)
    registry.hooks.add("transform_tool_result", lambda **_: order.append("transform"))
    registry.hooks.add("post_tool_call", lambda **_: order.append("post"))
    registry.hooks.add("pre_tool_call", lambda **_: order.append("pre"))
    assert registry.call("t", {}) == "done"
    assert order == ["pre", "handler", "post", "transform"]
    order.clear()
    assert asyncio.run(registry.acall("t", {})) == "done"
    assert order == ["pre", "handler", "post", "transform"]


def test_hooks_get_the_names_arguments_and_ids_and_post_the_outcome(make: Make) -> None:
    registry = make(lambda args, **_: "done", ANY)
    seen: list[tuple[str, dict[str, Any]]] = []
    for name in ("pre_tool_call", "post_tool_call", "transform_tool_result"):
        registry.hooks.add(name, recorder(seen, name))
    registry.call("t", {"a": 1}, **IDS)
    (_, pre), (_, post), (_, transform) = seen
    assert pre == {"tool_name": "t", "args": {"a": 1}, "repairs": (), **IDS}
    duration = post.pop("duration_ms")
    assert isinstance(duration, int) and duration >= 0
    assert post == {
        **pre,
        "result": "done",
        "status": "ok",
        "error_type": None,
        "error_message": None,
    }
    assert transform == {**post, "duration_ms": duration}
    seen.clear()
    registry.call("t", {})
    assert {seen[0][1][name] for name in IDS} == {""}


def test_a_hook_takes_those_arguments_alone_that_it_names(make: Make) -> None:
    registry = make(echo, ANY)
    seen: list[Any] = []
    registry.hooks.add("pre_tool_call", lambda tool_name: seen.append(tool_name))
    registry.hooks.add("post_tool_call", lambda status, tool_name: seen.append(status))
    registry.call("t", {})
    assert seen == ["t", "ok"]
    with pytest.raises(ValueError, match="no argument 'tool'"):
        registry.hooks.add("pre_tool_call", lambda tool: None)


def test_a_pre_hook_blocks_with_its_message_and_post_sees_it(make: Make) -> None:
    ran: list[Any] = []

    def handler(args: dict[str, Any]) -> str:
        ran.append(args)
        return "done"

    registry = make(handler, ANY)
    registry.hooks.add("pre_tool_call", lambda: {"action": "block", "message": "Not on Sundays."})
    seen: list[tuple[str, dict[str, Any]]] = []
    registry.hooks.add("post_tool_call", recorder(seen, "post"))
    assert error_of(registry.call("t", {})) == "Not on Sundays."
    assert not ran
    ((_, post),) = seen
    assert (post["status"], post["error_type"]) == ("blocked", "plugin_block")
    assert post["error_message"] == "Not on Sundays."
    assert error_of(asyncio.run(registry.acall("t", {}))) == "Not on Sundays."
    assert not ran


@pytest.mark.parametrize("error", [RuntimeError("policy is down"), SystemExit(2)])
def test_a_pre_hook_that_raises_blocks(make: Make, error: BaseException) -> None:
    ran: list[Any] = []
    registry = make(lambda args: ran.append(args) or "done", ANY)

    def policy() -> None:
        raise error

    registry.hooks.add("pre_tool_call", policy)
    assert type(error).__name__ in error_of(registry.call("t", {}))
    assert not ran


@pytest.mark.parametrize("answer", [False, "no", {"block": True}, ["block"]])
def test_an_answer_that_is_not_understood_blocks(make: Make, answer: Any) -> None:
    ran: list[Any] = []
    registry = make(lambda args: ran.append(args) or "done", ANY)
    registry.hooks.add("pre_tool_call", lambda: answer)
    assert "must return None" in error_of(registry.call("t", {}))
    assert not ran


def test_a_pre_hook_never_sees_a_call_that_does_not_fit(make: Make) -> None:
    registry = make(echo)
    seen: list[tuple[str, dict[str, Any]]] = []
    registry.hooks.add("pre_tool_call", recorder(seen, "pre"))
    registry.hooks.add("post_tool_call", recorder(seen, "post"))
    error_of(registry.call("t", {"path": ""}))
    error_of(registry.call("nobody", {}))
    assert [name for name, _ in seen] == ["post", "post"]
    assert [values["error_type"] for _, values in seen] == ["invalid_arguments", "unknown_tool"]


def test_post_sees_errors_that_a_handler_returns_and_raises(make: Make) -> None:
    results: list[Any] = [json.dumps({"error": "no such file"}), ValueError("wrong"), {"a": 1}, 42]

    def handler(args: dict[str, Any]) -> Any:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    registry = make(handler, ANY)
    seen: list[tuple[str, dict[str, Any]]] = []
    registry.hooks.add("post_tool_call", recorder(seen, "post"))
    for _ in range(4):
        registry.call("t", {})
    kinds = [(values["status"], values["error_type"]) for _, values in seen]
    assert kinds == [
        ("error", "tool_error"),
        ("error", "handler_exception"),
        ("ok", None),
        ("error", "tool_result_contract"),
    ]
    assert seen[0][1]["error_message"] == "no such file"


def test_what_post_returns_or_raises_changes_nothing_and_silences_nobody(make: Make) -> None:
    registry = make(lambda args: "done", ANY)
    seen: list[str] = []

    def failing() -> None:
        raise RuntimeError("audit is down")

    registry.hooks.add("post_tool_call", failing)
    registry.hooks.add("post_tool_call", lambda: "another result")
    registry.hooks.add("post_tool_call", lambda: seen.append("last"))
    assert registry.call("t", {}) == "done"
    assert seen == ["last"]


def test_the_first_text_that_transform_returns_wins(make: Make) -> None:
    registry = make(lambda args: "done", ANY)

    def failing() -> None:
        raise RuntimeError("no")

    for answer in (lambda: None, failing, lambda: 42, lambda: "first", lambda: "second"):
        registry.hooks.add("transform_tool_result", answer)
    assert registry.call("t", {}) == "first"


def test_transform_sees_errors_too(make: Make) -> None:
    registry = make(lambda args: 42, ANY)
    registry.hooks.add("transform_tool_result", lambda error_type: f"[{error_type}]")
    assert registry.call("t", {}) == "[tool_result_contract]"


class Plugin:
    def __init__(self, name: str, seen: list[str]) -> None:
        self.name = name
        self.seen = seen

    @hookimpl
    def pre_tool_call(self, tool_name: str) -> None:
        self.seen.append(self.name)


class Urgent:
    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    @hookimpl(tryfirst=True)
    def pre_tool_call(self) -> None:
        self.seen.append("urgent")


def test_pluggy_plugins_are_called_in_the_order_of_registration_and_can_leave(make: Make) -> None:
    registry = make(lambda args: "done", ANY)
    seen: list[str] = []
    first, second = Plugin("first", seen), Plugin("second", seen)
    registry.hooks.register(first)
    registry.hooks.register(second)
    registry.hooks.register(Urgent(seen))
    registry.call("t", {})
    assert seen == ["urgent", "first", "second"]
    registry.hooks.unregister(first)
    seen.clear()
    registry.call("t", {})
    assert seen == ["urgent", "second"]
    with pytest.raises(ValueError, match="already registered"):
        registry.hooks.register(second)


def test_a_function_that_was_added_can_be_taken_back(make: Make) -> None:
    registry = make(lambda args: "done", ANY)
    seen: list[str] = []

    def hook(tool_name: str) -> None:
        seen.append(tool_name)

    registry.hooks.add("pre_tool_call", hook)
    registry.hooks.unregister(hook)
    registry.call("t", {})
    assert not seen and registry.hooks.is_idle


class Misspelt:
    @hookimpl
    def pre_tol_call(self) -> None: ...


class Empty:
    def pre_tool_call(self) -> None:
        """Lacks the mark."""


class Strange:
    @hookimpl
    def pre_tool_call(self, arguments: Any) -> None: ...


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (Misspelt(), "'pre_tol_call' is no hook"),
        (Empty(), "implements no hook"),
        (Strange(), "arguments"),
    ],
)
def test_a_plugin_that_could_never_be_called_is_refused(
    make: Make, plugin: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(echo).hooks.register(plugin)


def test_a_coroutine_function_is_no_hook(make: Make) -> None:
    async def hook() -> None: ...

    registry = make(echo)
    for register in (
        lambda: registry.hooks.add("pre_tool_call", hook),
        lambda: registry.hooks.add_argument_middleware(hook),  # type: ignore[arg-type]
        lambda: registry.hooks.add_execution_middleware(hook),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="plain function"):
            register()


def test_hooks_that_come_after_the_first_call_see_the_next_one(make: Make) -> None:
    registry = make(lambda args: "done", ANY)
    registry.call("t", {})
    seen: list[str] = []
    registry.hooks.add("post_tool_call", lambda tool_name: seen.append(tool_name))
    registry.call("t", {})
    assert seen == ["t"]


def test_repairs_are_told_to_hooks(make: Make) -> None:
    registry = make(echo)
    seen: list[Any] = []
    registry.hooks.add("pre_tool_call", lambda repairs: seen.extend(repairs))
    registry.call("t", {"path": "a", "limit": "7"})
    (repair,) = seen
    assert repair.path == "limit" and "7" in repair.before


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


def test_without_listeners_pluggy_is_not_imported() -> None:
    code = """
import pathlib, sys, tempfile
from tests.runtime_program import tool, write_program
record = tool("t", {"type": "object"}, handler="external")
registry = write_program(pathlib.Path(tempfile.mkdtemp()), [record]).registry
registry.register("t", handler=lambda args: "done")
assert registry.call("t", {}) == registry.session().call("t", {}) == "done"
assert "pluggy" not in sys.modules
"""
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


class Unreadable(str):
    def isascii(self) -> bool:
        raise ValueError("no")


def test_text_of_a_transform_hook_that_is_none_leaves_the_result(make: Make) -> None:
    registry = make(lambda args: "done", ANY)
    registry.hooks.add("transform_tool_result", lambda: Unreadable("x"))
    assert registry.call("t", {}) == "done"
    assert asyncio.run(registry.acall("t", {})) == "done"
