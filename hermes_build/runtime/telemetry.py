"""One OpenTelemetry span a call, in programs that trace; see the conventions for GenAI tools.

Whether a program traces is told by what it imported and set up, so that nothing is imported here
that it did not import. What fails while tracing is told in one warning, and never to the caller.

Arguments, results and the sentences of errors hold what models and users wrote. They are recorded
only where ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` asks for it, and masked.

- https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/execute-tool.md
- https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
"""

from __future__ import annotations

import os
from sys import modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextvars import Token
    from typing import Any

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer, TracerProvider

    from hermes_build.runtime.call import Call

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable that asks for arguments and results, as OpenTelemetry's own libraries read it."""

NAME_CHARS = 128
"""How much is recorded of the name of a tool that there may not be."""

_CAPTURING = ("true", "span_only", "span_and_event")

_made: tuple[TracerProvider, Tracer] | None = None
_warned = False


def active() -> bool:
    """Whether the program has set up tracing, so that a span would be seen by anyone."""
    api: Any = modules.get("opentelemetry.trace")
    if api is None:
        return False
    try:
        kind = type(api.get_tracer_provider())
        return kind is not api.ProxyTracerProvider and kind is not api.NoOpTracerProvider
    except Exception as error:  # it may be half imported yet, or fail to load what is configured
        _warn(error)
        return False


def observed(call: Call) -> Observed:
    """A context manager around the whole of a call, in which its span is the current one.

    What is known when it ends is recorded: the tool as its spec has it, and what went wrong.
    Without tracing it does nothing.
    """
    return Observed(call)


class Observed:
    """What `observed` returns."""

    __slots__ = ("_call", "_span", "_token")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._span: Span | None = None
        self._token: Token[Context] | None = None

    def __enter__(self) -> None:
        if not active():
            return
        try:
            from opentelemetry import context, trace

            name = str(self._call.tool_name)[:NAME_CHARS]
            self._span = _tracer(trace.get_tracer_provider()).start_span(
                f"execute_tool {name}", attributes=dict(_beginning(self._call, name))
            )
            self._token = context.attach(trace.set_span_in_context(self._span))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # what is recorded is foreign, and may exit
            _warn(error)

    def __exit__(self, _: object, raised: BaseException | None, __: object) -> None:
        if self._span is None:
            return
        try:
            if self._token is not None:
                from opentelemetry import context

                context.detach(self._token)
            if self._span.is_recording():
                _end(self._span, self._call, raised)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # what is recorded is foreign, and may exit
            _warn(error)
        try:
            self._span.end()
        except Exception as error:
            _warn(error)


def _tracer(provider: TracerProvider) -> Tracer:
    """The tracer of a provider, which takes as long to make as a span, and so is kept."""
    global _made
    made = _made
    if made is None or made[0] is not provider:
        from hermes_build import __version__

        _made = made = (provider, provider.get_tracer("hermes_build", __version__))
    return made[1]


def _beginning(call: Call, name: str) -> Iterator[tuple[str, str]]:
    """The attributes that are known before the tool is found, which samplers see."""
    yield "gen_ai.operation.name", "execute_tool"
    yield "gen_ai.tool.name", name
    yield "gen_ai.tool.type", "function"
    if call_id := call.identity("tool_call_id"):
        yield "gen_ai.tool.call.id", call_id
    if session_id := call.identity("session_id"):
        yield "gen_ai.conversation.id", session_id


def _end(span: Span, call: Call, raised: BaseException | None) -> None:
    """Record what the call has come to."""
    from opentelemetry.trace import StatusCode

    record = call.record
    if record is not None:
        span.update_name(f"execute_tool {record['name']}")  # it may have been called by an alias
        span.set_attributes(dict(_of_tool(record)))
    capturing = os.environ.get(CAPTURE, "").strip().lower() in _CAPTURING
    call.derive_status()  # without hooks, nobody has looked yet
    error_type = call.error_type
    if error_type is None and call.status != "ok":
        error_type = call.status
    if error_type is None and raised is not None:
        error_type = type(raised).__name__
    if error_type is not None:
        span.set_attribute("error.type", error_type)
        message = call.error_message if capturing else None
        span.set_status(StatusCode.ERROR, _masked(message) if message else None)
    if capturing:
        span.set_attribute("gen_ai.tool.call.arguments", _text(call.arguments))
        if error_type is None:
            span.set_attribute("gen_ai.tool.call.result", _text(call.result))


def _of_tool(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "gen_ai.tool.name", record["name"]
    if description := record["schema"].get("description"):
        yield "gen_ai.tool.description", description
    if record.get("handler") == "server":
        yield "mcp.method.name", "tools/call"


def _text(value: object) -> str:
    """A value as JSON text, masked; text as it is, masked."""
    if not isinstance(value, str):
        from hermes_build.runtime.result import encode

        value = encode(value)
    return _masked(value)


def _masked(text: str) -> str:
    from hermes_build.runtime.masking import mask

    return mask(text)


def _warn(error: BaseException) -> None:
    """Tell of a failure, the first time."""
    global _warned
    if not _warned:
        _warned = True
        from hermes_build.runtime.logs import warn

        warn("Tracing a tool call failed", error=error)
