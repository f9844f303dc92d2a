"""Running an async function for a caller that is not async.

It runs on an event loop that lives as long as the process, on a daemon thread of its own. One loop
serves all calls, so that what a handler keeps between calls, such as an HTTP client, finds the loop
that it is bound to. Only a call from inside another one gets a further loop: the first is blocked
by the handler that waits.
"""

from __future__ import annotations

import asyncio
import os
from _thread import allocate_lock
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from logging import Logger, getLogger
from threading import Thread
from time import monotonic
from weakref import WeakSet

from hermes_build.runtime.errors import HandlerTimeout
from hermes_build.runtime.threads import (
    Ending,
    Outcome,
    deadline,
    depth,
    waiting_context,
    waiting_threads,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context
    from typing import Any

    Task = asyncio.Task[Any]

PATIENCE = 5.0
"""Seconds after which a loop that did not even begin a call is taken for blocked."""

_lock = allocate_lock()
_homes: list[_Home] = []
_left_by: set[str] = set()
_children: ContextVar[WeakSet[Task] | None] = ContextVar("hermes_build_children", default=None)


def run_on_loop(function: Callable[[], Any], seconds: float | None, name: str) -> Any:
    """Call a function on a loop, await what it returns, and wait for the result.

    What it returns is handed on if it cannot be awaited. Exceptions come out as they are, and the
    caller's context variables are seen inside. The coroutine is cancelled when it is late, and when
    the wait is interrupted; neither waits for it to obey.

    Args:
        function: what to call.
        seconds: how long it may take; None for as long as it likes.
        name: the tool, for a warning about tasks that are left behind.

    Raises:
        HandlerTimeout: when it takes longer than ``seconds``.
        Refusal: when calls are nested too deeply.
    """
    until = deadline(seconds)
    context = waiting_context()
    blocked = context.run(waiting_threads)
    while True:
        home = _home(blocked)
        visit = _Visit(home, function, context, name)
        try:
            home.loop.call_soon_threadsafe(visit.begin)
            outcome = visit.ending.outcome(min(until, monotonic() + PATIENCE))
            if outcome is None and not visit.claim():
                outcome = visit.ending.outcome(until)
        except BaseException:  # KeyboardInterrupt, and what signal handlers raise
            visit.cancel()
            raise
        if outcome is not None:
            return outcome.take()
        if seconds is not None and monotonic() >= until:
            visit.cancel()
            raise HandlerTimeout(seconds)
        # Some handler blocks the loop, and may be waiting for this very call.
        _log().warning("A handler blocks the loop of the async ones; %s runs on another", name)
        blocked = (*blocked, home.thread)


async def settled(function: Callable[[], Any]) -> Outcome:
    """Call a function, await what it returns if that is possible, and tell what it came to.

    Nothing is raised: SystemExit out of a task would end the loop that it runs on.
    """
    try:
        result = function()
        if hasattr(result, "__await__"):
            result = await result
        return Outcome(result)
    except BaseException as error:
        return Outcome(None, error)


class _Home:
    """A loop that runs for ever on a thread of its own; ``visits`` keeps its tasks alive."""

    __slots__ = ("loop", "thread", "visits")

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_task_factory(_remember)
        self.loop.set_default_executor(_Pools())
        self.visits: set[Task] = set()
        thread = Thread(target=self._run, name="hermes-build-bridge", daemon=True)
        thread.start()
        assert thread.ident is not None
        self.thread: int = thread.ident

    def _run(self) -> None:
        while not self.loop.is_closed():
            try:
                self.loop.run_forever()
            except BaseException as error:
                # A task or callback that raises SystemExit gets out of asyncio's loop. Whoever
                # awaits the task sees it too; the loop is there for the others, and goes on.
                _log().warning("%s in a background task is ignored", type(error).__name__)


class _Pools(ThreadPoolExecutor):
    """The threads of `asyncio.to_thread`: those of another pool at each depth of nested calls.

    Each pool is bounded, and a function in it that calls a tool keeps its thread until that tool
    has ended. The tool takes threads of the next pool, and so never waits for those that wait.
    """

    def __init__(self) -> None:
        super().__init__()
        self._pools: dict[int, ThreadPoolExecutor] = {}

    def submit(self, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        """Run a function in the caller's context, on a thread of the caller's depth."""
        pool = self._pools.get(depth())
        if pool is None:
            pool = self._pools.setdefault(depth(), ThreadPoolExecutor())
        return pool.submit(copy_context().run, function, *args, **options)


class _Visit:
    """One call on a loop. Whoever claims it first decides: the loop to begin, the caller not to."""

    __slots__ = ("_claim", "_context", "_function", "_home", "_name", "_task", "ending")

    def __init__(
        self, home: _Home, function: Callable[[], Any], context: Context, name: str
    ) -> None:
        self._home = home
        self._function = function
        self._context = context
        self._name = name
        self._claim = allocate_lock()
        self._task: Task | None = None
        self.ending = Ending()

    def claim(self) -> bool:
        """Whether nobody else had claimed it."""
        return self._claim.acquire(blocking=False)

    def begin(self) -> None:
        """Start the task; called by the loop."""
        if self.claim():
            self._task = asyncio.Task(self._run(), loop=self._home.loop, context=self._context)
            self._home.visits.add(self._task)
            self._task.add_done_callback(self._home.visits.discard)

    def cancel(self) -> None:
        """Cancel the task, if it began, without waiting for its end."""
        if not self.claim():
            self._home.loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        children: WeakSet[Task] = WeakSet()
        _children.set(children)
        outcome = await settled(self._function)
        if children:
            _tell_of(children, self._name)
        self.ending.declare(outcome)


def _home(blocked: tuple[int, ...]) -> _Home:
    """The first loop that none of these threads runs."""
    with _lock:
        for home in _homes:
            if home.thread not in blocked:
                return home
        home = _Home()
        _homes.append(home)
        return home


def _remember(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Task:
    """Make a task as asyncio does, and note it for the call that made it."""
    task: Task = asyncio.Task(coroutine, loop=loop, **options)
    children = _children.get()
    if children is not None:
        children.add(task)
    return task


def _tell_of(children: WeakSet[Task], name: str) -> None:
    """Warn of tasks that a handler leaves running: once a tool, since clients mean to keep some."""
    if name in _left_by:
        return
    left = sorted(one.get_name() for one in children if not (one.done() or one.cancelling()))
    if left:
        _left_by.add(name)
        _log().warning(
            "The handler of %s ended while tasks that it started are running: %s",
            name,
            ", ".join(left),
        )


def _log() -> Logger:
    return getLogger("hermes_build.runtime")


def _forget() -> None:
    """Begin anew in a forked process, which has the loops and none of the threads behind them."""
    global _lock
    _lock = allocate_lock()
    _homes.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
