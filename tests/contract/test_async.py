"""Point 37 of the contract: async handlers for sync callers, and sync ones for async callers.

Nothing here measures time: where a wait would be wrong, it would last for ever.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import Make, error_of, fields_of

FOR_EVER = 3_600
SOON = 0.05
"""Seconds after which a handler that never ends is too late."""


@pytest.fixture(autouse=True)
def nothing_is_left_unawaited(
    caplog: pytest.LogCaptureFixture,
) -> Iterator[None]:
    """No test leaves a coroutine that was never awaited, or an error that nobody looked at."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert not [one for one in caught if "never awaited" in str(one.message)]
    assert not [one for one in caplog.messages if "never retrieved" in one]


async def later(args: dict[str, Any]) -> str:
    await asyncio.sleep(0)
    return "later"


def from_a_thread(call: Any) -> Any:
    """What a call answers on a thread of its own."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(call()))
    thread.start()
    thread.join(60)
    return answers[0]


def from_a_loop(call: Any) -> Any:
    """What a sync call answers inside a running loop."""

    async def main() -> Any:
        return call()

    return asyncio.run(main())


def directly(call: Any) -> Any:
    return call()


@pytest.mark.parametrize("where", [directly, from_a_loop, from_a_thread])
def test_37_a_sync_call_of_an_async_handler_works_anywhere(make: Make, where: Any) -> None:
    registry = make(later, is_async=True)
    assert [where(lambda: registry.call("t", {})) for _ in range(3)] == ["later"] * 3
    assert where(lambda: registry.session().call("t", {})) == "later"


def test_37_many_worker_threads_may_call_at_once(make: Make) -> None:
    together = threading.Barrier(8)

    async def handler(args: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        return f"{args['n']}"

    registry = make(handler, is_async=True)
    answers: list[str] = []

    def call(number: int) -> None:
        together.wait(60)
        answers.append(registry.call("t", {"n": number}))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answers) == [str(number) for number in range(8)]


def test_37_a_client_that_is_bound_to_its_loop_survives_and_calls_share_it(make: Make) -> None:
    loops: list[asyncio.AbstractEventLoop] = []
    queue: list[asyncio.Queue[int]] = []

    async def handler(args: dict[str, Any]) -> str:
        loops.append(asyncio.get_running_loop())
        if not queue:
            queue.append(asyncio.Queue())
            waiting = asyncio.ensure_future(queue[0].get())
            await asyncio.sleep(0)  # the queue is bound to this loop from now on
            queue[0].put_nowait(1)
            return str(await waiting)
        waiting = asyncio.ensure_future(queue[0].get())
        await asyncio.sleep(0)
        queue[0].put_nowait(2)
        return str(await waiting)

    registry = make(handler, is_async=True)
    assert registry.call("t", {}) == "1"
    assert registry.call("t", {}) == "2"
    assert from_a_thread(lambda: registry.call("t", {})) == "2"
    assert from_a_loop(lambda: registry.call("t", {})) == "2"
    assert all(one is loops[0] for one in loops) and loops[0].is_running()


def slow(registry: ToolRegistry, way: str) -> Any:
    if way == "call":
        return registry.call("t", {})
    return asyncio.run(registry.acall("t", {}))


def sleeper(cancelled: threading.Event) -> Any:
    """A handler that sleeps for ever, and notes when it is cancelled."""

    async def handler(args: dict[str, Any]) -> str:
        try:
            await asyncio.sleep(FOR_EVER)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    return handler


def test_37_a_timeout_cancels_the_coroutine_and_the_answer_says_so(make: Make) -> None:
    cancelled = threading.Event()
    registry = make(sleeper(cancelled), is_async=True, timeout_seconds=SOON)
    assert "timed out" in error_of(registry.call("t", {}))
    assert cancelled.wait(60)


def test_37_a_timeout_cancels_the_coroutine_in_the_callers_loop_too(make: Make) -> None:
    cancelled = threading.Event()
    registry = make(sleeper(cancelled), is_async=True, timeout_seconds=SOON)

    async def main() -> None:
        assert "timed out" in error_of(await registry.acall("t", {}))
        # Here and now, rather than when the loop ends and cancels whatever is left.
        assert await asyncio.to_thread(cancelled.wait, 60)

    asyncio.run(main())


def test_37_a_call_returns_at_its_timeout_though_the_coroutine_does_not_obey(make: Make) -> None:
    returned = threading.Event()
    stubborn = threading.Event()

    async def handler(args: dict[str, Any]) -> str:
        try:
            await asyncio.sleep(FOR_EVER)
        except asyncio.CancelledError:
            while not returned.is_set():
                try:
                    await asyncio.sleep(0.001)
                except asyncio.CancelledError:
                    continue
            stubborn.set()
        return "never"

    registry = make(handler, is_async=True, timeout_seconds=SOON)
    assert "timed out" in error_of(registry.call("t", {}))
    assert not stubborn.is_set()
    returned.set()
    assert stubborn.wait(60)


@pytest.mark.parametrize("way", ["call", "acall"])
def test_37_a_sync_handler_that_is_late_is_not_waited_for_either(make: Make, way: str) -> None:
    returned, ended = threading.Event(), threading.Event()

    def handler(args: dict[str, Any]) -> str:
        assert returned.wait(60)
        ended.set()
        return "never"

    registry = make(handler, timeout_seconds=SOON)
    assert "timed out" in error_of(slow(registry, way))
    assert not ended.is_set()
    returned.set()
    assert ended.wait(60)


def test_37_a_handler_that_is_in_time_keeps_its_result(make: Make) -> None:
    registry = make(later, is_async=True, timeout_seconds=FOR_EVER)
    assert slow(registry, "call") == slow(registry, "acall") == "later"


def test_37_an_async_caller_runs_sync_handlers_in_a_thread_and_its_loop_goes_on(
    make: Make,
) -> None:
    loop_went_on = threading.Event()

    def handler(args: dict[str, Any]) -> str:
        # Only the caller's loop can set this: if it were blocked, it never would.
        assert loop_went_on.wait(60)
        return threading.current_thread().name

    registry = make(handler)

    async def main() -> str:
        call = asyncio.ensure_future(registry.acall("t", {}))
        await asyncio.sleep(0)
        loop_went_on.set()
        return str(await call)

    assert asyncio.run(main()) != threading.current_thread().name


def test_37_an_async_caller_awaits_async_handlers_in_its_own_loop(make: Make) -> None:
    async def handler(args: dict[str, Any]) -> str:
        return str(id(asyncio.get_running_loop()))

    registry = make(handler, is_async=True)

    async def main() -> None:
        assert await registry.acall("t", {}) == str(id(asyncio.get_running_loop()))

    asyncio.run(main())


@pytest.mark.parametrize("timeout", [None, FOR_EVER])
def test_37_cancelling_the_caller_cancels_the_handler_and_comes_out(
    make: Make, timeout: float | None
) -> None:
    seen: list[str] = []

    async def handler(args: dict[str, Any]) -> str:
        seen.append("began")
        try:
            await asyncio.sleep(FOR_EVER)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return "never"

    registry = make(handler, is_async=True, timeout_seconds=timeout)
    registry.hooks.add("post_tool_call", lambda status: seen.append(status))

    async def main() -> None:
        call = asyncio.ensure_future(registry.acall("t", {}))
        while not seen:
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())
    assert seen == ["began", "cancelled", "cancelled"]


def test_37_a_coroutine_that_a_sync_handler_returns_is_closed(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    registry = make(lambda args: later(args))
    with caplog.at_level(logging.WARNING):
        value = fields_of(registry.call("t", {}))
        assert value == fields_of(asyncio.run(registry.acall("t", {})))
    assert value["error_type"] == "tool_result_contract" and "async" in value["error"]


def test_37_blocking_a_call_leaves_no_coroutine_behind(make: Make) -> None:
    registry = make(later, is_async=True)
    registry.hooks.add("pre_tool_call", lambda: {"action": "block", "message": "no"})
    assert error_of(registry.call("t", {})) == "no"
    assert error_of(asyncio.run(registry.acall("t", {}))) == "no"
