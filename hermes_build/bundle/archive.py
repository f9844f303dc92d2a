"""The container of a bundle that is one file: a zip archive of which there is one form.

Equal entries give equal bytes, on every system and with every Python. So nothing in it is free:
entries are stored and not compressed, the manifest comes first, the signatures second, the others
by the bytes of their names; time, mode, flags and versions are constants; there are no extra
fields, no data descriptors and no zip64; the comment states the digest of the manifest.

Reading is as strict: whatever differs by a byte from what the writer would write for the same
entries is refused, since a second form is where things hide. The place of each entry follows from
the sizes of those before it, so that entries cannot overlap, and nothing is ever unpacked in memory
that is larger than the file. Every zip tool can read these archives, and Python can run them.
"""

from __future__ import annotations

import os
from struct import Struct
from struct import error as StructError
from zlib import crc32

from hermes_build.bundle.format import (
    MANIFEST,
    MAX_BYTES,
    MAX_FILES,
    SIGNATURES,
    BundleError,
    hexdigest,
)
from hermes_build.bundle.names import MAX_NAME, check_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import NoReturn, TypeAlias

    Source: TypeAlias = "bytes | Callable[[], Iterable[bytes]]"
    """The content of an entry: bytes, or a function that gives it in pieces, again at each call."""

COMMENT = b"hermes-bundle 1 sha256:"
"""How the comment of an archive begins; the digest of the manifest follows, in hexadecimal."""

_BLOCK = 1024 * 1024
"""How much is read, hashed or written at once."""

_LOCAL = Struct("<4s5H3L2H")
_CENTRAL = Struct("<4s6H3L5H2L")
_END = Struct("<4s4H2LH")

_VERSION = 20
_MADE_BY = 3 << 8 | _VERSION  # on Unix, which has modes
_UTF8 = 0x800
_DATE = 1 << 5 | 1  # 1980-01-01, the first day that a zip archive knows
_MODE = 0o100644 << 16
_LINK = 0o120000


class Entry:
    """One entry: where it begins, and the size in bytes and CRC-32 of its content."""

    __slots__ = ("crc", "name", "offset", "raw", "size")

    def __init__(self, name: str, offset: int, size: int, crc: int) -> None:
        self.name = name
        self.raw = name.encode()
        self.offset = offset
        self.size = size
        self.crc = crc

    @property
    def flags(self) -> int:
        """That the name is in UTF-8, where that makes a difference."""
        return 0 if len(self.raw) == len(self.name) else _UTF8

    @property
    def end(self) -> int:
        """Where the next entry begins."""
        return self.offset + _LOCAL.size + len(self.raw) + self.size

    def local(self) -> bytes:
        """What stands before the content."""
        size = self.size
        head = _LOCAL.pack(
            b"PK\3\4", _VERSION, self.flags, 0, 0, _DATE, self.crc, size, size, len(self.raw), 0
        )
        return head + self.raw

    def central(self) -> bytes:
        """What stands in the directory at the end of the archive."""
        size, length = self.size, len(self.raw)
        versions = (_MADE_BY, _VERSION, self.flags, 0, 0, _DATE)
        head = _CENTRAL.pack(
            b"PK\1\2", *versions, self.crc, size, size, length, 0, 0, 0, 0, _MODE, self.offset
        )
        return head + self.raw


def in_order(names: Iterable[str]) -> list[str]:
    """Return names in the order that they have in an archive."""
    return sorted(names, key=lambda name: (name != MANIFEST, name != SIGNATURES, name))


def write_archive(entries: Mapping[str, Source], target: str | os.PathLike[str]) -> str:
    """Write an archive, all or nothing: until it is whole, ``target`` is what it was before.

    A content that is a function is called twice, once to measure it and once to write it, and no
    more than one piece is in memory at a time.

    Args:
        entries: the content of each entry by its name, in any order.
        target: the file to write; one that is there is replaced.

    Returns:
        The SHA-256 of the file, in hexadecimal digits.

    Raises:
        BundleError: ``HB8003`` a name is not plain; ``HB8006`` a content changed while it was
            written; ``HB8008`` it would be too large.
        OSError: the file cannot be written.
    """
    from hermes_build.bundle.placing import placed

    names = in_order(entries)
    check_names(names)
    measured = _measured(names, entries)
    with placed(target) as write:
        for entry in measured:
            write(entry.local())
            size = crc = 0
            for piece in _pieces(entries[entry.name]):
                write(piece)
                size += len(piece)
                crc = crc32(piece, crc)
            if (size, crc) != (entry.size, entry.crc):
                raise BundleError(
                    "HB8006", f"{entry.name} was changed while it was written", entry.name
                )
        write(_tail(measured, _comment(entries)))
    return write.digest


