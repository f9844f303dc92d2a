"""Images as bytes: of which kind they are, how large, and the data URLs that carry them.

A kind is told by the bytes alone; what a name or a media type claims is never believed.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from handlers.refusal import Refusal

KINDS = ("png", "jpeg", "gif", "webp")
"""The kinds that are known, as the second half of their media types."""

ENDINGS = {"png": (".png",), "jpeg": (".jpg", ".jpeg"), "gif": (".gif",), "webp": (".webp",)}
"""The endings of file names by kind, the one that we write first."""

# Markers of a JPEG after which its height and width follow; the gaps are markers of other kinds.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class Picture:
    """An image: its bytes and its kind, one of `KINDS`."""

    data: bytes
    kind: str

    @property
    def data_url(self) -> str:
        """The image as a ``data:`` URL."""
        return f"data:image/{self.kind};base64,{base64.b64encode(self.data).decode()}"

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height in pixels; None where the bytes do not say."""
        try:
            return _SIZES[self.kind](self.data)
        except IndexError:
            return None


def recognise(data: bytes, shown: str) -> Picture:
    """The image that some bytes are.

    Args:
        data: the bytes.
        shown: what to call them in a refusal.

    Raises:
        Refusal: when they are none of `KINDS`.
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return Picture(data, "png")
    if data.startswith(b"\xff\xd8\xff"):
        return Picture(data, "jpeg")
    if data.startswith((b"GIF87a", b"GIF89a")):
        return Picture(data, "gif")
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return Picture(data, "webp")
    raise Refusal(
        f"{shown} is not an image of a kind that is understood, which are PNG, JPEG, GIF and WebP; "
        f"{_begins(data)}."
    )


def from_base64(text: str, most: int, shown: str) -> Picture:
    """The image that base64 text holds.

    Raises:
        Refusal: when it is no base64, holds more than ``most`` bytes, or is no known image.
    """
    if len(text) > (most + 2) // 3 * 4 + 4:
        raise Refusal(f"{shown} holds more than {most:,} bytes.")
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(f"{shown} is not valid base64.") from None
    if len(data) > most:
        raise Refusal(f"{shown} has {len(data):,} bytes; at most {most:,} are taken.")
    return recognise(data, shown)


def from_data_url(url: str, most: int) -> Picture:
    """The image in a ``data:`` URL.

    Raises:
        Refusal: when it is no base64, holds more than ``most`` bytes, or is no known image.
    """
    head, comma, body = url.partition(",")
    if not comma or not head.lower().endswith(";base64"):
        raise Refusal("The data URL must have the form `data:image/png;base64,...`.")
    return from_base64(body, most, "The data URL")


def _begins(data: bytes) -> str:
    if not data:
        return "it is empty"
    start = data[:64].lstrip().lower()
    if start.startswith((b"<svg", b"<?xml", b"<!doctype", b"<html")):
        return "it begins like SVG, XML or HTML text"
    if start.startswith(b"%pdf-"):
        return "it is a PDF document"
    return f"it begins with the bytes {data[:8].hex(' ')}"


def _png(data: bytes) -> tuple[int, int]:
    return _big(data, 16, 4), _big(data, 20, 4)


def _gif(data: bytes) -> tuple[int, int]:
    return _little(data, 6, 2), _little(data, 8, 2)


def _webp(data: bytes) -> tuple[int, int] | None:
    chunk = data[12:16]
    if chunk == b"VP8X":
        return _little(data, 24, 3) + 1, _little(data, 27, 3) + 1
    if chunk == b"VP8L":
        bits = _little(data, 21, 4)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8 ":
        return _little(data, 26, 2) & 0x3FFF, _little(data, 28, 2) & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _FRAMES:
            return _big(data, at + 7, 2), _big(data, at + 5, 2)
        # A fill byte stands alone; every other segment says how long it is.
        at += 1 if marker == 0xFF else 2 + max(2, _big(data, at + 2, 2))
    return None


def _big(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(_exactly(data, at, count), "big")


def _little(data: bytes, at: int, count: int) -> int:
    return int.from_bytes(_exactly(data, at, count), "little")


def _exactly(data: bytes, at: int, count: int) -> bytes:
    if at + count > len(data):
        raise IndexError(at)
    return data[at : at + count]


_SIZES = {"png": _png, "jpeg": _jpeg, "gif": _gif, "webp": _webp}
