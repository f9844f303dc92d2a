"""A command is run as a person would run it, and nothing of it stays behind."""

from __future__ import annotations

import os
import signal
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from handlers.files.workspace import Workspace
from handlers.refusal import Refusal
from handlers.shells import running, starting, surroundings
from handlers.shells.excerpts import MOST
from handlers.shells.foreground import run
from tests.handlers.programs import LONG, alive, script


def timed_out(command: str, folder: Path, begun: Path) -> dict[str, Any]:
    """Run a command that never ends, with time enough to get as far as making a file."""
    for timeout in (0.5, 5.0, 50.0):
        answer = run(command, str(folder), timeout)
        assert answer["timed_out"]
        if begun.exists():
            return answer
    raise AssertionError(f"{command} did not begin")


def test_both_streams_come_interleaved_with_the_exit_code(tmp_path: Path) -> None:
    answer = run("echo one; echo two >&2; echo three; exit 3", str(tmp_path), LONG)
    assert answer["output"] == "one\ntwo\nthree\n"
    assert answer["exit_code"] == 3
    assert answer["duration_seconds"] >= 0
    assert set(answer) == {"output", "exit_code", "duration_seconds"}


def test_the_shell_is_bash_where_there_is_one(tmp_path: Path) -> None:
    if not surroundings.shell().endswith("bash"):
        pytest.skip("bash is not installed")
    assert run("words=(a b); echo ${words[1]}", str(tmp_path), LONG)["output"] == "b\n"


@pytest.mark.parametrize("pty", [False, True])
def test_nothing_waits_for_input(tmp_path: Path, pty: bool) -> None:
    answer = run("cat; echo over", str(tmp_path), LONG, pty)
    assert (answer["output"], answer["exit_code"]) == ("over\n", 0)


def test_what_is_no_text_is_replaced_and_escapes_are_removed(tmp_path: Path) -> None:
    command = r"printf '\xff\xc3(\033[1;31mred\033[0m\007\0)\r\n10%%\r100%%\n'"
    assert run(command, str(tmp_path), LONG)["output"] == "��(red)\n100%\n"


def test_an_end_by_signal_is_told_in_words(tmp_path: Path) -> None:
    answer = run("kill -SEGV $$", str(tmp_path), LONG)
    assert answer["exit_code"] == 139 and "signal 11 (SIGSEGV: " in answer["note"]
    answer = run("sh -c 'kill -9 $$'; exit $?", str(tmp_path), LONG)
    assert answer["exit_code"] == 137 and "a shell reports of signal 9 (SIGKILL" in answer["note"]
    assert "note" not in run("exit 255", str(tmp_path), LONG)


def test_a_command_that_is_not_found_is_a_result(tmp_path: Path) -> None:
    answer = run("no_such_command", str(tmp_path), LONG)
    assert answer["exit_code"] == 127 and "not found" in answer["output"]


def test_a_timeout_ends_the_grandchildren_and_gives_the_output_so_far(tmp_path: Path) -> None:
    (tmp_path / "child.sh").write_text(
        "echo $$ > pid.new; mv pid.new pid\n"
        "until [ -e go ]; do sleep 0.01; done; touch written; sleep 1000\n"
    )
    begun = tmp_path / "pid"
    answer = timed_out("echo begun; sh child.sh & sleep 1000", tmp_path, begun)
    assert answer["exit_code"] == 124 and answer["output"] == "begun\n"
    assert "was ended after" in answer["note"] and "timeout" in answer["note"]
    (tmp_path / "go").touch()
    assert not alive(int(begun.read_text()))
    assert not (tmp_path / "written").exists()


def test_one_that_ignores_the_request_to_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "TERM_SECONDS", 0.1)
    begun = tmp_path / "pid"
    command = "trap '' TERM; echo $$ > new; mv new pid; while :; do sleep 0.05; done"
    answer = timed_out(command, tmp_path, begun)
    assert answer["exit_code"] == 124
    assert not alive(int(begun.read_text()))


def test_one_that_stopped_itself_is_ended_too(tmp_path: Path) -> None:
    begun = tmp_path / "pid"
    timed_out("echo $$ > new; mv new pid; kill -STOP $$", tmp_path, begun)
    assert not alive(int(begun.read_text()))


