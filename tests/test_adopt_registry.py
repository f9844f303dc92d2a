"""A live registry is read in a process of its own, whatever its program does there."""

from __future__ import annotations

import ast
import textwrap
import time
from pathlib import Path

import pytest

from hermes_build.compiler.adopt.live import PROBE, Live, read_registry
from hermes_build.compiler.diagnostics import Findings

REGISTRY = """
class Entry:
    def __init__(self, **fields):
        self.__dict__.update(fields)

class Registry:
    def __init__(self):
        self._tools = {}
    def register(self, name, toolset, schema, handler, check_fn=None, requires_env=None,
                 is_async=False, description="", emoji="", max_result_size_chars=None,
                 dynamic_schema_overrides=None):
        self._tools[name] = Entry(name=name, toolset=toolset, schema=schema, handler=handler,
            check_fn=check_fn, requires_env=requires_env or [], is_async=is_async,
            description=description or schema.get("description", ""), emoji=emoji,
            max_result_size_chars=max_result_size_chars,
            dynamic_schema_overrides=dynamic_schema_overrides)
    def get_all_tool_names(self):
        return sorted(self._tools)
    def get_entry(self, name):
        return self._tools.get(name)
    def get_registered_toolset_aliases(self):
        return {"net": "web", "gone": "nowhere"}

registry = Registry()
TOOLSETS = {"web": {"description": "The web", "tools": ("fetch", "fetch"), "includes": {"b", "a"},
                    "posture": True}, "odd": 3}
"""
TOOLS = """
from program.registry import registry
registry.register("fetch", "web", {"name": "fetch", "description": "Fetch.", "parameters":
    {"type": "object", "properties": {"url": {"type": "string"}}}}, lambda args: "",
    check_fn=lambda: True, is_async=True, emoji="🌐", requires_env=["KEY"],
    max_result_size_chars=100000, dynamic_schema_overrides=lambda: {}, description="Other words")
registry.register("plain", "misc", {"name": "plain", "parameters": {"type": "object"}},
                  lambda args: "", max_result_size_chars=float("inf"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "program"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "registry.py").write_text(REGISTRY, encoding="utf-8")
    (package / "tools.py").write_text(TOOLS, encoding="utf-8")
    return tmp_path


def read(
    folder: Path, place: str = "program.registry:registry", **more: object
) -> tuple[Live, Findings]:
    findings = Findings()
    return read_registry(place, findings, folder=folder, **more), findings  # type: ignore[arg-type]


def module(folder: Path, text: str) -> None:
    (folder / "subject.py").write_text(textwrap.dedent(text), encoding="utf-8")


def test_entries_and_toolsets_come_over_with_all_their_fields(folder: Path) -> None:
    live, findings = read(folder, toolsets="program.registry:TOOLSETS", preload=("program.tools",))
    fetch, plain = live.definitions
    assert (fetch.name, fetch.toolset, fetch.description) == ("fetch", "web", "Fetch.")
    assert fetch.parameters == {"type": "object", "properties": {"url": {"type": "string"}}}
    assert (fetch.is_async, fetch.check, fetch.emoji) == (True, True, "🌐")
    assert fetch.max_result_chars == 100_000
    assert fetch.dynamic == ("/description", "/parameters")
    assert ["requires_env" in one or "registered description" in one for one in fetch.dropped] == [
        True,
        True,
    ]
    assert (plain.is_async, plain.check, plain.emoji, plain.max_result_chars) == (
        None,
        False,
        None,
        None,
    )
    assert "inf" in plain.dropped[0]
    (web,) = live.toolsets
    assert (web.tools, web.includes) == (("fetch",), ("a", "b"))
    assert web.aliases == ("net",)
    assert [what.split(",")[0] for what in web.dropped] == ["'posture'"]
    assert sorted(one.code for one in findings) == ["HB1304", "HB1305"]


def test_a_registry_without_its_tools_asks_for_a_preload(folder: Path) -> None:
    live, findings = read(folder)
    assert not live.definitions
    one = next(iter(findings))
    assert "holds no tool" in one.message and "--preload" in one.help[0]


def test_a_list_of_definitions_is_read_as_well(folder: Path) -> None:
    module(folder, 'TOOLS = [{"name": "a", "input_schema": {"type": "object"}}, {"name": "b"}]')
    live, findings = read(folder, "subject:TOOLS")
    assert [one.name for one in live.definitions] == ["a", "b"]
    assert not list(findings)


def test_what_the_program_prints_does_not_mix_with_the_answer(folder: Path) -> None:
    module(
        folder,
        """
        import os, sys
        print("{noise")
        os.write(1, b"more noise")
        sys.stdout.write("[]")
        os.system("echo even more")
        TOOLS = [{"name": "a"}]
        """,
    )
    live, findings = read(folder, "subject:TOOLS")
    assert [one.name for one in live.definitions] == ["a"]
    assert not list(findings)


@pytest.mark.parametrize(
    ("text", "words", "last"),
    [
        ("raise RuntimeError('no key')", "status 1", "RuntimeError: no key"),
        ("import sys; sys.exit(5)", "status 5", "last words"),
        ("import os; os._exit(0)", "status 0", "last words"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9", "last words"),
        ("import nowhere_to_be_found", "status 1", "No module named 'nowhere_to_be_found'"),
        ("x = (", "status 1", "SyntaxError"),
    ],
)
def test_a_program_that_fails_is_a_finding_with_its_last_words(
    folder: Path, text: str, words: str, last: str
) -> None:
    module(
        folder, f"import sys; print('last words', file=sys.stderr, flush=True)\n{text}\nTOOLS=[]"
    )
    live, findings = read(folder, "subject:TOOLS")
    assert live == Live()
    (one,) = findings
    assert one.code == "HB1304"
    told = " ".join((one.message, *one.notes))
    assert words in told
    assert last in told
    assert ("Error" in last or "No module" in last) == (last in one.message)


def test_a_program_that_never_ends_is_ended_with_what_it_started(folder: Path) -> None:
    module(
        folder,
        """
        import subprocess, sys, time
        subprocess.Popen([sys.executable, "-c",
            "import time, pathlib; time.sleep(3); pathlib.Path('mark').touch()"])
        time.sleep(60)
        """,
    )
    started = time.monotonic()
    live, findings = read(folder, "subject:TOOLS", timeout=1.5)
    assert live == Live()
    assert "1.5 seconds" in next(iter(findings)).message
    assert time.monotonic() - started < 20
    time.sleep(2.5)
    assert not (folder / "mark").exists()


def test_threads_and_exit_hooks_of_the_program_do_not_keep_it_open(folder: Path) -> None:
    module(
        folder,
        """
        import atexit, threading, time
        threading.Thread(target=time.sleep, args=(60,)).start()
        atexit.register(time.sleep, 60)
        TOOLS = [{"name": "a"}]
        """,
    )
    live, _ = read(folder, "subject:TOOLS", timeout=20)
    assert len(live.definitions) == 1


@pytest.mark.parametrize("place", ["subject", "subject:", ":x", ""])
def test_a_place_without_both_parts_is_refused_before_anything_runs(
    folder: Path, place: str
) -> None:
    _, findings = read(folder, place)
    assert "package.module:object" in next(iter(findings)).help[0]


@pytest.mark.parametrize(("text", "words"), [("TOOLS = 3", "is an int"), ("", "has no 'TOOLS'")])
def test_an_object_that_is_no_registry_is_refused(folder: Path, text: str, words: str) -> None:
    module(folder, text)
    _, findings = read(folder, "subject:TOOLS")
    assert words in next(iter(findings)).message


def test_an_interpreter_that_is_not_there_is_a_finding(folder: Path) -> None:
    _, findings = read(folder, python=str(folder / "no-python"))
    assert "cannot be run" in next(iter(findings)).message


def test_values_that_json_cannot_hold_are_refused_by_tool(folder: Path) -> None:
    module(
        folder,
        """
        import datetime
        loop = []
        loop.append(loop)
        def tool(name, default):
            return {"name": name, "parameters": {"type": "object", "default": default}}
        TOOLS = [tool("date", datetime.date(2024, 1, 1)), tool("set", {1}), tool("loop", loop),
                 tool("key", {1: 2}), tool("fine", (1, 2))]
        """,
    )
    live, findings = read(folder, "subject:TOOLS")
    assert [one.name for one in live.definitions] == ["fine"]
    assert live.definitions[0].parameters["default"] == [1, 2]
    assert [one.tool for one in findings] == ["date", "set", "loop", "key"]


def test_modules_of_the_compiler_do_not_hide_those_of_the_program(folder: Path) -> None:
    (folder / "spec.py").write_text('TOOLS = [{"name": "mine"}]')
    live, _ = read(folder, "spec:TOOLS")
    assert [one.name for one in live.definitions] == ["mine"]


def test_the_probe_is_a_script_of_the_standard_library_for_old_interpreters() -> None:
    tree = ast.parse(PROBE.read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [one.name for one in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported == {"__future__", "importlib", "json", "os", "sys", "typing"}
