"""What a call does around its handler holds up nobody else on the loop of an async caller."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import ToolRegistry
from hermes_build.runtime.store import Stored
from tests.contract.programs import error_of, fields_of, offer, one_tool, says, several
from tests.runtime_program import tool, write_program

LONG = 60


class Gate:
    """Blocks whoever passes until the caller's loop has gone on."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self, *_: Any, **__: Any) -> None:
        self.reached.set()
        if not self.opened.wait(LONG):
            raise AssertionError("the loop did not go on")


async def stopped_at(gate: Gate, call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """A call that is on its way, and stands at the gate."""
    calling = asyncio.create_task(call)
    while not gate.reached.is_set():
        await asyncio.sleep(0.001)
    return calling


async def let_through(gate: Gate, call: Coroutine[Any, Any, Any]) -> Any:
    """The answer of a call whose gate is opened by the loop that it was made on."""
    calling = await stopped_at(gate, call)
    gate.opened.set()
    return await calling


async def cancel_at(gate: Gate, call: Coroutine[Any, Any, Any]) -> None:
    """Cancel a call that stands at the gate, and see it end while the gate is closed."""
    calling = await stopped_at(gate, call)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert not gate.opened.is_set()


def with_check(folder: Path, gate: Gate) -> ToolRegistry:
    def check() -> bool:
        gate()
        return True

    return one_tool(folder, says("ran"), check_fn=check, requires={"check": True})


def with_hook(name: str) -> Callable[[Path, Gate], ToolRegistry]:
    def make(folder: Path, gate: Gate) -> ToolRegistry:
        registry = one_tool(folder, says("ran"))
        registry.hooks.add(name, lambda tool_name: gate())
        return registry

    return make


def with_argument_middleware(folder: Path, gate: Gate) -> ToolRegistry:
    registry = one_tool(folder, says("ran"))
    registry.hooks.add_argument_middleware(gate)
    return registry


def with_overrides(folder: Path, gate: Gate) -> ToolRegistry:
    def overrides() -> dict[str, Any]:
        gate()
        return {}

    registry = several(folder)
    registry.plugin("p").register(
        **offer("t", handler=says("ran"), dynamic_schema_overrides=overrides)
    )
    return registry


def with_import(folder: Path, gate: Gate) -> ToolRegistry:
    source = (
        "from {generated}.registry import registry\nimport gates\ngates.gate()\n"
        "@registry.handler('t')\ndef handler(args): return 'ran'\n"
    )
    (folder / "gates.py").write_text("gate = None\n")
    record = tool("t", {"type": "object"}, module="slow")
    registry = write_program(folder, [record], handlers={"slow": source}).registry
    import gates  # type: ignore[import-not-found]

    gates.gate = gate
    return registry


def with_store(folder: Path, gate: Gate) -> ToolRegistry:
    class Slow:
        def save(self, name: str, call_id: str, text: str) -> Stored:
            gate()
            return Stored("ran", "read_file")

    registry = one_tool(folder, says("x" * 5_000), max_result_chars=500)
    registry.store = Slow()
    return registry


SLOW: dict[str, Callable[[Path, Gate], ToolRegistry]] = {
    "a check": with_check,
    "a hook before": with_hook("pre_tool_call"),
    "a hook after": with_hook("post_tool_call"),
    "a hook on the result": with_hook("transform_tool_result"),
    "argument middleware": with_argument_middleware,
    "overrides of a schema": with_overrides,
    "the import of a handler": with_import,
    "a store": with_store,
}


@pytest.mark.parametrize("make", SLOW.values(), ids=SLOW)
@pytest.mark.parametrize("is_session", [False, True], ids=["registry", "session"])
def test_the_callers_loop_goes_on(
    tmp_path: Path, make: Callable[[Path, Gate], ToolRegistry], is_session: bool
) -> None:
    gate = Gate()
    registry = make(tmp_path, gate)

    caller = registry.session() if is_session else registry
    assert "ran" in asyncio.run(let_through(gate, caller.acall("t", {})))


def test_the_callers_loop_goes_on_while_tools_are_searched(tmp_path: Path) -> None:
    gate = Gate()
    session = with_check(tmp_path, gate).session(deferred=["t"])
    answer = asyncio.run(let_through(gate, session.acall("tool_search", {"query": "tool"})))
    assert fields_of(answer)["total"] == 1


def test_without_anything_in_the_way_a_call_takes_no_thread(tmp_path: Path) -> None:
    async def handler(args: dict[str, Any]) -> str:
        return str(threading.active_count())

    async def main() -> list[Any]:
        await registry.acall("t", {})  # the tool is made ready on a thread
        return [threading.active_count(), int(await registry.acall("t", {}))]

    registry = one_tool(tmp_path, handler, is_async=True)
    before, during = asyncio.run(main())
    assert before == during


# Context variables.

WHO: ContextVar[str] = ContextVar("who", default="nobody")


@pytest.mark.parametrize("is_async", [False, True])
def test_what_a_hook_sets_is_seen_by_the_handler_and_reset_by_the_hook_after_it(
    tmp_path: Path, is_async: bool
) -> None:
    seen: list[str] = []
    tokens: list[Any] = []

    def plain(args: dict[str, Any]) -> str:
        return WHO.get()

    async def handler(args: dict[str, Any]) -> str:
        return WHO.get()

    def after() -> None:
        seen.append(WHO.get())
        WHO.reset(tokens.pop())
        seen.append(WHO.get())

    registry = one_tool(tmp_path, handler if is_async else plain, is_async=is_async)
    registry.hooks.add("pre_tool_call", lambda: tokens.append(WHO.set("hook")))
    registry.hooks.add("post_tool_call", after)

    async def main() -> Any:
        WHO.set("caller")
        return await registry.acall("t", {})

    assert asyncio.run(main()) == "hook"
    assert seen == ["hook", "caller"]


# Cancelling.


@pytest.mark.parametrize("is_async", [False, True])
def test_a_caller_that_is_cancelled_waits_for_no_hook_and_the_handler_never_runs(
    tmp_path: Path, is_async: bool
) -> None:
    ran: list[Any] = []
    told: list[str] = []
    over = threading.Event()
    gate = Gate()

    def plain(args: dict[str, Any]) -> str:
        ran.append(args)
        return "ran"

    async def handler(args: dict[str, Any]) -> str:
        return plain(args)

    def after(status: str) -> None:
        told.append(status)
        over.set()

    registry = one_tool(tmp_path, handler if is_async else plain, is_async=is_async)
    registry.hooks.add("pre_tool_call", lambda tool_name: gate())
    registry.hooks.add("post_tool_call", after)
    asyncio.run(cancel_at(gate, registry.acall("t", {})))
    gate.opened.set()
    assert over.wait(LONG)
    assert (ran, told) == ([], ["cancelled"])


def test_a_caller_that_is_cancelled_in_the_hook_after_its_call_waits_no_more(
    tmp_path: Path,
) -> None:
    gate = Gate()
    registry = one_tool(tmp_path, says("ran"))
    registry.hooks.add("post_tool_call", lambda tool_name: gate())
    asyncio.run(cancel_at(gate, registry.acall("t", {})))
    gate.opened.set()
    assert "Unknown tool" in error_of(asyncio.run(registry.acall("nope", {})))


def test_an_interrupt_in_a_hook_comes_out(tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    registry = one_tool(tmp_path, says("ran"))
    registry.hooks.add("pre_tool_call", interrupt)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(registry.acall("t", {}))
