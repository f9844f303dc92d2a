"""Running a command and waiting for it."""

from __future__ import annotations

import time
from typing import Any

from handlers.shells import endings, excerpts
from handlers.shells.buffer import Ends
from handlers.shells.starting import start

KEPT = 100_000
"""How many bytes of the output's beginning are kept in memory, and how many of its end."""


def run(command: str, folder: str, timeout: float, pty: bool = False) -> dict[str, Any]:
    """Run a command to its end, or end it after ``timeout`` seconds.

    Its input is empty. The answer has ``output``, ``exit_code`` and ``duration_seconds``; where it
    applies, ``timed_out``, ``omitted_bytes`` and ``note``.

    Raises:
        Refusal: when the command cannot be started.
    """
    ends = Ends(KEPT, KEPT)
    began = time.monotonic()
    running = start(command, folder, ends.add, pty=pty)
    running.follow(timeout)
    shown = excerpts.excerpt_of_ends(ends)
    answer: dict[str, Any] = {
        "output": shown.text,
        "exit_code": endings.exit_code(running),
        "duration_seconds": round(time.monotonic() - began, 3),
    }
    if running.timed_out:
        answer["timed_out"] = True
    if shown.omitted:
        answer["omitted_bytes"] = shown.omitted
    if notes := endings.notes(running, timeout):
        answer["note"] = " ".join(notes)
    return answer
