"""Opening a bundle that was verified before: a look at its manifest, and no more.

A program that opens a bundle waits for that. So this imports neither a JSON parser nor regular
expressions nor hashes, and looks for the few facts that a registry begins with in the text of the
manifest, which has one form only. What does not look as it should is left to those who read all of
it, and who say what is wrong. The bundle is opened in full, from the same descriptor, when more of
it is needed: when the first handler is imported.
"""

from __future__ import annotations

import os
from _thread import allocate_lock

from hermes_build.bundle.format import FORMAT, MANIFEST, BundleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hermes_build.bundle.format import Manifest
    from hermes_build.bundle.verifying import Container, Opened

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_KIND, _REGULAR = 0o170000, 0o100000  # as in `stat`


class Held:
    """A file that is held open, and read by position from any thread.

    One that takes the place of the file changes nothing.

    Raises:
        BundleError: ``HB8001``, there is something else than a file.
        OSError: there is nothing, or it cannot be read.
    """

    __slots__ = ("_descriptor", "_lock", "_status", "path", "size")

    def __init__(self, path: str) -> None:
        self._descriptor = -1
        self._lock = allocate_lock()
        self.path = path
        self._descriptor = os.open(path, _OPEN)
        self._status = os.fstat(self._descriptor)
        self.size = self._status.st_size
        if self._status.st_mode & _KIND != _REGULAR:
            self.close()
            raise BundleError("HB8001", "it is neither a file nor a folder")

    def read(self, position: int, size: int) -> bytes:
        """Return so many bytes from a position.

        Raises:
            BundleError: ``HB8002``, the file was made shorter.
            OSError: it cannot be read, or was closed.
        """
        data = b""
        while len(data) < size:
            with self._lock:
                self._demand_ours()
                more = self._read(position + len(data), size - len(data))
            if not more:
                raise BundleError("HB8002", "the file ends too early: it was changed")
            data = data + more if data else more
        return data

    def close(self) -> None:
        """Close the file, where nobody else has."""
        with self._lock:
            try:
                self._demand_ours()
                os.close(self._descriptor)
            except OSError:
                pass
            self._descriptor = -1

    __del__ = close

    def _demand_ours(self) -> None:
        # A program that becomes a daemon closes every descriptor, and the number may be another
        # file's by now.
        if self._descriptor < 0:
            raise OSError(f"{self.path} was closed")
        if not os.path.samestat(os.fstat(self._descriptor), self._status):
            raise OSError(f"{self.path} was closed by somebody else")

    if hasattr(os, "pread"):

        def _read(self, position: int, size: int) -> bytes:
            return os.pread(self._descriptor, size, position)

    else:  # Windows

        def _read(self, position: int, size: int) -> bytes:
            os.lseek(self._descriptor, position, os.SEEK_SET)
            return os.read(self._descriptor, size)


