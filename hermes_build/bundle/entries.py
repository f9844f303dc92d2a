"""The form of an archive: what stands in it around the contents, byte for byte.

Nothing in it is free but the name, the size and the checksum of each entry. Where an entry begins
follows from the sizes of those before it, so that no two can overlap.
"""

from __future__ import annotations

from struct import Struct, pack
from struct import error as StructError

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
    from collections.abc import Iterable
    from typing import NoReturn

COMMENT = b"hermes-bundle 1 sha256:"
"""How the comment of an archive begins; the digest of the manifest follows, in hexadecimal."""

MAX_DIRECTORY = MAX_FILES * (46 + MAX_NAME)
"""The largest directory, in bytes."""

END = Struct("<4s4H2LH")

_LOCAL = b"PK\3\4"
_DATE = 1 << 5 | 1  # 1980-01-01, the first day that a zip archive knows
_KINDS = tuple(
    # By Unix, which has modes; stored, without and with a name in UTF-8.
    pack("<4s6H", b"PK\1\2", 3 << 8 | 20, 20, flags, 0, 0, _DATE)
    for flags in (0, 0x800)
)
_REST = pack("<4HL", 0, 0, 0, 0, 0o100644 << 16)  # a regular file, and no extra fields
_LINK = 0o120000

_SIZES = Struct("<3L2H")

_RECORD = Struct("<16s3LH12sL")
"""A record of the directory: a kind, sizes, `_REST`, and where the entry begins."""


class Entry:
    """One entry.

    Attributes:
        head: what stands before its content.
        offset: where that begins.
        size: how many bytes its content has.
        crc: the CRC-32 of that.
        end: where the next entry begins.
    """

    __slots__ = ("crc", "end", "head", "offset", "size")

    def __init__(self, head: bytes, offset: int, size: int, crc: int) -> None:
        self.head = head
        self.offset = offset
        self.size = size
        self.crc = crc
        self.end = offset + len(head) + size

    def record(self) -> bytes:
        """What stands in the directory at the end of the archive."""
        raw, size = self.head[30:], self.size
        kind = _KINDS[not raw.isascii()]
        return _RECORD.pack(kind, self.crc, size, size, len(raw), _REST, self.offset) + raw


def make_entry(name: str, offset: int, size: int, crc: int) -> Entry:
    """Return the entry of this name; see `Entry`."""
    raw = name.encode()
    kind = _KINDS[not raw.isascii()]
    head = _LOCAL + kind[6:] + _SIZES.pack(crc, size, size, len(raw), 0) + raw
    return Entry(head, offset, size, crc)


def in_order(names: Iterable[str]) -> list[str]:
    """Return names in the order that they have in an archive."""
    ordered = sorted(names)
    for first in (SIGNATURES, MANIFEST):
        if first in ordered:
            ordered.remove(first)
            ordered.insert(0, first)
    return ordered


def comment_of(manifest: bytes) -> bytes:
    """The comment of an archive with this manifest."""
    return COMMENT + hexdigest(manifest).encode()


def tail(entries: list[Entry], comment: bytes) -> bytes:
    """What follows the last content: the directory, and its end.

    Raises:
        BundleError: ``HB8008``, the archive would be too large.
    """
    directory = b"".join([entry.record() for entry in entries])
    start = entries[-1].end if entries else 0
    check_size(len(entries), start + len(directory))
    return directory + end_of(len(entries), len(directory), start, comment)


def end_of(count: int, size: int, start: int, comment: bytes) -> bytes:
    """What follows a directory of so many entries and bytes that begins at ``start``."""
    return END.pack(b"PK\5\6", 0, 0, count, count, size, start, len(comment)) + comment


def check_size(files: int, size: int) -> None:
    """Hold an archive of so many entries and bytes against the bounds.

    Raises:
        BundleError: ``HB8008``, it is too large.
    """
    if files > MAX_FILES:
        raise BundleError("HB8008", f"a bundle has at most {MAX_FILES} files, not {files}")
    if size > MAX_BYTES:
        raise BundleError("HB8008", f"a bundle has at most {MAX_BYTES} bytes")


def parsed(directory: bytes, count: int) -> dict[str, Entry]:
    """Read a directory, and refuse every byte of it that is not as `Entry.record` writes it.

    Raises:
        BundleError: ``HB8002``; ``HB8003`` for a link, or a name that stands twice; ``HB8008``.
    """
    entries: dict[str, Entry] = {}
    at = offset = 0
    unpack = _RECORD.unpack_from
    for _ in range(count):
        try:
            kind, crc, stored, size, length, rest, place = unpack(directory, at)
            begin, at = at, at + _RECORD.size + length
            raw = directory[begin + _RECORD.size : at]
            name = raw.decode()
        except (StructError, UnicodeDecodeError):
            damaged(f"the directory cannot be read after {len(entries)} entries")
        if name in entries:
            check_names((name, name))
        if (
            kind != _KINDS[not raw.isascii()]
            or rest != _REST
            or size != stored
            or place != offset
            or len(raw) != length
        ):
            _name_difference(name, kind, rest)
        head = _LOCAL + directory[begin + 6 : begin + 32] + raw
        entry = entries[name] = Entry(head, offset, size, crc)
        offset = entry.end
    check_size(count, offset)
    if at != len(directory):
        damaged("something stands between the directory and the end of the file")
    return entries


def _name_difference(name: str, kind: bytes, rest: bytes) -> NoReturn:
    if kind[:4] == b"PK\1\2" and rest[11] << 8 & 0o170000 == _LINK:
        raise BundleError("HB8003", f"{name!r} is a link", name, "put the file itself there")
    if kind[:4] == b"PK\1\2" and any(kind[10:12]):
        damaged(f"{name!r} is compressed", name)
    damaged(f"the directory says of {name!r} what the writer of bundles never says", name)


def damaged(what: str, name: str = "") -> NoReturn:
    """Refuse an archive that is not as the writer writes it.

    Raises:
        BundleError: ``HB8002``, with a sentence that begins with ``what``; ``name`` is the entry's.
    """
    raise BundleError(
        "HB8002",
        f"{what}: the file was damaged or changed, or another tool has written it",
        name,
        "get the bundle anew from who made it",
    )
