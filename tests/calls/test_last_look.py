"""What was taken away, or denied, while a call was on its way is not run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import ToolRegistry
from tests.contract.programs import error_of, offer, one_tool, says, several

Ask = Callable[..., Any]

WAYS: dict[str, Callable[[Any], Ask]] = {
    "call": lambda caller: caller.call,
    "acall": lambda caller: lambda *args: asyncio.run(caller.acall(*args)),
}
AMID = ("pre hook", "argument middleware", "execution middleware")


@pytest.fixture(params=WAYS, name="way")
def fixture_way(request: pytest.FixtureRequest) -> Callable[[Any], Ask]:
    return WAYS[request.param]


def amid(registry: ToolRegistry, where: str, change: Callable[[], object]) -> None:
    """Make a change in the midst of every call, once."""
    waiting = [change]

    def once() -> None:
        if waiting:
            waiting.pop()()

    def around(proceed: Any, call: Any) -> Any:
        once()
        return proceed()

    if where == "pre hook":
        registry.hooks.add("pre_tool_call", once)
    elif where == "argument middleware":
        registry.hooks.add_argument_middleware(lambda name, args, call: once())
    else:
        registry.hooks.add_execution_middleware(around)


HANDLERS: dict[str, dict[str, Any]] = {
    "sync": {},
    "sync with a limit": {"timeout_seconds": 60},
    "async": {"is_async": True},
    "async with a limit": {"is_async": True, "timeout_seconds": 60},
}


@pytest.mark.parametrize("where", AMID)
@pytest.mark.parametrize("fields", HANDLERS.values(), ids=HANDLERS)
def test_a_tool_that_is_taken_out_during_its_call_does_not_run(
    tmp_path: Path, way: Callable[[Any], Ask], fields: dict[str, Any], where: str
) -> None:
    ran: list[Any] = []

    async def handler(args: dict[str, Any]) -> str:
        return plain(args)

    def plain(args: dict[str, Any]) -> str:
        ran.append(args)
        return "ran"

    registry = one_tool(tmp_path, handler if fields.get("is_async") else plain, **fields)
    ask = way(registry)
    assert [ask("t", {}), len(ran)] == ["ran", 1]
    heard: list[str] = []
    registry.hooks.add("post_tool_call", lambda status: heard.append(status))
    amid(registry, where, lambda: registry.deregister("t"))
    assert error_of(ask("t", {})).startswith("Unknown tool: t.")
    assert (len(ran), heard) == (1, ["error"])


@pytest.mark.parametrize("where", AMID)
@pytest.mark.parametrize("fields", [{"toolset": "terminal"}, {"tags": ["exec"]}])
def test_a_tool_that_is_denied_during_its_call_does_not_run(
    tmp_path: Path, way: Callable[[Any], Ask], fields: dict[str, Any], where: str
) -> None:
    registry = several(tmp_path, run={"tags": ["exec"]})
    plugin = registry.plugin("p")
    plugin.register(**offer("x"))
    session = registry.session(None, ["terminal", "tag:exec"])
    assert way(session)("x", {}) == "x ran"
    denied = {**offer("x", handler=says("denied ran")), **fields}
    amid(registry, where, lambda: plugin.register(**denied, replace=True))
    assert "not in this session" in error_of(way(session)("x", {}))


@pytest.mark.parametrize("where", AMID)
def test_a_change_of_other_tools_leaves_a_call_alone(
    tmp_path: Path, way: Callable[[Any], Ask], where: str
) -> None:
    registry = several(tmp_path)
    plugin = registry.plugin("p")
    amid(registry, where, lambda: plugin.register(**offer("x")))
    assert way(registry.session(["file"]))("read", {}) == "read"
    assert plugin.names == ["x"]


def test_a_tool_that_another_thread_takes_out_while_a_person_is_asked_does_not_run(
    tmp_path: Path, way: Callable[[Any], Ask]
) -> None:
    registry = one_tool(tmp_path, says("ran"))
    asked, answered = threading.Event(), threading.Event()

    def ask_somebody() -> None:
        asked.set()
        answered.wait(60)

    registry.hooks.add("pre_tool_call", ask_somebody)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(way(registry)("t", {})))
    thread.start()
    asked.wait(60)
    registry.deregister("t")
    answered.set()
    thread.join()
    assert "Unknown tool" in error_of(answers[0])


def test_a_tool_that_is_taken_out_while_its_schema_is_rewritten_does_not_run(
    tmp_path: Path, way: Callable[[Any], Ask]
) -> None:
    registry = several(tmp_path)
    plugin = registry.plugin("p")
    calls: list[bool] = []

    def overrides() -> dict[str, Any]:
        if len(calls) == 2:
            plugin.deregister("x")
        return {}

    plugin.register(**offer("x", dynamic_schema_overrides=overrides))
    ask = way(registry.session(["extra"]))
    for _ in range(2):
        assert ask("x", {}) == "x ran"
        calls.append(True)
    assert "Unknown tool" in error_of(ask("x", {}))
