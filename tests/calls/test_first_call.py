"""The first call of a tool imports the module of its handler, once, and no other."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.calls.one_tool import ANY, error_of
from tests.runtime_program import Program, tool, write_program


def test_a_call_imports_only_the_module_of_its_tool(tmp_path: Path) -> None:
    source = (
        "from {generated}.registry import registry\n"
        "@registry.handler('NAME')\n"
        "def handler(args, **context):\n    return 'NAME ran'\n"
    )
    program = write_program(
        tmp_path,
        [tool("a", ANY, module="first", aliases=["old_a"]), tool("b", ANY, module="second")],
        handlers={"first": source.replace("NAME", "a"), "second": source.replace("NAME", "b")},
    )
    assert program.registry.call("old_a", {}) == "a ran"
    assert program.registry.call("a", {}) == "a ran"
    assert f"{program.handlers}.first" in sys.modules
    assert f"{program.handlers}.second" not in sys.modules


def test_a_module_that_fails_is_reported_with_the_tools_lost_and_tried_once(tmp_path: Path) -> None:
    source = (
        "from {generated}.registry import registry\n"
        "registry.register('a', handler=lambda args: 'half')\n"
        "import builtins\n"
        "builtins.tries = getattr(builtins, 'tries', 0) + 1\n"
        "raise SystemExit('no config')\n"
    )
    program = write_program(
        tmp_path,
        [tool("a", ANY, module="files"), tool("b", ANY, module="files")],
        handlers={"files": source},
    )
    for name in ("a", "b", "a"):
        message = error_of(program.registry.call(name, {}))
        assert f"{program.handlers}.files" in message
        assert "SystemExit: no config" in message
        assert "files.py:5" in message
        assert "Tools lost: a, b." in message
    import builtins

    assert builtins.tries == 1  # type: ignore[attr-defined]
    del builtins.tries  # type: ignore[attr-defined]


HALF_WAY = """
import builtins
from {generated}.registry import registry

@registry.handler("a")
def handler(args):
    return "ran to the " + END

builtins.half_way.set()
builtins.go_on.wait(60)
OUTCOME
"""


@pytest.fixture
def half_way(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Set by a module that has registered its handler; and what it waits for then."""
    events = threading.Event(), threading.Event()
    monkeypatch.setattr("builtins.half_way", events[0], raising=False)
    monkeypatch.setattr("builtins.go_on", events[1], raising=False)
    yield events
    events[1].set()


def parallel_calls(program: Program, half_way: Any, first: Callable[[], object]) -> list[str]:
    """What seven calls give that are made while ``first`` is half way through the import."""
    reached, go_on = half_way
    answers: list[str] = []
    importer = threading.Thread(target=first)
    importer.start()
    assert reached.wait(60)
    threads = [
        threading.Thread(target=lambda: answers.append(program.registry.call("a", {})))
        for _ in range(7)
    ]
    for thread in threads:
        thread.start()
    while not answers and any(not is_waiting(thread) for thread in threads):
        time.sleep(0.001)
    go_on.set()
    for thread in (importer, *threads):
        thread.join()
    return answers


