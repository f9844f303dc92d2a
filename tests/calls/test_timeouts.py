"""A handler that is late ends its call at once, whatever it does with being cancelled."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hermes_build.runtime import loops, threads
from hermes_build.runtime.bridge import ainvoke, invoke
from hermes_build.runtime.errors import HandlerTimeout

LONG = 60.0
"""Seconds that no test takes: a limit for what would otherwise wait for ever."""

SHORT = 0.02
"""Seconds after which handlers that wait for their test are late."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loop is taken for blocked because the machine is busy."""
    monkeypatch.setattr(loops, "PATIENCE", 1000.0)


def from_sync(handler: Any, is_async: bool, timeout: float) -> Any:
    return invoke(handler, {}, {}, is_async, timeout)


def from_sync_in_a_loop(handler: Any, is_async: bool, timeout: float) -> Any:
    async def inside() -> Any:
        return invoke(handler, {}, {}, is_async, timeout)

    return asyncio.run(inside())


def from_async(handler: Any, is_async: bool, timeout: float) -> Any:
    return asyncio.run(ainvoke(handler, {}, {}, is_async, timeout))


Caller = Callable[[Any, bool, float], Any]
every_caller = pytest.mark.parametrize("caller", [from_sync, from_sync_in_a_loop, from_async])


def be_late(caller: Caller, handler: Any, begun: threading.Event) -> None:
    """Call an async handler that will be late, again where it was so before it had begun."""
    begun.clear()
    while not begun.is_set():
        with pytest.raises(HandlerTimeout) as caught:
            caller(handler, True, SHORT)
        assert caught.value.seconds == SHORT


@every_caller
def test_a_sync_handler_that_is_late_is_left_alone(caller: Caller) -> None:
    release, ended = threading.Event(), threading.Event()

    def handler(arguments: Any) -> None:
        release.wait(LONG)
        ended.set()

    with pytest.raises(HandlerTimeout, match=r"within 0\.02 s") as caught:
        caller(handler, False, SHORT)
    assert caught.value.seconds == SHORT
    assert not ended.is_set()
    # The thread is not there for the next call, which gets another.
    assert caller(lambda arguments: "next", False, LONG) == "next"
    assert not ended.is_set()
    release.set()
    assert ended.wait(LONG)


@every_caller
def test_a_timeout_cancels_the_coroutine_in_its_own_loop(caller: Caller) -> None:
    seen: list[Any] = []
    begun, cancelled = threading.Event(), threading.Event()

    async def handler(arguments: Any) -> None:
        begun.set()
        seen.append(asyncio.get_running_loop())
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append(asyncio.get_running_loop())
            cancelled.set()
            raise

    be_late(caller, handler, begun)
    assert cancelled.wait(LONG)
    assert seen[0] is seen[1]


def test_a_coroutine_that_ignores_its_cancellation_still_ends_the_call_at_once() -> None:
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    async def handler(arguments: Any) -> None:
        begun.set()
        while not release.is_set():
            try:
                await asyncio.sleep(0.001)
            except asyncio.CancelledError:
                pass
        ended.set()

    for caller in (from_sync, from_sync_in_a_loop):
        be_late(caller, handler, begun)
        assert not ended.is_set()

    async def inside() -> None:
        with pytest.raises(HandlerTimeout):
            await ainvoke(handler, {}, {}, True, SHORT)
        assert not ended.is_set()
        release.set()  # or the end of this loop would wait for it

    asyncio.run(inside())
    assert ended.wait(LONG)


@every_caller
def test_an_abandoned_coroutine_is_not_collected_under_its_feet(caller: Caller) -> None:
    held: list[Any] = []
    begun, ignored, ended, collected = (threading.Event() for _ in range(4))

    async def handler(arguments: Any) -> None:
        begun.set()
        await_me = asyncio.Event()  # nobody but this coroutine holds it
        held.append((asyncio.get_running_loop(), weakref.ref(await_me)))
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:
            ignored.set()
        try:
            await await_me.wait()
        except GeneratorExit:
            collected.set()
            raise
        ended.set()

    def end() -> None:
        gc.collect()
        assert not collected.is_set()
        for loop, event in held:
            loop.call_soon_threadsafe(event().set)

    if caller is from_async:

        async def inside() -> None:
            with pytest.raises(HandlerTimeout):
                await ainvoke(handler, {}, {}, True, SHORT)
            while not ignored.is_set():
                await asyncio.sleep(0)
            end()
            while not ended.is_set():
                await asyncio.sleep(0)

        asyncio.run(inside())
        return
    be_late(caller, handler, begun)
    assert ignored.wait(LONG)
    end()
    assert ended.wait(LONG)


