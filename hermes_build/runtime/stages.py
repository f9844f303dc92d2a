"""The stages of a call for an async caller: on a thread, where one of them may wait.

Checks, hooks, the import of a handler module and a store are plain code, and take the time that
they take: the loop of the caller goes on meanwhile. Where none of them is in the way, the stages
run where the caller is, since a thread costs more than all of them.
"""

from __future__ import annotations

from _thread import allocate_lock
from asyncio import CancelledError
from functools import partial
from typing import TYPE_CHECKING, Any

from hermes_build.runtime.bridge import on_thread
from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.pipeline import steps
from hermes_build.runtime.threads import nested_context, start

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from hermes_build.runtime.call import Call
    from hermes_build.runtime.callee import Callee

_UNSET = object()


class Stages:
    """The way of one call; ``answer`` is what came of it, as soon as it is over."""

    __slots__ = ("_call", "_context", "_order", "answer")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._order = steps(call)
        self._context: Context | None = None
        self.answer: Any = None

    async def begin(self) -> Callee | None:
        """Go on to the handler: the tool whose handler is due; None where the call is over."""
        call = self._call
        tool = call.registry._callees.get(call.tool_name)
        waits = tool is None or tool.may_wait or self._has_hooks()
        return await self._go(partial(next, self._order), waits)

    async def end(self, result: Any) -> None:
        """Go on with what the handler returned."""
        call = self._call
        is_short = type(result) is str and len(result) <= call.callee.limit  # type: ignore[union-attr]
        waits = self._has_hooks() or not (call.registry.store is None or is_short)
        await self._go(partial(self._order.send, result), waits)

    async def fail(self, error: BaseException) -> None:
        """Go on with what the handler raised; what is not for the model comes out."""
        # A coroutine that is being closed can wait for nothing any more.
        waits = self._has_hooks() and type(error) is not GeneratorExit
        await self._go(partial(self._order.throw, error), waits)

    def _has_hooks(self) -> bool:
        hooks = self._call.registry._hooks
        return hooks is not None and not hooks.is_idle

    async def _go(self, step: Callable[[], Callee], waits: bool) -> Callee | None:
        if waits and self._context is None:
            try:
                self._context = nested_context()
            except Refusal:  # nested too deeply for another thread
                waits = False
        if not waits or self._context is None:
            return self._step(step)
        tool, changes = await self._elsewhere(step, self._context)
        for variable, value in changes:
            variable.set(value)
        return tool

    def _step(self, step: Callable[[], Callee]) -> Callee | None:
        try:
            return step()
        except StopIteration as end:
            self.answer = end.value
            return None

    async def _elsewhere(
        self, step: Callable[[], Callee], context: Context
    ) -> tuple[Callee | None, list[Any]]:
        """Take a step on a thread: what it came to, and the context variables that it set.

        All of a call's steps have one context, so that a hook may reset what an earlier one set.
        """
        before = dict(context)
        busy = allocate_lock()

        def stage() -> Callee | None:
            with busy:
                return self._step(step)

        def leave() -> None:
            with busy:
                self._order.close()

        try:
            tool = (await on_thread(stage, context)).take()
        except (CancelledError, GeneratorExit):
            # The step itself goes on, and nobody waits for it: its call ends where it stops.
            self._call.status = "cancelled"
            start(leave, context.copy(), _forget)
            raise
        return tool, [
            pair for pair in context.items() if before.get(pair[0], _UNSET) is not pair[1]
        ]


def _forget(_: object) -> None:
    return None
