"""A background process is read, written to, waited for and killed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from handlers.refusal import Refusal
from handlers.shells import actions, running
from handlers.shells.excerpts import MOST
from handlers.shells.processes import KEPT, Process, Processes
from tests.handlers.programs import LONG, alive


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
