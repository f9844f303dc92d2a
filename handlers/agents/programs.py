"""What `execute_code` does: run a Python program beside a switchboard for its tool calls.

The program gets a private folder, which nobody else may enter, with itself, the module
``hermes_tools`` and the socket. It runs as every command of `terminal` does: in a process group of
its own that is ended as a whole, with bounded output, and without credentials in its environment.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from asyncio import CancelledError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handlers import agents
from handlers.agents.granting import ASK, DELEGATE, EXECUTE, narrowed, whole_number
from handlers.agents.switchboard import Switchboard
from handlers.files.workspace import Workspace
from handlers.refusal import refusing
from handlers.shells import endings, excerpts, groups
from handlers.shells.buffer import Ends
from handlers.shells.foreground import KEPT
from handlers.shells.starting import start
from hermes_build.runtime.bridge import ainvoke

if TYPE_CHECKING:
    from handlers.shells.running import Running
    from hermes_build.runtime.session import Session

MOST_CALLS = "HERMES_CODE_CALLS"
"""The variable that says how many tool calls a program may make; 50 without it."""

WITHOUT = (EXECUTE, DELEGATE, ASK)
"""What a program may not call: a loop that starts programs, helpers or questions runs away."""

_LONGEST_SOCKET = 100  # bytes of a path that every system takes


async def run(
    code: str, timeout: float, session: Session, context: Mapping[str, Any]
) -> dict[str, Any]:
    """Run a program to its end, or end it after ``timeout`` seconds.

    The answer has ``output``, both streams as they came; ``exit_code``, ``tool_calls`` and
    ``duration_seconds``; where it applies, ``timed_out``, ``omitted_bytes`` and ``note``. When it
    is cancelled, the program is ended at once.

    Args:
        code: the program.
        timeout: seconds that it may take, its tool calls included.
        session: the tools that it may call, apart from `WITHOUT`.
        context: what its tool calls are told.

    Raises:
        Refusal: when it cannot be started.
    """
    workspace = Workspace.from_environment()
    granted = narrowed(session, WITHOUT)
    switchboard = Switchboard(granted, context, whole_number(MOST_CALLS, 50, 10_000))
    # What is available is asked on a thread, because the answer may take its time.
    tools = await ainvoke(lambda _: _described(granted), None, {}, False, None)
    ends = Ends(KEPT, KEPT)
    with _private_folder(code, tools) as folder:
        try:
            with refusing("The program's socket cannot be made"):
                await switchboard.open(os.path.join(folder, "socket"))
            began = time.monotonic()
            running = start(_command(folder), workspace.root, ends.add)
            await _follow(running, timeout)
        finally:
            await switchboard.close()
    shown = excerpts.excerpt_of_ends(ends)
    answer: dict[str, Any] = {
        "output": shown.text,
        "exit_code": endings.exit_code(running),
        "tool_calls": switchboard.calls,
        "duration_seconds": round(time.monotonic() - began, 3),
    }
    if running.timed_out:
        answer["timed_out"] = True
    if shown.omitted:
        answer["omitted_bytes"] = shown.omitted
    if note := _note(running, timeout):
        answer["note"] = note
    return answer


def _described(session: Session) -> dict[str, tuple[list[str], str]]:
    """The tools that are granted and available: their parameters in order, and what they do."""
    tools = {}
    for definition in session.definitions():
        function = definition["function"]
        parameters = list(function["parameters"].get("properties", ()))
        tools[function["name"]] = (parameters, function["description"])
    return tools


@contextmanager
def _private_folder(code: str, tools: object) -> Iterator[str]:
    with refusing("The program cannot be written down"):
        folder = tempfile.mkdtemp(prefix="hermes-code-")
        if len(os.fsencode(folder)) > _LONGEST_SOCKET - len("/socket"):
            os.rmdir(folder)
            folder = tempfile.mkdtemp(prefix="hermes-code-", dir="/tmp")
    try:
        with refusing("The program cannot be written down"):
            Path(folder, "code.py").write_bytes(code.encode("utf-8", "replace"))
            Path(folder, "tools.json").write_text(json.dumps(tools), encoding="utf-8")
            module = files(agents).joinpath("hermes_tools.py")
            Path(folder, "hermes_tools.py").write_bytes(module.read_bytes())
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _command(folder: str) -> str:
    """The interpreter that runs this program, apart from its settings, and with the same packages.

    Output is not buffered, so that nothing of a program that is ended gets lost.
    """
    program = [sys.executable, "-E", "-B", "-u", "-X", "utf8", os.path.join(folder, "code.py")]
    return f"exec {shlex.join(program)}"


async def _follow(running: Running, timeout: float) -> None:
    try:
        await ainvoke(lambda _: running.follow(timeout), None, {}, False, None)
    except CancelledError:
        running.signal_group(groups.kill)  # the thread that follows it sees its end
        raise


def _note(running: Running, timeout: float) -> str:
    """What a model cannot tell from the exit code and the output."""
    said = []
    if running.timed_out:
        said.append(f"The program was ended after {timeout:g} s, with all that it started.")
    elif running.returncode is not None and running.returncode < 0:
        said.append(f"The program was ended by signal {-running.returncode}.")
    if running.left_behind:
        said.append("Processes that the program left behind were ended with it.")
    if running.held_open:
        said.append("A process that left the program's group still runs.")
    return " ".join(said)
