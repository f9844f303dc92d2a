"""Process groups: who is left in one, and ending all of it.

A group's number is not given to another as long as one of its members exists. Between the look
that finds none and a signal there is no time in which numbers come round again.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress


def send(group: int, number: int) -> bool:
    """Send a signal to every member of a group; whether there was one that could be sent it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS says the latter of zombies, too
        return False
    return True


def members(group: int) -> int:
    """How many processes of a group still run; where the system does not tell, 1 stands for some.

    Zombies do not count: they have ended, and wait for a parent that may never ask.
    """
    if not send(group, 0):
        return 0
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:  # macOS has no /proc
        return 1
    count = 0
    for number in numbers:
        with suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{number}/stat", "rb") as file:
                # The name of the program, in parentheses, may hold anything.
                state, _, its_group = file.read().rpartition(b")")[2].split()[:3]
            count += int(its_group) == group and state not in (b"Z", b"X")
    return count


def terminate(group: int) -> bool:
    """Ask a group to end. A stopped member is woken, because it could not do so otherwise."""
    asked = send(group, signal.SIGTERM)
    if asked:
        send(group, signal.SIGCONT)
    return asked


def kill(group: int) -> bool:
    """End a group without asking."""
    return send(group, signal.SIGKILL)
