"""A program that traces gets one span a call, and no call depends on it.

A tracer provider is set once a process, so that each of these programs runs in one of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hermes_build
from tests.runtime_program import tool, write_program

PARAMETERS = {
    "type": "object",
    "properties": {"a": {"type": "string", "maxLength": 40}},
    "additionalProperties": False,
}

SET_UP = """
import asyncio, json, logging, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler

exporter = InMemorySpanExporter()

def trace_with(processor=None, **options):
    provider = TracerProvider(**options)
    provider.add_span_processor(processor or SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)

def spans():
    return [json.loads(one.to_json()) for one in exporter.get_finished_spans()]
"""

CHILD = 'trace.get_tracer("test").start_span("child").end()'


def run(root: Path, code: str, *tools: dict[str, Any], capture: str | None = None) -> Any:
    """Run a program of one external tool ``t``, and read the JSON that it prints."""
    record = tool("t", PARAMETERS, handler="external", aliases=["tee"], timeout_seconds=None)
    program = write_program(root, [record, *tools])
    repository = str(Path(hermes_build.__file__).parent.parent)
    environment = {key: one for key, one in os.environ.items() if not key.startswith("OTEL_")}
    if capture is not None:
        environment["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = capture
    script = (
        f"import sys; sys.path[:0] = [{str(root)!r}, {repository!r}]\n{SET_UP}\n"
        f"from {program.package}.registry import registry\n{code}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_call_is_one_span_by_the_conventions(tmp_path: Path) -> None:
    code = """
trace_with()
registry.register("t", handler=lambda args: "fine")
with trace.get_tracer("test").start_as_current_span("outer"):
    registry.call("t", {"a": "x"}, tool_call_id="call_1", session_id="s", task_id="unrecorded")
    registry.call("tee")
registry.call("t")
print(json.dumps(spans()))
"""
    first, second, outer, third = run(tmp_path, code)
    assert first["name"] == second["name"] == third["name"] == "execute_tool t"
    assert first["kind"] == "SpanKind.INTERNAL"
    assert first["status"] == {"status_code": "UNSET"}
    assert first["events"] == []
    assert first["attributes"] == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "t",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.description": "The tool t.",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.conversation.id": "s",
    }
    assert second["attributes"]["gen_ai.tool.name"] == "t"
    assert first["parent_id"] == second["parent_id"] == outer["context"]["span_id"]
    assert third["parent_id"] is None


@pytest.mark.parametrize("limit", [None, 60])
def test_the_span_is_current_wherever_the_handler_runs(tmp_path: Path, limit: int | None) -> None:
    other = tool("other", PARAMETERS, handler="external", timeout_seconds=limit)
    code = f"""
trace_with()

def handler(args):
    {CHILD}
    return "fine"

async def coroutine(args):
    await asyncio.sleep(0)
    {CHILD}
    return "fine"

async def inside():
    await registry.acall("t")
    await registry.acall("other")
    registry.call("other")

registry.register("t", handler=handler)
registry.register("other", handler=coroutine)
registry.call("t")
registry.call("other")
asyncio.run(inside())
print(json.dumps([spans(), trace.get_current_span().get_span_context().span_id]))
"""
    found, current = run(tmp_path, code, other)
    names = ["execute_tool t", "execute_tool other"]
    assert [one["name"] for one in found[1::2]] == [*names, *names, names[1]]
    for child, call in zip(found[::2], found[1::2], strict=True):
        assert child["name"] == "child"
        assert child["parent_id"] == call["context"]["span_id"]
    assert current == 0


FAILURES = """
trace_with()

def handler(args):
    raise ValueError("the secret " + args["a"])

