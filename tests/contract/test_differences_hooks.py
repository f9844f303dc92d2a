"""The differences from hermes-agent that are meant, in hooks: who hears of a call or blocks it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import tool_error
from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import ANY, INTEGER, Make, Recorder, echo, error_of, fields_of, says
from tests.runtime_program import tool, toolset, write_program


def test_difference_dispatch_has_hooks_too(registry: ToolRegistry) -> None:
    recorder = Recorder(registry)
    registry.dispatch("read", {})
    assert recorder.names == ["pre_tool_call", "post_tool_call", "transform_tool_result"]
    registry.hooks.add("pre_tool_call", lambda: {"action": "block", "message": "no"})
    assert error_of(registry.dispatch("read", {})) == "no"


def test_difference_a_failing_policy_blocks(registry: ToolRegistry) -> None:
    def policy() -> None:
        raise RuntimeError("the policy server is down")

    registry.hooks.add("pre_tool_call", policy)
    assert "Blocked" in error_of(registry.call("read", {}))


def test_difference_an_answer_that_is_not_understood_blocks(registry: ToolRegistry) -> None:
    registry.hooks.add("pre_tool_call", lambda: {"action": "approve", "message": "Ask them."})
    assert "Blocked" in error_of(registry.call("read", {}))


def test_difference_policies_judge_valid_arguments(make: Make) -> None:
    registry = make(echo, INTEGER)
    judged: list[dict[str, Any]] = []
    registry.hooks.add("pre_tool_call", lambda args: judged.append(args))
    registry.call("t", {"n": "x"})
    registry.call("nope", {})
    assert judged == []
    registry.call("t", {"n": "3"})
    registry.call("t", None)
    assert judged == [{"n": 3}, {"n": 7}]


def test_difference_a_hook_cannot_rewrite_arguments(make: Make) -> None:
    registry = make(echo, INTEGER)
    registry.hooks.add("post_tool_call", lambda args: args.update(n="x"))
    assert fields_of(registry.call("t", {"n": 3}))["args"] == {"n": 3}
    registry.hooks.add("pre_tool_call", lambda args: args.update(n="x"))
    assert "Blocked" in error_of(registry.call("t", {"n": 3}))


def test_difference_error_types_tell_what_went_wrong(tmp_path: Path) -> None:
    def handler(args: dict[str, Any]) -> Any:
        answers = {"contract": 3, "error": tool_error("none"), "fine": "ran"}
        if args["as"] == "wait":
            return waiting.wait(60)
        return answers[args["as"]]

    waiting = threading.Event()
    parameters = {"type": "object", "properties": {"as": {"type": "string"}}, "required": ["as"]}
    fields: dict[str, Any] = {"handler": "external", "timeout_seconds": 5}
    tools = [
        tool("t", parameters, handler="external"),
        tool("slow", parameters, handler="external", timeout_seconds=0.05),
        tool("lacking", ANY, requires={"env": ["CONTRACT_NEVER_SET"]}, **fields),
        tool("other", ANY, toolset="web", **fields),
    ]
    sets = [toolset("file", ["lacking", "slow", "t"]), toolset("web", ["other"])]
    registry = write_program(tmp_path, tools, toolsets=sets).registry
    for name in ("t", "slow"):
        registry.register(name, handler=handler)
    for name in ("lacking", "other"):
        registry.register(name, handler=says(name))
    seen: list[str | None] = []
    registry.hooks.add("post_tool_call", lambda error_type: seen.append(error_type))
    session = registry.session(["file"])
    sent = ("fine", "error", "contract", "unexpected", None)
    for value in sent:
        session.call("t", {"as": value})
    for name, args in (("nope", {}), ("other", {}), ("lacking", {}), ("slow", {"as": "wait"})):
        session.call(name, args)
    waiting.set()
    registry.hooks.add("pre_tool_call", lambda: {"action": "block", "message": "no"})
    session.call("t", {"as": "fine"})
    assert seen == [
        *(None, "tool_error", "tool_result_contract", "handler_exception", "invalid_arguments"),
        *("unknown_tool", "not_granted", "unavailable", "timeout", "plugin_block"),
    ]


def test_difference_an_unknown_hook_raises(registry: ToolRegistry) -> None:
    with pytest.raises(ValueError, match="pre_tool_call"):
        registry.hooks.add("pre_tool_cal", lambda: None)
    with pytest.raises(ValueError, match="tool"):
        registry.hooks.add("pre_tool_call", lambda tool: None)
