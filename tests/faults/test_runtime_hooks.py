"""Faults of hooks that somebody reported, and their kin: they hear of all calls, and are obeyed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.programs import error_of, one_tool, says
from tests.faults.asking import Ask, raises

OUTCOMES: dict[str, tuple[Callable[..., Any], str]] = {
    "a result": (says("ok"), "ok"),
    "an error that is returned": (says('{"error": "no"}'), "error"),
    "an error that is raised": (raises(ValueError("no")), "error"),
    "what is no result": (lambda args: 42, "error"),
}


@pytest.mark.parametrize(("handler", "status"), OUTCOMES.values(), ids=OUTCOMES)
def test_hooks_hear_of_every_call(tmp_path: Path, ask: Ask, handler: Any, status: str) -> None:
    """After hermes-agent#12922: no path of a call goes around them."""
    registry = one_tool(tmp_path, handler)
    heard: list[str] = []
    registry.hooks.add("post_tool_call", lambda status: heard.append(status))
    ask(registry, {})
    assert heard == [status]
    registry.hooks.add("pre_tool_call", lambda: {"action": "block", "message": "not now"})
    assert error_of(ask(registry, {})) == "not now"
    assert heard == [status, "blocked"]


BLOCKING: dict[str, Callable[..., Any]] = {
    "hermes-agent#41045 one argument": lambda tool_name: {"action": "block", "message": "no"},
    "hermes-agent#41045 all arguments": lambda **_: {"action": "block", "message": "no"},
    "a policy that fails": lambda args: args["nothing"],
    "a policy that exits": lambda args: (_ for _ in ()).throw(SystemExit(1)),
    "an answer of another form": lambda: "block",
    "an answer that is False": lambda: False,
}


@pytest.mark.parametrize("hook", BLOCKING.values(), ids=BLOCKING)
def test_a_policy_is_obeyed_or_the_call_is_blocked(tmp_path: Path, ask: Ask, hook: Any) -> None:
    ran: list[Any] = []
    registry = one_tool(tmp_path, lambda args: ran.append(args) or "ran")
    registry.hooks.add("pre_tool_call", hook)
    error_of(ask(registry, {}))
    assert not ran


def test_a_hook_that_could_never_be_called_is_refused_when_it_is_added(tmp_path: Path) -> None:
    """After hermes-agent#41045."""
    hooks = one_tool(tmp_path, says("ran")).hooks
    with pytest.raises(ValueError, match="no argument 'name'"):
        hooks.add("pre_tool_call", lambda name: None)
    with pytest.raises(ValueError, match="is no hook"):
        hooks.add("pre_call", lambda: None)
