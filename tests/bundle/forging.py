"""Makes archives as the writer does, but for one thing, and reads them where there is no file."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from hermes_build.bundle.entries import in_order
from hermes_build.bundle.format import MANIFEST, BundleError
from tests.bundle import making

_LOCAL = ("needs", "flags", "method", "time", "date", "crc", "stored", "size", "name", "extra")
_CENTRAL = ("made", *_LOCAL, "comment", "disk", "internal", "external", "offset")
USUAL = {"made": 3 << 8 | 20, "needs": 20, "date": 33, "external": 0o100644 << 16}


def forged(
    entries: Iterable[tuple[str | bytes, bytes]],
    *,
    comment: bytes | None = None,
    local: Mapping[str, Mapping[str, Any]] | None = None,
    central: Mapping[str, Mapping[str, Any]] | None = None,
    end: Mapping[str, int] | None = None,
    between: bytes = b"",
) -> bytes:
    """An archive of these entries in this order, as the writer would write it.

    ``local`` and ``central`` replace fields of an entry's headers, by its name; ``tail`` among
    them are bytes right after the name. ``end`` replaces fields of the end, ``between`` stands
    before the directory. The comment is the right one for the first manifest.
    """
    body, directory = b"", b""
    entries = list(entries)
    for name, data in entries:
        raw = name.encode() if isinstance(name, str) else name
        key = raw.decode(errors="replace")
        usual = {
            **USUAL,
            "flags": 0 if raw.isascii() else 0x800,
            "crc": zlib.crc32(data),
            "stored": len(data),
            "size": len(data),
            "name": len(raw),
            "offset": len(body),
        }
        fields = {**usual, **(central or {}).get(key, {})}
        numbers = (fields.get(one, 0) for one in _CENTRAL)
        directory += struct.pack("<4s6H3L5H2L", b"PK\1\2", *numbers)
        directory += raw + fields.get("tail", b"")
        fields = {**usual, **(local or {}).get(key, {})}
        body += struct.pack("<4s5H3L2H", b"PK\3\4", *(fields.get(one, 0) for one in _LOCAL))
        body += raw + fields.get("tail", b"") + data
    body += between
    if comment is None:
        manifest = next((data for name, data in entries if name == MANIFEST), None)
        comment = b"" if manifest is None else making.comment(manifest)
    last = {
        "count": len(entries),
        "all": len(entries),
        "size": len(directory),
        "start": len(body),
        "comment": len(comment),
        **(end or {}),
    }
    numbers = (last.get(one, 0) for one in ("disk", "first", *list(last)[:5]))
    return body + directory + struct.pack("<4s4H2LH", b"PK\5\6", *numbers) + comment


def rezipped(
    entries: Mapping[str, bytes],
    method: int = zipfile.ZIP_STORED,
    date: tuple[int, int, int, int, int, int] = (1980, 1, 1, 0, 0, 0),
    step: int = 1,
    mode: int = 0o100644,
    comment: bytes | None = None,
    stream: bool = False,
    zip64: bool = False,
) -> bytes:
    """The same entries, as another tool may write them."""

    class Stream(io.BytesIO):
        def seekable(self) -> bool:
            return not stream

        def tell(self) -> int:
            if stream:
                raise OSError
            return super().tell()

    target = Stream()
    with zipfile.ZipFile(target, "w") as made:
        for name in in_order(entries)[::step]:
            info = zipfile.ZipInfo(name, date)
            info.compress_type = method
            info.create_system = 3
            info.external_attr = mode << 16
            with made.open(info, "w", force_zip64=zip64) as entry:
                entry.write(entries[name])
        made.comment = making.comment(entries[MANIFEST]) if comment is None else comment
    return target.getvalue()


class InMemory:
    """What is read of an archive, where there is no file."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._data = data

    def read(self, position: int, size: int) -> bytes:
        found = self._data[position : position + size]
        if len(found) != size:
            raise BundleError("HB8002", "the file ends too early")
        return found

    def close(self) -> None:
        """Do nothing: no file is open."""
