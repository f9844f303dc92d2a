"""Opening a bundle that was verified before: a look at its manifest, and no more.

A program that opens a bundle waits for that. So this imports neither a JSON parser nor regular
expressions nor hashes, and looks for the few facts that a registry begins with in the text of the
manifest, which has one form only. What does not look as it should is left to those who read all of
it, and who say what is wrong. The bundle is opened in full, from the same descriptor, when more of
it is needed: when a tool is looked up, or the first handler is imported.
"""

from __future__ import annotations

import os

from hermes_build.bundle.format import FORMAT, MANIFEST, MAX_MANIFEST, BundleError
from hermes_build.bundle.held import Held
from hermes_build.forks import forked_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hermes_build.bundle.format import Manifest
    from hermes_build.bundle.verifying import Container, Opened


class Glance:
    """A bundle of which the manifest was looked at.

    Attributes:
        path: the file, or the folder that holds the tree; absolute.
        held: the file; None for a folder.
        package, registry, pythons, format, needs: what the manifest says under ``package``,
            ``registry``, ``requires_python`` and ``runtime``.
    """

    __slots__ = (
        "_facts",
        "_lock",
        "_opened",
        "format",
        "held",
        "needs",
        "package",
        "path",
        "pythons",
        "registry",
    )
    package: str
    registry: str
    pythons: str
    format: int
    needs: str

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)
        self.held: Held | None = None
        self._lock = forked_lock()
        self._facts: tuple[str, str, str, int, str] | None = None
        self._opened: Opened | None = None
        try:
            if os.path.isdir(self.path):
                file = Held(os.path.join(self.path, MANIFEST))
                manifest = _bounded(file, 0, file.size)
                file.close()
            else:
                self.held = Held(self.path)
                manifest = _manifest_in(self.held)
            self._take(_facts(manifest))
        except (BundleError, ValueError, FileNotFoundError):
            try:
                self.open()
            except BaseException:
                self.close()
                raise

    def open(self, *, verify: bool = False) -> Opened:
        """Open the bundle in full, once; ``verify`` hashes all of it.

        Raises what `hermes_build.bundle.verifying.verify` raises, and ``HB8006`` where the manifest
        is another by now.
        """
        with self._lock:
            if self._opened is None or verify:
                from hermes_build.bundle import verifying

                container = self._container()
                self.path = container.path
                way = verifying.open_hashed if verify else verifying.open_contents
                opened = way(container)
                facts = _facts_of(opened.manifest)
                if self._facts is None:
                    self._take(facts)
                elif self._facts != facts:
                    opened.close()
                    what = "the manifest was changed while it was read"
                    raise BundleError("HB8006", what, MANIFEST)
                self._opened = opened
            return self._opened

    def _container(self) -> Container:
        """The container, of which the file is the one that is held."""
        from hermes_build.bundle.archive import Archive, read_entries
        from hermes_build.bundle.verifying import open_container
        from hermes_build.bundle.wheel import contained

        if self.held is None:
            return open_container(self.path)
        held: Any = self.held
        return contained(Archive(self.path, held, read_entries(held)))

    def _take(self, facts: tuple[str, str, str, int, str]) -> None:
        self._facts = facts
        self.package, self.registry, self.pythons, self.format, self.needs = facts

    def place_of(self, name: str) -> tuple[Held, int]:
        """An open file that holds the content of one of the bundle's, and where that begins.

        The bundle is opened in full for that.

        Raises:
            BundleError: ``HB8004``, the manifest lists no such file; else what `open` raises.
            OSError: it cannot be read.
        """
        opened = self.open()
        if name not in opened.manifest.files:
            raise BundleError("HB8004", f"a bundle must hold {name}", name)
        if self.held is None:
            return Held(os.path.join(opened.path, *name.split("/"))), 0
        container: Any = opened.container
        entry = container._entries[name]
        return self.held, entry.end - entry.size

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
    return _bounded(held, length, int.from_bytes(head[18:22], "little"))


def _bounded(held: Held, position: int, size: int) -> bytes:
    """So many bytes from a position.

    Raises:
        ValueError: they are not there, or more than a manifest has.
    """
    if size > min(held.size - position, MAX_MANIFEST):
        raise ValueError
    return held.read(position, size)


def _facts(manifest: bytes) -> tuple[str, str, str, int, str]:
    """Package, catalogue's digest, Pythons, runtime format, and the first version that reads it.

    Keys are sorted, and no text holds a bare quotation mark, so that each of these marks stands in
    one place only.

    Raises:
        ValueError: they do not stand where they should.
    """
    before, first, rest = manifest.rpartition(b',"package":"')
    package, second, rest = rest.partition(b'","registry":"')
    registry, third, rest = rest.partition(b'","requires_python":"')
    pythons, fourth, rest = rest.partition(b'","roots":[')
    _, fifth, rest = rest.rpartition(b',"runtime":{"format":')
    number, sixth, rest = rest.partition(b',"needs":"')
    needs, seventh, _ = rest.partition(b'","version":"')
    if (
        not (first and second and third and fourth and fifth and sixth and seventh)
        or f',"format":{FORMAT},"left_out":['.encode() not in before
        or b"\\" in package + registry + pythons + needs
    ):
        raise ValueError
    return package.decode(), registry.decode(), pythons.decode(), int(number), needs.decode()


def _facts_of(manifest: Manifest) -> tuple[str, str, str, int, str]:
    runtime = manifest.runtime
    return (
        manifest.package,
        manifest.registry,
        manifest.requires_python,
        runtime.format,
        runtime.needs,
    )
