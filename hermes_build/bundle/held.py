"""A file that stays open, read by position from any thread."""

from __future__ import annotations

import os

from hermes_build.bundle.format import BundleError
from hermes_build.forks import forked_lock

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_KIND, _REGULAR = 0o170000, 0o100000  # as in `stat`


class Held:
    """A file that is held open, and read by position from any thread.

    One that takes the place of the file changes nothing.

    Raises:
        BundleError: ``HB8001``, there is something else than a file.
        OSError: there is nothing, or it cannot be read.
    """

    __slots__ = ("_descriptor", "_lock", "_status", "path", "size")

    def __init__(self, path: str) -> None:
        self._descriptor = -1
        self._lock = forked_lock()  # a finalizer may read within a read
        self.path = path
        self._descriptor = os.open(path, _OPEN)
        self._status = os.fstat(self._descriptor)
        self.size = self._status.st_size
        if self._status.st_mode & _KIND != _REGULAR:
            self.close()
            raise BundleError("HB8001", "it is neither a file nor a folder")

    def read(self, position: int, size: int) -> bytes:
        """Return so many bytes from a position.

        Raises:
            BundleError: ``HB8002``, the file was made shorter.
            OSError: it cannot be read, or was closed.
        """
        data = b""
        while len(data) < size:
            with self._lock:
                self._demand_ours()
                more = self._read(position + len(data), size - len(data))
            if not more:
                what = "the file ends too early: it was damaged or changed"
                raise BundleError("HB8002", what, "", "get the bundle anew from who made it")
            data = data + more if data else more
        return data

    def close(self) -> None:
        """Close the file, where nobody else has."""
        with self._lock:
            try:
                self._demand_ours()
                os.close(self._descriptor)
            except OSError:
                pass
            self._descriptor = -1

    __del__ = close

    def _demand_ours(self) -> None:
        # A program that becomes a daemon closes every descriptor, and the number may be another
        # file's by now.
        if self._descriptor < 0:
            raise OSError(f"{self.path} was closed")
        if not os.path.samestat(os.fstat(self._descriptor), self._status):
            raise OSError(f"{self.path} was closed by somebody else")

    if hasattr(os, "pread"):

        def _read(self, position: int, size: int) -> bytes:
            return os.pread(self._descriptor, size, position)

    else:  # Windows

        def _read(self, position: int, size: int) -> bytes:
            os.lseek(self._descriptor, position, os.SEEK_SET)
            return os.read(self._descriptor, size)
