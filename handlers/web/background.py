"""Waiting for what can neither be awaited nor stopped: a blocking function in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


async def in_background(function: Callable[[], T]) -> T:
    """What a blocking function returns or raises, while other tasks go on.

    When the wait is cancelled the function is left behind: its thread goes on, and keeps neither
    the loop nor the program from ending. `asyncio.to_thread` would make the end of the loop wait
    for it, so that a time-out is obeyed only once it no longer matters.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = function()
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop was closed in the meantime
            loop.call_soon_threadsafe(settle, result, error)

    Thread(target=run, name="web-background", daemon=True).start()
    return await done
