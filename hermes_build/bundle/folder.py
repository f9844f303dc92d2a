"""The container of a bundle that is unpacked: a folder of files, and of nothing else.

Links are refused rather than followed, since what they lead to can be another thing tomorrow. So
are devices, pipes, and folders in which there is nothing.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from hashlib import sha256

from hermes_build.bundle.entries import in_order
from hermes_build.bundle.format import MANIFEST, MAX_BYTES, MAX_FILES, BundleError
from hermes_build.bundle.names import check_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = 1024 * 1024
_OPEN = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_REPARSE_POINT = 0x400  # on Windows: a link of any kind
_COMPILED = re.compile(r"(.*/|)__pycache__/([^/]+?)\.[^./]+(?:\.opt-[0-9]+)?\.pyc")


class Folder:
    """An unpacked bundle; its names and sizes are those of the moment when it was looked at.

    Args:
        path: the folder.
        compiled: whether to look past what Python compiled of the files that are there, as
            installers of packages let it do.

    Attributes:
        path: the folder, as it was named; a link to it is followed.
        kind: ``folder``.

    Raises:
        BundleError: ``HB8001`` it holds no manifest, ``HB8003`` a name is not plain, or is that of
            a link or a device, ``HB8005`` a folder is empty, ``HB8008`` it is too large.
        OSError: the folder cannot be read.
    """

    __slots__ = ("_sizes", "path")

    kind = "folder"

    def __init__(self, path: str | os.PathLike[str], *, compiled: bool = False) -> None:
        self.path = os.fspath(path)
        if not os.path.lexists(os.path.join(self.path, MANIFEST)):
            raise BundleError("HB8001", f"the folder is no bundle: it has no {MANIFEST}")
        sizes = _walk(self.path)
        if compiled:
            sizes = {name: sizes[name] for name in sizes if not _is_compiled(name, sizes)}
        check_names(sizes)
        self._sizes = {name: sizes[name] for name in in_order(sizes)}

    def names(self) -> tuple[str, ...]:
        """Every file's path in the folder, with forward slashes, in the order of an archive."""
        return tuple(self._sizes)

    def __contains__(self, name: object) -> bool:
        return name in self._sizes

    def size(self, name: str) -> int:
        """How many bytes a file holds.

        Raises:
            KeyError: there is none of this name.
        """
        return self._sizes[name]

    def read(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            KeyError: there is none of this name.
            BundleError: ``HB8003`` it is no file any more, ``HB8006`` its size is another by now.
            OSError: the file cannot be read.
        """
        return b"".join(self.pieces(name))

    def pieces(self, name: str) -> Iterator[bytes]:
        """The content of a file in pieces of at most a megabyte. Raises what `read` raises."""
        left = self._sizes[name]
        descriptor = self._opened(name)
        try:
            # One byte more than there should be: a file that has grown is another one.
            while left and (piece := os.read(descriptor, min(left + 1, _BLOCK))):
                left -= len(piece)
                if left < 0:
                    break
                yield piece
            if left or os.read(descriptor, 1):
                raise BundleError("HB8006", f"{name} was changed while the bundle was read", name)
        finally:
            os.close(descriptor)

    def _opened(self, name: str) -> int:
        try:
            descriptor = os.open(f"{self.path}/{name}", _OPEN)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                _refuse(name, "a link")
            raise
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            _refuse(name, "not a file")
        return descriptor

    def digests(self, *, sums: bool) -> Iterator[tuple[str, str]]:
        """Every file's path with the SHA-256 of its content; a folder has no checksums.

        Raises what `read` raises.
        """
        for name in self._sizes:
            hashed = sha256()
            for piece in self.pieces(name):
                hashed.update(piece)
            yield name, hashed.hexdigest()

    def close(self) -> None:
        """Do nothing: no file stays open."""


def _walk(top: str) -> dict[str, int]:
    """Every file's path below ``top``, to its size in bytes."""
    sizes: dict[str, int] = {}
    total = 0
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with os.scandir(os.path.join(top, *folder.split("/"))) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        if not entries:
            raise BundleError(
                "HB8005", f"the folder {folder} is empty: no file of the bundle needs it", folder
            )
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode) or _is_reparsed(status):
                _refuse(name, "a link")
            if stat.S_ISDIR(status.st_mode):
                waiting.append(name)
                continue
            if not stat.S_ISREG(status.st_mode):
                _refuse(name, "neither a file nor a folder")
            sizes[name] = status.st_size
            total += status.st_size
        if len(sizes) > MAX_FILES or total > MAX_BYTES:
            raise BundleError(
                "HB8008", f"a bundle has at most {MAX_FILES} files and {MAX_BYTES} bytes"
            )
    return sizes


def _is_compiled(name: str, sizes: dict[str, int]) -> bool:
    """Whether this is what Python compiled of another of the files."""
    found = _COMPILED.fullmatch(name)
    return found is not None and f"{found[1]}{found[2]}.py" in sizes


def _is_reparsed(status: os.stat_result) -> bool:
    return bool(getattr(status, "st_file_attributes", 0) & _REPARSE_POINT)


def _refuse(name: str, what: str) -> None:
    raise BundleError(
        "HB8003", f"{name!r} is {what}", name, "unpack the bundle anew, into a new folder"
    )