def is_waiting(thread: threading.Thread) -> bool:
    """Whether a thread waits for the import of a module that another one is importing."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


@pytest.mark.parametrize("way", ["call", "import"])
def test_no_handler_runs_before_its_module_was_imported_to_its_end(
    tmp_path: Path, half_way: Any, way: str
) -> None:
    source = HALF_WAY.replace("OUTCOME", 'END = "end"')
    program = write_program(tmp_path, [tool("a", ANY, module="slow")], handlers={"slow": source})
    first = {
        "call": lambda: program.registry.call("a", {}),
        "import": lambda: importlib.import_module(f"{program.handlers}.slow"),
    }[way]
    assert parallel_calls(program, half_way, first) == ["ran to the end"] * 7


def test_no_handler_runs_of_a_module_that_fails_for_another_thread(
    tmp_path: Path, half_way: Any
) -> None:
    source = HALF_WAY.replace("OUTCOME", 'raise RuntimeError("no database")')
    program = write_program(tmp_path, [tool("a", ANY, module="slow")], handlers={"slow": source})
    answers = parallel_calls(program, half_way, lambda: program.registry.call("a", {}))
    assert len(answers) == 7
    assert all("RuntimeError: no database" in error_of(one) for one in answers)


def test_a_module_may_call_its_own_tool_while_it_is_imported(tmp_path: Path) -> None:
    source = (
        "from {generated}.registry import registry\n"
        "@registry.handler('a')\ndef handler(args):\n    return 'ran'\n"
        "FIRST = registry.call('a', {})\n"
    )
    program = write_program(tmp_path, [tool("a", ANY, module="m")], handlers={"m": source})
    assert program.registry.call("a", {}) == "ran"
    assert sys.modules[f"{program.handlers}.m"].FIRST == "ran"


ELSEWHERE = "def handler(args, **context):\n    return 'ran'\n"


def test_what_a_failing_module_registered_is_taken_back_wherever_it_was_written(
    tmp_path: Path,
) -> None:
    source = (
        "from {generated}.registry import registry\nfrom {handlers} import elsewhere\n"
        "registry.register('a', handler=elsewhere.handler)\n"
        "registry.register('outside', handler=elsewhere.handler)\n"
        "raise RuntimeError('needs a database')\n"
    )
    program = write_program(
        tmp_path,
        [tool("a", ANY, module="m"), tool("outside", ANY, handler="external")],
        handlers={"m": source, "elsewhere": ELSEWHERE},
    )
    registry = program.registry
    for _ in range(2):
        assert "needs a database" in error_of(registry.call("a", {}))
    assert not registry.is_available("a")
    assert "has not bound" in error_of(registry.call("outside", {}))


def test_what_a_failing_module_had_replaced_is_there_again(tmp_path: Path) -> None:
    source = (
        "from {generated}.registry import registry\n"
        "registry.register('outside', handler=lambda args: 'theirs', override=True)\n"
        "raise RuntimeError\n"
    )
    tools = [tool("a", ANY, module="m"), tool("outside", ANY, handler="external")]
    program = write_program(tmp_path, tools, handlers={"m": source})
    program.registry.register("outside", handler=lambda args: "ours")
    assert "fails to import" in error_of(program.registry.call("a", {}))
    assert program.registry.call("outside", {}) == "ours"


def test_what_a_whole_module_registered_stays_although_its_importer_fails(tmp_path: Path) -> None:
    whole = (
        "from {generated}.registry import registry\nfrom {handlers} import elsewhere\n"
        "registry.register('b', handler=elsewhere.handler)\n"
    )
    program = write_program(
        tmp_path,
        [tool("a", ANY, module="m"), tool("b", ANY, module="whole")],
        handlers={
            "m": "from {handlers} import whole\nraise RuntimeError('needs a database')\n",
            "whole": whole,
            "elsewhere": ELSEWHERE,
        },
    )
    assert "needs a database" in error_of(program.registry.call("a", {}))
    assert program.registry.call("b", {}) == "ran"


def test_a_module_that_failed_for_somebody_else_is_no_handler_module_yet(tmp_path: Path) -> None:
    source = (
        "from {generated}.registry import registry\nfrom {handlers} import elsewhere\n"
        "registry.register('a', handler=elsewhere.handler)\n"
        "raise RuntimeError('needs a database')\n"
    )
    program = write_program(
        tmp_path,
        [tool("a", ANY, module="m")],
        handlers={"m": source, "elsewhere": ELSEWHERE},
    )
    with pytest.raises(RuntimeError):
        importlib.import_module(f"{program.handlers}.m")
    assert "needs a database" in error_of(program.registry.call("a", {}))
