"""No background process outlives the program, and a model meets both tools whole."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.handlers.calling import HERE
from tests.handlers.programs import LONG, alive, script


def test_nothing_outlives_the_program(tmp_path: Path) -> None:
    script(
        """
import pathlib, threading, time
from handlers.shells.foreground import run
from handlers.shells.processes import PROCESSES

PROCESSES.start("s", "sh -c 'echo $$ > a.new; mv a.new a; sleep 1000' & sleep 1000", ".")
PROCESSES.start("s", "trap '' TERM; echo $$ > b.new; mv b.new b; while :; do sleep 1; done", ".")
PROCESSES.start("s", "trap '' HUP; echo $$ > c.new; mv c.new c; sleep 1000; :", ".", pty=True)
command = "echo $$ > d.new; mv d.new d; sleep 1000; :"
threading.Thread(target=run, args=(command, ".", 1000), daemon=True).start()
while not all(map(pathlib.Path.exists, map(pathlib.Path, "abcd"))):
    time.sleep(0.01)
""",
        tmp_path,
    )
    # What was killed may take a moment to be gone.
    for name in "abcd":
        while alive(int((tmp_path / name).read_text())):
            time.sleep(0.01)


def test_a_forked_child_does_not_end_what_is_its_parents(tmp_path: Path) -> None:
    shown = script(
        """
import os, sys
from handlers.shells.processes import PROCESSES

process = PROCESSES.start("s", "sleep 1000", ".")
child = os.fork()
if not child:
    sys.exit(0)
os.waitpid(child, 0)
print(process.running.done.wait(0.2), process.status)
""",
        tmp_path,
    )
    assert shown == "False running\n"


CALLS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from generated.registry import registry

def call(name, session="one", **args):
    return json.loads(registry.call(name, args, session_id=session))

one = call("terminal", command="read x; echo got $x", background=True)
of = {"process_id": one["process_id"]}
print(json.dumps([
    call("terminal", command="pwd; echo $SOME_API_KEY"),
    call("terminal", command="cd /; sleep 1000", timeout=1),
    one,
    call("process", action="list", session="two"),
    call("process", action="poll", session="two", **of),
    call("process", action="submit", data="it", **of),
    call("process", action="wait", **of),
    call("process", action="log", **of),
    call("process", action="list"),
    call("process", action="poll"),
    call("process", action="write", **of),
    call("process", action="stop"),
    call("terminal", command=" "),
    call("terminal", command="pwd", workdir="none"),
    call("terminal", command="true", timeout=601),
]))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    for name in ("handlers", "tool_specs", "toolsets"):
        (folder / name).mkdir()
    for name in ("files", "shells"):
        shutil.copytree(HERE / "handlers" / name, folder / "handlers" / name)
    (folder / "handlers" / "__init__.py").touch()
    for name in (
        "handlers/refusal.py",
        "handlers/terminal.py",
        "handlers/process.py",
        "toolsets/terminal.yaml",
        "tool_specs/terminal.yaml",
        "tool_specs/process.yaml",
    ):
        shutil.copy(HERE / name, folder / name)
    (folder / "hermes-build.toml").write_text('handlers = ["handlers"]\n')
    for command in (["compile"], ["check", "--strict"]):
        subprocess.run(
            [sys.executable, "-m", "hermes_build", *command, "-C", str(folder)],
            check=True, env={**os.environ, "PYTHONPATH": str(HERE)}, timeout=LONG,
        )  # fmt: skip
    return folder


def test_both_tools_as_a_model_meets_them(program: Path, root: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLS, str(program)], cwd=program, text=True,
        env={**os.environ, "PYTHONPATH": str(HERE), "HERMES_WORKSPACE": str(root),
             "SOME_API_KEY": "secret"},
        capture_output=True, timeout=LONG,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    assert answers[0]["output"] == f"{root}\n\n"
    assert answers[1]["timed_out"] and answers[1]["exit_code"] == 124
    assert set(answers[2]) == {"process_id", "pid", "status"}
    assert answers[3] == {"processes": []}
    assert "There is no process" in answers[4]["error"] and answers[4]["processes"] == []
    assert answers[5]["written_bytes"] == 3
    assert answers[6]["output"] == "got it\n" and answers[6]["exit_code"] == 0
    assert answers[7]["output"] == "got it"
    assert [one["process_id"] for one in answers[8]["processes"]] == [answers[2]["process_id"]]
    assert "needs a process_id" in answers[9]["error"] and len(answers[9]["processes"]) == 1
    assert "needs data" in answers[10]["error"]
    assert [sorted(one) for one in answers[11:13]] == [["error"], ["error"]]
    assert "does not exist" in answers[13]["error"] and "600" in answers[14]["error"]
