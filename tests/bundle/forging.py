"""Makes archives as the writer does, but for one thing."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from hermes_build.bundle.format import MANIFEST
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
