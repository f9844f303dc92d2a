"""Running a coroutine from code that is not async.

Without a running loop `asyncio.run` will do. Inside one it cannot, so the coroutine then runs on a
loop of its own in a worker thread that stays: objects bound to a loop, such as HTTP clients, work
again in the next call.
"""

from __future__ import annotations

import asyncio
import os
from threading import Lock, Thread
from weakref import WeakSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import Any

_lock = Lock()
_worker: asyncio.AbstractEventLoop | None = None
_ours: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


def wait(awaitable: Awaitable[Any]) -> Any:
    """Run an awaitable to its end and return its result; exceptions come out as they are.

    Context variables of the caller are seen inside.
    """
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_awaited(awaitable))
    # A handler may call another tool. On a loop of ours it would wait for itself, or for a handler
    # that waits for it, so that such a call gets a loop of its own.
    loop = _new_loop() if running in _ours else _shared_loop()
    future = asyncio.run_coroutine_threadsafe(_awaited(awaitable), loop)
    try:
        return future.result()
    finally:
        future.cancel()  # of no effect unless the wait was interrupted
        if loop is not _worker:
            loop.call_soon_threadsafe(loop.stop)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _shared_loop() -> asyncio.AbstractEventLoop:
    global _worker
    with _lock:
        if _worker is None:
            _worker = _new_loop()
        return _worker


def _new_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    _ours.add(loop)

    def run() -> None:
        loop.run_forever()
        loop.close()

    Thread(target=run, name="hermes-build-bridge", daemon=True).start()
    return loop


def _forget() -> None:
    global _lock, _worker
    _lock, _worker = Lock(), None


if hasattr(os, "register_at_fork"):
    # A forked process has the loop and not the thread that runs it: it would wait for ever.
    os.register_at_fork(after_in_child=_forget)
