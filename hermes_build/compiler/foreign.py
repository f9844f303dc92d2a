"""Running a program that is not ours, in a process of its own, to its end or to ours."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_LAST_LINES = 12
_LAST_BYTES = 20_000


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: ``code`` is its exit code, or None where it was given up.

    ``answer`` is its standard output, ``noise`` the last lines of its standard error.
    """

    code: int | None
    answer: bytes
    noise: tuple[str, ...]


def run(
    command: Sequence[str],
    folder: Path,
    seconds: float,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program in ``folder``; it and whatever it started are ended when this returns.

    Raises:
        OSError: it cannot be started.
    """
    # Files, not pipes: a process that the program leaves behind would keep a pipe open.
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as noise:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=answer,
            stderr=noise,
            start_new_session=True,
        )
        code = None
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _end(process)
        answer.seek(0)
        return Ended(code, answer.read(), _last_lines(noise))


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        elif process.poll() is None:
            process.kill()
    except (ProcessLookupError, PermissionError):
        pass  # the whole group has ended
    process.wait()


def _last_lines(noise: IO[bytes]) -> tuple[str, ...]:
    noise.seek(max(0, noise.seek(0, os.SEEK_END) - _LAST_BYTES))
    lines = noise.read().decode("utf-8", "replace").splitlines()
    # The import system's own frames would crowd out where the program was.
    told = [line.rstrip() for line in lines if line.strip() and "<frozen " not in line]
    return tuple(told[-_LAST_LINES:])
