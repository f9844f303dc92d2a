"""The door for files that are read to their end: regular ones alone.

A named pipe waits for a writer and a device may never end, so a file is looked at before it is
opened, and once more when it is open. It imports the standard library's ``os`` alone, because the
run that finds nothing changed goes through here.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` would cost more than everything else here together
if TYPE_CHECKING:
    from collections.abc import Iterator

_KIND, _FILE, _FOLDER = 0o170000, 0o100000, 0o040000  # as in `stat`
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_PIECE = 1 << 16


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a regular file, or of one at the end of a link.

    Raises:
        OSError: there is none, it cannot be read, or it is a folder, a pipe, a device or a socket.
    """
    handle, size = _open(path)
    try:
        pieces = [os.read(handle, size + 1)]
        while pieces[-1]:
            pieces.append(os.read(handle, 1 << 20))
        return b"".join(pieces)
    finally:
        os.close(handle)


def read_pieces(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Give the same in pieces of at most 64 KiB; raises what `read_regular` raises."""
    handle, size = _open(path)
    try:
        while piece := os.read(handle, min(size + 1, _PIECE)):
            yield piece
    finally:
        os.close(handle)


def _open(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Open a regular file: its descriptor, and its size in bytes."""
    _check(os.stat(path), path)
    handle = os.open(path, _OPEN)
    try:
        status = os.fstat(handle)
        _check(status, path)
    except BaseException:
        os.close(handle)
        raise
    return handle, status.st_size


def _check(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    kind = status.st_mode & _KIND
    if kind == _FILE:
        return
    import errno

    if kind == _FOLDER:
        raise IsADirectoryError(errno.EISDIR, "it is a folder", os.fspath(path))
    raise OSError(errno.EINVAL, "it is not a file", os.fspath(path))
