"""Undoing the compression of an answer, a little at a time and never beyond a limit.

An answer of a few kilobytes can decompress to gigabytes. So no more is ever decompressed than may
still be kept, and what goes beyond is known after one byte of it.
"""

from __future__ import annotations

import zlib
from typing import Protocol

from handlers.refusal import Refusal

ACCEPTED = "gzip, deflate"
"""The value of ``Accept-Encoding`` that asks for what is understood here."""


class Decoder(Protocol):
    """Takes an answer's bytes as they arrive."""

    def feed(self, data: bytes, room: int) -> bytes:
        """What ``data`` decompresses to; at most ``room`` bytes and one more, which tells of more.

        Raises:
            Refusal: when the data is damaged.
        """
        ...

    def end(self) -> None:
        """Say that all has arrived.

        Raises:
            Refusal: when the data stops short.
        """


class _Plain:
    def feed(self, data: bytes, room: int) -> bytes:
        return data[: room + 1]

    def end(self) -> None:
        return


class _Zlib:
    """For gzip, where several members may follow one another, and for zlib's format."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._inner = zlib.decompressobj(47)
        self._begun = False

    def feed(self, data: bytes, room: int) -> bytes:
        out = bytearray()
        try:
            while data and len(out) <= room:
                if self._inner.eof:
                    if data[:1] != b"\x1f":  # padding, which some servers append
                        break
                    self._inner = zlib.decompressobj(47)
                out += self._decompress(data, room + 1 - len(out))
                self._begun = True
                data = self._inner.unconsumed_tail or self._inner.unused_data
        except zlib.error:
            raise Refusal(f"The answer is damaged: its {self._name} data is not valid.") from None
        return bytes(out)

    def _decompress(self, data: bytes, most: int) -> bytes:
        try:
            return self._inner.decompress(data, most)
        except zlib.error:
            if self._begun:
                raise
            # What `deflate` means was long disputed; some servers send it without zlib's header.
            self._inner = zlib.decompressobj(-15)
            return self._inner.decompress(data, most)

    def end(self) -> None:
        if self._begun and not self._inner.eof:
            raise Refusal(f"The answer is damaged: its {self._name} data stops short.")


def decoder(encoding: str) -> Decoder:
    """A decoder for the value of ``Content-Encoding``.

    Raises:
        Refusal: for an encoding that was not asked for.
    """
    names = [name.strip().lower() for name in encoding.split(",")]
    names = [name for name in names if name not in ("", "identity")]
    if not names:
        return _Plain()
    if len(names) == 1 and names[0] in ("gzip", "x-gzip", "deflate"):
        return _Zlib(names[0])
    raise Refusal(
        f"The server sent its answer compressed as {', '.join(names)[:80]!r}, which was not asked "
        "for and is not understood."
    )
