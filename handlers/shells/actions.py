"""The actions of `process`, each a function of one process that gives its answer."""

from __future__ import annotations

from typing import Any

from handlers.refusal import Refusal
from handlers.shells import endings
from handlers.shells.cleaning import clean
from handlers.shells.excerpts import Excerpt, excerpt_of_text
from handlers.shells.processes import Process

_LONGEST_COMMAND = 200


def describe(process: Process) -> dict[str, Any]:
    """One entry of a listing."""
    command = process.command
    if len(command) > _LONGEST_COMMAND:
        command = command[:_LONGEST_COMMAND] + "..."
    answer = {**_state(process), "pid": process.running.pid, "command": command}
    return {**answer, "workdir": process.folder, "new_output_bytes": process.unseen}


def poll(process: Process) -> dict[str, Any]:
    """Its state, and what it has written since the last look."""
    state = _state(process)  # first: of one that has ended, all output is there
    return _with(state, process.news())


def wait(process: Process, timeout: int) -> dict[str, Any]:
    """The same, once it has ended or ``timeout`` seconds have passed."""
    ended = process.running.done.wait(timeout)
    answer = poll(process)
    if not ended:
        answer["timed_out"] = True
        answer["note"] = f"The process still runs after {timeout} s of waiting."
    return answer


def kill(process: Process) -> dict[str, Any]:
    """End it with every process of its group; of one that has ended, how it did."""
    process.running.stop()
    return poll(process)


def write(process: Process, data: str, submit: bool = False) -> dict[str, Any]:
    """Write text to its input; ``submit`` presses Enter after it.

    Raises:
        Refusal: when it has ended, its input is closed, or it does not read what is written.
    """
    enter = "\r" if process.running.pty else "\n"
    content = (data + enter * submit).encode("utf-8", "replace")
    written = process.running.write(content)
    if written < len(content):
        raise Refusal(
            f"The process took {written} of {len(content)} bytes, and does not read on.",
            written_bytes=written,
            **_state(process),
        )
    return {**_state(process), "written_bytes": written}


def close(process: Process) -> dict[str, Any]:
    """Let it read the end of its input.

    Raises:
        Refusal: when it has ended, or its input is closed already.
    """
    process.running.close_input()
    return {**_state(process), "input": "closed"}


def log(process: Process, offset: int | None, limit: int) -> dict[str, Any]:
    """A page of its output by line numbers, counted from 1 over all that it has written.

    Without ``offset`` it is the last page. Lines that are not kept any more are passed over.

    Raises:
        Refusal: when the offset is past the end.
    """
    state = _state(process)
    data, lost, lost_lines = process.kept()
    lines = clean(data).split("\n")
    if lines[-1] == "":
        lines.pop()
    first = lost_lines + 1
    if lost and len(lines) > 1:
        # Of the first line that is kept, the beginning may be missing.
        del lines[0]
        first += 1
    total = first + len(lines) - 1
    if offset is not None and offset > max(total, 1):
        raise Refusal(f"The output has {total} lines; the offset is past its end.", lines=total)
    begin = max(first, total - limit + 1 if offset is None else offset)
    page = lines[begin - first : begin - first + limit]
    answer = {**state, "first_line": begin, "lines": len(page), "total_lines": total}
    if begin + len(page) <= total:
        answer["next_offset"] = begin + len(page)
    if lost:
        answer["first_line_kept"] = first
    return _with(answer, excerpt_of_text("\n".join(page)))


def _state(process: Process) -> dict[str, Any]:
    status = process.status
    answer: dict[str, Any] = {"process_id": process.name, "status": status}
    if status != "running":
        answer["exit_code"] = process.exit_code
    answer["runtime_seconds"] = process.seconds
    if status != "running" and (notes := endings.notes(process.running)):
        answer["note"] = " ".join(notes)
    return answer


def _with(answer: dict[str, Any], shown: Excerpt) -> dict[str, Any]:
    if shown.omitted:
        answer["omitted_bytes"] = shown.omitted
    return {**answer, "output": shown.text}
