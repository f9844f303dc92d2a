"""The catalogue of a bundle, each byte of which is held against the manifest when it is read.

A reader wants a few lines of many megabytes, and the manifest states the digest of all of them. So
the file is hashed as a whole once, when it is first read, and the digest of each block is kept. A
block that is read later must still have it: another process may write into a file that is open.
"""

from __future__ import annotations

from hermes_build.bundle.format import BundleError
from hermes_build.forks import forked_lock
from hermes_build.runtime.errors import CatalogueError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from hermes_build.bundle.glance import Glance
    from hermes_build.bundle.held import Held

_BLOCK = 4096
"""Bytes that have a digest of their own: about what a look for a line reads."""

_PIECE = 256 * _BLOCK
"""Bytes that are read at once to hash the file."""

_DIGEST = 32

_KEPT = 256
"""How many blocks stay in memory: all of a small catalogue, and of a large one those that a
bisection begins with."""


class Pinned:
    """A file of a bundle, which is opened when it is first read; ``name`` is its path in it.

    What the methods raise:
        BundleError: the bundle is not whole, or the file is not the one that its manifest lists.
        CatalogueError: it was closed, or cannot be read.
    """

    __slots__ = (
        "_begin",
        "_closed",
        "_digests",
        "_glance",
        "_hash",
        "_held",
        "_kept",
        "_lock",
        "_name",
        "_size",
    )
    _hash: Callable[[bytes], Any]

    def __init__(self, glance: Glance, name: str) -> None:
        self._glance = glance
        self._name = name
        self._lock = forked_lock()
        self._closed = False
        self._held: Held | None = None
        self._begin = self._size = 0
        self._digests = b""
        self._kept: dict[int, bytes] = {}

    @property
    def size(self) -> int:
        """How many bytes there are."""
        self._opened()
        return self._size

    def read(self, position: int, size: int) -> bytes:
        """Up to ``size`` bytes from a position; fewer at the end only."""
        held = self._opened()
        end = min(position + size, self._size)
        first = position // _BLOCK
        data = b"".join([self._block(held, one) for one in range(first, -(-end // _BLOCK))])
        return data[position - first * _BLOCK : end - first * _BLOCK]

    def _block(self, held: Held, number: int) -> bytes:
        block = self._kept.get(number)
        if block is None:
            start = number * _BLOCK
            block = self._read(held, start, min(_BLOCK, self._size - start))
            mark = number * _DIGEST
            if self._hash(block).digest() != self._digests[mark : mark + _DIGEST]:
                self._refuse()
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            self._kept[number] = block
        return block

    def close(self) -> None:
        """Close the file, and the bundle with it."""
        with self._lock:
            self._closed = True
            if self._held is not None:
                self._held.close()
        self._glance.close()

    def _opened(self) -> Held:
        """The file that holds this one, once this one was hashed."""
        with self._lock:
            if self._closed:
                raise CatalogueError(f"{self._glance.path} was closed, and its registry with it.")
            if self._held is None:
                self._held = self._pin()
            return self._held

    def _pin(self) -> Held:
        from hashlib import sha256

        try:
            held, self._begin = self._glance.place_of(self._name)
        except OSError as error:
            self._fail(error)
        listed = self._glance.open().manifest.files[self._name]
        self._size = listed.size
        self._hash = sha256
        whole = sha256()
        digests = bytearray()
        for start in range(0, self._size, _PIECE):
            piece = memoryview(self._read(held, start, min(_PIECE, self._size - start)))
            whole.update(piece)
            for at in range(0, len(piece), _BLOCK):
                digests += sha256(piece[at : at + _BLOCK]).digest()
        if whole.hexdigest() != listed.sha256:
            self._refuse()
        self._digests = bytes(digests)
        return held

    def _read(self, held: Held, start: int, size: int) -> bytes:
        try:
            return held.read(self._begin + start, max(size, 0))
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> NoReturn:
        raise CatalogueError(f"The registry of the bundle is gone: {error}.") from error

    def _refuse(self) -> NoReturn:
        raise BundleError(
            "HB8006",
            f"{self._name} is not the file that the manifest lists",
            self._name,
            "get the bundle anew from who made it",
        )
