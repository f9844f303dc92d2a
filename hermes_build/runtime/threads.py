"""Running a function on a thread that nobody has to wait for.

The standard pool will not do: it waits for its threads when the interpreter ends, and a handler
that hangs keeps a place in it for ever. Here a function that takes too long is left alone on its
thread, and the next one gets another. Their number has no upper bound, so that a function that
waits for another one never waits for a free thread; but one that calls itself again and again comes
to an end (`MOST_NESTED`).
"""

from __future__ import annotations

import os
from _thread import allocate_lock, get_ident
from contextvars import ContextVar, copy_context
from math import inf
from threading import Thread
from time import monotonic

from hermes_build.runtime.errors import HandlerTimeout, Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context
    from typing import Any

SPARE = 16
"""How many threads are kept for later; those beyond end with what they did."""

GLANCE = 1.0
"""Seconds after which a wait looks for signals. Most end it at once; on Windows none does, and
anywhere one may come just before the wait begins."""

MOST_NESTED = 100
"""How many calls may be made from inside each other, where each takes a thread or a loop."""

_spare: list[_Worker] = []  # its append and pop are atomic, so that it needs no lock
_depth: ContextVar[int] = ContextVar("hermes_build_depth", default=0)
_waiting: ContextVar[tuple[int, ...]] = ContextVar("hermes_build_waiting", default=())


class Outcome:
    """What a function came to: what it returned, or what it raised."""

    __slots__ = ("_error", "_result")

    def __init__(self, result: Any, error: BaseException | None = None) -> None:
        self._result = result
        self._error = error

    def take(self) -> Any:
        """Return the result, or raise what was raised; for one taker."""
        error, self._error = self._error, None
        if error is None:
            return self._result
        try:
            raise error
        finally:
            del error  # its traceback holds this frame, which must not hold it in turn


class Ending:
    """The moment when something is over, which one thread waits for and another one declares."""

    __slots__ = ("_lock", "_outcome")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._lock.acquire()
        self._outcome: Outcome | None = None

    def declare(self, outcome: Outcome) -> None:
        """Say what it came to, once."""
        self._outcome = outcome
        self._lock.release()

    def outcome(self, until: float) -> Outcome | None:
        """Wait until a time of the monotonic clock at most; None when it is not over by then."""
        while not self._lock.acquire(timeout=min(max(until - monotonic(), 0), GLANCE)):
            if monotonic() >= until:
                return None
        return self._outcome


def run_on_thread(function: Callable[[], Any], seconds: float) -> Any:
    """Run a function on another thread, and wait for it; its exceptions come out as they are.

    The caller's context variables are seen inside. A function that is late is not stopped, since no
    thread can be: it is left alone, and what it comes to is dropped.

    Raises:
        HandlerTimeout: when it takes longer than ``seconds``.
        Refusal: when calls are nested too deeply.
    """
    ending = Ending()
    until = deadline(seconds)
    start(function, waiting_context(), ending.declare)
    outcome = ending.outcome(until)
    if outcome is None:
        raise HandlerTimeout(seconds)
    return outcome.take()


def start(
    function: Callable[[], Any], context: Context, declare: Callable[[Outcome], object]
) -> None:
    """Run a function on another thread in a context, and tell ``declare``, there, how it ended.

    Raises:
        RuntimeError: when the system has no thread left.
    """
    try:
        worker = _spare.pop()
    except IndexError:
        worker = _Worker()
    worker.give(function, context, declare)


def depth() -> int:
    """How many calls that take a thread or a loop this code runs inside of."""
    return _depth.get()


def nested_context() -> Context:
    """A copy of the caller's context for what it calls, which is one level deeper.

    Raises:
        Refusal: when that is too deep.
    """
    context = copy_context()
    below = depth() + 1
    if below > MOST_NESTED:
        raise Refusal(
            f"Tool calls are nested more than {MOST_NESTED} deep, and this one was not run: a tool "
            "that calls itself needs an end.",
            kind="nesting",
        )
    context.run(_depth.set, below)
    return context


def waiting_context() -> Context:
    """The same, in which it is known that the caller's thread waits."""
    context = nested_context()
    me = get_ident()
    if me not in waiting_threads():
        context.run(_waiting.set, (*waiting_threads(), me))
    return context


def waiting_threads() -> tuple[int, ...]:
    """The threads that wait for what runs here, and so can run nothing that it waits for."""
    return _waiting.get()


def deadline(seconds: float | None) -> float:
    """The time of the monotonic clock that is so many seconds away; infinite for None."""
    return inf if seconds is None else monotonic() + seconds


class _Worker:
    """A daemon thread that runs what it is given, again and again."""

    __slots__ = ("_awake", "_work")

    def __init__(self) -> None:
        self._awake = allocate_lock()
        self._awake.acquire()
        self._work: tuple[Callable[[], Any], Context, Callable[[Outcome], object]] | None = None
        Thread(target=self._run, name="hermes-build-worker", daemon=True).start()

    def give(
        self, function: Callable[[], Any], context: Context, declare: Callable[[Outcome], object]
    ) -> None:
        self._work = (function, context, declare)
        self._awake.release()

    def _run(self) -> None:
        staying = True
        while staying:
            self._awake.acquire()
            staying = self._once()

    def _once(self) -> bool:
        """Run what was given, in a frame of its own so that nothing of it is kept."""
        assert self._work is not None
        (function, context, declare), self._work = self._work, None
        try:
            outcome = Outcome(context.run(function))
        except BaseException as error:  # SystemExit too: it is for the one who waits
            outcome = Outcome(None, error)
        # Free before the caller knows: what it calls next finds this thread and starts no other.
        staying = len(_spare) < SPARE
        if staying:
            _spare.append(self)
        declare(outcome)
        return staying


if hasattr(os, "register_at_fork"):
    # A forked process has the list and none of the threads in it.
    os.register_at_fork(after_in_child=_spare.clear)
