"""The order of a call: one function whose lines are the stages.

It stops where the handler runs, since that is the one stage that differs between a sync and an
async caller: `hermes_build.runtime.dispatch` drives it.
"""

from __future__ import annotations

from time import monotonic

from hermes_build.runtime.errors import HandlerTimeout, Refusal, ToolFailure, describe, unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from hermes_build.runtime.call import Call
    from hermes_build.runtime.callee import Callee


def steps(call: Call) -> Generator[Callee, Any, Any]:
    """Take a call from its name to what the model gets; every failure is JSON text with ``error``.

    Yields the tool once, when its handler is due; the driver sends what the handler returned, or
    throws what it raised.

    Returns:
        Text, or the multimodal envelope that the handler returned.
    """
    hooks = call.registry.hooks
    try:
        _demand_grant(call)
        tool = _find(call)
        _demand_availability(call, tool)
        sent = hooks.change_arguments(call)
        call.arguments, call.repairs = tool.accept_reporting(sent)
        hooks.before(call)
        started = monotonic()
        try:
            result = yield tool
        finally:
            call.duration_ms = int((monotonic() - started) * 1000)
        call.result = tool.shorten(tool.deliver(result), call.identity("tool_call_id"))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a handler is foreign code; SystemExit must not end the agent
        if call.status == "cancelled":  # by the caller, who waits for no answer
            hooks.after(call)
            raise
        settle(call, error)
    hooks.after(call)
    return hooks.transform(call)


def demand_leave(call: Call, tool: Callee) -> None:
    """Refuse to run what was taken away, or denied, since the call found it; asked at the last.

    Hooks and middleware may take their time, as a person does who is asked, and may change the
    registry themselves. A tool that was replaced by another one still is what was called.
    """
    registry = call.registry
    generation = registry.generation
    if generation == call.generation:
        return
    name = tool.name
    if registry._find(registry._overlay, name, by_alias=False) is None:
        raise Refusal(
            f"Unknown tool: {name}. It was taken out of this program before it ran.",
            kind="unknown_tool",
        )
    _demand_grant_of(call, name)
    call.generation = generation


def settle(call: Call, error: BaseException) -> None:
    """Make the result of a call that something was raised in."""
    try:
        _tell(call, error)
    except KeyboardInterrupt:
        raise
    except BaseException as worse:  # an exception may fail at whatever it is asked
        _tell_plainly(call, f"{describe(error)} (and then {describe(worse)})")


def _tell(call: Call, error: BaseException) -> None:
    # What an exception says of its own class may be a lie, or raise.
    kind = type(error)
    if issubclass(kind, ToolFailure):
        _tell_failure(call, error)  # type: ignore[arg-type]
        return
    from hermes_build.runtime.logs import log_failure, warn

    if issubclass(kind, HandlerTimeout):
        seconds: float = error.seconds  # type: ignore[attr-defined]
        message = f"Tool {call.tool_name} timed out: no result within {seconds:g} s."
        warn("%s", message)
        call.fail("timeout", message)
        return
    text = describe(error)
    log_failure("Tool %s failed: %s", call.tool_name, text, error=error)
    _tell_plainly(call, text)


def _tell_failure(call: Call, failure: ToolFailure) -> None:
    from hermes_build.runtime.result import told

    call.fail(failure.kind, told(failure), **failure.fields)
    if call.callee is not None and not isinstance(failure, Refusal):
        call.result = call.callee.shorten(call.result, call.identity("tool_call_id"))


def _tell_plainly(call: Call, text: str) -> None:
    from hermes_build.runtime.sanitising import sanitise

    call.fail("handler_exception", sanitise(f"Tool execution failed: {text}"))


def _demand_grant(call: Call) -> None:
    """Refuse what the session does not have, before anything of it is imported."""
    session = call.session
    if session is None or session.grants(call.tool_name):
        return
    record = call.registry.find(call.tool_name)  # the name may be an alias
    if record is not None and not session.grants(record["name"]):
        call.tool_name = record["name"]
        raise Refusal(session.denial(call.tool_name), kind="not_granted")


def _find(call: Call) -> Callee:
    call.generation = call.registry.generation
    call.callee = tool = call.registry.prepare(call.tool_name)
    call.tool_name = tool.name
    # What has the name may be another tool by now than when it was granted.
    _demand_grant_of(call, tool.name)
    return tool


def _demand_grant_of(call: Call, name: str) -> None:
    if call.session is not None and not call.session.grants(name):
        raise Refusal(call.session.denial(name), kind="not_granted")


def _demand_availability(call: Call, tool: Callee) -> None:
    if tool.has_requirements:
        missing = call.registry.availability.missing(tool.record, tool.check)
        if missing:
            raise unavailable(tool.name, missing)