def test_a_program_may_say_its_last_word_when_time_is_up(tmp_path: Path) -> None:
    command = "trap 'echo bye; exit' TERM; touch begun; while :; do sleep 0.01; done"
    assert timed_out(command, tmp_path, tmp_path / "begun")["output"].endswith("bye\n")


@pytest.mark.parametrize("redirected", ["", ">/dev/null 2>&1"])
def test_what_a_command_leaves_behind_does_not_hold_the_call_and_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, redirected: str
) -> None:
    monkeypatch.setattr(running, "GRACE", 0.05)
    answer = run(f"sleep 1000 {redirected} & echo $!", str(tmp_path), LONG)
    assert answer["exit_code"] == 0
    assert "left 1 process behind" in answer["note"] and "background" in answer["note"]
    assert not alive(int(answer["output"]))


def test_what_ends_soon_after_the_shell_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "GRACE", LONG)
    answer = run("(sleep 0.1; echo late) & echo soon", str(tmp_path), LONG)
    assert answer["output"] == "soon\nlate\n" and "note" not in answer


@pytest.mark.parametrize("redirected", ["", ">/dev/null 2>&1"])
def test_a_daemon_in_a_session_of_its_own_runs_on_and_does_not_hold_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, redirected: str
) -> None:
    monkeypatch.setattr(running, "GRACE", 0.05)
    (tmp_path / "daemon.py").write_text(
        "import os, time\nos.setsid()\nopen('new', 'w').write(str(os.getpid()))\n"
        "os.rename('new', 'pid')\ntime.sleep(1000)\n"
    )
    command = f"{sys.executable} daemon.py {redirected} & until [ -e pid ]; do :; done; echo up"
    answer = run(command, str(tmp_path), LONG)
    daemon = int((tmp_path / "pid").read_text())
    try:
        assert answer["output"] == "up\n" and answer["exit_code"] == 0
        assert ("holds its output" in answer.get("note", "")) is not bool(redirected)
        assert alive(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_a_command_that_closes_its_output_is_waited_for(tmp_path: Path) -> None:
    answer = run("exec >&- 2>&-; sleep 0.1; touch made; exit 4", str(tmp_path), LONG)
    assert answer["exit_code"] == 4 and (tmp_path / "made").exists()


@pytest.mark.parametrize("pty", [False, True])
def test_a_terminal_is_there_when_it_is_asked_for(tmp_path: Path, pty: bool) -> None:
    command = "test -t 0 && test -t 1 && test -t 2 && : </dev/tty && tty || echo none"
    answer = run(command, str(tmp_path), LONG, pty)
    lines = answer["output"].splitlines()
    assert lines[-1].startswith("/dev/") if pty else lines[-1] == "none"


def test_the_keyboard_of_a_terminal_can_interrupt(tmp_path: Path) -> None:
    shown: list[bytes] = []
    command = "trap 'echo interrupted; exit' INT; echo ready; while :; do sleep 0.01; done"
    one = starting.start(command, str(tmp_path), shown.append, pty=True, writable=True)
    with ThreadPoolExecutor(1) as pool:
        followed = pool.submit(one.follow, LONG)
        while b"ready" not in b"".join(shown):
            assert not one.done.wait(0.01)
        one.write(b"\x03")
        followed.result()
    assert b"interrupted" in b"".join(shown) and one.returncode == 0


def test_a_flood_takes_little_memory_and_little_of_the_answer(tmp_path: Path) -> None:
    tracemalloc.start()
    try:
        answer = run("yes | head -c 60000000; echo; echo the end", str(tmp_path), LONG)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000
    assert len(answer["output"]) < MOST + 100
    assert answer["output"].startswith("y\ny\n") and answer["output"].endswith("\nthe end\n")
    mark = f"[... {answer['omitted_bytes']:,} bytes of output left out ...]\n"
    assert answer["output"].count(mark) == 1
    kept = len(answer["output"]) - len(mark)
    assert kept + answer["omitted_bytes"] == 60_000_000 + len("\nthe end\n")


def test_a_flood_without_lines_or_text_is_survived(tmp_path: Path) -> None:
    answer = run("head -c 30000000 /dev/zero; printf '\\xff\\xfe'", str(tmp_path), LONG)
    assert answer["exit_code"] == 0 and answer["output"].endswith("��")


def test_output_up_to_the_limit_is_whole(tmp_path: Path) -> None:
    answer = run(f"head -c {MOST} /dev/zero | tr '\\0' x", str(tmp_path), LONG)
    assert answer["output"] == "x" * MOST and "omitted_bytes" not in answer
    answer = run(f"head -c {MOST + 1} /dev/zero | tr '\\0' x", str(tmp_path), LONG)
    assert answer["omitted_bytes"] == 1


def test_calls_at_the_same_time_do_not_mix(tmp_path: Path) -> None:
    def one(number: int) -> dict[str, Any]:
        command = f"for i in 1 2 3; do echo {number}; sleep 0.01; done; exit {number}"
        return run(command, str(tmp_path), LONG, pty=number % 4 == 0)

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(one, range(20)))
    for number, answer in enumerate(answers):
        assert (answer["output"], answer["exit_code"]) == (f"{number}\n" * 3, number)


