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
from zlib import crc32

from hermes_build.bundle.entries import (
    COMMENT,
    END,
    MAX_DIRECTORY,
    Entry,
    check_size,
    comment_of,
    damaged,
    end_of,
    in_order,
    make_entry,
    parsed,
    tail,
)
from hermes_build.bundle.format import MANIFEST, MAX_MANIFEST, BundleError
from hermes_build.bundle.held import Held
from hermes_build.bundle.names import check_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import NoReturn, TypeAlias

    Source: TypeAlias = "bytes | Callable[[], Iterable[bytes]]"
    """The content of an entry: bytes, or a function that gives it in pieces, again at each call."""

_BLOCK = 512 * 1024
"""How much is read, hashed or written at once."""


def write_archive(entries: Mapping[str, Source], target: str | os.PathLike[str]) -> str:
    """Write an archive, all or nothing: until it is whole, ``target`` is what it was before.

    A content that is a function is called twice, once to measure it and once to write it, and no
    more than one piece is in memory at a time. It is called once where it has a ``measure``: its
    size and its CRC-32.

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
            write(entry.head)
            size = crc = 0
            for piece in _pieces(entries[name]):
                write(piece)
                size += len(piece)
                crc = crc32(piece, crc)
            if (size, crc) != (entry.size, entry.crc):
                raise BundleError("HB8006", f"{name} was changed while it was written", name)
        write(tail(measured, _comment(entries)))
    return write.digest


def _measured(names: list[str], entries: Mapping[str, Source]) -> list[Entry]:
    measured = []
    offset = 0
    check_size(len(names), 0)
    for name in names:
        size, crc = getattr(entries[name], "measure", None) or _measure(entries[name], offset)
        check_size(0, offset + size)
        entry = make_entry(name, offset, size, crc)
        offset = entry.end
        measured.append(entry)
    return measured


def _measure(source: Source, offset: int) -> tuple[int, int]:
    size = crc = 0
    for piece in _pieces(source):
        size += len(piece)
        crc = crc32(piece, crc)
        check_size(0, offset + size)
    return size, crc


def _pieces(source: Source) -> Iterable[bytes]:
    return (source,) if isinstance(source, bytes) else source()


def _comment(entries: Mapping[str, Source]) -> bytes:
    if MANIFEST not in entries:
        return b""
    return comment_of(b"".join(_pieces(entries[MANIFEST])))


class Archive:
    """An archive, open for reading; `open_archive` makes one.

    Its directory is checked when it is opened, an entry when it is read.

    Attributes:
        path: the file, as it was named.
        kind: ``archive``.
    """

    __slots__ = ("_entries", "_file", "path")

    kind = "archive"

    def __init__(self, path: str, file: Held, entries: dict[str, Entry]) -> None:
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
        head = entry.head
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
            damaged(f"the checksum of {name} is not that of its content", name)

    def _refuse_head(self, name: str) -> NoReturn:
        damaged(f"what stands before {name} is not what the directory says of it", name)

    def digests(self, *, sums: bool) -> Iterator[tuple[str, str]]:
        """Every entry's name with the SHA-256 of its content, in the order of the archive.

        The file is read once, from its beginning to its end. ``sums`` holds each content against
        its checksum as well, which takes a third of the time more. Raises what `read` raises.
        """
        for names in self._groups():
            first = self._entries[names[0]]
            if first.size > _BLOCK:
                yield names[0], self._large_digest(names[0], sums)
                continue
            begin = first.offset
            content = view = block = None  # lets go of the memory that the next one takes
            block = self._file.read(begin, self._entries[names[-1]].end - begin)
            view = memoryview(block)
            for name in names:
                entry = self._entries[name]
                end = entry.end - begin
                if not block.startswith(entry.head, entry.offset - begin):
                    self._refuse_head(name)
                content = view[end - entry.size : end]
                if sums:
                    self._check_sum(name, crc32(content))
                yield name, sha256(content).hexdigest()

    def _groups(self) -> Iterator[list[str]]:
        """All names, those together that are read at once: large entries stand alone."""
        group: list[str] = []
        begin = 0
        for name, entry in self._entries.items():
            if group and entry.end - begin > _BLOCK:
                yield group
                group = []
            if not group:
                begin = entry.offset
            group.append(name)
        if group:
            yield group

    def _large_digest(self, name: str, sums: bool) -> str:
        hashed = sha256()
        for block in self.pieces(name) if sums else self._blocks(name):
            hashed.update(block)
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
    file = Held(name)
    try:
        return Archive(name, file, read_entries(file))
    except BaseException:
        file.close()
        raise


def read_entries(file: Held) -> dict[str, Entry]:
    """Read the directory of an open file; ``file`` has a ``size``, and reads by position.

    Raises what `open_archive` raises.
    """
    if file.size < END.size or file.read(0, 2) != b"PK":
        raise BundleError(
            "HB8001", "the file is no bundle", "", "name a file that `hermes-build bundle` made"
        )
    check_size(0, file.size)
    length = len(COMMENT) + 64
    if not file.read(max(file.size - length, 0), min(length, file.size)).startswith(COMMENT):
        length = 0
    end_at = file.size - END.size - length
    mark, _, _, _, count, size, start, _ = END.unpack(file.read(max(end_at, 0), END.size))
    if mark != b"PK\5\6":
        damaged("the file does not end as a bundle does: it was cut off or added to")
    if start + size != end_at:
        damaged("the directory does not stand where the end of the file says")
    check_size(count, file.size)
    if size > MAX_DIRECTORY:
        damaged("the directory is longer than that of the largest bundle")
    directory = file.read(start, size)
    entries = parsed(directory, count)
    names = list(entries)
    check_names(names)
    if names != (ordered := in_order(names)):
        wrong = next(name for name, other in zip(names, ordered, strict=True) if name != other)
        damaged(f"{wrong} does not stand in its place in the order of names", wrong)
    last = entries[names[-1]].end if names else 0
    if start != last:
        damaged("the contents take another room than the directory says")
    comment = b""
    if MANIFEST in entries:
        first = entries[MANIFEST]
        if first.size > MAX_MANIFEST:
            raise BundleError("HB8008", f"the manifest is larger than {MAX_MANIFEST} bytes")
        comment = comment_of(file.read(first.end - first.size, first.size))
    if file.read(end_at, file.size - end_at) != end_of(count, size, start, comment):
        damaged("the end of the file does not state the manifest and the number of entries")
    return entries
