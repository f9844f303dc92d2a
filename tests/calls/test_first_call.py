"""The first call of a tool imports the module of its handler, once, and no other."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

from tests.calls.one_tool import ANY, error_of
from tests.runtime_program import tool, write_program


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


def test_many_threads_may_make_the_first_call(tmp_path: Path) -> None:
    source = (
        "import time\nfrom {generated}.registry import registry\ntime.sleep(0.05)\n"
        "@registry.handler('a')\ndef handler(args):\n    return 'ran'\n"
    )
    program = write_program(tmp_path, [tool("a", ANY, module="slow")], handlers={"slow": source})
    registry = program.registry
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda: answers.append(registry.call("a", {}))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["ran"] * 8
