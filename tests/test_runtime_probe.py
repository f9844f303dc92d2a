"""The probe that `hermes-build check` runs in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hermes_build
from hermes_build.compiler import drift
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import read_project
from tests.runtime_program import Program, tool, write_program


def probe(program: Program, *arguments: str) -> tuple[int, dict[str, Any], str]:
    answer = subprocess.run(
        [sys.executable, "-m", "hermes_build.runtime.probe", *(arguments or (program.package,))],
        cwd=program.root,
        env={**os.environ, "PYTHONPATH": str(Path(hermes_build.__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    *_, report = ["{}", *answer.stdout.splitlines()]
    return answer.returncode, json.loads(report), answer.stderr


def test_a_sound_program_is_ok_whatever_its_handlers_print(tmp_path: Path) -> None:
    source = (
        "import os, subprocess, sys, threading, time\n"
        "from {generated}.tools import a\n"
        "print('printed')\n"
        "os.write(1, b'written')\n"
        "subprocess.run([sys.executable, '-c', 'print(\"a child\")'])\n"
        "threading.Thread(target=time.sleep, args=(30,)).start()\n"
        "@a.implements\n"
        "def handler(args): return ''\n"
    )
    program = write_program(tmp_path, [tool("a", module="m")], handlers={"m": source})
    status, report, errors = probe(program)
    imported = report.pop("imported")
    assert report == {"ok": True, "mismatches": [], "failures": []}
    assert str(program.root / program.handlers / "m.py") in imported
    assert str(program.root / program.package / "registry.py") in imported
    assert status == 0
    for text in ("printed", "written", "a child"):
        assert text in errors


def test_drift_and_failures_are_reported_as_data(tmp_path: Path) -> None:
    handlers = {
        "drift": "from {generated}.registry import registry\n\n"
        "@registry.handler('a')\ndef handler(*, path, offset=1, limit=5): return ''\n",
        "broken": "raise SystemExit(4)\n",
    }
    tools = [tool("a", module="drift"), tool("b", module="broken"), tool("c")]
    program = write_program(tmp_path, tools, handlers=handlers)
    status, report, _ = probe(program)
    assert status == 1
    assert report["ok"] is False
    assert report["mismatches"] == [
        {
            "tool": "a",
            "kind": "default",
            "code": "HB3007",
            "message": "the default of `limit` is 5 in the handler and 500 in the spec "
            "(it may be left out in the handler)",
            "spec": {"path": "tool_specs/a.yaml", "line": 1},
            "handler": {"path": f"{program.handlers}/drift.py", "line": 3},
        },
        {
            "tool": "c",
            "kind": "missing",
            "code": "HB3001",
            "message": "a handler must register this tool, and no handler module does",
            "spec": {"path": "tool_specs/c.yaml", "line": 1},
            "handler": None,
        },
    ]
    assert report["failures"] == [
        {
            "module": f"{program.handlers}.broken",
            "error": "SystemExit: 4",
            "tools": ["b"],
            "path": f"{program.handlers}/broken.py",
            "line": 1,
        }
    ]


def test_a_registry_that_cannot_be_imported_is_reported_too(tmp_path: Path) -> None:
    program = write_program(tmp_path, [tool("a", handler="external")])
    program.catalogue.unlink()
    status, report, _ = probe(program)
    assert (status, report["ok"]) == (1, False)
    assert "hermes-build compile" in report["failures"][0]["error"]
    assert report["failures"][0]["module"] == f"{program.package}.registry"
    _, report, _ = probe(program, "no_such_package")
    assert "ModuleNotFoundError" in report["failures"][0]["error"]


def test_usage_goes_to_stderr(tmp_path: Path) -> None:
    program = write_program(tmp_path, [tool("a", handler="external")])
    status, report, errors = probe(program, "one", "two")
    assert (status, report) == (2, {})
    assert "usage" in errors


def test_each_import_is_told_before_it_begins(tmp_path: Path) -> None:
    handlers = {"first": "", "last": "import os\nos._exit(3)\n"}
    tools = [tool("a", module="first"), tool("b", module="last"), tool("c", module="last")]
    program = write_program(tmp_path, tools, handlers=handlers)
    answer = subprocess.run(
        [sys.executable, "-m", "hermes_build.runtime.probe", program.package],
        cwd=program.root,
        env={**os.environ, "PYTHONPATH": str(Path(hermes_build.__file__).parent.parent)},
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 3
    assert [json.loads(line) for line in answer.stdout.splitlines()] == [
        {"importing": f"{program.package}.registry", "tools": []},
        {"importing": f"{program.handlers}.first", "tools": ["a"]},
        {"importing": f"{program.handlers}.last", "tools": ["b", "c"]},
    ]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import os\nos._exit(3)", "importing `{module}` ended the process with exit code 3"),
        ("import os\nos.abort()", "importing `{module}` ended the process with SIGABRT"),
        (
            "import ctypes\nctypes.string_at(0)",
            "importing `{module}` ended the process with SIGSEGV",
        ),
        ("raise KeyboardInterrupt", "importing `{module}` ended the process with SIGINT"),
        (
            "import time\ntime.sleep(60)",
            "importing the handlers took more than 2 seconds, and had come to `{module}`",
        ),
    ],
    ids=["exit", "abort", "segmentation fault", "interrupt", "hang"],
)
def test_an_import_that_never_ends_is_reported_with_the_module_and_the_tools_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, says: str
) -> None:
    monkeypatch.setattr(drift, "PATIENCE", 2.0 if "sleep" in source else 60.0)
    tools = [tool("a", module="sound"), tool("b", module="lethal"), tool("c", module="lethal")]
    handlers = {"lethal": f"print('last words', flush=True)\n{source}\n", "sound": ""}
    program = write_program(tmp_path, tools, handlers=handlers)
    (tmp_path / "hermes-build.toml").write_text(f"output = {program.package!r}\n")
    findings = Findings()
    drift.probe_handlers(read_project(tmp_path, findings), findings)
    (found,) = findings
    assert (found.code, found.message) == (
        "HB3008",
        says.format(module=f"{program.handlers}.lethal"),
    )
    assert found.span is not None
    assert found.span.path == f"{program.handlers}/lethal.py"
    assert found.notes[0] == "lost with it: `b`, `c`"
    # The end of what was printed: the last words, or the traceback after them.
    assert "last words" in found.notes or "lethal.py" in "".join(found.notes)
