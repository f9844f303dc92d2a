"""A tool that a module was compiled to handle is that module's, unless somebody overrides it."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hermes_build.runtime.errors import SchemaDriftError
from tests.drift.registering import EMPTY, kinds, plain
from tests.runtime_program import Program, tool, write_program

OWN = """
from {generated}.registry import registry

@registry.handler('t')
def own(args): return 'own'
"""


def program(root: Path, source: str = OWN, **more: str) -> Program:
    tools = [tool("t", EMPTY, module="m"), tool("u", EMPTY, module="n"), tool("v", EMPTY)]
    return write_program(root, tools, handlers={"m": source, **more})


def test_nobody_else_takes_it_before_its_module_is_imported(tmp_path: Path) -> None:
    registry = program(tmp_path).registry
    with pytest.raises(SchemaDriftError) as caught:
        registry.register("t", handler=plain)
    [mismatch] = caught.value.mismatches
    assert (mismatch.kind, mismatch.code) == ("duplicate", "HB3003")
    assert mismatch.handler is not None and mismatch.handler[0].endswith("registering.py")
    assert ".m registers it" in mismatch.message
    assert "override=True" in mismatch.message and "registry.stub" in mismatch.message
    assert registry.call("t", {}) == "own"
    with pytest.raises(SchemaDriftError, match="HB3003"):
        registry.register("t", handler=plain)


def test_another_handler_module_does_not_take_it_either(tmp_path: Path) -> None:
    thief = (
        "from {generated}.registry import registry\nregistry.register('t', handler=lambda a: '')\n"
    )
    made = program(tmp_path, n=thief)
    assert "HB3003 t:" in made.registry.call("u", {})
    assert made.registry.call("t", {}) == "own"


def test_a_tool_that_no_module_is_known_for_is_free(tmp_path: Path) -> None:
    assert kinds(program(tmp_path).registry, plain, "v") == []


REGISTERS = {
    "a function of its own": OWN,
    "a function of another module": (
        "from {generated}.registry import registry\nfrom {handlers} import elsewhere\n"
        "registry.register('t', handler=elsewhere.own)\n"
    ),
    "a method of another module's class": (
        "from {generated}.registry import registry\nfrom {handlers} import elsewhere\n"
        "registry.register('t', handler=elsewhere.Own().method)\n"
    ),
    "by a helper of another module": (
        "from {generated}.registry import registry\nfrom {handlers} import elsewhere\n"
        "elsewhere.register_for(registry, 't')\n"
    ),
    "a function that another module wraps": (
        "from {generated}.tools import t\nfrom {handlers} import elsewhere\n"
        "@t.implements\n@elsewhere.wrapped\ndef own(args): return 'own'\n"
    ),
    "in a thread of its own": (
        "import threading\nfrom {generated}.registry import registry\n"
        "def own(args): return 'own'\n"
        "one = threading.Thread(target=lambda: registry.register('t', handler=own))\n"
        "one.start()\none.join()\n"
    ),
    "with an override": OWN.replace("@registry.handler('t')\n", "")
    + "registry.register('t', handler=own, override=True)\n",
}
ELSEWHERE = """
def own(args): return "own"
class Own:
    def method(self, args): return "own"
def register_for(registry, name):
    registry.register(name, handler=own)
def wrapped(function):
    def wrapper(args): return function(args)
    return wrapper
"""


@pytest.mark.parametrize("source", REGISTERS.values(), ids=REGISTERS)
@pytest.mark.parametrize("way", ["called", "imported", "loaded"])
def test_its_module_registers_what_it_likes(
    tmp_path: Path, source: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = write_program(
        tmp_path, [tool("t", EMPTY, module="m")], handlers={"m": source, "elsewhere": ELSEWHERE}
    )
    if way == "imported":
        importlib.import_module(f"{made.handlers}.m")
    elif way == "loaded":
        made.registry.load()
    assert made.registry.call("t", {}) == "own"
    importlib.reload(sys.modules[f"{made.handlers}.m"])
    assert made.registry.call("t", {}) == "own"


@pytest.mark.parametrize("source", REGISTERS.values(), ids=REGISTERS)
def test_it_does_so_in_a_batch_that_is_made_again(tmp_path: Path, source: str) -> None:
    made = write_program(
        tmp_path, [tool("t", EMPTY, module="m")], handlers={"m": source, "elsewhere": ELSEWHERE}
    )
    registry = made.registry
    with registry.batch():
        importlib.import_module(f"{made.handlers}.m")
        thread = threading.Thread(target=lambda: registry.plugin("meanwhile"))
        thread.start()
        thread.join()
    assert registry.call("t", {}) == "own"


def test_what_a_module_registers_late_is_its_own_as_well(tmp_path: Path) -> None:
    late = OWN.replace("@registry.handler('t')\n", "") + (
        "def register(): registry.register('t', handler=own)\n"
    )
    made = program(tmp_path, late)
    importlib.import_module(f"{made.handlers}.m").register()
    assert made.registry.call("t", {}) == "own"


@pytest.mark.parametrize("first", ["the override", "the module"])
def test_an_override_stands_whenever_the_module_is_imported(
    tmp_path: Path, first: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = program(tmp_path, n=OWN.replace("'t'", "'u'"))
    if first == "the module":
        importlib.import_module(f"{made.handlers}.m")
    made.registry.register("t", handler=lambda args: "theirs", override=True)
    assert "handler of t is replaced" in caplog.text
    assert made.registry.call("t", {}) == "theirs"
    with pytest.raises(SchemaDriftError) as caught:
        made.registry.load()
    assert [one.tool for one in caught.value.mismatches] == ["v"]  # which nobody handles at all
    assert made.registry.call("t", {}) == "theirs"
    assert sys.modules[f"{made.handlers}.m"].own({}) == "own"
    assert kinds(made.registry, plain) == ["duplicate"]


def test_a_module_that_was_overridden_must_still_fit(tmp_path: Path) -> None:
    made = program(tmp_path, OWN.replace("def own(args)", "def own(args, surplus)"))
    made.registry.register("t", handler=lambda args: "theirs", override=True)
    with pytest.raises(SchemaDriftError, match="surplus"):
        importlib.import_module(f"{made.handlers}.m")


def test_a_handler_module_may_be_run_as_the_program(tmp_path: Path) -> None:
    source = OWN + "if __name__ == '__main__':\n    print(registry.call('t', {}))\n"
    made = program(tmp_path, source)
    done = subprocess.run(
        [sys.executable, "-m", f"{made.handlers}.m"],
        cwd=tmp_path, env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True, text=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("own\n", "")
