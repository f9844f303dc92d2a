"""Running a handler, sync or async, for a caller of either kind.

=============  ===================================  ====================================
caller         sync handler                         async handler
=============  ===================================  ====================================
`invoke`       called; under a time-out on a        on the loop that serves all calls
               thread                               (`hermes_build.runtime.loops`)
`ainvoke`      on a thread                          awaited in the caller's loop
=============  ===================================  ====================================
"""

from __future__ import annotations

from functools import partial
from time import monotonic

from hermes_build.runtime.errors import HandlerTimeout
from hermes_build.runtime.threads import deadline, nested_context, run_on_thread, start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Task
    from collections.abc import Callable
    from contextvars import Context
    from typing import Any

    from hermes_build.runtime.threads import Outcome

_running: set[Task[Outcome]] = set()  # a loop holds its tasks weakly


def invoke(
    handler: Callable[..., Any],
    arguments: Any,
    context: dict[str, Any],
    is_async: bool,
    timeout: float | None,
    tool: str = "",
) -> Any:
    """Run a handler for a sync caller; what it raises comes out as it is.

    An async handler may return a plain value, too. Context variables of the caller are seen inside.
    A handler that is late is cancelled where that is possible, and never waited for.

    Args:
        handler: called as ``handler(arguments, **context)``.
        arguments: its arguments.
        context: its keywords.
        is_async: whether it returns what must be awaited.
        timeout: seconds that it may take; None for as long as it likes.
        tool: its tool's name, for warnings.

    Raises:
        HandlerTimeout: when it takes longer than ``timeout``.
        Refusal: when calls are nested too deeply.
    """
    if is_async:
        from hermes_build.runtime.loops import run_on_loop

        name = tool or getattr(handler, "__qualname__", type(handler).__qualname__)
        return run_on_loop(partial(handler, arguments, **context), timeout, name)
    if timeout is None:
        return handler(arguments, **context)
    return run_on_thread(partial(handler, arguments, **context), timeout)


async def ainvoke(
    handler: Callable[..., Any],
    arguments: Any,
    context: dict[str, Any],
    is_async: bool,
    timeout: float | None,
) -> Any:
    """Run a handler for an async caller, as `invoke` does for a sync one.

    The caller's loop is never blocked. Cancelling the caller cancels an async handler; a sync one
    is left alone on its thread.

    Raises:
        HandlerTimeout: when it takes longer than ``timeout``.
        Refusal: when calls are nested too deeply.
    """
    work = partial(handler, arguments, **context)
    if not is_async:
        return (await on_thread(work, nested_context(), timeout)).take()
    if timeout is not None:
        return (await _as_task(work, timeout)).take()
    result = work()
    return await result if hasattr(result, "__await__") else result


async def on_thread(
    work: Callable[[], Any], context: Context, seconds: float | None = None
) -> Outcome:
    """Run a function on a thread in a context: what it comes to, for a caller that is async.

    Raises:
        HandlerTimeout: when it takes longer than ``seconds``; it is left alone on its thread.
    """
    from asyncio import Future, get_running_loop

    loop = get_running_loop()
    future: Future[Outcome | None] = loop.create_future()

    def settle(outcome: Outcome | None) -> None:
        if not future.done():
            future.set_result(outcome)

    def declare(outcome: Outcome) -> None:
        try:
            loop.call_soon_threadsafe(settle, outcome)
        except RuntimeError:  # the loop was closed: nobody waits any more
            pass

    start(work, context, declare)
    timer = None if seconds is None else loop.call_later(seconds, settle, None)
    try:
        outcome = await future
    finally:
        if timer is not None:
            timer.cancel()
    if outcome is None:
        assert seconds is not None
        raise HandlerTimeout(seconds)
    return outcome


async def _as_task(work: Callable[[], Any], seconds: float) -> Outcome:
    """Await in a task of its own, since `asyncio.timeout` waits for those who ignore it."""
    from asyncio import CancelledError, create_task, wait

    from hermes_build.runtime.loops import settled

    until = deadline(seconds)
    task = create_task(settled(work))
    _running.add(task)
    task.add_done_callback(_running.discard)
    try:
        await wait((task,), timeout=seconds)
    except CancelledError:
        task.cancel()
        # What the handler does to clean up belongs to the call, as far as its time goes.
        await wait((task,), timeout=max(until - monotonic(), 0))
        raise
    if not task.done():
        task.cancel()
        raise HandlerTimeout(seconds)
    return task.result()
