"""Finding handler modules by reading them, and importing those that register tools."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_build.runtime.discovery import FailedModule, discover, import_discovered
from hermes_build.runtime.registry import ToolRegistry
from tests.registry.programs import TEXT, says
from tests.runtime_program import tool, write_program

REGISTERS = "from somewhere import registry\nregistry.register(name='{}', toolset='x')\n"

_numbers = itertools.count()

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a package of modules, whose name is nobody else's, and put it on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(**modules: str) -> Path:
        folder = tmp_path / f"plugins_{next(_numbers)}"
        folder.mkdir()
        for name, source in {"__init__": "", **modules}.items():
            (folder / f"{name}.py").write_text(source, encoding="utf-8")
        return folder

    return write


COUNT = {
    "a call": REGISTERS.format("t"),
    "a call of an import by another name": (
        "from somewhere import registry as r\nr.register('t', 'x')\n"
    ),
    "a decorator": "@registry.handler('t')\ndef f(args): ...\n",
    "a typed decorator": "@t.implements\nasync def f(args): ...\n",
    "a typed decorator with arguments": "@t.implements(check_fn=g)\ndef f(args): ...\n",
}
DO_NOT_COUNT = {
    "a call inside a function": "def f():\n    registry.register(name='t')\n",
    "a call under a condition": "if __name__ == '__main__':\n    registry.register(name='t')\n",
    "a call in a comment": "# registry.register(name='t')\nx = 'registry.register()'\n",
    "another object's call": "atexit.register(f)\n",
    "a decorator inside a class": "class C:\n    @registry.handler('t')\n    def f(args): ...\n",
    "a mention": "register = registry.register\n",
    "nothing": "x = 1\n",
    "what cannot be parsed": "registry.register(\n",
}


@pytest.mark.parametrize("source", COUNT.values(), ids=COUNT)
def test_a_registration_at_the_top_level_counts(write: Write, source: str) -> None:
    assert discover(write(m=source)) == ["m"]


@pytest.mark.parametrize("source", DO_NOT_COUNT.values(), ids=DO_NOT_COUNT)
def test_anything_else_does_not(write: Write, source: str) -> None:
    assert discover(write(m=source)) == []


def test_modules_are_found_in_sorted_order_and_init_never_counts(write: Write) -> None:
    source = REGISTERS.format("t")
    folder = write(b=source, a=source, c="", __init__=source)
    (folder / "folder.py").mkdir()
    (folder / "text.txt").write_text(source)
    assert discover(str(folder)) == ["a", "b"]
    with pytest.raises(NotADirectoryError):
        discover(folder / "nope")


def test_nothing_is_imported_by_looking(write: Write) -> None:
    folder = write(m=REGISTERS.format("t") + "raise RuntimeError\n")
    assert discover(folder) == ["m"]
    assert f"{folder.name}.m" not in sys.modules


def test_other_encodings_are_read(write: Write) -> None:
    folder = write()
    source = "# -*- coding: latin-1 -*-\nregistry.register(name='é')\n"
    (folder / "m.py").write_bytes(source.encode("latin-1"))
    assert discover(folder) == ["m"]


def test_one_module_that_fails_takes_no_other_along_and_is_reported(
    write: Write, registry: ToolRegistry
) -> None:
    fine = "class registry:\n    register = print\nregistry.register('fine')\n"
    folder = write(
        a=fine.replace("fine", "first"),
        broken="class registry: ...\nimport nowhere_at_all\nregistry.register(name='lost')\n",
        leaves="import sys\nsys.exit(3)\nregistry.register(name='gone')\n",
        unparsable="registry.register(name='odd'\n",
        z=fine,
        idle="raise RuntimeError('never imported')\n",
    )
    report = import_discovered(folder, folder.name, registry)
    assert report.imported == (f"{folder.name}.a", f"{folder.name}.z")
    failed = {one.module.rpartition(".")[2]: one for one in report.failed}
    assert list(failed) == ["broken", "leaves", "unparsable"]
    assert failed["broken"] == FailedModule(
        f"{folder.name}.broken",
        "ModuleNotFoundError: No module named 'nowhere_at_all'",
        ("lost",),
    )
    assert failed["leaves"].reason == "SystemExit: 3"
    assert failed["unparsable"].reason.startswith("SyntaxError")
    error = json.loads(registry.call("lost", {}))["error"]
    assert error.startswith("Unknown tool: lost. Its handler module")
    assert "nowhere_at_all" in error
    assert "Its handler module" not in registry.call("nope", {})


def test_why_a_module_failed_reaches_a_model_without_credentials(
    registry: ToolRegistry, write: Write
) -> None:
    folder = write(
        lost="class registry: ...\n"
        "raise OSError('postgres://admin:hunter2secret@db/x password=tigerlily99')\n"
        "registry.register(name='lost')\n"
    )
    report = import_discovered(folder, folder.name, registry)
    assert "tigerlily99" in report.failed[0].reason  # the program itself is told all
    for answer in (registry.call("lost", {}), registry.session().call("lost", {})):
        assert "OSError: postgres://" in answer
        assert "hunter2secret" not in answer and "tigerlily99" not in answer


def test_what_a_failing_module_registered_is_taken_back(write: Write, tmp_path: Path) -> None:
    tools = [tool(name, TEXT, handler="external") for name in ("t", "u")]
    program = write_program(tmp_path, tools)
    program.registry.register("u", handler=says("before"))
    folder = write(
        m=f"from {program.package}.registry import registry\n"
        "registry.register(name='t', handler=lambda args: '')\n"
        "registry.register(name='u', handler=lambda args: 'after', override=True)\n"
        "raise RuntimeError('needs a database')\n"
    )
    import_discovered(folder, folder.name, program.registry)
    assert "has not bound a handler" in program.registry.call("t", {})
    assert program.registry.call("u", {}) == "before"


def test_what_a_module_registers_at_its_import_is_there(write: Write, tmp_path: Path) -> None:
    program = write_program(tmp_path, [tool("t", TEXT, handler="external")])
    folder = write(
        m=f"from {program.package}.registry import registry\n"
        "registry.register(name='t', handler=lambda args, **context: 'discovered')\n"
    )
    assert import_discovered(folder, folder.name).imported == (f"{folder.name}.m",)
    assert program.registry.call("t", {}) == "discovered"


def test_a_tool_without_a_spec_fails_its_module_with_what_to_do(
    write: Write, tmp_path: Path
) -> None:
    program = write_program(tmp_path, [tool("t", TEXT, handler="external")])
    folder = write(
        m=f"from {program.package}.registry import registry\n"
        "registry.register(name='undeclared', handler=lambda args, **context: '')\n"
    )
    (failed,) = import_discovered(folder, folder.name, program.registry).failed
    assert failed.tools == ("undeclared",)
    assert "registry.plugin(NAME)" in failed.reason
    assert "registry.plugin(NAME)" in json.loads(program.registry.call("undeclared", {}))["error"]
