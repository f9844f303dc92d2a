"""Background processes are seen by their session alone, in bounded number, and never collide."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from handlers.refusal import Refusal
from handlers.shells import actions, processes
from handlers.shells.processes import Processes, scope_of
from tests.handlers.programs import LONG


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
