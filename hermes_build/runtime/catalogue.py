"""Reading a compiled catalogue: bisection over the lines of a file.

Nothing is parsed, indexed or kept when a catalogue is opened, so that opening one costs the same at
ten tools and at ten thousand; each answer is parsed afresh, so that nobody shares a mutable value
with anybody. `hermes_build.layout` says what the file holds.

Blocks are read rather than mapped: a page of a mapped file can bring two megabytes of it into the
process, and a bisection touches a dozen.
"""

from __future__ import annotations

import os

from hermes_build import __version__
from hermes_build.layout import FORMAT, HEADER
from hermes_build.open_file import ClosedHere, OpenFile
from hermes_build.runtime.errors import CatalogueError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    class Positioned(Protocol):
        """What a catalogue is read from, from any thread."""

        @property
        def size(self) -> int:
            """How many bytes there are."""

        def read(self, position: int, size: int) -> bytes:
            """Up to ``size`` bytes from a position; fewer at the end only."""

        def close(self) -> None:
            """Close it; nothing can be read after that."""


_BLOCK = 4096
"""Bytes read before and after a place where a line is looked for; a record is about half of it."""

_COMPILE = "Run `hermes-build compile`."


class Catalogue:
    """One catalogue file, open for reading.

    ``file`` reads it where it is part of a bundle; ``path`` then names it in messages and no more,
    and nothing is read before the first lookup.

    Raises:
        CatalogueError: when the file is missing, empty, of another format, or not the one with
            ``digest`` (the hexadecimal SHA-256 that the generated registry states).
    """

    __slots__ = ("_digest", "_file", "_start", "path")

    def __init__(self, path: str, digest: str, file: Positioned | None = None) -> None:
        self.path = path
        self._digest = digest
        self._file = _File(path) if file is None else file
        self._start = 0
        if file is None:
            self.begin()

    def begin(self) -> int:
        """Judge the header, where nobody has yet; return where the first record begins."""
        if not self._start:
            _, start, line = self._line_at(0, 0)
            # Two substrings decide without a JSON parser; only a header that differs is worth
            # parsing.
            if (
                f'"digest":"{self._digest}"'.encode() not in line
                or f'"format":{FORMAT},'.encode() not in line
            ):
                self._check_header(line, self._digest)
            self._start = start
        return self._start

    def record(self, key: str) -> dict[str, Any] | None:
        """The value stored under a key, parsed afresh at each call; None where there is none."""
        found, data = self._lookup(key)
        return self._parse(key, data) if found else None

    def __contains__(self, key: str) -> bool:
        return self._lookup(key)[0]

    def names(self, prefix: str) -> list[str]:
        """The rest of every key that begins with ``prefix``, in the catalogue's order."""
        cut = len(prefix)
        return [key[cut:] for key, _ in self._walk(prefix)]

    def records(self, prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every key that begins with ``prefix``, without it, beside its value."""
        for key, data in self._walk(prefix):
            yield key[len(prefix) :], self._parse(key, data)

    def verify(self, digest: str) -> None:
        """Hash the whole file: costs a read of it, so opening does not.

        Raises:
            CatalogueError: when the records are not the ones that ``digest`` was made from.
        """
        from hashlib import sha256

        hashed = sha256()
        for line in self._lines(self.begin()):
            hashed.update(line + b"\n")
        if hashed.hexdigest() != digest:
            raise CatalogueError(
                f"{self.path} was changed after it was compiled: its records are not those of its "
                f"digest. {_COMPILE}"
            )

    def close(self) -> None:
        """Close the file; nothing can be read after that."""
        self._file.close()

    def _walk(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        wanted = prefix.encode()
        for line in self._lines(self._lower_bound(wanted)[0]):
            key, _, data = line.partition(b"\t")
            if not key.startswith(wanted):
                return
            yield key.decode("utf-8", "surrogatepass"), data

    def _lookup(self, key: str) -> tuple[bool, bytes]:
        wanted = key.encode("utf-8", "surrogatepass")
        found, _, data = self._lower_bound(wanted)[1].partition(b"\t")
        return found == wanted, data

    def _lower_bound(self, wanted: bytes) -> tuple[int, bytes]:
        """Where the first line begins whose key is not below ``wanted``, and that line."""
        low, high, found = self.begin(), self._file.size, b""
        while low < high:
            start, end, line = self._line_at((low + high) // 2, low)
            if line[: line.find(b"\t")] < wanted:
                low = end
            else:
                high, found = start, line
        return low, found

    def _line_at(self, position: int, low: int) -> tuple[int, int, bytes]:
        """The line around a position: its start, the start of the next, and its text.

        ``low`` is the start of some line at or before the position.
        """
        reach = _BLOCK
        while True:
            begin = max(low, position - reach)
            block = self._file.read(begin, position + reach - begin)
            before = block.rfind(b"\n", 0, position - begin)
            after = block.find(b"\n", position - begin)
            at_end = begin + len(block) >= self._file.size
            if (before >= 0 or begin == low) and (after >= 0 or at_end):
                end = len(block) if after < 0 else after
                return begin + before + 1, begin + end + 1, block[before + 1 : end].rstrip(b"\r")
            reach *= 4

    def _lines(self, start: int) -> Iterator[bytes]:
        """Every line from the one that begins at ``start``, without line ends."""
        rest = b""
        while block := self._file.read(start, _BLOCK * 16):
            start += len(block)
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                yield line.rstrip(b"\r")
        if rest:
            yield rest

    def _parse(self, key: str, data: bytes) -> dict[str, Any]:
        # json costs more to import than all the rest of opening a registry.
        from json import loads

        try:
            value = loads(data)
        except ValueError as error:
            raise CatalogueError(
                f"{self.path} is damaged: the record {key!r} is not JSON ({error}). {_COMPILE}"
            ) from error
        if not isinstance(value, dict):
            raise CatalogueError(
                f"{self.path} is damaged: the record {key!r} is not an object. {_COMPILE}"
            )
        return value

    def _check_header(self, line: bytes, digest: str) -> None:
        key, _, data = line.partition(b"\t")
        if key != HEADER.encode():
            raise CatalogueError(f"{self.path} is not a catalogue of hermes-build. {_COMPILE}")
        header = self._parse(HEADER, data)
        check_format(header.get("format"), self.path, "")
        if header.get("digest") != digest:
            raise CatalogueError(
                f"{self.path} is not the catalogue that its registry was generated with "
                f"(digest {str(header.get('digest'))[:12]}, expected {digest[:12]}): the generated "
                f"files come from two compilations. {_COMPILE}"
            )


def check_format(found: object, path: str, needs: str) -> None:
    """Refuse generated files that this runtime cannot read.

    ``needs`` is the first version of hermes-build that reads them, or empty where it is not known.

    Raises:
        CatalogueError: with the version to install, or the command to run.
    """
    if found == FORMAT and found is not True:
        return
    if isinstance(found, int) and found > FORMAT:
        wanted = f"hermes-build>={needs}" if needs else "a newer hermes-build"
        command = f"`pip install '{wanted}'`" if needs else f"Install {wanted}"
        raise CatalogueError(
            f"{path} has runtime format {found}, and hermes-build {__version__} reads format "
            f"{FORMAT}. {'Run ' + command if needs else command}, or compile again with this one."
        )
    raise CatalogueError(
        f"{path} has runtime format {found!r}, and hermes-build {__version__} reads format "
        f"{FORMAT}. {_COMPILE}"
    )


def _missing(path: str) -> str:
    """Why a catalogue is not there, and what to do: only a project can be compiled again."""
    folder = os.path.dirname(path)
    while folder != os.path.dirname(folder):
        if os.path.isfile(folder):
            return (
                f"{path} is inside a zip file, where the registry cannot read it: install the "
                "package as a folder."
            )
        if os.path.basename(folder) in ("site-packages", "dist-packages"):
            return (
                f"{path} is missing: the package was built without its data file. Its build "
                "backend must include `*.jsonl` files."
            )
        folder = os.path.dirname(folder)
    return f"{path} is missing. {_COMPILE}"


class _File(OpenFile):
    """The catalogue's file: one that is replaced by a new compilation is still read as it was."""

    __slots__ = ()

    def __init__(self, path: str) -> None:
        try:
            super().__init__(path)
            self.read_once(0, 1)  # a folder opens, and cannot be read
        except (FileNotFoundError, NotADirectoryError):
            raise CatalogueError(_missing(path)) from None
        except OSError as error:
            raise CatalogueError(f"{path} cannot be read: {error.strerror}. {_COMPILE}") from error
        if self.size == 0:
            raise CatalogueError(f"{path} is empty. {_COMPILE}")

    def read(self, position: int, size: int) -> bytes:
        """Up to ``size`` bytes from a position; fewer at the end of the file only."""
        try:
            return self.read_once(position, size)
        except ClosedHere as error:
            raise CatalogueError(f"{self.path} was closed, and its registry with it.") from error
        except OSError as error:
            raise CatalogueError(
                f"{self.path} was closed behind the registry's back; import the generated "
                "registry after the program has become a daemon."
            ) from error
