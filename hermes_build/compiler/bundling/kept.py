"""Contents of files that are read when they are needed, and are not held in memory meanwhile.

A content is read when it is listed, and once more when it is written: it must be the same then. So
the memory that a bundle takes is that of its names and digests, however many files it has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TypeAlias
from zlib import crc32

from hermes_build.bundle.format import BundleError, File
from hermes_build.compiler.bundling.line_ends import with_lf
from hermes_build.compiler.regular import read_pieces

Read: TypeAlias = Callable[[str], Iterable[bytes]]
"""Gives what is at a path in pieces, again at each call."""


class Kept:
    """A content, whose size and digest are ``file``; it is called for its pieces.

    ``read`` gives those of ``path``, ``crc`` is their CRC-32.
    """

    __slots__ = ("_crc", "_path", "_read", "file")

    def __init__(self, read: Read, path: str, file: File, crc: int) -> None:
        self._read = read
        self._path = path
        self.file = file
        self._crc = crc

    @property
    def measure(self) -> tuple[int, int]:
        """The size and the CRC-32."""
        return self.file.size, self._crc

    def __call__(self) -> Iterator[bytes]:
        """Give the content in pieces.

        Raises:
            BundleError: ``HB8006``, it is no longer what it was when it was listed.
        """
        hashed = sha256()
        try:
            for piece in self._read(self._path):
                hashed.update(piece)
                yield piece
        except OSError as error:
            raise self._changed() from error
        if hashed.hexdigest() != self.file.sha256:
            raise self._changed()

    def _changed(self) -> BundleError:
        return BundleError(
            "HB8006", f"{self._path} was changed while the bundle was made", self._path
        )


def keep(read: Read, path: str, look: Callable[[bytes], object] = len) -> Kept:
    """Go through a content once, and let ``look`` see its pieces.

    Raises:
        OSError: it cannot be read.
    """
    hashed = sha256()
    size = crc = 0
    for piece in read(path):
        look(piece)
        hashed.update(piece)
        crc = crc32(piece, crc)
        size += len(piece)
    return Kept(read, path, File(hashed.hexdigest(), size), crc)


def keep_bytes(data: bytes, path: str) -> Kept:
    """Keep a content in memory: one that stands in no file."""
    return keep(lambda _: (data,), path)


class Texts(Mapping[str, bytes]):
    """The contents of some files of the project by their paths, each read when it is asked for."""

    __slots__ = ("kept",)

    def __init__(self, kept: Mapping[str, Kept] | None = None) -> None:
        self.kept = dict(kept or {})

    def add(self, path: str, kept: Kept) -> None:
        """Add a file."""
        self.kept[path] = kept

    def sha256(self, path: str) -> str:
        """The digest of a content, for which it need not be read."""
        return self.kept[path].file.sha256

    def only(self, wanted: Callable[[str], bool]) -> Texts:
        """Those whose path is wanted."""
        return Texts({path: one for path, one in self.kept.items() if wanted(path)})

    def __getitem__(self, path: str) -> bytes:
        """The content of one.

        Raises:
            BundleError: ``HB8006``, it is no longer what it was when it was listed.
        """
        return b"".join(self.kept[path]())

    def __iter__(self) -> Iterator[str]:
        return iter(self.kept)

    def __len__(self) -> int:
        return len(self.kept)


class Disk:
    """Reads the files of a folder by their paths, in three forms."""

    __slots__ = ("_root",)

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.fspath(root)

    def data(self, path: str) -> Iterator[bytes]:
        """A file as it is."""
        return read_pieces(os.path.join(self._root, path))

    def text(self, path: str) -> Iterator[bytes]:
        """A text with LF line ends."""
        return with_lf(self.data(path))


def at_line_ends(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Cut the same text so that every piece but the last ends with its line."""
    rest = b""
    for piece in pieces:
        begun, mark, after = piece.rpartition(b"\n")
        if not mark:
            rest += piece
            continue
        yield rest + begun + mark
        rest = after
    if rest:
        yield rest
