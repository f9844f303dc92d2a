"""A file that stays open, read by position from any thread.

Whatever takes the place of the file, what was opened is read on.
"""

from __future__ import annotations

import os

from hermes_build.forks import forked_lock

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class ClosedHere(OSError):
    """The file was closed by whoever opened it."""


class ClosedElsewhere(OSError):
    """The file was closed by somebody who did not open it, and its number may be another's."""


class OpenFile:
    """A file that is held open.

    ``path`` is as it was given, ``status`` what the system says of the file, ``size`` in bytes.

    Raises:
        OSError: there is nothing, or it cannot be opened.
    """

    __slots__ = ("_descriptor", "_lock", "path", "size", "status")

    # The names of a module are gone before the last file is, when an interpreter ends.
    _fstat = staticmethod(os.fstat)
    _shut = staticmethod(os.close)

    def __init__(self, path: str) -> None:
        self._descriptor = -1
        self._lock = forked_lock()  # a finalizer may read within a read
        self.path = path
        self._descriptor = os.open(path, _FLAGS)
        self.status = os.fstat(self._descriptor)
        self.size = self.status.st_size

    def read_once(self, position: int, size: int) -> bytes:
        """Up to ``size`` bytes from a position; fewer where the system gives fewer, or at the end.

        Raises:
            ClosedHere: it was closed.
            ClosedElsewhere: somebody else has closed its descriptor.
            OSError: it cannot be read.
        """
        with self._lock:
            if self._descriptor < 0:
                raise ClosedHere(f"{self.path} was closed")
            if not self._is_ours():
                raise ClosedElsewhere(f"{self.path} was closed by somebody else")
            return self._read(position, size)

    def close(self) -> None:
        """Close the file, where nobody else has."""
        with self._lock:
            if self._descriptor >= 0 and self._is_ours():
                try:
                    self._shut(self._descriptor)
                except OSError:
                    pass
            self._descriptor = -1

    __del__ = close

    def _is_ours(self) -> bool:
        # A program that becomes a daemon closes every descriptor, and the number may be another
        # file's by now.
        try:
            now = self._fstat(self._descriptor)
        except OSError:
            return False
        return (now.st_ino, now.st_dev) == (self.status.st_ino, self.status.st_dev)

    if hasattr(os, "pread"):

        def _read(self, position: int, size: int) -> bytes:
            return os.pread(self._descriptor, size, position)

    else:  # Windows

        def _read(self, position: int, size: int) -> bytes:
            os.lseek(self._descriptor, position, os.SEEK_SET)
            return os.read(self._descriptor, size)
