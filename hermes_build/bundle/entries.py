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

_LOCAL = Struct("<4s5H3L2H")
_CENTRAL = Struct("<16s3LH12sL")
END = Struct("<4s4H2LH")

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


def comment_of(manifest: bytes) -> bytes:
    """The comment of an archive with this manifest."""
    return COMMENT + hexdigest(manifest).encode()


def tail(entries: list[Entry], comment: bytes) -> bytes:
    """What follows the last content: the directory, and its end.

    Raises:
        BundleError: ``HB8008``, the archive would be too large.
    """
    directory = b"".join([entry.central() for entry in entries])
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
    """Read a directory, and refuse every byte of it that is not as `Entry.central` writes it.

    Raises:
        BundleError: ``HB8002``; ``HB8003`` for a link, or a name that stands twice; ``HB8008``.
    """
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
            damaged(f"the directory cannot be read after {len(entries)} entries")
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
    check_size(count, offset)
    if at != len(directory):
        damaged("something stands between the directory and the end of the file")
    return entries


def _name_difference(name: str, head: bytes, rest: bytes) -> NoReturn:
    if head[:4] == b"PK\1\2" and rest[11] << 8 & 0o170000 == _LINK:
        raise BundleError("HB8003", f"{name!r} is a link", name, "put the file itself there")
    if head[:4] == b"PK\1\2" and any(head[10:12]):
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
