"""Faults of async calls that somebody reported, and their kin: loops, contexts, late ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import ToolRegistry
from tests.contract.programs import error_of, one_tool
from tests.runtime_program import tool, write_program

ANY = {"type": "object"}
LONG = 60

Where = Callable[[Callable[[], Any]], Any]


def directly(call: Callable[[], Any]) -> Any:
    return call()


def inside_a_loop(call: Callable[[], Any]) -> Any:
    async def main() -> Any:
        return call()

    return asyncio.run(main())


def on_a_pool(call: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


WHERE: dict[str, Where] = {
    "directly": directly,
    "inside a loop": inside_a_loop,
    "on a pool": on_a_pool,
}


def program(folder: Path, **handlers: Any) -> ToolRegistry:
    records = [tool(name, ANY, handler="external", is_async=True) for name in handlers]
    registry = write_program(folder, records).registry
    for name, handler in handlers.items():
        registry.register(name, handler=handler)
    return registry


def test_what_one_call_opens_the_next_ones_use_wherever_they_come_from(tmp_path: Path) -> None:
    """After hermes-agent#2104: a client stays with the loop that it was made in."""
    kept: dict[str, Any] = {}

    async def opens(args: dict[str, Any]) -> str:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while line := await reader.readline():
                writer.write(line)

        kept["server"] = await asyncio.start_server(echo, "127.0.0.1", 0)
        address = kept["server"].sockets[0].getsockname()
        kept["reader"], kept["writer"] = await asyncio.open_connection(*address[:2])
        return "open"

    async def uses(args: dict[str, Any]) -> str:
        kept["writer"].write(b"hello\n")
        return (await kept["reader"].readline()).decode().strip()

    async def closes(args: dict[str, Any]) -> str:
        kept["writer"].close()
        await kept["writer"].wait_closed()
        kept["server"].close()
        return "closed"

    registry = program(tmp_path, opens=opens, uses=uses, closes=closes)
    assert registry.call("opens", {}) == "open"
    for where in WHERE.values():
        assert [where(lambda: registry.call("uses", {})) for _ in range(2)] == ["hello"] * 2
    assert on_a_pool(lambda: registry.call("closes", {})) == "closed"


def test_a_connection_has_one_task_that_opens_and_closes_it(tmp_path: Path) -> None:
    """After modelcontextprotocol/python-sdk#79: a scope ends in the task that entered it, and who
    closes it from another call, or another thread, gives that task a sign."""
    kept: dict[str, Any] = {}
    happened: list[str] = []

    async def connection() -> None:
        async with asyncio.TaskGroup() as group, asyncio.timeout(LONG):
            pump = group.create_task(asyncio.Event().wait())
            happened.append("open")
            kept["ready"].set()
            await kept["close"].wait()
            pump.cancel()
        happened.append("closed")

    async def opens(args: dict[str, Any]) -> str:
        kept["ready"], kept["close"] = asyncio.Event(), asyncio.Event()
        kept["task"] = asyncio.create_task(connection())
        await kept["ready"].wait()
        return "open"

    async def closes(args: dict[str, Any]) -> str:
        kept["close"].set()
        await kept["task"]
        return "closed"

    registry = program(tmp_path, opens=opens, closes=closes)
    assert registry.call("opens", {}) == "open"
    assert happened == ["open"]
    assert on_a_pool(lambda: registry.call("closes", {})) == "closed"
    assert happened == ["open", "closed"]


# Context variables.

WHO: ContextVar[str] = ContextVar("who", default="nobody")


def plain(args: dict[str, Any]) -> str:
    return WHO.get()


async def awaited(args: dict[str, Any]) -> str:
    await asyncio.sleep(0)
    return WHO.get()


async def by_thread(args: dict[str, Any]) -> str:
    return await asyncio.to_thread(WHO.get)


async def by_executor(args: dict[str, Any]) -> str:
    return await asyncio.get_running_loop().run_in_executor(None, WHO.get)


async def by_task(args: dict[str, Any]) -> str:
    return await asyncio.create_task(awaited(args))


HOPS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "plain": (plain, {}),
    "plain with a limit": (plain, {"timeout_seconds": LONG}),
    "awaited": (awaited, {"is_async": True}),
    "awaited with a limit": (awaited, {"is_async": True, "timeout_seconds": LONG}),
    "by a thread": (by_thread, {"is_async": True}),
    "by the executor": (by_executor, {"is_async": True}),
    "by a task": (by_task, {"is_async": True}),
}


@pytest.mark.parametrize("middleware", [False, True])
@pytest.mark.parametrize(("handler", "fields"), HOPS.values(), ids=HOPS)
def test_context_variables_are_seen_after_every_hop(
    tmp_path: Path, handler: Any, fields: dict[str, Any], middleware: bool
) -> None:
    """After hermes-agent#9391."""
    registry = one_tool(tmp_path, handler, **fields)
    if middleware:
        registry.hooks.add_execution_middleware(lambda proceed, call: proceed())
        registry.hooks.add("pre_tool_call", lambda tool_name: None)

    def call() -> Any:
        WHO.set("caller")
        return registry.call("t", {})

    async def acall() -> Any:
        WHO.set("caller")
        return await registry.acall("t", {})

    for where in WHERE.values():
        assert where(call) == "caller"
    # Only what the loops of this library run is theirs to carry variables along.
    if handler is not by_executor:
        assert asyncio.run(acall()) == "caller"


# Time-outs.


@pytest.mark.parametrize("is_async", [False, True])
def test_nobody_waits_for_a_handler_that_is_late(tmp_path: Path, is_async: bool) -> None:
    """After hermes-agent#19 and hermes-agent#17428: not for its thread, and not at the end of a
    pool that its caller runs on."""
    released, ended = threading.Event(), threading.Event()

    def hangs(args: dict[str, Any]) -> str:
        released.wait(LONG)
        ended.set()
        return "late"

    async def stubborn(args: dict[str, Any]) -> str:
        while not released.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                pass
        ended.set()
        return "late"

    handler = stubborn if is_async else hangs
    registry = one_tool(tmp_path, handler, is_async=is_async, timeout_seconds=0.05)
    for where in WHERE.values():
        assert "timed out" in error_of(where(lambda: registry.call("t", {})))
    assert not ended.is_set()
    released.set()
    assert ended.wait(LONG)


def test_late_handlers_leave_no_growing_number_of_threads(tmp_path: Path) -> None:
    """After hermes-agent#17428."""
    cancelled: list[str] = []

    async def handler(args: dict[str, Any]) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append("cancelled")
        return "never"

    registry = one_tool(tmp_path, handler, is_async=True, timeout_seconds=0.01)
    counts = []
    for _ in range(10):
        assert "timed out" in error_of(registry.call("t", {}))
        counts.append(threading.active_count())
    assert len(set(counts[1:])) == 1
    while len(cancelled) < 10:  # each obeys in its own time
        threading.Event().wait(0.01)


# Cancelling.


@pytest.mark.parametrize("has_middleware", [False, True], ids=["plain", "middleware"])
def test_cancelling_the_caller_cancels_the_handler(tmp_path: Path, has_middleware: bool) -> None:
    """After hermes-agent#17428."""
    ended: list[str] = []

    async def handler(args: dict[str, Any]) -> str:
        try:
            begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            finished.set()
            raise
        return "never"

    async def main() -> None:
        nonlocal begun, finished
        begun, finished = asyncio.Event(), asyncio.Event()
        calling = asyncio.create_task(registry.acall("t", {}))
        await begun.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await asyncio.wait_for(finished.wait(), 60)

    begun = finished = asyncio.Event()
    registry = one_tool(tmp_path, handler, is_async=True)
    if has_middleware:
        registry.hooks.add_execution_middleware(lambda proceed, call: proceed())
    asyncio.run(main())
    assert ended == ["cancelled"]


def test_middleware_that_goes_on_after_its_call_is_over_runs_nothing(tmp_path: Path) -> None:
    ran: list[Any] = []
    going, gone = threading.Event(), threading.Event()

    def slow(proceed: Any, call: Any) -> Any:
        going.set()
        over.wait()
        try:
            return proceed()
        finally:
            gone.set()

    async def main() -> None:
        calling = asyncio.create_task(registry.acall("t", {}))
        await asyncio.to_thread(going.wait)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        over.set()
        await asyncio.to_thread(gone.wait)

    over = threading.Event()
    registry = one_tool(tmp_path, lambda args: ran.append(args) or "ran")
    registry.hooks.add_execution_middleware(slow)
    asyncio.run(main())
    assert not ran
