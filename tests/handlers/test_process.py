"""Background processes are seen by their session alone, and none outlives the program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from handlers.refusal import Refusal
from handlers.shells import actions, processes, running
from handlers.shells.excerpts import MOST
from handlers.shells.processes import KEPT, Process, Processes, scope_of

HERE = Path(__file__).parents[2]
LONG = 300
"""Seconds that nothing here needs, on the slowest machine."""


@pytest.fixture
def table() -> Iterator[Processes]:
    """A table whose processes are all ended after the test."""
    one = Processes()
    yield one
    for process in list(one._table.values()):
        process.running.stop()


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return shown.stdout.strip()[:1] not in ("", "Z", "X")


def until(process: Process, text: str) -> str:
    """Poll until a text is there; all that was read on the way."""
    seen = ""
    while text not in seen:
        answer = actions.poll(process)
        seen += answer["output"]
        assert text in seen or answer["status"] == "running", seen
        time.sleep(0.005)
    return seen


def appeared(file: Path) -> str:
    """The content of a file, once it is there."""
    while not file.exists():
        time.sleep(0.005)
    return file.read_text()


def test_a_poll_gives_what_is_new_and_the_state(table: Processes, tmp_path: Path) -> None:
    process = table.start("s", "echo one; read line; echo got $line; exit 3", str(tmp_path))
    assert process.name.startswith("proc_")
    assert until(process, "one\n") == "one\n"
    again = actions.poll(process)
    assert (again["status"], again["output"]) == ("running", "")
    assert "exit_code" not in again and again["process_id"] == process.name
    assert actions.write(process, "two\n")["written_bytes"] == 4
    answer = actions.wait(process, LONG)
    assert (answer["status"], answer["exit_code"]) == ("exited", 3)
    assert answer["output"] == "got two\n"
    assert actions.poll(process)["output"] == ""


def test_a_wait_ends_when_its_time_is_up_and_the_process_does_not(
    table: Processes, tmp_path: Path
) -> None:
    process = table.start("s", "sleep 1000", str(tmp_path))
    answer = actions.wait(process, 0)
    assert answer["timed_out"] and answer["status"] == "running"
    assert alive(process.running.pid)


def test_half_a_character_waits_for_its_other_half(table: Processes, tmp_path: Path) -> None:
    command = r"printf 'a\303'; read x; printf '\251\n'; read x"
    process = table.start("s", command, str(tmp_path))
    assert until(process, "a") == "a"
    actions.write(process, "", submit=True)
    assert until(process, "\n") == "é\n"


def test_input_is_written_submitted_and_closed(table: Processes, tmp_path: Path) -> None:
    process = table.start("s", "cat; echo over", str(tmp_path))
    actions.write(process, "a")
    actions.write(process, "b", submit=True)
    assert until(process, "\n") == "ab\n"
    assert actions.close(process)["input"] == "closed"
    answer = actions.wait(process, LONG)
    assert (answer["output"], answer["exit_code"]) == ("over\n", 0)
    for act in (actions.close, lambda one: actions.write(one, "x")):
        with pytest.raises(Refusal, match="has ended"):
            act(process)


def test_writing_after_the_close_is_refused(table: Processes, tmp_path: Path) -> None:
    process = table.start("s", "sleep 1000", str(tmp_path))
    actions.close(process)
    for act in (actions.close, lambda one: actions.write(one, "x")):
        with pytest.raises(Refusal, match="input of the process is closed"):
            act(process)


def test_one_that_does_not_read_does_not_hold_the_call(
    table: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "WRITE_SECONDS", 0.2)
    process = table.start("s", "sleep 1000", str(tmp_path))
    with pytest.raises(Refusal, match="does not read on") as caught:
        actions.write(process, "x" * 1_000_000)
    assert 0 < caught.value.fields["written_bytes"] < 1_000_000
    deaf = table.start("s", "exec <&-; echo closed; sleep 1000", str(tmp_path))
    until(deaf, "closed")
    with pytest.raises(Refusal, match="does not read its input"):
        actions.write(deaf, "x")


def test_a_large_input_arrives_whole(table: Processes, tmp_path: Path) -> None:
    process = table.start("s", "wc -c", str(tmp_path))
    actions.write(process, "é" * 500_000)
    actions.close(process)
    assert actions.wait(process, LONG)["output"].strip() == "1000000"


def test_a_dialogue_over_a_terminal(table: Processes, tmp_path: Path) -> None:
    command = "stty -echo; printf 'name? '; read name; echo hello $name; cat; echo over"
    process = table.start("s", command, str(tmp_path), pty=True)
    assert until(process, "name? ") == "name? "
    actions.write(process, "Ada", submit=True)
    assert until(process, "\n") == "hello Ada\n"
    actions.write(process, "no line end")
    actions.close(process)
    answer = actions.wait(process, LONG)
    assert (answer["output"], answer["exit_code"]) == ("no line endover\n", 0)


def test_killing_ends_the_whole_group(table: Processes, tmp_path: Path) -> None:
    command = "sh -c 'echo $$ > new; mv new pid; sleep 1000; touch written' & sleep 1000"
    process = table.start("s", command, str(tmp_path))
    child = int(appeared(tmp_path / "pid"))
    answer = actions.kill(process)
    assert answer["status"] == "killed" and answer["exit_code"] == 143
    assert "on request by signal 15" in answer["note"]
    assert not alive(child) and not alive(process.running.pid)
    assert not (tmp_path / "written").exists()
    again = actions.kill(process)
    assert (again["status"], again["exit_code"]) == ("killed", 143)


def test_killing_insists(table: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "TERM_SECONDS", 0.05)
    process = table.start(
        "s", "trap '' TERM; echo ready; while :; do sleep 0.05; done", str(tmp_path)
    )
    until(process, "ready")
    assert actions.kill(process)["exit_code"] == 137
    assert not alive(process.running.pid)


def test_killing_what_has_ended_tells_how_it_did(table: Processes, tmp_path: Path) -> None:
    process = table.start("s", "echo x; exit 7", str(tmp_path))
    process.running.done.wait(LONG)
    answer = actions.kill(process)
    assert (answer["status"], answer["exit_code"], answer["output"]) == ("exited", 7, "x\n")


def test_what_a_shell_leaves_behind_ends_with_it(
    table: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "GRACE", 0.05)
    process = table.start("s", "sleep 1000 & echo $!", str(tmp_path))
    answer = actions.wait(process, LONG)
    assert answer["status"] == "exited" and "without `&`" in answer["note"]
    assert not alive(int(answer["output"]))


def test_a_flood_does_not_hold_the_process_and_is_counted(table: Processes, tmp_path: Path) -> None:
    process = table.start("s", "seq 1 2000000", str(tmp_path))
    total = sum(len(str(number)) + 1 for number in range(1, 2_000_001))
    answer = actions.wait(process, LONG)  # nobody read in the meantime
    assert answer["exit_code"] == 0 and answer["output"].endswith("\n1999999\n2000000\n")
    mark = f"[... {answer['omitted_bytes']:,} bytes of output left out ...]\n"
    assert answer["output"].startswith(mark)  # what is lost stood before
    shown = len(answer["output"]) - len(mark)
    assert shown <= MOST and shown + answer["omitted_bytes"] == total
    data, lost, lines = process.kept()
    assert len(data) == KEPT and len(data) + lost == total
    assert lines + data.count(b"\n") == 2_000_000


def test_a_log_is_paged_by_line_numbers(table: Processes, tmp_path: Path) -> None:
    process = table.start("s", "seq 1 100; printf end", str(tmp_path))
    process.running.done.wait(LONG)
    last = actions.log(process, None, 3)
    assert (last["output"], last["first_line"], last["lines"]) == ("99\n100\nend", 99, 3)
    assert last["total_lines"] == 101 and "next_offset" not in last
    pages, offset = "", 1
    while offset:
        page = actions.log(process, offset, 40)
        pages += page["output"] + "\n"
        offset = page.get("next_offset", 0)
    assert pages.split() == [*map(str, range(1, 101)), "end"]
    with pytest.raises(Refusal, match="101 lines"):
        actions.log(process, 102, 1)
    assert actions.poll(process)["output"].startswith("1\n2\n")  # a log is not a look


def test_a_log_keeps_its_numbers_when_lines_are_dropped(table: Processes, tmp_path: Path) -> None:
    process = table.start("s", "seq 1 100000", str(tmp_path))
    process.running.done.wait(LONG)
    page = actions.log(process, 1, 2)
    first = page["first_line_kept"]
    assert page["first_line"] == first > 1 and page["total_lines"] == 100_000
    assert page["output"] == f"{first}\n{first + 1}"
    page = actions.log(process, 99_000, 2)
    assert (page["output"], page["next_offset"]) == ("99000\n99001", 99_002)


def test_a_log_of_nothing_and_one_of_a_single_endless_line(
    table: Processes, tmp_path: Path
) -> None:
    silent = table.start("s", "true", str(tmp_path))
    silent.running.done.wait(LONG)
    assert actions.log(silent, None, 10)["lines"] == actions.log(silent, 1, 10)["lines"] == 0
    endless = table.start("s", "head -c 1000000 /dev/zero | tr '\\0' x", str(tmp_path))
    endless.running.done.wait(LONG)
    page = actions.log(endless, None, 10)
    assert page["total_lines"] == 1 and len(page["output"]) < MOST + 100


def test_a_session_does_not_see_the_processes_of_another(table: Processes, tmp_path: Path) -> None:
    mine = table.start(scope_of("a", "t"), "sleep 1000", str(tmp_path))
    other = table.start(scope_of("b", "t"), "sleep 1000", str(tmp_path))
    assert [one.name for one in table.of(scope_of("a", "other task"))] == [mine.name]
    for scope in (scope_of("b", "t"), scope_of("", "a"), scope_of("", "")):
        with pytest.raises(Refusal, match="no process") as caught:
            table.find(scope, mine.name)
        assert mine.name not in caught.value.fields["processes"]
    assert table.find(scope_of("b", ""), other.name) is other


def test_a_listing_tells_what_runs_where(table: Processes, tmp_path: Path) -> None:
    long = table.start("s", "sleep 1000 # " + "x" * 1000, str(tmp_path))
    short = table.start("s", "echo hello", str(tmp_path))
    short.running.done.wait(LONG)
    first, second = map(actions.describe, table.of("s"))
    assert (first["process_id"], first["status"]) == (long.name, "running")
    assert first["pid"] == long.running.pid and first["workdir"] == str(tmp_path)
    assert first["command"].startswith("sleep 1000") and len(first["command"]) < 300
    assert (second["exit_code"], second["new_output_bytes"]) == (0, 6)


def test_what_has_ended_is_remembered_for_a_bounded_time_and_count(
    table: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MOST_ENDED", 2)
    monkeypatch.setattr(processes, "MOST_ENDED_OVERALL", 3)
    runs = table.start("a", "sleep 1000", str(tmp_path))
    names: dict[str, list[str]] = {"a": [], "b": []}
    for scope in "aaabb":
        one = table.start(scope, "true", str(tmp_path))
        while one.ended_at is None:
            time.sleep(0.001)
        names[scope].append(one.name)
    assert [one.name for one in table.of("b")] == names["b"]
    assert [one.name for one in table.of("a")] == [runs.name, names["a"][-1]]
    monkeypatch.setattr(processes, "REMEMBERED_SECONDS", -1.0)
    assert table.of("b") == [] and table.of("a") == [runs]


def test_no_session_starts_processes_without_end(
    table: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MOST_RUNNING", 2)
    for _ in range(2):
        table.start("a", "sleep 1000", str(tmp_path))
    with pytest.raises(Refusal, match="Kill one first"):
        table.start("a", "true", str(tmp_path))
    table.start("b", "true", str(tmp_path))


def test_a_process_that_cannot_be_started_is_not_listed(table: Processes, tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="cannot be started"):
        table.start("s", "true", str(tmp_path / "missing"))
    assert table.of("s") == []


def test_twenty_at_once_are_reaped_and_leave_no_descriptors(
    table: Processes, tmp_path: Path
) -> None:
    before = len(os.listdir("/dev/fd"))

    def one(number: int) -> tuple[int, int, str]:
        pty = number % 4 == 0
        process = table.start("s", f"read x; echo {number}$x; exit {number}", str(tmp_path), pty)
        actions.write(process, "!", submit=True)
        answer = actions.wait(process, LONG)
        return process.running.pid, answer["exit_code"], answer["output"].splitlines()[-1]

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(one, range(20)))
    for number, (pid, code, last) in enumerate(answers):
        assert (code, last) == (number, f"{number}!")
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    # A process is done just before its descriptors are closed.
    while len(os.listdir("/dev/fd")) > before:
        time.sleep(0.01)


def test_killing_polling_and_writing_at_once_is_safe(table: Processes, tmp_path: Path) -> None:
    process = table.start("s", "while read x; do echo $x; done", str(tmp_path))

    def act(number: int) -> None:
        try:
            if number == 30:
                actions.kill(process)
            elif number % 2:
                actions.write(process, "x\n")
            else:
                actions.poll(process)
        except Refusal as refusal:
            assert "ended" in str(refusal) or "not read" in str(refusal)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(act, range(60)))
    assert actions.poll(process)["status"] == "killed"


def script(text: str, folder: Path) -> str:
    """Run a program of its own in a folder; what it wrote."""
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=folder, env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True, text=True, timeout=LONG,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


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
