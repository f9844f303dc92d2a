"""Reading a compiled catalogue: bisection over the lines of a mapped file.

Nothing is parsed, indexed or copied when a catalogue is opened, so that opening one costs the same
at ten tools and at ten thousand; each answer is parsed afresh, so that nobody shares a mutable
value with anybody. `hermes_build.layout` says what the file holds.
"""

from __future__ import annotations

import mmap
import os

from hermes_build import __version__
from hermes_build.layout import FORMAT, HEADER
from hermes_build.runtime.errors import CatalogueError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_COMPILE = "Run `hermes-build compile`."


class Catalogue:
    """One catalogue file, open for reading.

    Raises:
        CatalogueError: when the file is missing, empty, of another format, or not the one with
            ``digest`` (the hexadecimal SHA-256 that the generated registry states).
    """

    __slots__ = ("_first", "_map", "path")

    def __init__(self, path: str, digest: str) -> None:
        self.path = path
        self._map = _open(path)
        end = self._map.find(b"\n")
        self._first = len(self._map) if end < 0 else end + 1
        # Two substrings decide without a JSON parser; only a header that differs is worth parsing.
        line = self._map[: self._first]
        if (
            f'"digest":"{digest}"'.encode() not in line
            or f'"format":{FORMAT},'.encode() not in line
        ):
            self._check_header(line, digest)

    def record(self, key: str) -> dict[str, Any] | None:
        """The value stored under a key, parsed afresh at each call; None where there is none."""
        start = self._lower_bound(wanted := key.encode("utf-8", "surrogatepass"))
        found, data, _ = self._line(start)
        return self._parse(key, data) if found == wanted else None

    def __contains__(self, key: str) -> bool:
        wanted = key.encode("utf-8", "surrogatepass")
        return self._line(self._lower_bound(wanted))[0] == wanted

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

        records = self._map[self._first :].replace(b"\r\n", b"\n")
        if sha256(records).hexdigest() != digest:
            raise CatalogueError(
                f"{self.path} was changed after it was compiled: its records are not those of its "
                f"digest. {_COMPILE}"
            )

    def _walk(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        wanted = prefix.encode()
        start = self._lower_bound(wanted)
        while start < len(self._map):
            key, data, start = self._line(start)
            if not key.startswith(wanted):
                return
            yield key.decode("utf-8", "surrogatepass"), data

    def _lower_bound(self, wanted: bytes) -> int:
        """Where the first line begins whose key is not below ``wanted``."""
        lines = self._map
        low, high = self._first, len(lines)
        while low < high:
            middle = (low + high) // 2
            start = (lines.rfind(b"\n", low, middle) + 1) or low
            tab = lines.find(b"\t", start)
            if lines[start:tab] < wanted:
                end = lines.find(b"\n", middle)
                low = high if end < 0 else end + 1
            else:
                high = start
        return low

    def _line(self, start: int) -> tuple[bytes, bytes, int]:
        """The key and the data of the line at ``start``, and where the next line begins."""
        lines = self._map
        end = lines.find(b"\n", start)
        end = len(lines) if end < 0 else end
        key, _, data = lines[start:end].partition(b"\t")
        return key, data, end + 1

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


def _open(path: str) -> mmap.mmap:
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        raise CatalogueError(f"{path} is missing. {_COMPILE}") from None
    except OSError as error:
        raise CatalogueError(f"{path} cannot be read: {error.strerror}. {_COMPILE}") from error
    try:
        if os.fstat(file).st_size == 0:
            raise CatalogueError(f"{path} is empty. {_COMPILE}")
        return mmap.mmap(file, 0, access=mmap.ACCESS_READ)
    except OSError as error:  # a folder opens, and cannot be mapped
        raise CatalogueError(f"{path} cannot be read: {error.strerror}. {_COMPILE}") from error
    finally:
        os.close(file)