def test_neither_descriptors_nor_zombies_are_left(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    for pty in (False, True):
        pids = []
        for _ in range(3):
            pids.append(int(run("echo $$", str(tmp_path), LONG, pty)["output"]))
        with pytest.raises(Refusal):
            run("true", str(tmp_path / "missing"), LONG, pty)
        for pid in pids:
            with pytest.raises(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
    assert len(os.listdir("/dev/fd")) <= before


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo \0", "NUL"),
        ("echo \ud800", "surrogate"),
        (": " + "x" * 131_072, "Write it to a file"),
        (": " + "é" * 70_000, "Write it to a file"),
    ],
)
def test_a_command_that_cannot_be_started_is_refused(
    tmp_path: Path, command: str, message: str
) -> None:
    with pytest.raises(Refusal, match=message):
        run(command, str(tmp_path), LONG)


def test_the_longest_command_that_is_let_through_is_one_that_the_system_takes(
    tmp_path: Path,
) -> None:
    command = "echo ok #" + "x" * (128 * 1024 - 2 - len("echo ok #"))
    assert run(command, str(tmp_path), LONG)["output"] == "ok\n"


def test_a_workdir_is_taken_from_the_workspace_on(workspace: Workspace, root: Path) -> None:
    (root / "sub dir").mkdir()
    (root / "file").touch()
    folder = surroundings.folder(workspace, "sub dir")
    assert run("pwd", folder, LONG)["output"] == f"{root / 'sub dir'}\n"
    assert surroundings.folder(workspace, ".") == str(root)
    assert surroundings.folder(workspace, "/") == "/"
    assert surroundings.folder(workspace, "~") == os.path.realpath(os.path.expanduser("~"))
    for path, message in [
        ("missing", "does not exist"),
        ("file", "is not a folder"),
        ("file/below", "does not exist"),
        ("a\0", "NUL"),
        ("\ud800", "surrogate"),
        ("x" * 5000, "too long|does not exist"),
    ]:
        with pytest.raises(Refusal, match=message):
            surroundings.folder(workspace, path)


def test_what_looks_like_a_credential_is_passed_on_only_by_name() -> None:
    secret = {
        "OPENAI_API_KEY": "1", "GITHUB_TOKEN": "2", "AWS_SECRET_ACCESS_KEY": "3",
        "PGPASSWORD": "4", "client_secret": "5", "GOOGLE_APPLICATION_CREDENTIALS": "6",
    }  # fmt: skip
    plain = {"PATH": "/bin", "TOKENIZERS_PARALLELISM": "false", "SSH_AUTH_SOCK": "/s", "KEYMAP": ""}
    assert surroundings.environment(False, {**secret, **plain}) == plain
    named = {**plain, surroundings.PASSED: "GITHUB_TOKEN, PGPASSWORD"}
    given = surroundings.environment(False, {**secret, **named})
    assert given == {**named, "GITHUB_TOKEN": "2", "PGPASSWORD": "4"}
    everything = {**secret, **plain, surroundings.PASSED: "*"}
    assert surroundings.environment(False, everything) == everything


def test_an_interrupt_from_the_keyboard_ends_the_command(tmp_path: Path) -> None:
    shown = script(
        """
import os, pathlib, signal, threading, time
from handlers.shells.foreground import run

def interrupt():
    while not pathlib.Path("pid").exists():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    run("echo $$ > new; mv new pid; sleep 1000 & wait", ".", 300)
except KeyboardInterrupt:
    print("interrupted")
""",
        tmp_path,
    )
    assert shown == "interrupted\n"
    assert not alive(int((tmp_path / "pid").read_text()))