registry.register("t", handler=handler)
registry.register("late", handler=lambda args: asyncio.sleep(100), is_async=True)
registry.call("nope")
registry.call("t", {"b": "a secret"})
registry.call("t", {"a": "word"})
registry.call("late", {})
print(json.dumps(spans()))
"""


def late() -> dict[str, Any]:
    return tool("late", PARAMETERS, handler="external", timeout_seconds=0.01)


def test_what_went_wrong_is_told_by_a_stable_word_and_no_content(tmp_path: Path) -> None:
    found = run(tmp_path, FAILURES, late())
    words = ["unknown_tool", "invalid_arguments", "handler_exception", "timeout"]
    assert [one["attributes"]["error.type"] for one in found] == words
    assert [one["status"] for one in found] == [{"status_code": "ERROR"}] * 4
    assert found[0]["name"] == "execute_tool nope"
    assert "gen_ai.tool.description" not in found[0]["attributes"]
    assert "secret" not in json.dumps(found)


def test_captured_failures_have_their_sentence_and_no_result(tmp_path: Path) -> None:
    found = run(tmp_path, FAILURES, late(), capture="true")
    assert "the secret word" in found[2]["status"]["description"]
    assert json.loads(found[2]["attributes"]["gen_ai.tool.call.arguments"]) == {"a": "word"}
    assert [one for one in found if "gen_ai.tool.call.result" in one["attributes"]] == []


def test_an_error_that_a_handler_returns_is_one_with_and_without_hooks(tmp_path: Path) -> None:
    code = """
trace_with()
registry.register("t", handler=lambda args: json.dumps({"error": "no such file"}))
registry.call("t")
registry.hooks.add("post_tool_call", lambda status: None)
registry.call("t")
print(json.dumps(spans()))
"""
    found = run(tmp_path, code)
    assert [one["attributes"]["error.type"] for one in found] == ["tool_error", "tool_error"]
    assert [one["status"] for one in found] == [{"status_code": "ERROR"}] * 2


def test_the_arguments_of_a_span_are_those_that_middleware_went_on_with(tmp_path: Path) -> None:
    code = """
trace_with()
registry.register("t", handler=lambda args: "fine")
registry.hooks.add_execution_middleware(lambda proceed, call: proceed({"a": "changed"}))
registry.call("t", {"a": "sent"})
print(json.dumps(spans()))
"""
    (found,) = run(tmp_path, code, capture="true")
    assert json.loads(found["attributes"]["gen_ai.tool.call.arguments"]) == {"a": "changed"}


CAPTURED = """
trace_with()
registry.register("t", handler=lambda args: {"token": "ghp_" + "Ab1" * 12, "said": args["a"]})
registry.call("t", {"a": "password=hunter2hunter2"})
print(json.dumps(spans()))
"""


@pytest.mark.parametrize("capture", ["true", "TRUE", "span_only", "SPAN_AND_EVENT"])
def test_content_is_recorded_masked_where_it_is_asked_for(tmp_path: Path, capture: str) -> None:
    (found,) = run(tmp_path, CAPTURED, capture=capture)
    assert "password=" in found["attributes"]["gen_ai.tool.call.arguments"]
    assert "said" in found["attributes"]["gen_ai.tool.call.result"]
    assert "hunter2" not in json.dumps(found)
    assert "Ab1Ab1Ab1" not in json.dumps(found)


@pytest.mark.parametrize("capture", [None, "", "false", "no_content", "event_only"])
def test_content_is_not_recorded_otherwise(tmp_path: Path, capture: str | None) -> None:
    (found,) = run(tmp_path, CAPTURED, capture=capture)
    assert "gen_ai.tool.call.arguments" not in found["attributes"]
    assert "gen_ai.tool.call.result" not in found["attributes"]


def test_a_tool_of_an_mcp_server_has_the_attributes_of_that_protocol(tmp_path: Path) -> None:
    code = """
from types import SimpleNamespace
from hermes_build.runtime.call import Call
from hermes_build.runtime.telemetry import observed

trace_with()
call = Call(registry, None, "served", {}, {})
with observed(call):
    call.callee = SimpleNamespace(record=registry.find("served"))
print(json.dumps(spans()))
"""
    (found,) = run(tmp_path, code, tool("served", handler="server"))
    assert found["name"] == "execute_tool served"
    assert found["attributes"]["mcp.method.name"] == "tools/call"


def test_an_interrupted_or_cancelled_call_ends_its_span(tmp_path: Path) -> None:
    code = """
