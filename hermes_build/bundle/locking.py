"""One process at a time: a lock on a file that the system takes back when a process ends.

A file whose mere existence is the lock would stay after a process is killed; this one never does.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

if sys.platform == "win32":
    import msvcrt

    def _try(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _wait(descriptor: int) -> None:
        while not _try(descriptor):
            from time import sleep

            sleep(0.05)

    def _leave(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _wait(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _leave(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


class held:
    """Holds the lock that is the file ``path`` for the length of a ``with`` block.

    The file is made where it is not there, and never removed. Where another process, or another
    thread, holds the lock, ``on_wait`` is called once, and the block begins when the other's ends.

    Raises:
        OSError: the file cannot be made, or its file system has no locks.
    """

    __slots__ = ("_descriptor", "_on_wait", "_path")

    def __init__(self, path: str, on_wait: Callable[[], None] | None = None) -> None:
        self._path = path
        self._on_wait = on_wait
        self._descriptor = -1

    def __enter__(self) -> held:
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _try(self._descriptor):
                if self._on_wait is not None:
                    self._on_wait()
                _wait(self._descriptor)
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        try:
            _leave(self._descriptor)
        finally:
            os.close(self._descriptor)
