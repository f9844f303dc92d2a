"""A handler of either kind runs for a caller of either kind, and neither blocks the other."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from hermes_build.runtime import loops
from hermes_build.runtime.bridge import ainvoke, invoke

LONG = 60.0
"""Seconds that no test takes: a limit for what would otherwise wait for ever."""

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loop is taken for blocked because the machine is busy."""
    monkeypatch.setattr(loops, "PATIENCE", 1000.0)


def from_sync(handler: Any, arguments: Any, is_async: bool, timeout: float | None) -> Any:
    return invoke(handler, arguments, {"task_id": "x"}, is_async, timeout)


def from_sync_in_a_loop(handler: Any, arguments: Any, is_async: bool, timeout: float | None) -> Any:
    async def inside() -> Any:
        return from_sync(handler, arguments, is_async, timeout)

    return asyncio.run(inside())


def from_a_thread(handler: Any, arguments: Any, is_async: bool, timeout: float | None) -> Any:
    async def inside() -> Any:
        return await asyncio.to_thread(from_sync, handler, arguments, is_async, timeout)

    return asyncio.run(inside())


def from_async(handler: Any, arguments: Any, is_async: bool, timeout: float | None) -> Any:
    return asyncio.run(ainvoke(handler, arguments, {"task_id": "x"}, is_async, timeout))


Caller = Callable[[Any, Any, bool, float | None], Any]
every_caller = pytest.mark.parametrize(
    "caller", [from_sync, from_sync_in_a_loop, from_a_thread, from_async]
)
every_kind = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
every_limit = pytest.mark.parametrize("timeout", [None, LONG], ids=["unlimited", "limited"])


def of_kind(function: Callable[[Any], Any], is_async: bool) -> Callable[..., Any]:
    """A handler that does what a function does."""

    def handler(arguments: Any, **context: Any) -> Any:
        assert context == {"task_id": "x"}
        return function(arguments)

    async def coroutine(arguments: Any, **context: Any) -> Any:
        await asyncio.sleep(0)
        return handler(arguments, **context)

    return coroutine if is_async else handler


@every_caller
@every_kind
@every_limit
def test_the_result_comes_back(caller: Caller, is_async: bool, timeout: float | None) -> None:
    handler = of_kind(lambda arguments: arguments["a"], is_async)
    assert caller(handler, {"a": 7}, is_async, timeout) == 7


class Escape(BaseException):
    pass


@every_caller
@every_kind
@every_limit
@pytest.mark.parametrize(
    "error", [ValueError("no"), SystemExit(3), asyncio.CancelledError("mine"), Escape()], ids=repr
)
def test_what_a_handler_raises_comes_out_as_it_is(
    caller: Caller, is_async: bool, timeout: float | None, error: BaseException
) -> None:
    def fail(arguments: Any) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        caller(of_kind(fail, is_async), {}, is_async, timeout)
    assert caught.value.args == error.args
    # Whatever ran the handler is still there.
    assert caller(of_kind(lambda arguments: "next", is_async), {}, is_async, timeout) == "next"


