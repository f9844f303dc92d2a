"""Hooks see every call once and in order; a policy that fails shuts the door."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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


def test_transform_alone_sees_an_error_that_a_handler_returns(make: Make) -> None:
    registry = make(lambda args: json.dumps({"error": "no such file"}), ANY)
    seen: list[tuple[str, dict[str, Any]]] = []
    registry.hooks.add("transform_tool_result", recorder(seen, "transform"))
    registry.call("t", {})
    ((_, values),) = seen
    assert (values["status"], values["error_type"]) == ("error", "tool_error")
    assert values["error_message"] == "no such file"


def test_transform_sees_errors_too(make: Make) -> None:
    registry = make(lambda args: 42, ANY)
    registry.hooks.add("transform_tool_result", lambda error_type: f"[{error_type}]")
    assert registry.call("t", {}) == "[tool_result_contract]"


def test_the_arguments_that_hooks_see_cannot_be_changed(make: Make) -> None:
    """They were validated, and may be the caller's own."""
    registry = make(echo)
    sent = {"path": "a", "limit": 3, "offset": 1}

    def rewrite(args: dict[str, Any]) -> None:
        args["limit"] = "many"

    for hook in ("post_tool_call", "transform_tool_result", "pre_tool_call"):
        registry.hooks.add(hook, rewrite)
        answer = registry.call("t", sent)
        if hook != "pre_tool_call":
            assert json.loads(answer)["args"] == sent
    assert "cannot be changed" in error_of(answer)
    assert sent == {"path": "a", "limit": 3, "offset": 1}


@pytest.mark.parametrize("hooks", [["post_tool_call"], ["pre_tool_call", "post_tool_call"]])
def test_post_sees_what_a_handler_was_given_and_not_what_it_made_of_it(
    make: Make, hooks: list[str]
) -> None:
    def handler(args: dict[str, Any]) -> str:
        args["list"].append(2)
        return str(args.pop("list"))

    registry = make(handler, ANY)
    seen: list[tuple[str, dict[str, Any]]] = []
    for name in hooks:
        registry.hooks.add(name, recorder(seen, name))
    assert registry.call("t", {"list": [1]}) == "[1, 2]"
    assert [values["args"] for _, values in seen] == [{"list": [1]}] * len(hooks)


def test_post_sees_arguments_that_could_not_be_copied(make: Make) -> None:
    registry = make(echo)
    seen: list[tuple[str, dict[str, Any]]] = []
    registry.hooks.add("post_tool_call", recorder(seen, "post"))
    circle: dict[str, Any] = {}
    circle["path"] = circle
    error_of(registry.call("t", circle))
    assert [values["error_type"] for _, values in seen] == ["invalid_arguments"]
    assert seen[0][1]["args"] is circle


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