def _measured(names: list[str], entries: Mapping[str, Source]) -> list[Entry]:
    measured = []
    offset = 0
    for name in names:
        size = crc = 0
        for piece in _pieces(entries[name]):
            size += len(piece)
            crc = crc32(piece, crc)
        entry = Entry(name, offset, size, crc)
        offset = entry.end
        measured.append(entry)
        if offset > MAX_BYTES:
            break
    _check_size(len(names), offset)
    return measured


def _pieces(source: Source) -> Iterable[bytes]:
    return (source,) if isinstance(source, bytes) else source()


def _comment(entries: Mapping[str, Source]) -> bytes:
    if MANIFEST not in entries:
        return b""
    return _comment_of(b"".join(_pieces(entries[MANIFEST])))


def _comment_of(manifest: bytes) -> bytes:
    return COMMENT + hexdigest(manifest).encode()


def _tail(entries: list[Entry], comment: bytes) -> bytes:
    """What follows the last content: the directory, and its end."""
    directory = b"".join([entry.central() for entry in entries])
    start, count = entries[-1].end if entries else 0, len(entries)
    _check_size(count, start + len(directory))
    end = _END.pack(b"PK\5\6", 0, 0, count, count, len(directory), start, len(comment))
    return directory + end + comment


def _check_size(files: int, size: int) -> None:
    if files > MAX_FILES:
        raise BundleError("HB8008", f"a bundle has at most {MAX_FILES} files, not {files}")
    if size > MAX_BYTES:
        raise BundleError("HB8008", f"a bundle has at most {MAX_BYTES} bytes")


