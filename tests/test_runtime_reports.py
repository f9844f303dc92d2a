"""The reports of a registry on what can be used here: their shapes, and that they agree."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import hermes_build
from hermes_build.runtime.registry import ToolRegistry
from hermes_build.runtime.session import Session
from tests.runtime_program import Program, tool, toolset, write_program

BOX = """\
from {generated}.registry import registry

runs = []
answers = {"ready": True, "online": True}

def ready():
    runs.append("ready")
    return answers["ready"]

def online():
    runs.append("online")
    return answers["online"]

@registry.handler("run", check_fn=ready)
def run(args): return "ran"

@registry.handler("stop", check_fn=ready)
def stop(args): return "stopped"

@registry.handler("fetch", check_fn=online)
def fetch(args): return "fetched"
"""

VARIABLES = ("HB_KEY", "HB_EXA", "HB_TAVILY")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    checked = {"check": True}
    search = {"any_env": ["HB_TAVILY", "HB_EXA"], "env": ["HB_KEY"]}
    tools = [
        tool("read", handler="external", aliases=["cat"]),
        tool("sign", handler="external", requires={"env": ["HB_KEY"]}),
        tool("search", toolset="web", handler="external", requires=search),
        tool("fetch", toolset="web", module="box", requires={"env": ["HB_KEY"], **checked}),
        tool("run", toolset="terminal", module="box", requires=checked),
        tool("stop", toolset="terminal", module="box", requires=checked),
        tool("draw", toolset="pictures", module="broken", requires=checked),
        tool("loose", toolset=None, handler="external"),
    ]
    toolsets = [
        toolset("file", ["read", "sign"], description="Files of the workspace."),
        toolset("web", ["fetch", "search"], aliases=["net"]),
        # Lists a tool that another toolset owns.
        toolset("terminal", ["read", "run", "stop"], aliases=["shell"]),
        toolset("pictures", ["draw"]),
        toolset("offline", ["draw", "run"]),
    ]
    handlers = {"box": BOX, "broken": "import hb_no_such_module\n"}
    return write_program(tmp_path, tools, toolsets=toolsets, handlers=handlers)


@pytest.fixture
def registry(program: Program) -> ToolRegistry:
    return program.registry


@pytest.fixture
def box(program: Program) -> Any:
    """The handler module with the check functions."""
    return import_module(f"{program.handlers}.box")


def listed(registry: ToolRegistry) -> set[str]:
    """The tools that a session with every tool shows to a model."""
    definitions = Session(registry, ["all"]).definitions()
    return {one["function"]["name"] for one in definitions}


# Shapes


def test_a_toolset_is_available_if_any_of_its_tools_is(
    registry: ToolRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert registry.check_toolset_requirements() == {
        "file": True,
        "pictures": False,
        "terminal": True,
        "web": False,
    }
    monkeypatch.setenv("HB_KEY", "x")
    assert registry.check_toolset_requirements()["web"] is True
    assert registry.why_unavailable("search") == ("set HB_TAVILY or HB_EXA",)


def test_every_toolset_is_described_with_what_it_needs(registry: ToolRegistry) -> None:
    found = registry.get_available_toolsets()
    assert list(found) == ["file", "pictures", "terminal", "web"]
    assert found["file"] == {
        "available": True,
        "tools": ["read", "sign"],
        "description": "Files of the workspace.",
        "requirements": ["HB_KEY"],
    }
    assert found["web"] == {
        "available": False,
        "tools": ["fetch", "search"],
        "description": "",
        "requirements": ["HB_KEY", "HB_TAVILY", "HB_EXA"],
    }


def test_requirements_have_the_shape_that_set_up_programs_read(
    registry: ToolRegistry, box: Any
) -> None:
    found = registry.get_toolset_requirements()
    assert list(found) == ["file", "pictures", "terminal", "web"]
    assert found["terminal"] == {
        "name": "terminal",
        "env_vars": [],
        "check_fn": box.ready,
        "setup_url": None,
        "tools": ["run", "stop"],
    }
    assert found["web"]["check_fn"] is box.online
    assert found["web"]["env_vars"] == ["HB_KEY", "HB_TAVILY", "HB_EXA"]
    assert found["file"]["check_fn"] is None


def test_available_and_unavailable_toolsets_are_two_lists(registry: ToolRegistry) -> None:
    assert registry.check_tool_availability() == (
        ["file", "terminal"],
        [
            {"name": "pictures", "env_vars": [], "tools": ["draw"]},
            {
                "name": "web",
                "env_vars": ["HB_KEY", "HB_TAVILY", "HB_EXA"],
                "tools": ["fetch", "search"],
            },
        ],
    )


def test_a_name_may_be_an_alias_or_a_composition_or_unknown(
    registry: ToolRegistry, box: Any
) -> None:
    assert registry.is_available("cat")
    assert registry.is_toolset_available("file")
    assert not registry.is_toolset_available("net")
    assert registry.is_toolset_available("offline")
    assert registry.is_toolset_available("all")
    assert not registry.is_toolset_available("nothing_of_the_kind")
    assert registry.is_toolset_available("shell")
    registry.availability.invalidate()
    box.answers["ready"] = False
    assert not registry.is_toolset_available("terminal")
    assert not registry.is_toolset_available("shell")
    assert not registry.is_available("raed")
    [reason] = registry.why_unavailable("raed")
    assert "Did you mean 'read'?" in reason


def test_what_is_handed_out_is_nobody_elses(registry: ToolRegistry) -> None:
    for report in (registry.get_available_toolsets, registry.get_toolset_requirements):
        before = json.dumps(report(), default=str)
        changed = report()
        changed["file"]["tools"].clear()
        changed.clear()
        assert json.dumps(report(), default=str) == before


# Agreement


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize("online", [True, False])
@pytest.mark.parametrize("variables", [(), ("HB_KEY",), ("HB_EXA",), VARIABLES])
def test_the_reports_agree_with_each_other_and_with_what_is_listed(
    registry: ToolRegistry,
    box: Any,
    monkeypatch: pytest.MonkeyPatch,
    ready: bool,
    online: bool,
    variables: tuple[str, ...],
) -> None:
    for name in variables:
        monkeypatch.setenv(name, "x")
    box.answers.update(ready=ready, online=online)
    available = {name for name in registry.get_all_tool_names() if registry.is_available(name)}
    assert available == listed(registry)
    assert available >= {"read", "loose"}
    for name in registry.get_all_tool_names():
        assert (registry.why_unavailable(name) == ()) is (name in available)
    owners = registry.get_tool_to_toolset_map()
    expected = {
        owner: any(owners.get(name) == owner for name in available)
        for owner in sorted(set(owners.values()))
    }
    assert registry.check_toolset_requirements() == expected
    assert {name: registry.is_toolset_available(name) for name in expected} == expected
    described = registry.get_available_toolsets()
    assert {name: one["available"] for name, one in described.items()} == expected
    names, others = registry.check_tool_availability(quiet=True)
    assert names == [name for name in expected if expected[name]]
    assert [one["name"] for one in others] == [name for name in expected if not expected[name]]
    assert {one["name"]: one["tools"] for one in others} == {
        name: described[name]["tools"] for name in expected if not expected[name]
    }


def test_a_change_is_followed_in_both_directions(
    registry: ToolRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in ("x", None, "", "y"):
        if value is None:
            monkeypatch.delenv("HB_KEY")
        else:
            monkeypatch.setenv("HB_KEY", value)
        assert registry.is_available("sign") is bool(value)
        assert ("sign" in listed(registry)) is bool(value)


REPORTS: dict[str, Callable[[ToolRegistry], object]] = {
    "check_toolset_requirements": lambda registry: registry.check_toolset_requirements(),
    "get_available_toolsets": lambda registry: registry.get_available_toolsets(),
    "check_tool_availability": lambda registry: registry.check_tool_availability(),
    "is_toolset_available": lambda registry: registry.is_toolset_available("terminal"),
    "listing": listed,
}


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("answer", [False, None])
def test_in_a_report_a_shared_check_runs_once(
    registry: ToolRegistry, box: Any, report: str, answer: Any
) -> None:
    registry.availability.ttl = 0
    box.answers["ready"] = answer
    for runs in (1, 2):
        REPORTS[report](registry)
        assert box.runs.count("ready") == runs


def test_a_report_is_coherent_while_a_check_flaps(registry: ToolRegistry, box: Any) -> None:
    registry.availability.ttl = registry.availability.grace = 0
    flips = iter(range(1_000))

    def flap() -> bool:
        return next(flips) % 2 == 0

    registry.register("run", handler=lambda args, **context: "", check_fn=flap, override=True)
    registry.register("stop", handler=lambda args, **context: "", check_fn=flap, override=True)
    for up in (True, False, True):
        available, unavailable = registry.check_tool_availability(quiet=True)
        assert ("terminal" in available) is up
        assert ("terminal" in {one["name"] for one in unavailable}) is not up


# Handlers


def test_no_handler_is_imported_where_no_check_is_declared(
    registry: ToolRegistry, program: Program
) -> None:
    assert registry.is_available("read")
    assert not registry.is_available("sign")
    assert registry.is_toolset_available("file")
    assert not [name for name in sys.modules if name.startswith(program.handlers)]


def test_tools_of_a_module_that_fails_to_import_say_so_and_the_others_stay(
    registry: ToolRegistry,
) -> None:
    [reason] = registry.why_unavailable("draw")
    assert "fails to import" in reason
    assert "hb_no_such_module" in reason
    assert "draw" not in listed(registry)
    assert {"read", "run", "stop", "loose"} <= listed(registry)


def test_registering_goes_on_while_a_check_blocks(registry: ToolRegistry) -> None:
    began, go_on = threading.Event(), threading.Event()
    found: list[dict[str, bool]] = []

    def slow() -> bool:
        began.set()
        return go_on.wait(60)

    registry.register("run", handler=lambda args, **context: "", check_fn=slow, override=True)
    thread = threading.Thread(target=lambda: found.append(registry.check_toolset_requirements()))
    thread.start()
    try:
        assert began.wait(60)
        registry.register("read", handler=lambda args, **context: "read")
        registry.register_toolset_alias("files", "file")
        assert registry.call("read", {"path": "x"}) == "read"
        assert registry.is_toolset_available("files")
    finally:
        go_on.set()
        thread.join(60)
    assert found[0]["terminal"] is True


def test_a_check_may_ask_its_registry(registry: ToolRegistry) -> None:
    def depends() -> bool:
        return registry.is_available("read") and registry.is_toolset_available("file")

    registry.register("run", handler=lambda args, **context: "", check_fn=depends, override=True)
    assert registry.is_available("run")
    assert registry.check_toolset_requirements()["terminal"] is True


def test_quiet_reports_log_nothing_and_others_once(
    registry: ToolRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "hermes_build.runtime")
    registry.check_tool_availability(quiet=True)
    registry.is_available("search")
    registry.why_unavailable("search")
    assert not [one for one in caplog.records if "unavailable" in one.getMessage()]
    for _ in range(3):
        registry.check_tool_availability()
    messages = [one.getMessage() for one in caplog.records]
    assert [one for one in messages if "search" in one] == [
        "Tool search is unavailable: set HB_KEY; set HB_TAVILY or HB_EXA"
    ]


# In a process of its own


def asked(program: Program, **environment: str) -> tuple[int, list[dict[str, Any]], str]:
    """What ``python -m hermes_build.runtime.reports`` says: exit code, lines, standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "hermes_build.runtime.reports", program.package],
        cwd=program.root,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(hermes_build.__file__).parent.parent),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_a_program_is_reported_on_line_by_line_with_those_that_are_asked_last(
    program: Program,
) -> None:
    status, lines, errors = asked(program, HB_KEY="x")
    assert (status, errors) == (0, "")
    assert lines[-1] == {"done": True}
    missing = {line["tool"]: line["missing"] for line in lines if "tool" in line}
    assert missing.pop("draw")[0].startswith("Handler module")
    assert missing == {
        "fetch": [],
        "loose": [],
        "read": [],
        "run": [],
        "search": ["set HB_TAVILY or HB_EXA"],
        "sign": [],
        "stop": [],
    }
    asking = [nth for nth, line in enumerate(lines) if "asking" in line]
    assert [lines[nth]["asking"] for nth in asking] == ["draw", "fetch", "run", "stop"]
    assert asking[0] == 4
    for nth in asking:
        assert lines[nth + 1]["tool"] == lines[nth]["asking"]


def test_what_handlers_print_is_not_mixed_into_the_report(tmp_path: Path) -> None:
    source = (
        "import os\nfrom {generated}.registry import registry\n"
        "def check():\n    print('printed', flush=True)\n    os.write(1, b'written')\n"
        "    return True\n"
        "@registry.handler('a', check_fn=check)\ndef handler(args): return ''\n"
    )
    tools = [tool("a", module="m", requires={"check": True})]
    program = write_program(tmp_path, tools, handlers={"m": source})
    status, lines, errors = asked(program)
    assert status == 0
    assert lines == [{"asking": "a"}, {"tool": "a", "missing": []}, {"done": True}]
    assert "printed" in errors
    assert "written" in errors


def test_a_program_is_named_by_its_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hermes_build.runtime.reports"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "PACKAGE" in done.stderr
