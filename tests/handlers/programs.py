"""Programs that tests start: one of their own in Python, and whether any still runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.handlers.calling import HERE

LONG = 300
"""Seconds that nothing here needs, on the slowest machine."""


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return shown.stdout.strip()[:1] not in ("", "Z", "X")


def script(text: str, folder: Path) -> str:
    """Run a program of its own in a folder; what it wrote."""
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=folder, env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True, text=True, timeout=LONG,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout
