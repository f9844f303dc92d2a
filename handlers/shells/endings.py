"""How a command ended, as a number and in words."""

from __future__ import annotations

import signal

from handlers.shells.running import Running

TIMED_OUT = 124
"""The exit code of a command that ran out of time, as `timeout` of coreutils has it."""


def exit_code(running: Running) -> int | None:
    """The exit code as a shell reports it: 128 and the signal's number for one ended by a signal.

    None for a command that still runs, or that could not be ended.
    """
    if running.timed_out:
        return TIMED_OUT
    code = running.returncode
    return code if code is None or code >= 0 else 128 - code


def notes(running: Running, timeout: float = 0.0) -> list[str]:
    """Sentences on what a model cannot tell from the exit code and the output.

    Args:
        running: a command that is done.
        timeout: the seconds that it was given.
    """
    said: list[str] = []
    code = running.returncode
    if running.timed_out:
        said.append(
            f"The command was ended after {timeout:g} s, with every process of its group. Give it "
            "a longer timeout, or start it with background."
        )
    elif code is not None and code < 0:
        by_us = " on request" if running.stopped else ""
        said.append(f"The command was ended{by_us} by signal {_signal(-code)}.{_guess(running)}")
    elif code is not None and code > 128 and _known(code - 128):
        said.append(f"Exit code {code} is what a shell reports of signal {_signal(code - 128)}.")
    if code is None and running.done.is_set():
        said.append("The command could not be ended: it is not ours, or the system holds it.")
    if running.left_behind:
        some = "process" if running.left_behind == 1 else "processes"
        said.append(
            f"The command left {running.left_behind} {some} behind, ended with it. To "
            "keep a program running, start it with background, and without `&`."
        )
    if running.held_open:
        said.append(
            "A process that left the command's group still runs and holds its output; what it "
            "writes from now on is lost."
        )
    return said


def _signal(number: int) -> str:
    return f"{number} ({signal.Signals(number).name}: {signal.strsignal(number)})"


def _guess(running: Running) -> str:
    if running.stopped or running.returncode != -signal.SIGKILL:
        return ""
    return " The system does this when memory runs out."


def _known(number: int) -> bool:
    return number in signal.valid_signals() and number in set(signal.Signals)
