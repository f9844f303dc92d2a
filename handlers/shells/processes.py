"""The background processes of this program, each seen by the session that started it alone."""

from __future__ import annotations

import os
import time
from threading import Lock, Thread

from handlers.refusal import Refusal
from handlers.shells import endings, groups
from handlers.shells.buffer import Ring
from handlers.shells.cleaning import complete
from handlers.shells.excerpts import Excerpt, excerpt
from handlers.shells.starting import start

KEPT = 200_000
"""How many bytes of a process's output are kept: its end."""

MOST_RUNNING = 32
"""How many processes a session may have running."""

MOST_ENDED = 16
"""How many processes that have ended are remembered a session, the latest ones."""

MOST_ENDED_OVERALL = 128
"""How many are remembered over all sessions."""

REMEMBERED_SECONDS = 1800.0
"""How long a process that has ended is remembered."""


class Process:
    """One background process; its methods may be called by any thread."""

    def __init__(self, scope: str, command: str, folder: str, pty: bool) -> None:
        self.name = f"proc_{os.urandom(4).hex()}"
        self.scope = scope
        self.command = command
        self.folder = folder
        self.ended_at: float | None = None
        self._ring = Ring(KEPT)
        self._seen = 0
        self._lock = Lock()
        self._began = time.monotonic()
        self.running = start(command, folder, self._take, pty=pty, writable=True)
        try:
            Thread(target=self._follow, name=f"hermes-{self.name}", daemon=True).start()
        except RuntimeError as error:
            self.running.signal_group(groups.kill)
            self.running.follow()
            raise Refusal("The command cannot be started: no thread can be had.") from error

    def _follow(self) -> None:
        try:
            self.running.follow()
        finally:
            self.ended_at = time.monotonic()

    def _take(self, data: bytes) -> None:
        with self._lock:
            self._ring.add(data)

    @property
    def status(self) -> str:
        """``running``, ``exited``, or ``killed`` for one that was ended on request."""
        if not self.running.done.is_set():
            return "running"
        return "killed" if self.running.stopped else "exited"

    @property
    def exit_code(self) -> int | None:
        """The exit code as a shell reports it; None while it runs."""
        return endings.exit_code(self.running)

    @property
    def seconds(self) -> float:
        """How long it has run, or did."""
        return round((self.ended_at or time.monotonic()) - self._began, 3)

    @property
    def unseen(self) -> int:
        """How many bytes it has written since the last look."""
        with self._lock:
            return self._ring.total - self._seen

    def news(self) -> Excerpt:
        """What it has written since the last look; half a character waits for the next one."""
        over = self.running.done.is_set()
        with self._lock:
            data = self._ring.since(self._seen)
            lost = max(0, self._ring.start - self._seen)
            if not over:
                data = data[: complete(data)]
            self._seen += lost + len(data)
        return excerpt(data, lost)

    def kept(self) -> tuple[bytes, int, int]:
        """All output that is kept, and how many bytes and line ends went before it."""
        with self._lock:
            return self._ring.since(0), self._ring.start, self._ring.dropped_lines


class Processes:
    """A table of processes, by the session (or task) that started them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._table: dict[str, Process] = {}

    def start(self, scope: str, command: str, folder: str, pty: bool = False) -> Process:
        """Start a process for a session.

        Raises:
            Refusal: when it cannot be started, or the session has `MOST_RUNNING` already.
        """
        with self._lock:
            self._forget()
            mine = [one for one in self._table.values() if one.scope == scope]
            if sum(one.status == "running" for one in mine) >= MOST_RUNNING:
                raise Refusal(
                    f"{MOST_RUNNING} processes are running, which is the most. Kill one first."
                )
            process = Process(scope, command, folder, pty)
            self._table[process.name] = process
            return process

    def of(self, scope: str) -> list[Process]:
        """The processes of a session, the oldest first."""
        with self._lock:
            self._forget()
            return [one for one in self._table.values() if one.scope == scope]

    def find(self, scope: str, name: str) -> Process:
        """A process of a session by its id.

        Raises:
            Refusal: when the session has none of this id.
        """
        mine = {one.name: one for one in self.of(scope)}
        if name not in mine:
            raise Refusal(f"There is no process {name}.", processes=list(mine))
        return mine[name]

    def _forget(self) -> None:
        ended = [one for one in self._table.values() if one.ended_at is not None]
        ended.sort(key=lambda one: -(one.ended_at or 0.0))
        oldest = time.monotonic() - REMEMBERED_SECONDS
        counts: dict[str, int] = {}
        for place, one in enumerate(ended):
            count = counts[one.scope] = counts.get(one.scope, 0) + 1
            too_old = (one.ended_at or 0.0) < oldest
            if too_old or count > MOST_ENDED or place >= MOST_ENDED_OVERALL:
                del self._table[one.name]


PROCESSES = Processes()
"""The processes of this program."""


def scope_of(session_id: str, task_id: str) -> str:
    """Who sees a process: the session where there is one, else the task."""
    return f"session {session_id}" if session_id else f"task {task_id}"
