"""A handler of any shape, sync or async, gets each argument and the context that it asks for."""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.calls.one_tool import ANY, Make, error_of
from tests.runtime_program import tool, write_program


def test_a_keyword_handler_gets_each_argument_by_name(make: Make) -> None:
    def handler(*, path: str, offset: int = 1, limit: int = 500, **context: Any) -> str:
        return json.dumps([path, offset, limit, context])

    registry = make(handler)
    text = registry.call("t", {"path": "a", "limit": 7}, task_id="x", path="spoof")
    assert json.loads(text) == ["a", 1, 7, {"task_id": "x"}]


def test_a_keyword_handler_never_loses_an_argument_silently(make: Make) -> None:
    open_root = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    registry = make(lambda *, a: a, open_root)
    assert registry.call("t", {"a": "x"}) == "x"
    assert "Unexpected arguments: b" in error_of(registry.call("t", {"a": "x", "b": 1}))


def test_context_never_stands_in_for_an_absent_argument(make: Make) -> None:
    parameters = {"type": "object", "properties": {"user": {"type": "string"}}}

    def handler(*, user: str | None = None, task_id: str | None = None) -> str:
        return json.dumps([user, task_id])

    registry = make(handler, parameters)
    assert registry.call("t", {}, user="root", task_id="x", other=1) == '[null, "x"]'


def test_a_handler_gets_the_context_that_it_asks_for(make: Make) -> None:
    registry = make(lambda args, task_id=None: json.dumps(task_id), ANY)
    assert registry.call("t", {}, task_id="x", other=1) == '"x"'
    assert registry.call("t", {}) == "null"


class Async:
    async def __call__(self, args: dict[str, Any]) -> str:
        return "called"


async def coroutine(args: dict[str, Any], **context: Any) -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_an_async_handler_runs_without_a_loop_and_inside_one(make: Make) -> None:
    registry = make(coroutine, ANY)
    assert registry.call("t", {}) == "hermes-build-bridge"

    async def inside() -> list[Any]:
        return [registry.call("t", {}), registry.call("t", {}), await registry.acall("t", {})]

    here = threading.current_thread().name
    assert asyncio.run(inside()) == ["hermes-build-bridge", "hermes-build-bridge", here]


def test_an_async_handler_may_call_an_async_tool_and_never_waits_for_itself(make: Make) -> None:
    async def handler(args: dict[str, Any]) -> str:
        depth = args["depth"]
        return str(registry.call("t", {"depth": depth - 1})) if depth else "bottom"

    registry = make(handler, ANY)

    async def inside() -> Any:
        return registry.call("t", {"depth": 3})

    assert registry.call("t", {"depth": 3}) == "bottom"
    assert asyncio.run(inside()) == "bottom"


FORKED = """
import asyncio, os, signal
from hermes_build.runtime.bridge import invoke

async def handler(arguments):
    return await asyncio.sleep(0, arguments)

async def inside():
    return invoke(handler, "done", {}, True, None)

asyncio.run(inside())
child = os.fork()
if child == 0:
    signal.alarm(20)  # a process that waits for ever is ended
    print(asyncio.run(inside()), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_an_async_handler_runs_in_a_forked_process_too() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True)
    assert done.stdout == "done\n"


def test_context_variables_reach_an_async_handler(make: Make) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

    async def handler(args: dict[str, Any]) -> str:
        return variable.get()

    registry = make(handler, ANY)
    variable.set("seen")

    async def inside() -> Any:
        return registry.call("t", {})

    assert registry.call("t", {}) == asyncio.run(inside()) == "seen"


def test_async_is_read_from_callable_objects_too(make: Make) -> None:
    assert make(Async(), ANY).call("t", {}) == "called"


def test_a_coroutine_from_a_sync_handler_is_reported_and_closed(
    make: Make, recwarn: pytest.WarningsRecorder
) -> None:
    value = json.loads(make(lambda args: coroutine(args), ANY).call("t", {}))
    assert value["error_type"] == "tool_result_contract"
    assert "async" in value["error"]
    assert not [one for one in recwarn if "never awaited" in str(one.message)]


def test_is_async_may_be_said_where_it_cannot_be_seen(tmp_path: Path) -> None:
    registry = write_program(tmp_path, [tool("t", ANY, handler="external", is_async=True)]).registry
    registry.register("t", handler=lambda args, **context: coroutine(args), is_async=True)
    assert registry.call("t", {}) == "hermes-build-bridge"


def test_pydantic_arguments_arrive_as_the_model(tmp_path: Path) -> None:
    source = (
        "from {generated}.tools import read_file\n"
        "@read_file.implements\n"
        "def handler(args: read_file.Args, **context):\n"
        "    return f'{type(args).__name__} {args.path} {args.limit}'\n"
    )
    program = write_program(
        tmp_path, [tool("read_file", module="files")], handlers={"files": source}, pydantic=True
    )
    assert program.registry.call("read_file", {"path": "a"}) == "ReadFileArgs a 500"