class Archive:
    """An archive, open for reading; `open_archive` makes one.

    Its directory is checked when it is opened, an entry when it is read.

    Attributes:
        path: the file, as it was named.
        kind: ``archive``.
    """

    __slots__ = ("_entries", "_file", "path")

    kind = "archive"

    def __init__(self, path: str, file: _File, entries: list[Entry]) -> None:
        self.path = path
        self._file = file
        self._entries = {entry.name: entry for entry in entries}

    def names(self) -> tuple[str, ...]:
        """Every entry's name, in the order of the archive."""
        return tuple(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def size(self, name: str) -> int:
        """How many bytes an entry holds.

        Raises:
            KeyError: there is none of this name.
        """
        return self._entries[name].size

    def read(self, name: str) -> bytes:
        """The content of an entry.

        Raises:
            KeyError: there is none of this name.
            BundleError: ``HB8002``, it is not what the writer wrote.
            OSError: the file cannot be read.
        """
        return b"".join(self.pieces(name))

    def pieces(self, name: str) -> Iterator[bytes]:
        """The content of an entry in pieces of at most a megabyte, none for an empty one.

        What is wrong with the content is known after the last piece. Raises what `read` raises.
        """
        entry = self._entries[name]
        head = entry.local()
        place, left, crc = entry.offset + len(head), entry.size, 0
        block = self._file.read(entry.offset, len(head) + min(left, _BLOCK))
        if not block.startswith(head):
            _damaged(f"what stands before {name} is not what the directory says of it", name)
        block = block[len(head) :]
        while left:
            crc = crc32(block, crc)
            place, left = place + len(block), left - len(block)
            yield block
            if left:
                block = self._file.read(place, min(left, _BLOCK))
        if crc != entry.crc:
            _damaged(f"the checksum of {name} is not that of its content", name)

    def close(self) -> None:
        """Close the file; nothing can be read after that."""
        self._file.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_archive(path: str | os.PathLike[str]) -> Archive:
    """Open an archive, and check all but the contents and what stands right before each.

    Raises:
        BundleError: ``HB8001`` it is no archive, ``HB8002`` the writer would not have written it,
            ``HB8003`` a name is not plain or is a link's, ``HB8008`` it is too large.
        OSError: there is no such file, or it cannot be read.
    """
    name = os.fspath(path)
    file = _File(name)
    try:
        return Archive(name, file, _read_entries(file))
    except BaseException:
        file.close()
        raise


def _read_entries(file: _File) -> list[Entry]:
    if file.size < _END.size or file.read(0, 2) != b"PK":
        raise BundleError(
            "HB8001", "the file is no bundle", "", "name a file that `hermes-build bundle` made"
        )
    _check_size(0, file.size)
    length = len(COMMENT) + 64
    if not file.read(max(file.size - length, 0), min(length, file.size)).startswith(COMMENT):
        length = 0
    end_at = file.size - _END.size - length
    mark, _, _, _, count, size, start, _ = _END.unpack(file.read(max(end_at, 0), _END.size))
    if mark != b"PK\5\6":
        _damaged("the file does not end as a bundle does: it was cut off or added to")
    if start + size != end_at:
        _damaged("the directory does not stand where the end of the file says")
    _check_size(count, file.size)
    directory = file.read(start, size)
    entries = _parsed(directory, count)
    names = [entry.name for entry in entries]
    check_names(names)
    if names != in_order(names):
        wrong = next(n for n, wanted in zip(names, in_order(names), strict=True) if n != wanted)
        _damaged(f"{wrong} does not stand in its place in the order of names", wrong)
    if start != (entries[-1].end if entries else 0):
        _damaged("the contents take another room than the directory says")
    expected = _tail(entries, b"")[: -_END.size]
    if directory != expected:
        _name_difference(directory, entries)
    comment = b""
    if MANIFEST in names:
        first = entries[0]
        comment = _comment_of(file.read(first.end - first.size, first.size))
    if file.read(end_at, file.size - end_at) != _tail(entries, comment)[len(directory) :]:
        _damaged("the end of the file does not state the manifest and the number of entries")
    return entries


def _parsed(directory: bytes, count: int) -> list[Entry]:
    """Take name, size and checksum of each entry; all else follows from them."""
    entries: list[Entry] = []
    at = offset = 0
    for _ in range(count):
        try:
            fields = _CENTRAL.unpack_from(directory, at)
            start = at + _CENTRAL.size
            at = start + fields[10]
            if fields[0] != b"PK\1\2" or at > len(directory) or fields[10] > MAX_NAME:
                raise StructError
            name = directory[start:at].decode()
        except (StructError, UnicodeDecodeError):
            after = f"after {entries[-1].name!r}" if entries else "at its beginning"
            _damaged(f"the directory cannot be read {after}")
        if fields[15] >> 16 & 0o170000 == _LINK:
            raise BundleError("HB8003", f"{name!r} is a link", name, "put the file itself there")
        if fields[4]:
            _damaged(f"{name!r} is compressed", name)
        entry = Entry(name, offset, fields[9], fields[7])
        offset = entry.end
        _check_size(0, offset)
        entries.append(entry)
    return entries


def _name_difference(directory: bytes, entries: list[Entry]) -> NoReturn:
    at = 0
    for entry in entries:
        expected = entry.central()
        if directory[at : at + len(expected)] != expected:
            _damaged(
                f"the directory says of {entry.name} what the writer of bundles never writes",
                entry.name,
            )
        at += len(expected)
    _damaged("something stands between the directory and the end of the file")


def _damaged(what: str, name: str = "") -> NoReturn:
    raise BundleError(
        "HB8002",
        f"{what}: the file was damaged or changed, or another tool has written it",
        name,
        "get the bundle anew from who made it",
    )


_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_KIND, _REGULAR = 0o170000, 0o100000  # as in `stat`


class _File:
    """A regular file that is open, read by position from any thread."""

    __slots__ = ("_descriptor", "size")

    def __init__(self, path: str) -> None:
        self._descriptor = -1
        self._descriptor = os.open(path, _OPEN)
        status = os.fstat(self._descriptor)
        self.size = status.st_size
        if status.st_mode & _KIND != _REGULAR:
            self.close()
            raise BundleError("HB8001", "it is neither a file nor a folder")

    def read(self, position: int, size: int) -> bytes:
        """Return so many bytes; fewer would be another file than the one that was opened."""
        data = _read_at(self._descriptor, size, position)
        while len(data) < size:
            more = _read_at(self._descriptor, size - len(data), position + len(data))
            if not more:
                _damaged("the file ends too early")
            data += more
        return data

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    __del__ = close


if hasattr(os, "pread"):
    _read_at = os.pread
else:  # Windows
    from _thread import allocate_lock

    _seeking = allocate_lock()

    def _read_at(descriptor: int, size: int, position: int) -> bytes:
        with _seeking:
            os.lseek(descriptor, position, os.SEEK_SET)
            return os.read(descriptor, size)
