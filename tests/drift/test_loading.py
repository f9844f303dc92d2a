"""Loading reports every mismatch, every failing module and every missing handler together."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from hermes_build.runtime.errors import HandlerImportError, LoadError, SchemaDriftError
from tests.drift.registering import EMPTY
from tests.runtime_program import tool, write_program


def test_load_collects_the_mismatches_of_all_modules_and_missing_handlers(tmp_path: Path) -> None:
    head = "from {generated}.registry import registry\n"
    handlers = {
        "one": head
        + "registry.register('a', toolset='web', handler=lambda args: '')\n"
        + "registry.register('b', handler=lambda args, x: '')\n"
        + "registry.register('nope', handler=lambda args: '')\n",
        "two": head + "registry.register('c', handler=lambda args: '')\n",
        "three": head,
    }
    tools = [
        tool("a", module="one"),
        tool("b", module="one"),
        tool("c", module="two"),
        tool("d", module="three"),
        tool("e"),
        tool("f", handler="external"),
        tool("g", handler="server"),
    ]
    program = write_program(tmp_path, tools, handlers=handlers)
    with pytest.raises(SchemaDriftError) as caught:
        program.registry.load()
    assert [(one.tool, one.code) for one in caught.value.mismatches] == [
        ("a", "HB3007"),
        ("b", "HB3007"),
        ("nope", "HB3002"),
        ("d", "HB3001"),
        ("e", "HB3001"),
    ]
    first = caught.value.mismatches[0]
    assert first.handler == (f"{program.handlers}/one.py", 2)
    assert "no longer registers" in program.registry.call("a", {"path": "x"})
    assert program.registry.call("c", {"path": "x"}) == ""


def test_load_reports_every_module_that_fails_beside_the_mismatches(tmp_path: Path) -> None:
    handlers = {
        "broken": "import nothing_of_that_name\n",
        "syntax": "x = 1\ndef f(:\n",
        "drift": "from {generated}.registry import registry\n"
        "registry.register('c', handler=lambda: '')\n",
    }
    tools = [
        tool("a", module="broken"),
        tool("b", module="syntax"),
        tool("c", EMPTY | {"properties": {"x": {}}}, module="drift"),
        tool("d", module="absent"),
    ]
    program = write_program(tmp_path, tools, handlers=handlers)
    with pytest.raises(LoadError) as caught:
        program.registry.load()
    failures = {one.module.rpartition(".")[2]: one for one in caught.value.failures}
    assert {name: one.tools for name, one in failures.items()} == {
        "absent": ("d",),
        "broken": ("a",),
        "syntax": ("b",),
    }
    assert (failures["broken"].path, failures["broken"].line) == (
        f"{program.handlers}/broken.py",
        1,
    )
    assert (failures["syntax"].path, failures["syntax"].line) == (
        f"{program.handlers}/syntax.py",
        2,
    )
    assert "ModuleNotFoundError" in failures["absent"].error
    assert [(one.tool, one.kind) for one in caught.value.mismatches] == [("c", "missing-parameter")]
    assert "tools lost: a, b, d" in str(caught.value)


def test_a_module_may_be_mended_and_loaded_again(tmp_path: Path) -> None:
    source = "from {generated}.registry import registry\nraise ValueError('not yet')\n"
    program = write_program(tmp_path, [tool("a", module="m")], handlers={"m": source})
    with pytest.raises(LoadError):
        program.registry.load()
    path = tmp_path / program.handlers / "m.py"
    path.write_text(
        path.read_text().replace(
            "raise ValueError('not yet')", "registry.register('a', handler=lambda args: 'mended')"
        )
    )
    importlib.invalidate_caches()
    program.registry.load()
    assert program.registry.call("a", {"path": "x"}) == "mended"


def test_outside_load_the_first_drift_stops_its_module(tmp_path: Path) -> None:
    source = (
        "from {generated}.registry import registry\n"
        "registry.register('a', handler=lambda args: '')\n"
        "registry.register('b', handler=lambda: '')\n"
    )
    tools = [tool("a", module="m"), tool("b", module="m")]
    program = write_program(tmp_path, tools, handlers={"m": source})
    with pytest.raises(SchemaDriftError):
        importlib.import_module(f"{program.handlers}.m")
    with pytest.raises(HandlerImportError, match="SchemaDriftError"):
        program.registry.binding("b")
    # What the module had registered before it failed is not half a module's worth of tools.
    with pytest.raises(HandlerImportError):
        program.registry.binding("a")
