"""Starting the program that searches, ripgrep or our own, under a deadline."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from threading import Timer
from typing import IO, Any

from handlers import files as package
from handlers.files.finder import VERSION_CONTROL
from handlers.files.globs import Glob
from handlers.files.workspace import Workspace
from handlers.refusal import Refusal

DEADLINE = 20.0
"""Seconds after which a search is stopped, and answers with what it has."""

MOST_BYTES = 20 * 1024 * 1024
"""Files larger than this are not searched."""

_SIMPLE = re.compile(r"[\w.*?-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Request:
    """One search: what for (``pattern`` is empty for ``files``), where, and which files count.

    ``folder`` leads from the workspace's root to the folder in which the program runs, ``start`` is
    the file in it, or ``.`` for all of it.
    """

    target: str
    pattern: str
    folder: tuple[str, ...]
    start: str
    glob: Glob | None = None
    literal: bool = False
    ignore_case: bool = False
    hidden: bool = False
    context: int = 0


@dataclass(slots=True)
class Running:
    """A search under way: its output, and afterwards how it ended.

    A reader that has enough says so, and then the program is ended rather than waited for.
    """

    output: IO[bytes]
    enough: bool = False
    stopped: bool = False
    code: int = 0
    complaint: str = ""


def ripgrep(workspace: Workspace) -> str | None:
    """The ripgrep on PATH; one inside the workspace is never run, because calls can write it."""
    found = shutil.which("rg")
    if found is None:
        return None
    real = os.path.realpath(found)
    return None if real.startswith(workspace.root.rstrip("/") + "/") else real


def ripgrep_command(program: str, request: Request) -> list[str]:
    """The command line that makes ripgrep answer a request."""
    place = "./" if request.start == "." else f"./{request.start}"
    command = [program, "--no-config", "--no-messages", "--no-require-git", "--no-ignore-global"]
    command += ["--sort=path", f"--max-filesize={MOST_BYTES}"]
    if request.hidden:
        command += ["--hidden", *(f"--glob=!{name}" for name in VERSION_CONTROL)]
    names = request.glob.names if request.glob else ()
    if names and all(map(_SIMPLE.fullmatch, names)):
        # A type narrows the walk without overruling ignore files, which `--glob` would do.
        command += [f"--type-add=wanted:{name}" for name in names] + ["--type=wanted"]
    if request.target == "files":
        return [*command, "--files", "--null", "--", place]
    command += ["--json", "--crlf", "--no-mmap", f"--context={request.context}"]
    command += ["--fixed-strings"] * request.literal + ["--ignore-case"] * request.ignore_case
    return [*command, f"--regexp={request.pattern}", "--", place]


def finder_command() -> list[str]:
    """The command line of our own search; its source, since in a bundle there is no file to run."""
    return [sys.executable, "-I", "-S", "-c", _finder()]


@cache
def _finder() -> str:
    return files(package).joinpath("finder.py").read_text("utf-8")


def finder_request(request: Request) -> bytes:
    """A request in the form that `finder` reads."""
    data: dict[str, Any] = {
        "target": request.target,
        "pattern": request.pattern,
        "start": request.start,
        "names": list(request.glob.names if request.glob else ()),
        "literal": request.literal,
        "ignore_case": request.ignore_case,
        "hidden": request.hidden,
        "context": request.context,
        "most_bytes": MOST_BYTES,
    }
    return json.dumps(data).encode()


@contextmanager
def running(
    workspace: Workspace, folder: tuple[str, ...], command: list[str], given: bytes, deadline: float
) -> Iterator[Running]:
    """Run a program in a folder of the workspace; leaving the block ends it.

    The folder is opened without following links, and the program starts in what was opened.

    Raises:
        Refusal: when it cannot be started.
    """
    with workspace.folder(folder) as descriptor, tempfile.TemporaryFile() as complaints:
        here = f"/proc/self/fd/{descriptor}"
        if not os.path.isdir(here):
            here = os.path.join(workspace.root, *folder)
        try:
            process = subprocess.Popen(
                command,
                cwd=here,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
            )
        except (OSError, ValueError) as error:
            raise Refusal(f"The search cannot be started: {type(error).__name__}.") from error
        assert process.stdin is not None and process.stdout is not None
        answer = Running(process.stdout)

        def stop() -> None:
            answer.stopped = True
            process.kill()

        timer = Timer(deadline, stop)
        timer.daemon = True
        timer.start()
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(given)
                process.stdin.close()
            yield answer
        except BaseException:
            process.kill()
            raise
        finally:
            if answer.enough:
                process.kill()
            process.stdout.close()
            process.wait()
            timer.cancel()
            answer.code = process.returncode
            complaints.seek(0)
            answer.complaint = complaints.read(10_000).decode("utf-8", "replace")