trace_with()

def handler(args):
    raise KeyboardInterrupt

async def coroutine(args):
    await asyncio.sleep(100)

async def inside():
    call = asyncio.create_task(registry.acall("other"))
    await asyncio.sleep(0.01)
    call.cancel()
    await asyncio.wait([call])
    assert call.cancelled()

registry.register("t", handler=handler)
registry.register("other", handler=coroutine)
try:
    registry.call("t")
except KeyboardInterrupt:
    asyncio.run(inside())
print(json.dumps(spans()))
"""
    found = run(tmp_path, code, tool("other", PARAMETERS, handler="external"))
    assert [one["attributes"]["error.type"] for one in found] == ["KeyboardInterrupt", "cancelled"]
    assert [one["status"]["status_code"] for one in found] == ["ERROR", "ERROR"]


BROKEN = """
class Broken(SpanProcessor):
    def on_start(self, span, parent_context=None):
        if "start" in MODE:
            raise RuntimeError("a broken tracer")

    def on_end(self, span):
        if "end" in MODE:
            raise RuntimeError("a broken tracer")

class BrokenExporter(InMemorySpanExporter):
    def export(self, spans):
        raise RuntimeError("a broken tracer")

class BrokenSampler(Sampler):
    def should_sample(self, *_, **__):
        raise RuntimeError("a broken tracer")

    def get_description(self):
        return "broken"

class BrokenProvider(trace.TracerProvider):
    def get_tracer(self, *_, **__):
        raise RuntimeError("a broken tracer")

warnings = []
logging.getLogger("hermes_build.runtime").addFilter(warnings.append)
if MODE == "provider":
    trace.set_tracer_provider(BrokenProvider())
elif MODE == "exporter":
    trace_with(SimpleSpanProcessor(BrokenExporter()))
else:
    trace_with(Broken(), sampler=BrokenSampler() if MODE == "sampler" else ALWAYS_ON)
registry.register("t", handler=lambda args: "fine")
results = [registry.call("t"), asyncio.run(registry.acall("t"))]
current = trace.get_current_span().get_span_context().span_id
print(json.dumps([results, current, len(warnings)]))
"""


@pytest.mark.parametrize(
    ("mode", "warnings"),
    [("provider", 1), ("sampler", 1), ("start", 1), ("end", 1), ("exporter", 0)],
)
def test_broken_tracing_breaks_no_call_and_is_told_once(
    tmp_path: Path, mode: str, warnings: int
) -> None:
    code = f"MODE = {mode!r}\n{BROKEN}"
    assert run(tmp_path, code) == [["fine", "fine"], 0, warnings]


def test_a_call_that_is_not_sampled_is_like_any_other(tmp_path: Path) -> None:
    code = """
trace_with(sampler=ALWAYS_OFF)
registry.register("t", handler=lambda args: "fine")
print(json.dumps([registry.call("t"), spans()]))
"""
    assert run(tmp_path, code) == ["fine", []]


def test_tracing_is_active_where_a_provider_is_set(tmp_path: Path) -> None:
    code = """
from hermes_build.runtime.telemetry import active
before = active()
registry.register("t", handler=lambda args: "fine")
result = registry.call("t")
trace_with()
print(json.dumps([before, result, active()]))
"""
    assert run(tmp_path, code) == [False, "fine", True]


def test_a_program_that_does_not_trace_imports_nothing_for_it(tmp_path: Path) -> None:
    program = write_program(tmp_path, [tool("t", PARAMETERS, handler="external")])
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from hermes_build.runtime.telemetry import active\n"
        f"from {program.package}.registry import registry\n"
        "registry.register('t', handler=lambda args: 'fine')\n"
        "assert registry.call('t') == registry.call('t') == 'fine'\n"
        "print(active(), [one for one in sys.modules if 'opentelemetry' in one])"
    )
    root = Path(hermes_build.__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=root)
    assert done.stdout == "False []\n", done.stderr
