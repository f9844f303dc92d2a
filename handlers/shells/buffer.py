"""Output in bounded memory: the end of it alone, or its beginning too."""

from __future__ import annotations


class Ring:
    """The last ``capacity`` bytes of a stream, and the count of what went before.

    Positions are counted in bytes from the beginning of the stream, lines by their line ends.
    """

    __slots__ = ("_kept", "capacity", "dropped_lines", "start")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.start = 0
        """The position of the first byte that is kept; so many were dropped."""
        self.dropped_lines = 0
        """How many line ends were dropped."""
        self._kept = bytearray()

    @property
    def total(self) -> int:
        """How many bytes the stream has had; the position of its end."""
        return self.start + len(self._kept)

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._kept += data
        surplus = len(self._kept) - self.capacity
        if surplus > 0:
            self.dropped_lines += self._kept.count(b"\n", 0, surplus)
            del self._kept[:surplus]
            self.start += surplus

    def since(self, position: int) -> bytes:
        """What is kept of the stream from a position on."""
        return bytes(self._kept[max(0, position - self.start) :])


class Ends:
    """The first ``head`` and the last ``tail`` bytes of a stream."""

    __slots__ = ("_head", "_room", "_tail")

    def __init__(self, head: int, tail: int) -> None:
        self._head = bytearray()
        self._room = head
        self._tail = Ring(tail)

    @property
    def total(self) -> int:
        """How many bytes the stream has had."""
        return len(self._head) + self._tail.total

    @property
    def dropped(self) -> int:
        """How many bytes between the two ends were dropped."""
        return self._tail.start

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        if self._room:
            first = data[: self._room]
            self._head += first
            self._room -= len(first)
            data = data[len(first) :]
        if data:
            self._tail.add(data)

    @property
    def head(self) -> bytes:
        """The first bytes."""
        return bytes(self._head)

    @property
    def tail(self) -> bytes:
        """The last bytes, as far as they are not in the head."""
        return self._tail.since(0)
