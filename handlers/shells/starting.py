"""Starting a command in the shell, with pipes or with a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import termios
from collections.abc import Callable
from contextlib import suppress

from handlers.refusal import Refusal, refusing
from handlers.shells.running import END_OF_INPUT, Running, ending
from handlers.shells.surroundings import environment, shell

_SIZE = struct.pack("HHHH", 50, 200, 0, 0)  # rows and columns
# A session's leader gets the terminal that it opens for its own, so that job control and signals
# from the keyboard work.
_OWN_TERMINAL = 'exec <>"$1" >&0 2>&0 && exec "$2" -c "$3"'


def start(
    command: str,
    folder: str,
    take: Callable[[bytes], None],
    *,
    pty: bool = False,
    writable: bool = False,
) -> Running:
    """Start a command in the shell.

    Args:
        command: what the shell is to run.
        folder: an absolute path to run in.
        take: given what the command writes, both streams as they come, by the thread that follows.
        pty: give it a terminal of its own instead of pipes.
        writable: keep its input open for `Running.write`. Otherwise it reads the end at once.

    Raises:
        Refusal: when it cannot be started.
    """
    _check(command)
    arguments = [shell(), "-c", command]
    # The command alone may hold its ends, so that they close when it ends.
    theirs: list[int] = []
    ours: list[int] = []
    given: int | None = None
    try:
        with refusing("The command cannot be started"):
            if pty:
                output, child = os.openpty()
                ours, theirs, given, stdin = [output], [child], output, child
                fcntl.ioctl(child, termios.TIOCSWINSZ, _SIZE)
                name = os.ttyname(child)
                arguments = ["/bin/sh", "-c", _OWN_TERMINAL, "sh", name, arguments[0], command]
            else:
                output, child = os.pipe()
                ours, theirs, stdin = [output], [child], subprocess.DEVNULL
                if writable:
                    stdin, given = os.pipe()
                    ours.append(given)
                    theirs.append(stdin)
            for descriptor in ours:
                os.set_blocking(descriptor, False)
            process = subprocess.Popen(
                arguments,
                cwd=folder,
                env=environment(pty),
                stdin=stdin,
                stdout=child,
                stderr=child,
                start_new_session=True,
            )
    except BaseException:
        for descriptor in ours:
            os.close(descriptor)
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    running = Running(process, output, given, take, pty)
    if pty and not writable:
        with suppress(OSError):
            os.write(output, END_OF_INPUT)
    return running


def _check(command: str) -> None:
    if ending.is_set():
        raise Refusal("The program is ending; no command is started any more.")
    if "\0" in command:
        raise Refusal("A command cannot hold a NUL character.")
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        raise Refusal("A command cannot hold half of a surrogate pair.") from None
    if size >= 128 * 1024 - 1:
        raise Refusal(
            f"The command has {size:,} bytes, which is more than the system takes. Write it to a "
            "file, and run that.",
            bytes=size,
        )
