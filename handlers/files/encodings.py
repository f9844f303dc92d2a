"""Which characters a file's bytes stand for, and whether they stand for characters at all."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from handlers.refusal import Refusal

HEAD = 8_192
"""How many bytes decide whether a file is text."""

_MARKS = (
    # UTF-32 goes first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32 LE"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32 BE"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16 LE"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16 BE"),
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
)
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or a document built on one"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x7fELF", "an ELF program or library"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (b"MZ", "a Windows program or library"),
    (b"\x00asm", "a WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "a Java class"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"RIFF", "RIFF media (WAV, AVI or WebP)"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"BM", "a BMP image"),
)
# Bytes that text never needs; tab, line ends, form feed, backspace and escape are common in it.
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"


@dataclass(frozen=True, slots=True)
class Encoding:
    """How text was read, so that it can be written back: ``shown`` is the name that people know."""

    codec: str
    shown: str
    mark: bytes = b""
    errors: str = "strict"


UTF_8 = Encoding("utf-8", "UTF-8")
LATIN_1 = Encoding("latin-1", "Latin-1")
MIXED = Encoding("utf-8", "UTF-8 with stray bytes", errors="surrogateescape")


def marked(head: bytes) -> Encoding | None:
    """The encoding that a byte order mark at the start declares, if there is one."""
    for mark, codec, shown in _MARKS:
        if head.startswith(mark):
            return Encoding(codec, shown, mark)
    return None


def binary_kind(head: bytes) -> str:
    """What a file that is not text is, from its first `HEAD` bytes; empty for text."""
    if marked(head):
        return ""
    odd = len(head) - len(head.translate(None, _CONTROLS))
    nul = b"\0" in head
    for signature, words in _SIGNATURES:
        # A text may well begin with "BM"; only a signature that no text has decides alone.
        if head.startswith(signature) and (
            nul or odd or max(signature) > 126 or signature[0] == 37
        ):
            return words
    if nul or odd * 10 > len(head):
        return "binary data"
    return ""


def decode(data: bytes, shown: str) -> tuple[str, Encoding]:
    """The text of a whole file, in a way that `encode` undoes byte for byte.

    Raises:
        Refusal: when it is not text, or is damaged.
    """
    kind = binary_kind(data[:HEAD])
    if kind:
        raise Refusal(f"{shown} is {kind} ({len(data):,} bytes), not text.", path=shown)
    encoding = marked(data) or UTF_8
    try:
        return data[len(encoding.mark) :].decode(encoding.codec), encoding
    except UnicodeDecodeError:
        if encoding.codec != "utf-8":
            raise Refusal(f"{shown}: the {encoding.shown} text is damaged.", path=shown) from None
    if not encoding.mark:
        loose = data.decode("utf-8", "surrogateescape")
        # No single accent that is valid UTF-8 means that the file was never meant to be UTF-8.
        if not any(ord(one) > 127 and not "\udc80" <= one <= "\udcff" for one in loose):
            return data.decode("latin-1"), LATIN_1
        return loose, MIXED
    mixed = Encoding("utf-8", encoding.shown, encoding.mark, "surrogateescape")
    return data[len(encoding.mark) :].decode("utf-8", "surrogateescape"), mixed


def encode(text: str, encoding: Encoding, shown: str) -> bytes:
    """The bytes of a text.

    Raises:
        Refusal: when the encoding has no place for a character; it names the character.
    """
    try:
        return encoding.mark + text.encode(encoding.codec, encoding.errors)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        what = f"U+{ord(text[error.start]):04X}"
        raise Refusal(
            f"{shown}: {what} on line {line} cannot be written as {encoding.shown}.", path=shown
        ) from None
