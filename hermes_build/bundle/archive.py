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
from hashlib import sha256
from struct import Struct, pack
from struct import error as StructError
from zlib import crc32

from hermes_build.bundle.format import (
    MANIFEST,
    MAX_BYTES,
    MAX_FILES,
    MAX_MANIFEST,
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
_CENTRAL = Struct("<16s3LH12sL")
_END = Struct("<4s4H2LH")

_UTF8 = 0x800
_DATE = 1 << 5 | 1  # 1980-01-01, the first day that a zip archive knows
_VERSION = 20
_HEADS = {
    # By Unix, which has modes; stored.
    flags: pack("<4s6H", b"PK\1\2", 3 << 8 | _VERSION, _VERSION, flags, 0, 0, _DATE)
    for flags in (0, _UTF8)
}
_REST = pack("<4HL", 0, 0, 0, 0, 0o100644 << 16)  # a regular file, and no extra fields
_LINK = 0o120000


class Entry:
    """One entry: where it begins, and the size in bytes and CRC-32 of its content."""

    __slots__ = ("crc", "offset", "raw", "size")

    def __init__(self, raw: bytes, offset: int, size: int, crc: int) -> None:
        self.raw = raw
        self.offset = offset
        self.size = size
        self.crc = crc

    @property
    def end(self) -> int:
        """Where the next entry begins."""
        return self.offset + _LOCAL.size + len(self.raw) + self.size

    def local(self) -> bytes:
        """What stands before the content."""
        size, raw = self.size, self.raw
        flags = 0 if raw.isascii() else _UTF8
        head = (b"PK\3\4", _VERSION, flags, 0, 0, _DATE, self.crc, size, size, len(raw), 0)
        return _LOCAL.pack(*head) + raw

    def central(self) -> bytes:
        """What stands in the directory at the end of the archive."""
        size, raw = self.size, self.raw
        head = _HEADS[0 if raw.isascii() else _UTF8]
        return _CENTRAL.pack(head, self.crc, size, size, len(raw), _REST, self.offset) + raw


def in_order(names: Iterable[str]) -> list[str]:
    """Return names in the order that they have in an archive."""
    ordered = sorted(names)
    for first in (SIGNATURES, MANIFEST):
        if first in ordered:
            ordered.remove(first)
            ordered.insert(0, first)
    return ordered


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
        for name, entry in zip(names, measured, strict=True):
            write(entry.local())
            size = crc = 0
            for piece in _pieces(entries[name]):
                write(piece)
                size += len(piece)
                crc = crc32(piece, crc)
            if (size, crc) != (entry.size, entry.crc):
                raise BundleError("HB8006", f"{name} was changed while it was written", name)
        write(_tail(measured, _comment(entries)))
    return write.digest


def _measured(names: list[str], entries: Mapping[str, Source]) -> list[Entry]:
    measured = []
    offset = 0
    _check_size(len(names), 0)
    for name in names:
        size = crc = 0
        for piece in _pieces(entries[name]):
            size += len(piece)
            crc = crc32(piece, crc)
            _check_size(0, offset + size)
        entry = Entry(name.encode(), offset, size, crc)
        offset = entry.end
        measured.append(entry)
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

    def __init__(self, path: str, file: _File, entries: dict[str, Entry]) -> None:
        self.path = path
        self._file = file
        self._entries = entries

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
        crc = 0
        for block in self._blocks(name):
            crc = crc32(block, crc)
            yield block
        self._check_sum(name, crc)

    def _blocks(self, name: str) -> Iterator[bytes]:
        """The content of an entry, unjudged but for what stands before it."""
        entry = self._entries[name]
        head = entry.local()
        place, left = entry.offset, entry.size
        block = self._file.read(place, len(head) + min(left, _BLOCK))
        if not block.startswith(head):
            self._refuse_head(name)
        block = block[len(head) :]
        place += len(head)
        while left:
            yield block
            place, left = place + len(block), left - len(block)
            if left:
                block = self._file.read(place, min(left, _BLOCK))

    def _check_sum(self, name: str, crc: int) -> None:
        if crc != self._entries[name].crc:
            _damaged(f"the checksum of {name} is not that of its content", name)

    def _refuse_head(self, name: str) -> NoReturn:
        _damaged(f"what stands before {name} is not what the directory says of it", name)

    def digests(self) -> Iterator[tuple[str, str]]:
        """Every entry's name with the SHA-256 of its content, in the order of the archive.

        The file is read once, from its beginning to its end. Raises what `read` raises.
        """
        begin, block = 0, memoryview(b"")
        for name, entry in self._entries.items():
            head = entry.local()
            at = entry.offset - begin
            if at + len(head) + entry.size > len(block):
                if entry.size > _BLOCK:
                    yield name, self._large_digest(name)
                    continue
                # The directory follows the last entry, and the block may reach into it.
                begin, at = entry.offset, 0
                size = min(2 * _BLOCK, self._file.size - begin)
                block = memoryview(self._file.read(begin, size))
            at += len(head)
            content = block[at : at + entry.size]
            if block[at - len(head) : at] != head:
                self._refuse_head(name)
            self._check_sum(name, crc32(content))
            yield name, sha256(content).hexdigest()

    def _large_digest(self, name: str) -> str:
        """The SHA-256 of a large content, whose checksum another thread makes meanwhile."""
        from concurrent.futures import ThreadPoolExecutor

        hashed = sha256()
        crc = 0
        with ThreadPoolExecutor(1) as beside:
            for block in self._blocks(name):
                summing = beside.submit(crc32, block, crc)
                hashed.update(block)
                crc = summing.result()
        self._check_sum(name, crc)
        return hashed.hexdigest()

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


def _read_entries(file: _File) -> dict[str, Entry]:
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
    if size > MAX_FILES * (_CENTRAL.size + MAX_NAME):
        _damaged("the directory is longer than that of the largest bundle")
    directory = file.read(start, size)
    entries = _parsed(directory, count)
    names = list(entries)
    check_names(names)
    if names != (ordered := in_order(names)):
        wrong = next(name for name, other in zip(names, ordered, strict=True) if name != other)
        _damaged(f"{wrong} does not stand in its place in the order of names", wrong)
    last = entries[names[-1]].end if names else 0
    if start != last:
        _damaged("the contents take another room than the directory says")
    comment = b""
    if MANIFEST in entries:
        first = entries[MANIFEST]
        if first.size > MAX_MANIFEST:
            raise BundleError("HB8008", f"the manifest is larger than {MAX_MANIFEST} bytes")
        comment = _comment_of(file.read(first.end - first.size, first.size))
    end = _END.pack(b"PK\5\6", 0, 0, count, count, size, start, len(comment))
    if file.read(end_at, file.size - end_at) != end + comment:
        _damaged("the end of the file does not state the manifest and the number of entries")
    return entries


def _parsed(directory: bytes, count: int) -> dict[str, Entry]:
    """Read the directory, and refuse every byte of it that is not as `Entry.central` writes it."""
    entries: dict[str, Entry] = {}
    at = offset = 0
    unpack = _CENTRAL.unpack_from
    for _ in range(count):
        try:
            head, crc, size, stored, length, rest, place = unpack(directory, at)
            at += _CENTRAL.size
            raw = directory[at : at + length]
            name = raw.decode()
        except (StructError, UnicodeDecodeError):
            _damaged(f"the directory cannot be read after {len(entries)} entries")
        at += length
        if name in entries:
            check_names((name, name))
        if (
            head != _HEADS[0 if raw.isascii() else _UTF8]
            or rest != _REST
            or size != stored
            or place != offset
            or len(raw) != length
        ):
            _name_difference(name, head, rest)
        entry = entries[name] = Entry(raw, offset, size, crc)
        offset = entry.end
    _check_size(count, offset)
    if at != len(directory):
        _damaged("something stands between the directory and the end of the file")
    return entries


def _name_difference(name: str, head: bytes, rest: bytes) -> NoReturn:
    if head[:4] == b"PK\1\2" and rest[11] << 8 & 0o170000 == _LINK:
        raise BundleError("HB8003", f"{name!r} is a link", name, "put the file itself there")
    if head[:4] == b"PK\1\2" and any(head[10:12]):
        _damaged(f"{name!r} is compressed", name)
    _damaged(f"the directory says of {name!r} what the writer of bundles never says", name)


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
