"""Calls from inside calls: as deep as makes sense they work, and beyond that they are refused."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import ToolRegistry
from hermes_build.runtime.threads import MOST_NESTED
from tests.calls.one_tool import error_of
from tests.runtime_program import tool, write_program

COUNTED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

Ask = Callable[[ToolRegistry, str, int], Any]


def in_a_loop(registry: ToolRegistry, name: str, n: int) -> Any:
    return asyncio.run(registry.acall(name, {"n": n}))


def plainly(registry: ToolRegistry, name: str, n: int) -> Any:
    return registry.call(name, {"n": n})


def program(folder: Path) -> ToolRegistry:
    """Tools that call themselves so many times, each in a way that takes a thread or a loop."""
    registry = write_program(
        folder,
        [
            tool("limited", COUNTED, handler="external", timeout_seconds=LONG),
            tool("coroutine", COUNTED, handler="external", is_async=True),
            tool("by_thread", COUNTED, handler="external", is_async=True),
            tool("by_executor", COUNTED, handler="external", is_async=True),
            tool("new_loop", COUNTED, handler="external"),
        ],
    ).registry

    def onward(name: str, n: int, ask: Ask = plainly) -> str:
        return "end" if n == 0 else str(ask(registry, name, n - 1))

    async def coroutine(args: dict[str, Any]) -> str:
        return onward("coroutine", args["n"])

    async def by_thread(args: dict[str, Any]) -> str:
        return await asyncio.to_thread(onward, "by_thread", args["n"])

    async def by_executor(args: dict[str, Any]) -> str:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, onward, "by_executor", args["n"])

    registry.register("limited", handler=lambda args: onward("limited", args["n"]))
    registry.register("coroutine", handler=coroutine)
    registry.register("by_thread", handler=by_thread)
    registry.register("by_executor", handler=by_executor)
    registry.register("new_loop", handler=lambda args: onward("new_loop", args["n"], in_a_loop))
    return registry


LONG = 250
DEEP = 64
WAYS: dict[str, Ask] = {
    "limited": plainly,
    "coroutine": plainly,
    "by_thread": plainly,
    "by_executor": plainly,
    "new_loop": in_a_loop,
}


@pytest.mark.parametrize("name", WAYS)
def test_calls_within_calls_come_to_their_end(tmp_path: Path, name: str) -> None:
    registry = program(tmp_path)
    assert WAYS[name](registry, name, DEEP) == "end"


@pytest.mark.parametrize("name", WAYS)
def test_a_tool_that_calls_itself_without_end_is_refused_at_some_depth(
    tmp_path: Path, name: str
) -> None:
    registry = program(tmp_path)
    told = error_of(WAYS[name](registry, name, 10 * MOST_NESTED))
    assert told.startswith(f"Tool calls are nested more than {MOST_NESTED} deep")
    # The next call begins at the top again.
    assert WAYS[name](registry, name, DEEP) == "end"


WIDE = """
import asyncio, faulthandler, os, sys
from concurrent.futures import ThreadPoolExecutor
from tests.calls.test_nesting import program, plainly
from pathlib import Path

faulthandler.dump_traceback_later(200, exit=True)
registry = program(Path(sys.argv[1]))
many = 3 * min(32, (os.cpu_count() or 1) + 4)
with ThreadPoolExecutor(many) as pool:
    answers = pool.map(lambda n: plainly(registry, sys.argv[2], 3), range(many))
    print(set(answers))
"""


@pytest.mark.parametrize("name", ["by_thread", "by_executor"])
def test_many_handlers_whose_threads_call_tools_never_wait_for_each_other(
    tmp_path: Path, name: str
) -> None:
    """Each takes a thread of a bounded number, and keeps it until the tool below has one, too."""
    command = [sys.executable, "-c", WIDE, str(tmp_path), name]
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert done.stdout == "{'end'}\n", done.stderr


def test_the_threads_of_handlers_are_bounded(tmp_path: Path) -> None:
    """What `asyncio.to_thread` promises, it keeps in a handler."""
    here: set[int] = set()

    async def spread(args: dict[str, Any]) -> str:
        def one() -> None:
            here.add(threading.get_ident())

        await asyncio.gather(*(asyncio.to_thread(one) for _ in range(500)))
        return "done"

    record = tool("t", {"type": "object"}, handler="external", is_async=True)
    registry = write_program(tmp_path, [record]).registry
    registry.register("t", handler=spread)
    assert registry.call("t", {}) == "done"
    assert len(here) <= 32