class Glance:
    """A bundle of which the manifest was looked at.

    Attributes:
        path: the file, or the folder that holds the tree; absolute.
        held: the file; None for a folder.
        package, registry, format, needs: what the manifest says under ``package``, ``registry``
            and ``runtime``.
    """

    __slots__ = ("_facts", "_opened", "format", "held", "needs", "package", "path", "registry")
    package: str
    registry: str
    format: int
    needs: str

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)
        self.held: Held | None = None
        self._facts: tuple[str, str, int, str] | None = None
        self._opened: Opened | None = None
        try:
            if os.path.isdir(self.path):
                with open(os.path.join(self.path, MANIFEST), "rb") as file:
                    manifest = file.read()
            else:
                self.held = Held(self.path)
                manifest = _manifest_in(self.held)
            self._take(_facts(manifest))
        except (ValueError, FileNotFoundError):
            try:
                self.open()
            except BaseException:
                self.close()
                raise

    def open(self, *, verify: bool = False) -> Opened:
        """Open the bundle in full, once; ``verify`` hashes all of it.

        Raises what `hermes_build.bundle.verifying.verify` raises, and ``HB8006`` where the manifest
        of a folder is another by now.
        """
        if self._opened is None or verify:
            from hermes_build.bundle import verifying

            container = self._container()
            self.path = container.path
            way = verifying.verify_container if verify else verifying.open_contents
            opened = way(container)
            facts = _facts_of(opened.manifest)
            if self._facts is None:
                self._take(facts)
            elif self._facts != facts:
                opened.close()
                raise BundleError("HB8006", "the manifest was changed while it was read", MANIFEST)
            self._opened = opened
        return self._opened

    def _container(self) -> Container:
        """The container, of which the file is the one that is held."""
        from hermes_build.bundle.archive import Archive, read_entries
        from hermes_build.bundle.verifying import open_container
        from hermes_build.bundle.wheel import as_wheel

        if self.held is None:
            return open_container(self.path)
        held: Any = self.held
        archive = Archive(self.path, held, read_entries(held))
        return as_wheel(archive) if self.path.endswith(".whl") else archive

    def _take(self, facts: tuple[str, str, int, str]) -> None:
        self._facts = facts
        self.package, self.registry, self.format, self.needs = facts

    def place_of(self, name: str) -> tuple[int, int] | None:
        """Where the content of a file begins in the archive, and its size in bytes.

        None where there is no archive, or no such file in it.
        """
        if self.held is None:
            return None
        if self._opened is not None:
            container: Any = self._opened.container
            entry = container._entries.get(name)
            return None if entry is None else (entry.end - entry.size, entry.size)
        directory = _directory(self.held)
        raw = name.encode()
        at = directory.find(raw)
        while at >= 0:
            head = at - 46
            if (
                head >= 0
                and directory.startswith(b"PK\1\2", head)
                and _number(directory, head + 28, 2) == len(raw)
            ):
                start = _number(directory, head + 42, 4) + 30 + len(raw)
                return start, _number(directory, head + 24, 4)
            at = directory.find(raw, at + 1)
        return None

    def close(self) -> None:
        """Close the file; nothing can be read after that."""
        if self.held is not None:
            self.held.close()


def _manifest_in(held: Held) -> bytes:
    """The manifest of an archive, whose first entry it is.

    Raises:
        ValueError: it is not.
    """
    length = 30 + len(MANIFEST)
    head = held.read(0, min(length, held.size))
    if not head.startswith(b"PK\3\4") or head[30:] != MANIFEST.encode():
        raise ValueError
    size = _number(head, 18, 4)
    if length + size > held.size:
        raise ValueError
    return held.read(length, size)


def _directory(held: Held) -> bytes:
    tail = held.read(max(held.size - 256, 0), min(held.size, 256))
    end = tail.rfind(b"PK\5\6")
    if end < 0 or end + 22 > len(tail):
        return b""
    size, start = _number(tail, end + 12, 4), _number(tail, end + 16, 4)
    return held.read(start, size) if start + size <= held.size else b""


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _facts(manifest: bytes) -> tuple[str, str, int, str]:
    """Package, catalogue's digest, runtime format, and the first version that reads it.

    Keys are sorted, and no text holds a bare quotation mark, so that each of these marks stands in
    one place only.

    Raises:
        ValueError: they do not stand where they should.
    """
    before, first, rest = manifest.rpartition(b',"package":"')
    package, second, rest = rest.partition(b'","registry":"')
    registry, third, rest = rest.partition(b'","requires_python":"')
    _, fourth, rest = rest.rpartition(b',"runtime":{"format":')
    number, fifth, rest = rest.partition(b',"needs":"')
    needs, sixth, _ = rest.partition(b'","version":"')
    if (
        not (first and second and third and fourth and fifth and sixth)
        or f',"format":{FORMAT},"left_out":['.encode() not in before
        or b"\\" in package + registry + needs
    ):
        raise ValueError
    return package.decode(), registry.decode(), int(number), needs.decode()


def _facts_of(manifest: Manifest) -> tuple[str, str, int, str]:
    runtime = manifest.runtime
    return manifest.package, manifest.registry, runtime.format, runtime.needs
