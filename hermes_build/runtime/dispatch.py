"""Driving a call: the short way for the usual one, and the whole pipeline for every other.

The short way is `hermes_build.runtime.pipeline.steps` without the stages that would do nothing: a
tool is on it while nothing is registered around calls, and the tool itself needs no look at its
surroundings and no clock. What goes wrong there is told as the pipeline tells it.
"""

from __future__ import annotations

from sys import modules

from hermes_build.runtime.call import Call
from hermes_build.runtime.errors import Refusal, ToolFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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
    tool: Callee | None
    try:
        tool = self._ready.get(name)
    except KeyboardInterrupt:
        raise
    except BaseException:  # what is no name may fail at being looked up
        tool = None
    try:
        if tool is None or (TRACING in modules and _is_traced()):
            return run(self.begin(name, args, context))
        try:
            fits = tool.fits(args)
        except ValueError:  # the quick look met what is no JSON; the closer one says what it is
            fits = False
        if fits:
            arguments = args
        else:
            arguments = tool.judge(args)
            if isinstance(arguments, Refusal):
                return tool.refuse(arguments, "")
            if self._ready.get(name) is not tool:  # taken away while they were looked at
                return run(self.begin(name, args, context))
        result = tool.handler(arguments, **context) if context else tool.handler(arguments)
        if type(result) is str and len(result) <= tool.limit and result.isascii():
            return result
        return tool.shorten(tool.deliver(result), str(context.get("tool_call_id") or ""))
    except ToolFailure as failure:
        try:
            assert tool is not None  # without one, the pipeline answers
            return tool.refuse(failure, str(context.get("tool_call_id") or ""))
        except KeyboardInterrupt:
            raise
        except BaseException:  # a handler's own, with fields that JSON cannot hold
            return _failed(self.begin(name, args, context), failure)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a handler is foreign code; SystemExit must not end the agent
        return _failed(self.begin(name, args, context), error)


async def acall(
    self: ToolRegistry | Session, /, name: str, args: Any = None, **context: Any
) -> Any:
    """Call a tool from async code, as `call` does; the caller's loop is never blocked.

    An async handler is awaited in the caller's loop. A sync one runs in a thread, and so does what
    may wait around it: checks, hooks, the import of a handler module, the store. Cancelling the
    caller cancels the handler, and comes out as `asyncio.CancelledError`.
    """
    return await arun(self.begin(name, args, context))


async def arun(call: Call) -> Any:
    """Take a call that has begun the whole way, for an async caller: its answer."""
    from hermes_build.runtime.stages import Stages

    with _observed(call):
        stages = Stages(call)
        tool = await stages.begin()
        if tool is not None:
            try:
                result = await _execute_async(call, tool)
            except BaseException as error:
                if _caller_is_cancelled(error):
                    call.status = "cancelled"
                await stages.fail(error)
            else:
                await stages.end(result)
        return stages.answer


def run(call: Call) -> Any:
    """Take a call that has begun the whole way: its answer."""
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
    handler = _handler(call, tool)
    if not (tool.is_async or hooks.wraps_execution or tool.timeout is not None):
        return handler(call.arguments, **call.context)

    def proceed(arguments: dict[str, Any]) -> Any:
        if tool.is_async or tool.timeout is not None:
            from hermes_build.runtime.bridge import invoke

            way = (tool.is_async, tool.timeout, tool.name)
            return invoke(handler, arguments, call.context, *way)
        return handler(arguments, **call.context)

    return hooks.execute(call, proceed)


def _handler(call: Call, tool: Callee) -> Callable[..., Any]:
    """The handler of a tool, behind a last look at whether it may still run."""

    def handler(arguments: dict[str, Any], /, **context: Any) -> Any:
        from hermes_build.runtime.pipeline import demand_leave

        demand_leave(call, tool)
        return tool.handler(arguments, **context)

    return handler


async def _execute_async(call: Call, tool: Callee) -> Any:
    from hermes_build.runtime.bridge import ainvoke

    hooks = call.registry.hooks
    handler = _handler(call, tool)
    if not hooks.wraps_execution:
        return await ainvoke(handler, call.arguments, call.context, tool.is_async, tool.timeout)
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
        way = (handler, arguments, call.context, tool.is_async, tool.timeout)
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


def _failed(call: Call, error: BaseException) -> Any:
    from hermes_build.runtime.pipeline import settle

    settle(call, error)
    return call.result
