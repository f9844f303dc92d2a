"""Which characters the bytes of a page stand for."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# On the web these names mean more than Python lets them mean: browsers read them so.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
_NOT_OF_THE_WEB = frozenset(
    ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")
)
_META = re.compile(
    rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE
)
_XML = re.compile(rb"""\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']""")
_HEAD = 4_096
_SAMPLE = 64 * 1024


def decode(data: bytes, declared: str, *, markup: bool) -> str:
    """The text of a page.

    A byte order mark decides; then what the header ``declared``, then (with ``markup``) what the
    page says of itself, then UTF-8, each if the bytes fit it. What fits UTF-8 is not read as
    Western European, which any bytes fit and many servers declare for everything. Bytes that fit
    nothing are guessed at, and what cannot be read then becomes U+FFFD.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    names = list(_candidates(data, declared, markup))
    for name in ["utf-8", *names] if names[:1] == ["cp1252"] else [*names, "utf-8"]:
        try:
            return data.decode(name)
        except (UnicodeError, ValueError):
            continue
    return data.decode(names[0] if names else _guess(data), "replace")


def codec(label: str) -> str:
    """The name of Python's codec for a label of the web; empty where there is none for text."""
    try:
        found = codecs.lookup(label)
    except (LookupError, ValueError):
        return ""
    # `rot13` and `zip` are codecs as well, and not of characters.
    if not getattr(found, "_is_text_encoding", True) or found.name in _NOT_OF_THE_WEB:
        return ""
    return _WIDER.get(found.name, found.name)


def _candidates(data: bytes, declared: str, markup: bool) -> Iterator[str]:
    if name := codec(declared):
        yield name
    if not markup:
        return
    head = data[:_HEAD]
    for pattern in (_XML, _META):
        # What can be read as ASCII cannot be UTF-16, whatever it says of itself.
        match = pattern.search(head)
        name = codec(match[1].decode("ascii")) if match else ""
        if name and not name.startswith(("utf-16", "utf-32")):
            yield name


def _guess(data: bytes) -> str:
    """The codec that a sample looks like, where nothing is declared and it is not UTF-8."""
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_SAMPLE]).best()
    return best.encoding if best is not None else "cp1252"