@every_kind
def test_a_handler_that_interrupts_ends_its_own_call_alone(is_async: bool) -> None:
    def fail(arguments: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        from_sync(of_kind(fail, is_async), {}, is_async, LONG)
    assert from_sync(of_kind(lambda arguments: "next", is_async), {}, is_async, LONG) == "next"


@every_caller
@every_limit
def test_what_is_declared_async_may_return_plainly(caller: Caller, timeout: float | None) -> None:
    assert caller(lambda arguments, **context: arguments, "plain", True, timeout) == "plain"


@every_caller
@every_kind
@every_limit
def test_context_variables_of_the_caller_are_seen(
    caller: Caller, is_async: bool, timeout: float | None
) -> None:
    handler = of_kind(lambda arguments: variable.get(), is_async)
    token = variable.set("seen")
    try:
        assert caller(handler, {}, is_async, timeout) == "seen"
    finally:
        variable.reset(token)


def the_loop(arguments: Any, **context: Any) -> Any:
    return asyncio.get_running_loop()


def test_calls_from_everywhere_share_one_loop() -> None:
    callers: list[Caller] = [from_sync, from_sync, from_sync_in_a_loop, from_a_thread]
    assert (
        len({caller(the_loop, {}, True, limit) for caller in callers for limit in (None, 9)}) == 1
    )


def test_a_client_bound_to_its_loop_works_in_the_next_call() -> None:
    kept: dict[str, Any] = {}

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)

    async def connect(arguments: Any) -> None:
        kept["server"] = server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        kept["reader"], kept["writer"] = await asyncio.open_connection("127.0.0.1", port)

    async def ask(arguments: Any) -> bytes:
        kept["writer"].write(arguments)
        return bytes(await kept["reader"].readline())

    async def close(arguments: Any) -> None:
        kept["writer"].close()
        await kept["writer"].wait_closed()
        kept["server"].close()

    invoke(connect, {}, {}, True, None)
    assert invoke(ask, b"first\n", {}, True, None) == b"first\n"
    assert asyncio.run(asyncio.to_thread(invoke, ask, b"next\n", {}, True, LONG)) == b"next\n"
    invoke(close, {}, {}, True, None)


async def deeper(depth: int) -> list[asyncio.AbstractEventLoop]:
    below = invoke(deeper, depth - 1, {}, True, None) if depth else []
    return [asyncio.get_running_loop(), *below]


async def deeper_by_thread(depth: int) -> int:
    return 1 + int(invoke(on_a_thread, depth, {}, False, LONG))


def on_a_thread(depth: int) -> int:
    return 1 + int(invoke(deeper_by_thread, depth - 1, {}, True, None)) if depth else 0


def test_an_async_handler_may_call_async_tools_to_any_depth() -> None:
    first = invoke(deeper, 6, {}, True, None)
    assert len(set(first)) == 7
    # The loops stay too, each for its depth.
    assert invoke(deeper, 6, {}, True, LONG) == first

    async def inside() -> Any:
        return invoke(deeper, 6, {}, True, None)

    assert asyncio.run(inside()) == first


def test_a_call_by_way_of_a_thread_never_waits_for_the_loop_that_waits_for_it() -> None:
    assert invoke(deeper_by_thread, 5, {}, True, None) == 11


def test_a_handler_that_awaits_a_thread_leaves_its_loop_to_others() -> None:
    async def handler(arguments: Any) -> bool:
        loop = await asyncio.to_thread(invoke, the_loop, {}, {}, True, None)
        return loop is asyncio.get_running_loop()

    assert invoke(handler, {}, {}, True, None) is True


def test_a_loop_that_is_blocked_unseen_is_passed_by(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(arguments: Any) -> Any:
        monkeypatch.setattr(loops, "PATIENCE", 0.05)
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(from_sync(the_loop, 0, True, None)))
        thread.start()  # knows nothing of its starter, which blocks its own loop now
        thread.join()
        return found[0] is not asyncio.get_running_loop()

    assert invoke(handler, {}, {}, True, None, "blocker") is True
    assert "the_loop runs on another" in caplog.text


def test_a_call_that_its_loop_never_began_is_never_begun() -> None:
    began, release, ran = threading.Event(), threading.Event(), threading.Event()

    async def blocker(arguments: Any) -> None:
        began.set()
        release.wait(LONG)

    async def late(arguments: Any) -> None:
        ran.set()

    thread = threading.Thread(target=invoke, args=(blocker, {}, {}, True, None))
    thread.start()
    began.wait(LONG)
    with pytest.raises(TimeoutError):
        invoke(late, {}, {}, True, 0.01)
    release.set()
    thread.join()
    invoke(the_loop, {}, {}, True, None)  # the loop has passed the place
    assert not ran.is_set()


