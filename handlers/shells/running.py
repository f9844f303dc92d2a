"""One command under way: it is followed to its end, and ended when it must be."""

from __future__ import annotations

import atexit
import errno
import os
import select
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock

from handlers.refusal import Refusal
from handlers.shells import groups

GRACE = 0.5
"""Seconds that processes which outlive their shell have to finish; `> >(tee log)` needs some."""

TERM_SECONDS = 2.0
"""Seconds between asking a group to end and killing it."""

KILL_SECONDS = 5.0
"""Seconds to wait for what was killed: the system may hold it in a call for a while."""

WRITE_SECONDS = 5.0
"""Seconds that a program has to take what is written to it."""

END_OF_INPUT = b"\x04"
"""What a terminal takes for the end of the input."""

_CHUNK = 1 << 16


class Running:
    """A command under way.

    `follow` is for one thread, which reads what the command writes and reaps it. Everything else
    may be used by any thread.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        output: int,
        given: int | None,
        take: Callable[[bytes], None],
        pty: bool,
    ) -> None:
        self.pid = process.pid
        """The number of the shell's process, and of the group."""
        self.pty = pty
        self.done = Event()
        """Set when the command has ended, all its output was taken, and nothing is left."""
        self.returncode: int | None = None
        """As `subprocess` has it; None while it runs, and for one that could not be ended."""
        self.timed_out = False
        self.stopped = False
        """Whether `stop` ended it."""
        self.left_behind = 0
        """How many processes of the group outlived the shell, and were ended."""
        self.held_open = False
        """Whether a process that left the group still holds the output."""
        self._process = process
        self._output = output
        self._input = given
        self._take = take
        self._line_begun = False
        self._signalling = Lock()
        self._writing = Lock()
        self._at_end = False
        self._exit = _exit_descriptor(self.pid)
        self._poll = select.poll()
        self._poll.register(output, select.POLLIN)
        if self._exit is not None:
            self._poll.register(self._exit, select.POLLIN)
        _live.add(self)
        if ending.is_set():
            self.signal_group(groups.kill)

    def follow(self, timeout: float | None = None) -> None:
        """Take the output until the command has ended, or end it after ``timeout`` seconds."""
        try:
            if not self._read_until(self._ended, timeout):
                self.timed_out = True
                self._end_group(lambda: self._ended() and not groups.members(self.pid))
            if self._ended() and not self._read_until(self._nothing_left, GRACE):
                self.left_behind = groups.members(self.pid)
            if self.left_behind:
                self._end_group(lambda: not groups.members(self.pid))
            self.held_open = not self._at_end and not self._read_until(lambda: self._at_end, 0.05)
        except BaseException:
            groups.kill(self.pid)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(KILL_SECONDS)
            raise
        finally:
            self._finish()

    def stop(self) -> None:
        """End the whole group from another thread than the one that follows it, and wait."""
        with self._signalling:
            if self.done.is_set():
                return
            self.stopped = True
            groups.terminate(self.pid)
        if not self.done.wait(TERM_SECONDS):
            self.signal_group(groups.kill)
            self.done.wait(KILL_SECONDS + GRACE)

    def signal_group(self, send: Callable[[int], bool]) -> None:
        """Send to the group, unless it is over: then its number may be another's."""
        with self._signalling:
            if not self.done.is_set():
                send(self.pid)

    def write(self, data: bytes) -> int:
        """Write to the command's input; how many bytes it took within `WRITE_SECONDS`.

        Raises:
            Refusal: when its input is closed, or it has ended.
        """
        deadline = time.monotonic() + WRITE_SECONDS
        with self._writing:
            descriptor = self._open_input()
            written = 0
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            while written < len(data):
                left = deadline - time.monotonic()
                if left <= 0 or self._process.returncode is not None:
                    break
                if not poll.poll(min(left, 0.1) * 1000):
                    continue
                try:
                    written += os.write(descriptor, data[written : written + _CHUNK])
                except BlockingIOError:
                    time.sleep(0.01)  # a terminal may say that it is ready when it is not
                except OSError as error:
                    if error.errno not in (errno.EPIPE, errno.EIO):
                        raise
                    raise Refusal("The process does not read its input any more.") from None
            if written:
                self._line_begun = data[written - 1 : written] not in (b"\n", b"\r")
            return written

    def close_input(self) -> None:
        """Let the command read the end of its input.

        Raises:
            Refusal: when it is closed already, or the command has ended.
        """
        if self.pty:
            # In the middle of a line, the first one only hands the line over.
            self.write(END_OF_INPUT * (2 if self._line_begun else 1))
            return
        with self._writing:
            os.close(self._open_input())
            self._input = None

    def _open_input(self) -> int:
        if self.done.is_set() or self._process.returncode is not None:
            raise Refusal("The process has ended; nothing can be written to it.")
        if self._input is None:
            raise Refusal("The input of the process is closed.")
        return self._input

    def _ended(self) -> bool:
        if self._process.poll() is None:
            return False
        self._forget_exit()
        return True

    def _nothing_left(self) -> bool:
        return self._at_end and not groups.members(self.pid)

    def _end_group(self, over: Callable[[], bool]) -> None:
        groups.terminate(self.pid)
        if not self._read_until(over, TERM_SECONDS):
            groups.kill(self.pid)
            self._read_until(over, KILL_SECONDS)

    def _read_until(self, over: Callable[[], bool], seconds: float | None) -> bool:
        """Take output until something is so; False when the time has passed before."""
        deadline = None if seconds is None else time.monotonic() + seconds
        pause = 0.005
        while not over():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            # Without the descriptor that tells of the end, one has to look again and again.
            watched = self._exit is not None
            pause = pause if watched else min(pause * 1.5, 0.1)
            wait = left if watched else pause if left is None else min(left, pause)
            if self._at_end and not watched:
                time.sleep(pause if wait is None else wait)
                continue
            for descriptor, _ in self._poll.poll(None if wait is None else wait * 1000):
                if descriptor == self._output:
                    self._read()
        return True

    def _read(self) -> None:
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.EIO:  # Linux says so at the end of a terminal
                raise
            data = b""
        if data:
            self._take(data)
        else:
            self._at_end = True
            self._poll.unregister(self._output)

    def _forget_exit(self) -> None:
        if self._exit is not None:
            self._poll.unregister(self._exit)
            os.close(self._exit)
            self._exit = None

    def _finish(self) -> None:
        self._forget_exit()
        self.returncode = self._process.poll()
        with self._signalling:
            self.done.set()
        with self._writing:
            os.close(self._output)
            if self._input not in (None, self._output):
                os.close(self._input)
            self._input = None
        _live.discard(self)


def _exit_descriptor(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends, where the system has such."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


ending = Event()
"""Set when the program ends, and no command may be started any more."""

_live: set[Running] = set()


@atexit.register
def _end_all() -> None:
    """Leave nothing behind when the program ends."""
    ending.set()
    for running in list(_live):
        running.signal_group(groups.terminate)
    deadline = time.monotonic() + GRACE
    for running in list(_live):
        running.done.wait(max(0.0, deadline - time.monotonic()))
    for running in list(_live):
        running.signal_group(groups.kill)


def _forget() -> None:
    """In a forked child: the commands are its parent's."""
    _live.clear()


os.register_at_fork(after_in_child=_forget)
