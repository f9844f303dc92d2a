"""A test puts a function in a tool's place, and the tool is what it was when the test is over."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.errors import SchemaDriftError
from hermes_build.runtime.registry import ToolRegistry
from tests.drift.registering import EMPTY, coroutine, plain
from tests.runtime_program import READ_FILE, Program, tool, write_program

OWN = """
from {generated}.registry import registry

@registry.handler('t')
def own(args): return 'own'
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    tools = [
        tool("t", EMPTY, module="m", aliases=["tea"]),
        tool("strict", READ_FILE, module="m", is_async=False),
        tool("needs", EMPTY, module="m", requires={"check": True, "env": ["STUB_KEY"]}),
        tool("remote", EMPTY, handler="server"),
        tool("outside", EMPTY, handler="external"),
    ]
    return write_program(tmp_path, tools, handlers={"m": OWN})


@pytest.fixture
def registry(program: Program) -> ToolRegistry:
    return program.registry


def test_a_stub_takes_the_calls_while_its_block_runs(
    program: Program, registry: ToolRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    session = registry.session()
    with registry.stub("t", lambda args: "stubbed"):
        assert registry.call("t", {}) == session.call("tea", {}) == "stubbed"
        assert asyncio.run(registry.acall("t", {})) == "stubbed"
        entry = registry.get_entry("t")
        assert entry is not None and entry.handler({}) == "stubbed"
        assert f"{program.handlers}.m" not in sys.modules
    assert registry.call("t", {}) == session.call("tea", {}) == "own"
    assert not caplog.records


def test_a_stub_is_taken_back_where_its_block_raises(registry: ToolRegistry) -> None:
    with pytest.raises(ZeroDivisionError), registry.stub("t", plain):
        raise ZeroDivisionError
    assert registry.call("t", {}) == "own"


@pytest.mark.parametrize(
    ("name", "function", "kinds"),
    [
        ("nope", plain, ["unknown-tool"]),
        ("t", "text", ["not-callable"]),
        ("strict", coroutine, ["async"]),
        ("strict", lambda *, path: "", ["missing-parameter", "missing-parameter"]),
    ],
)
def test_a_stub_is_held_against_the_spec(
    registry: ToolRegistry, name: str, function: Any, kinds: list[str]
) -> None:
    with pytest.raises(SchemaDriftError) as caught, registry.stub(name, function):
        raise AssertionError
    assert [one.kind for one in caught.value.mismatches] == kinds


def test_arguments_are_held_against_the_spec_and_reach_a_stub_of_any_shape(
    registry: ToolRegistry,
) -> None:
    with registry.stub("strict", lambda *, path, offset=1, limit=500: f"{path} {limit}"):
        assert registry.call("strict", {"path": "a"}) == "a 500"
        assert "Invalid arguments" in registry.call("strict", {"path": 1})


def test_a_stub_needs_no_check_but_what_the_spec_requires(
    registry: ToolRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    with registry.stub("needs", plain):
        assert "set STUB_KEY" in registry.call("needs", {})
        monkeypatch.setenv("STUB_KEY", "x")
        assert registry.call("needs", {}) == "" and registry.is_available("needs")


def test_any_tool_can_be_stood_in_for(registry: ToolRegistry) -> None:
    schema = {"name": "late", "description": "Late.", "parameters": EMPTY}
    registry.plugin("p").register("late", "late", schema, lambda args: "registered")
    for name in ("remote", "outside", "late"):
        before = registry.call(name, {})
        with registry.stub(name, lambda args: "stubbed"):
            assert registry.call(name, {}) == "stubbed"
        assert registry.call(name, {}) == before


def test_what_is_registered_beneath_a_stub_is_there_afterwards(registry: ToolRegistry) -> None:
    with registry.stub("outside", lambda args: "stubbed"):
        registry.register("outside", handler=lambda args: "bound")
        assert registry.call("outside", {}) == "stubbed"
    assert registry.call("outside", {}) == "bound"
    with registry.stub("t", lambda args: "stubbed"):
        registry.deregister("t")
        assert "Unknown tool" in registry.call("t", {})
    assert "Unknown tool" in registry.call("t", {})


def test_stubs_may_be_taken_back_in_any_order(registry: ToolRegistry) -> None:
    first = registry.stub("t", lambda args: "first")
    second = registry.stub("t", lambda args: "second")
    first.__enter__()
    second.__enter__()
    assert registry.call("t", {}) == "second"
    first.__exit__(None, None, None)
    assert registry.call("t", {}) == "second"
    second.__exit__(None, None, None)
    assert registry.call("t", {}) == "own"


def test_threads_may_put_stubs_in_one_place(registry: ToolRegistry) -> None:
    answers: list[str] = []

    def work(number: int) -> None:
        for _ in range(20):
            with registry.stub("t", lambda args: json.dumps(number)):
                answers.append(registry.call("t", {}))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answers) <= {"0", "1", "2", "3"} and len(answers) == 80
    assert registry.call("t", {}) == "own"
