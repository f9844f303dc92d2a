"""A call: one function whose lines are the order."""

from __future__ import annotations

from hermes_build.runtime.errors import Refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hermes_build.runtime.callee import Callee
    from hermes_build.runtime.registry import ToolRegistry


def dispatch(self: ToolRegistry, /, name: str, args: Any = None, **context: Any) -> Any:
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
        tool: Callee = self._ready.get(name) or self._prepare(name)
        try:
            arguments = args if tool.fits(args) else tool.accept(args)
        except ValueError:  # the quick look met what is no JSON; the closer one says what it is
            arguments = tool.accept(args)
        result = tool.handler(arguments, **context) if context else tool.handler(arguments)
        if tool.returns_text and result.__class__ is str and result.isascii():
            return result
        if tool.is_async:
            result = _wait(result)
        return tool.deliver(result)
    except Refusal as refusal:
        return _refused(refusal)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a handler is foreign code; SystemExit must not end the agent
        return _failed(name, error)


def _wait(result: Any) -> Any:
    # A function that was declared async without being a coroutine function may return plainly.
    if not hasattr(result, "__await__"):
        return result
    from hermes_build.runtime.bridge import wait

    return wait(result)


def _refused(refusal: Refusal) -> str:
    from hermes_build.runtime.result import tool_error

    return tool_error(refusal.message, **refusal.fields)


def _failed(name: str, error: BaseException) -> str:
    from logging import getLogger

    from hermes_build.runtime.errors import describe
    from hermes_build.runtime.result import tool_error

    text = describe(error)
    try:
        getLogger("hermes_build.runtime").error("Tool %s failed: %s", name, text, exc_info=error)
    except Exception:  # an exception that cannot be printed must not break the call that reports it
        getLogger("hermes_build.runtime").error("Tool %s failed: %s", name, text)
    return tool_error(f"Tool execution failed: {text}")