def test_a_handler_that_blocks_the_loop_still_ends_the_call_at_once() -> None:
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    async def handler(arguments: Any) -> None:
        begun.set()
        release.wait(LONG)
        ended.set()

    be_late(from_sync, handler, begun)
    assert not ended.is_set()
    release.set()
    assert ended.wait(LONG)


@pytest.mark.parametrize("limit", [None, LONG])
def test_a_timeout_of_the_handlers_own_is_told_from_ours(limit: float | None) -> None:
    async def handler(arguments: Any) -> None:
        async with asyncio.timeout(0):
            await asyncio.sleep(LONG)

    for call in (invoke, lambda *given: asyncio.run(ainvoke(*given))):
        with pytest.raises(TimeoutError) as caught:
            call(handler, {}, {}, True, limit)
        assert not isinstance(caught.value, HandlerTimeout)


def test_a_caller_that_is_cancelled_waits_no_longer_than_the_limit() -> None:
    over = False
    events: list[str] = []

    async def handler(arguments: Any) -> None:
        while not over:
            try:
                events.append("waits")
                await asyncio.sleep(LONG)
            except asyncio.CancelledError:
                events.append("ignores")

    async def cancelled_within(limit: float) -> bool:
        nonlocal over
        over = False
        events.clear()
        call = asyncio.create_task(ainvoke(handler, {}, {}, True, limit))
        while not events:
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        over = True  # or the end of this loop would wait for the handler
        return call.cancelled()

    # A busy machine may be late itself.
    assert any(asyncio.run(cancelled_within(limit)) for limit in (0.1, 1, LONG))
    assert events[:3] == ["waits", "ignores", "waits"]


def nested(depth: int) -> int:
    return 1 + int(invoke(nested, depth - 1, {}, False, LONG)) if depth else 0


def test_nested_calls_under_a_limit_never_wait_for_a_free_thread() -> None:
    depth = 2 * threads.SPARE
    assert invoke(nested, depth, {}, False, LONG) == depth


def test_many_calls_at_once_each_get_a_thread() -> None:
    many = 2 * threads.SPARE
    together = threading.Barrier(many)

    def handler(arguments: Any) -> str:
        together.wait(LONG)
        return threading.current_thread().name

    with ThreadPoolExecutor(many) as pool:
        calls = [pool.submit(invoke, handler, {}, {}, False, LONG) for _ in range(many)]
        assert {call.result() for call in calls} == {"hermes-build-worker"}


COUNTED = """
import asyncio, threading, time
from hermes_build.runtime.bridge import ainvoke, invoke

async def handler(arguments):
    await asyncio.sleep(0)

async def inside():
    for _ in range(200):
        await ainvoke(str, 1, {}, False, None)
        await ainvoke(str, 1, {}, False, 60)

for _ in range(200):
    invoke(str, 1, {}, False, 60)
    invoke(handler, 1, {}, True, 60)
    invoke(handler, 1, {}, True, None)
asyncio.run(inside())
print(sorted(one.name for one in threading.enumerate()))

hung = 3
for _ in range(hung):
    try:
        invoke(lambda arguments: time.sleep(1000), 1, {}, False, 0.01)
    except TimeoutError:
        pass
for _ in range(200):
    invoke(str, 1, {}, False, 60)
print(threading.active_count())
"""


def test_the_number_of_threads_is_stable_over_many_calls() -> None:
    done = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True)
    ours = ["MainThread", "hermes-build-bridge", "hermes-build-worker"]
    assert done.stdout == f"{ours}\n{len(ours) + 3}\n", done.stderr
