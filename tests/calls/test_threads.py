"""Many threads that call at once: every call is answered, with what was asked and nothing else."""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import ToolRegistry
from hermes_build.runtime.threads import SPARE
from tests.runtime_program import tool, write_program

THREADS = 64
CALLS = 40

NUMBERED = {
    "type": "object",
    "properties": {"thread": {"type": "integer"}, "call": {"type": "integer", "default": -1}},
    "required": ["thread"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True)
def watchdog(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Show where every thread stands, and end, rather than hang: a deadlock is a result too."""
    with capfd.disabled():
        stderr = os.dup(2)  # not the one that is captured, which ends with the process
    faulthandler.dump_traceback_later(300, exit=True, file=stderr)
    yield
    faulthandler.cancel_dump_traceback_later()
    os.close(stderr)


def told(args: dict[str, Any], context: dict[str, Any]) -> str:
    return json.dumps([args["thread"], args["call"], context.get("task_id")])


def sync(args: dict[str, Any], **context: Any) -> str:
    return told(args, context)


async def asynchronous(args: dict[str, Any], **context: Any) -> str:
    await asyncio.sleep(0)
    return told(args, context)


def make(root: Path) -> ToolRegistry:
    """A sync and an async tool, each with and without a limit of time, and one that has a check."""
    tools = [
        tool("sync", NUMBERED, handler="external"),
        tool("sync_limited", NUMBERED, handler="external", timeout_seconds=250),
        tool("async", NUMBERED, handler="external", is_async=True),
        tool("async_limited", NUMBERED, handler="external", is_async=True, timeout_seconds=250),
        tool("checked", NUMBERED, handler="external", requires={"check": True}),
    ]
    registry = write_program(root, tools).registry
    for name in TOOLS:
        handler = asynchronous if name.startswith("async") else sync
        check = (lambda: True) if name == "checked" else None
        registry.register(name, handler=handler, check_fn=check)
    return registry


TOOLS = ["sync", "sync_limited", "async", "async_limited", "checked"]

Ask = Callable[..., Any]


def at_once(work: Callable[[int], None]) -> None:
    """Run something on many threads that begin together; the first failure is raised."""
    together = threading.Barrier(THREADS)

    def begin(number: int) -> None:
        together.wait()
        work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(begin, number) for number in range(THREADS)]:
            done.result()


def callers(registry: ToolRegistry) -> list[Ask]:
    """The registry, and a session that all threads share."""
    return [registry.call, registry.session(TOOLS, session_id="shared").call]


@pytest.mark.parametrize("has_hooks", [False, True], ids=["plain", "hooks"])
def test_no_call_is_lost_or_crossed_with_another(tmp_path: Path, has_hooks: bool) -> None:
    registry = make(tmp_path)
    before: list[tuple[Any, ...]] = []
    after: list[tuple[Any, ...]] = []
    if has_hooks:
        registry.hooks.add(
            "pre_tool_call", lambda args, task_id: before.append((*args.values(), task_id))
        )
        registry.hooks.add("post_tool_call", lambda result: after.append(tuple(json.loads(result))))
        registry.hooks.add_argument_middleware(lambda name, args, call: {**args})
        registry.hooks.add_execution_middleware(lambda proceed, call: proceed())
    asked = callers(registry)

    def work(thread: int) -> None:
        for number in range(CALLS):
            name = TOOLS[(thread + number) % len(TOOLS)]
            ask = asked[number % len(asked)]
            mark = f"{thread}/{number}"
            answer = ask(name, {"thread": thread, "call": number}, task_id=mark)
            assert json.loads(answer) == [thread, number, mark], (name, answer)

    at_once(work)
    if has_hooks:
        every = Counter((t, n, f"{t}/{n}") for t in range(THREADS) for n in range(CALLS))
        assert Counter(before) == every
        assert Counter(after) == every


def test_loops_of_many_threads_call_at_once(tmp_path: Path) -> None:
    registry = make(tmp_path)
    session = registry.session(TOOLS)

    async def one(name: str, thread: int, number: int) -> None:
        mark = f"{thread}/{number}"
        ask = (registry.acall, session.acall)[number % 2]
        answer = await ask(name, {"thread": thread, "call": number}, task_id=mark)
        assert json.loads(answer) == [thread, number, mark]

    async def all_of(thread: int) -> None:
        await asyncio.gather(*(one(name, thread, n) for n in range(4) for name in TOOLS))

    at_once(lambda thread: asyncio.run(all_of(thread)))


def test_repairs_defaults_and_refusals_are_each_callers_own(tmp_path: Path) -> None:
    registry = make(tmp_path)

    def work(thread: int) -> None:
        for number in range(CALLS):
            sent: dict[str, Any] = {"thread": str(thread)} if number % 2 else {"thread": thread}
            answer = registry.call("sync", sent)
            assert json.loads(answer)[:2] == [thread, -1]
            assert sent == {"thread": str(thread) if number % 2 else thread}
            refused = json.loads(registry.call("sync", {"thread": f"no {thread}!"}))
            assert f"no {thread}!" in refused["error"]

    at_once(work)


def test_the_threads_that_calls_leave_behind_are_few(tmp_path: Path) -> None:
    registry = make(tmp_path)

    def work(thread: int) -> None:
        for number in range(CALLS):
            name = ("sync_limited", "async_limited", "async")[number % 3]
            assert json.loads(registry.call(name, {"thread": thread}))[0] == thread

    at_once(work)  # what it starts may stay
    spare = _ours()
    for _ in range(2):
        at_once(work)
    assert len(_ours() - spare) <= SPARE
    assert len(_settled()) <= SPARE + _loops()


def _ours() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("hermes-build")}


def _loops() -> int:
    return sum(one.name == "hermes-build-bridge" for one in threading.enumerate())


def _settled() -> set[threading.Thread]:
    """Our threads, once those that are about to end have ended."""
    while len(_ours()) > SPARE + _loops():
        for one in _ours():
            one.join(0.01)
    return _ours()


def test_a_tool_that_calls_another_never_waits_for_itself(tmp_path: Path) -> None:
    """Each call goes some levels down, over sync and async tools, with and without a limit."""
    registry = write_program(
        tmp_path,
        [
            tool("down", NUMBERED, handler="external", timeout_seconds=250),
            tool("async_down", NUMBERED, handler="external", is_async=True),
        ],
    ).registry

    def onward(args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return ("down", "async_down")[args["call"] % 2], {**args, "call": args["call"] - 1}

    def down(args: dict[str, Any]) -> Any:
        return registry.call(*onward(args)) if args["call"] else str(args["thread"])

    async def async_down(args: dict[str, Any]) -> Any:
        return await registry.acall(*onward(args)) if args["call"] else str(args["thread"])

    registry.register("down", handler=down)
    registry.register("async_down", handler=async_down)

    def work(thread: int) -> None:
        for depth in (0, 1, 2, 5):
            answer = registry.call("down", {"thread": thread, "call": depth})
            assert answer == str(thread)

    at_once(work)


def test_changes_beside_calls_let_each_call_be_the_old_or_the_new(tmp_path: Path) -> None:
    """A call that begins after a change has the new tool, and after a removal has none."""
    registry = make(tmp_path)
    plugin = registry.plugin("p")
    floor = 0  # the last version that was entered for certain, -1 while there may be none
    done = threading.Event()

    def version(number: int) -> Callable[..., str]:
        return lambda args: str(number)

    def changing() -> None:
        nonlocal floor
        for number in range(1, 60):
            schema = {"parameters": {"type": "object"}}
            plugin.register("moving", "extra", schema, version(number), replace=True)
            floor = number
            if number % 10 == 0:
                registry.hooks.add("post_tool_call", lambda status: None)
            if number % 7 == 0:
                floor = -1
                plugin.deregister("moving")

    def work(thread: int) -> None:
        session = registry.session(["extra"]) if thread % 2 else registry.session()
        ask = (registry.call, session.call, session.call)[thread % 3]
        if thread == 0:
            try:
                changing()
            finally:
                done.set()
        while not done.wait(0.001):  # or the one that changes never has its turn
            least = floor
            answer = ask("moving", {})
            if answer.startswith("{"):
                message = json.loads(answer)["error"]
                assert "Unknown tool" in message or "not in this session" in message
            elif least >= 0 and floor == least:
                assert int(answer) >= least

    registry.plugin("q").register("still", "extra", {"parameters": {"type": "object"}}, sync)
    at_once(work)
    plugin.deregister("moving")
    for session in (registry.session(["extra"]), registry.session()):
        assert "Unknown tool" in session.call("moving", {})
