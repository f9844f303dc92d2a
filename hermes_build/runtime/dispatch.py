"""Driving a call: the short way for the usual one, and the whole pipeline for every other.

The short way is `hermes_build.runtime.pipeline.steps` without the stages that would do nothing: a
tool is on it while nothing is registered around calls, and the tool itself needs no look at its
surroundings and no clock. What goes wrong there is told as the pipeline tells it.
"""

from __future__ import annotations

from sys import modules

from hermes_build.runtime.call import Call
from hermes_build.runtime.errors import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from concurrent.futures import Future
    from typing import Any

    from hermes_build.runtime.callee import Callee
    from hermes_build.runtime.registry import ToolRegistry
    from hermes_build.runtime.session import Session
    from hermes_build.runtime.threads import Outcome

TRACING = "opentelemetry.trace"
"""The module whose presence says that the program may want a span of every call."""


def call(self: ToolRegistry | Session, /, name: str, args: Any = None, **context: Any) -> Any:
    """Call a tool by name (or alias): validate its arguments, run its handler, return JSON text.

    Args:
        name: the tool.
        args: its arguments, a JSON object; None means none.
        context: what the program knows and the model does not (``task_id`` and the like); handed
            to the handler as keywords, as far as it takes them, and never mixed into ``args``.

    Returns:
        The result as text, or the multimodal envelope that the handler returned. Every failure is
        JSON text with ``error``; nothing but `KeyboardInterrupt` is raised.
    """
    try:
        tool: Callee | None = self._ready.get(name)
        if tool is None or (TRACING in modules and _is_traced()):
            return _run(self.begin(name, args, context))
        try:
            arguments = args if tool.fits(args) else tool.accept(args)
        except ValueError:  # the quick look met what is no JSON; the closer one says what it is
            arguments = tool.accept(args)
        result = tool.handler(arguments, **context) if context else tool.handler(arguments)
        if type(result) is str and len(result) <= tool.limit and result.isascii():
            return result
        return tool.shorten(tool.deliver(result), str(context.get("tool_call_id") or ""))
    except Refusal as refusal:
        try:
            return _refused(refusal)
        except (TypeError, ValueError):  # a handler's own, with fields that JSON cannot hold
            return _failed(self.begin(name, args, context), refusal)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a handler is foreign code; SystemExit must not end the agent
        return _failed(self.begin(name, args, context), error)


async def acall(
    self: ToolRegistry | Session, /, name: str, args: Any = None, **context: Any
) -> Any:
    """Call a tool from async code, as `call` does; the caller's loop is never blocked.

    An async handler is awaited in the caller's loop, a sync one runs in a thread. Cancelling the
    caller cancels the handler, and comes out as `asyncio.CancelledError`.
    """
    from hermes_build.runtime.pipeline import steps

    begun = self.begin(name, args, context)
    order = steps(begun)
    with _observed(begun):
        try:
            tool = next(order)
            try:
                result = await _execute_async(begun, tool)
            except BaseException as error:
                if _caller_is_cancelled(error):
                    begun.status = "cancelled"
                order.throw(error)
            else:
                order.send(result)
        except StopIteration as end:
            return end.value
    raise AssertionError("a call yields once")


def _run(call: Call) -> Any:
    from hermes_build.runtime.pipeline import steps

    order = steps(call)
    with _observed(call):
        try:
            tool = next(order)
            try:
                result = _execute(call, tool)
            except BaseException as error:
                order.throw(error)
            else:
                order.send(result)
        except StopIteration as end:
            return end.value
    raise AssertionError("a call yields once")


def _execute(call: Call, tool: Callee) -> Any:
    """Run the handler, with the execution middleware around it."""
    hooks = call.registry.hooks
    if not (tool.is_async or hooks.wraps_execution or tool.timeout is not None):
        return tool.handler(call.arguments, **call.context)

    def proceed(arguments: dict[str, Any]) -> Any:
        if tool.is_async or tool.timeout is not None:
            from hermes_build.runtime.bridge import invoke

            way = (tool.is_async, tool.timeout, tool.name)
            return invoke(tool.handler, arguments, call.context, *way)
        return tool.handler(arguments, **call.context)

    return hooks.execute(call, proceed)


async def _execute_async(call: Call, tool: Callee) -> Any:
    from hermes_build.runtime.bridge import ainvoke

    hooks = call.registry.hooks
    if not hooks.wraps_execution:
        return await ainvoke(
            tool.handler, call.arguments, call.context, tool.is_async, tool.timeout
        )
    # Middleware is plain code, and runs in a thread; what it goes on to runs where it belongs.
    from asyncio import CancelledError, get_running_loop, run_coroutine_threadsafe
    from functools import partial

    from hermes_build.runtime.loops import settled

    loop = get_running_loop()
    running: list[Future[Outcome]] = []
    is_over = False

    def proceed(arguments: dict[str, Any]) -> Any:
        if is_over:
            raise CancelledError
        way = (tool.handler, arguments, call.context, tool.is_async, tool.timeout)
        # Settled, since a SystemExit that gets out of a task ends the caller's loop.
        future = run_coroutine_threadsafe(settled(partial(ainvoke, *way)), loop)
        running.append(future)
        try:
            if is_over:  # between the look above and here
                raise CancelledError
            return future.result().take()
        except BaseException:
            future.cancel()
            raise

    def wrapped(arguments: dict[str, Any]) -> Any:
        return hooks.execute(call, proceed)

    try:
        return await ainvoke(wrapped, call.arguments, {}, False, None)
    finally:
        # A caller that is cancelled waits no more for middleware, which knows nothing of that.
        is_over = True
        for one in running:
            one.cancel()


def _caller_is_cancelled(error: BaseException) -> bool:
    """Whether the task that made the call was cancelled, rather than its handler alone."""
    from asyncio import CancelledError, current_task

    task = current_task()
    # By its type, since what an exception says of its own class may raise.
    is_cancellation = issubclass(type(error), CancelledError)
    return is_cancellation and task is not None and task.cancelling() > 0


def _is_traced() -> bool:
    from hermes_build.runtime.telemetry import active

    return active()


def _observed(call: Call) -> Any:
    if TRACING in modules:
        from hermes_build.runtime.telemetry import observed

        return observed(call)
    return _UNOBSERVED


class _Unobserved:
    """A context manager that does nothing."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


_UNOBSERVED = _Unobserved()


def _refused(refusal: Refusal) -> str:
    from hermes_build.runtime.result import tool_error

    return tool_error(refusal.message, **refusal.fields)


def _failed(call: Call, error: BaseException) -> Any:
    from hermes_build.runtime.pipeline import settle

    settle(call, error)
    return call.result
