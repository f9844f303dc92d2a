"""Kills runs of the command line at any moment, to see what they leave behind.

A run is killed right before one of its writes, which are counted, or after a while. The first meets
every state of names that a run goes through; the second also what is half written.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

# One process that has imported everything forks a run for each line that it reads: starting an
# interpreter and importing what a run needs would take most of the time. Whatever a run does to a
# file below the folder, it tells an audit hook first.
_PROGRAM = """
import importlib, os, signal, sys

root, modules = os.path.realpath(sys.argv[1]), sys.argv[2].split(",")
for name in modules:
    importlib.import_module(name)
from hermes_build.cli import main

writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
changes = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.symlink", "os.link", "os.truncate"}

def hook(event, args):
    global left
    if event in changes or (event == "open" and args[2] & writing):
        path = os.path.realpath(os.path.dirname(args[0])) if isinstance(args[0], str) else ""
        if path == root or path.startswith(root + os.sep):
            left -= 1
            if left == 0:
                os.killpg(0, signal.SIGKILL)

for line in sys.stdin:
    left, *words = line.split()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        sys.argv = ["hermes-build", *words]
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        left = int(left)
        if left:
            sys.addaudithook(hook)
        main()
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Runs:
    """Starts runs of the command line in a folder, one after the other.

    ``modules`` are those that the runs need; they are imported once.
    """

    def __init__(self, root: Path, modules: Iterable[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, str(root), ",".join(modules)],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def start(self, *arguments: str, before_write: int = 0) -> int:
        """Start a run, and return its process id, which is that of its group.

        With ``before_write``, it is killed before so many of its writes have happened, the first
        by 1; it ends by itself where it has fewer.
        """
        assert self._process.stdin
        self._process.stdin.write(" ".join((str(before_write), *arguments)) + "\n")
        self._process.stdin.flush()
        return int(self._line())

    def status(self) -> int:
        """Wait for the run to end: its exit code, or the number of a signal below 0."""
        return os.waitstatus_to_exitcode(int(self._line()))

    def span(self, *arguments: str) -> float:
        """Run to the end, and return how many seconds that took."""
        before = time.monotonic()
        self.start(*arguments)
        assert self.status() == 0
        return time.monotonic() - before

    def kill(
        self, *arguments: str, after: float, begun: Callable[[], bool], send: int = signal.SIGKILL
    ) -> int:
        """Start a run, and send it a signal some seconds after it has begun, if it still runs.

        Returns what `status` does.
        """
        child = self.start(*arguments)
        with contextlib.suppress(ProcessLookupError):  # it was faster
            while not begun():
                os.kill(child, 0)
                time.sleep(0.0002)
            time.sleep(after)
            os.killpg(child, send)
        return self.status()

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()