def test_nothing_is_left_unawaited(recwarn: pytest.WarningsRecorder) -> None:
    async def handler(arguments: Any) -> None:
        await asyncio.sleep(LONG)

    for limit in (0, 0.001):
        for caller in (from_sync, from_sync_in_a_loop, from_async):
            with pytest.raises(TimeoutError):
                caller(lambda arguments, **context: handler(arguments), {}, True, limit)
    invoke(the_loop, {}, {}, True, None)
    gc.collect()
    assert not [one for one in recwarn if "never awaited" in str(one.message)]


def test_tasks_left_behind_are_told_of_once_a_tool_and_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    release = asyncio.Event()
    tasks: list[asyncio.Task[Any]] = []

    async def handler(arguments: Any) -> None:
        if arguments:
            tasks.append(asyncio.create_task(release.wait(), name=arguments))
        await asyncio.create_task(asyncio.sleep(0))
        await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))

    async def end(arguments: Any) -> list[Any]:
        release.set()
        return list(await asyncio.gather(*tasks))

    with caplog.at_level(logging.WARNING, "hermes_build.runtime"):
        invoke(handler, "", {}, True, None, "leaves_tasks")
        assert caplog.messages == []
        invoke(handler, "refresher", {}, True, None, "leaves_tasks")
        invoke(handler, "another", {}, True, None, "leaves_tasks")
    assert caplog.messages == [
        "The handler of leaves_tasks ended while tasks that it started are running: refresher"
    ]
    assert invoke(end, {}, {}, True, None) == [True, True]


def test_a_background_task_that_exits_does_not_end_the_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def leave() -> None:
        raise SystemExit(1)

    async def handler(arguments: Any) -> str:
        task = asyncio.create_task(leave())
        await asyncio.wait([task])
        assert isinstance(task.exception(), SystemExit)
        return "went on"

    before = invoke(the_loop, {}, {}, True, None)
    assert invoke(handler, {}, {}, True, LONG) == "went on"
    assert invoke(the_loop, {}, {}, True, LONG) is before
    assert "SystemExit in a background task is ignored" in caplog.text


def test_a_handler_that_stops_its_loop_stops_nothing() -> None:
    async def handler(arguments: Any) -> str:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return "went on"

    assert invoke(handler, {}, {}, True, LONG) == "went on"


@every_limit
def test_a_sync_handler_never_blocks_the_loop_of_its_caller(timeout: float | None) -> None:
    async def inside() -> Any:
        event = threading.Event()
        call = asyncio.create_task(
            ainvoke(lambda arguments: event.wait(LONG), {}, {}, False, timeout)
        )
        await asyncio.sleep(0.01)
        event.set()
        return await call

    assert asyncio.run(inside()) is True


def test_an_async_handler_is_awaited_in_the_loop_of_its_caller() -> None:
    async def inside() -> None:
        for timeout in (None, LONG):
            assert await ainvoke(the_loop, {}, {}, True, timeout) is asyncio.get_running_loop()

    asyncio.run(inside())


@every_limit
def test_cancelling_the_caller_cancels_an_async_handler(timeout: float | None) -> None:
    events: list[str] = []

    async def handler(arguments: Any) -> None:
        try:
            events.append("began")
            await asyncio.sleep(LONG)
        finally:
            await asyncio.sleep(0)
            events.append("cleaned up")

    async def inside() -> None:
        call = asyncio.create_task(ainvoke(handler, {}, {}, True, timeout))
        while not events:
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        events.append("cancelled")

    asyncio.run(inside())
    assert events == ["began", "cleaned up", "cancelled"]


@every_limit
def test_cancelling_the_caller_waits_for_no_sync_handler(timeout: float | None) -> None:
    began, release, ended = threading.Event(), threading.Event(), threading.Event()

    def handler(arguments: Any) -> None:
        began.set()
        release.wait(LONG)
        ended.set()

    async def inside() -> None:
        call = asyncio.create_task(ainvoke(handler, {}, {}, False, timeout))
        while not began.is_set():
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not ended.is_set()

    asyncio.run(inside())
    release.set()
    assert ended.wait(LONG)  # with its caller's loop closed, the thread still ends in peace
