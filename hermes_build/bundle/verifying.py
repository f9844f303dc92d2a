"""Verifying a bundle: that its files are those that its manifest lists, all of them and no other.

One pass over the contents, each hashed once: that is what a program waits for which opens a bundle.
Verifying goes on, and holds what the files say of the program against the manifest and against each
other. Nothing of a bundle is imported or run, nothing is unpacked or written. Who made the bundle
is another question, which signatures answer.
"""

from __future__ import annotations

import os

from hermes_build.bundle.archive import open_archive
from hermes_build.bundle.folder import Folder
from hermes_build.bundle.format import (
    MANIFEST,
    MAX_MANIFEST,
    SIGNATURES,
    BundleError,
    Manifest,
    has_place,
    hexdigest,
)
from hermes_build.bundle.names import check_names, is_plain
from hermes_build.bundle.packaged import Packaged
from hermes_build.bundle.reading import read_manifest
from hermes_build.bundle.wheel import contained

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    class Container(Protocol):
        """What holds the tree of files that is a bundle: an `Archive`, a `Folder`, a `Wheel`.

        Its names are plain (`check_names`) and come in one order, its methods are those of
        `Archive`. ``kind`` is a word for people.
        """

        @property
        def path(self) -> str:
            """The file or folder, as it was named."""

        @property
        def kind(self) -> str:
            """What it is, in a word for people."""

        def names(self) -> tuple[str, ...]:
            """Every file's path in the bundle."""

        def size(self, name: str) -> int:
            """How many bytes a file holds."""

        def read(self, name: str) -> bytes:
            """The content of a file."""

        def pieces(self, name: str) -> Iterator[bytes]:
            """The content of a file in pieces of at most a megabyte."""

        def digests(self, *, sums: bool) -> Iterator[tuple[str, str]]:
            """Every file's path in the bundle, with the SHA-256 of its content.

            ``sums`` asks that checksums which the container has be held against it, too.
            """

        def close(self) -> None:
            """Close what is open."""


class Opened:
    """A bundle that is open: its manifest was read, and it holds the files that this lists.

    Every content is held against the manifest when it is read, so that a file that is changed
    after the bundle was verified is not taken for the one that was.

    Attributes:
        container: what the bundle is in.
        path: the file or folder, as it was named.
        manifest: what the bundle holds.
        digest: the bundle's content address: the SHA-256 of the manifest, in hexadecimal digits.
        signatures: the content of ``hermes-bundle.dsse.json``, unjudged; None where there is none.
    """

    __slots__ = ("container", "digest", "manifest", "path", "signatures")

    def __init__(self, container: Container, manifest: Manifest, digest: str) -> None:
        self.container = container
        self.path = container.path
        self.manifest = manifest
        self.digest = digest
        self.signatures: bytes | None = None

    def names(self) -> tuple[str, ...]:
        """The path of every file that the manifest lists, sorted."""
        return tuple(self.manifest.files)

    def read(self, name: str) -> bytes:
        """The content of a file that the manifest lists.

        Raises:
            KeyError: it lists none of this name.
            BundleError: ``HB8006`` the content is another, ``HB8002`` the archive is damaged.
            OSError: the container cannot be read.
        """
        listed = self.manifest.files[name]
        data = self.container.read(name)
        if hexdigest(data) != listed.sha256:
            _changed(name)
        return data

    def close(self) -> None:
        """Close the container; nothing can be read after that."""
        self.container.close()

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def verify(path: str | os.PathLike[str]) -> Opened:
    """Verify a bundle in whatever `open_container` takes.

    Returns:
        The bundle, open; close it, or use it in a ``with`` block.

    Raises:
        BundleError: ``HB8001`` to ``HB8008``, with the first thing that is wrong.
        OSError: there is nothing at ``path``, or it cannot be read.
    """
    return verify_container(open_container(path))


def verify_container(container: Container) -> Opened:
    """Verify the bundle in a container, which is closed where it is refused.

    Raises what `verify` raises.
    """
    from hermes_build.bundle.fitting import check_program
    from hermes_build.bundle.locked import check_lock

    opened = open_hashed(container, sums=True)
    with _closed_where_refused(container):
        facts = check_program(opened.manifest, opened.read)
        check_lock(opened.manifest, facts, opened.read)
    return opened


def open_hashed(container: Container, *, sums: bool = False) -> Opened:
    """Open the bundle in a container, and hold every file of it against the manifest.

    ``sums`` holds contents against the checksums of the container as well: this program reads no
    content by them, other tools do. The container is closed where it is refused.

    Raises what `verify` raises.
    """
    opened = open_contents(container)
    with _closed_where_refused(container):
        files = opened.manifest.files
        for name, digest in container.digests(sums=sums):
            if name in files and files[name].sha256 != digest:
                _changed(name)
    return opened


def open_files(path: str | os.PathLike[str]) -> Opened:
    """Open a bundle without reading its contents: for one that was verified before.

    Names and sizes are held against the manifest now, each content when it is read.

    Raises what `verify` raises.
    """
    return open_contents(open_container(path))


def open_container(path: str | os.PathLike[str]) -> Container:
    """Open what a bundle is in, and judge nothing but that.

    ``path`` is an archive, a wheel, the folder of a bundle that was unpacked, or the folder of the
    package that a wheel was installed as.

    Raises:
        BundleError: ``HB8001``, ``HB8002``, ``HB8003``, ``HB8005`` or ``HB8008``; of a wheel or a
            package ``HB8004``, ``HB8006`` or ``HB8007`` as well.
        OSError: there is nothing at ``path``, or it cannot be read.
    """
    name = os.fspath(path)
    if os.path.isdir(name):
        if Packaged.is_at(name):
            return Packaged(name)
        return Folder(name)
    return contained(open_archive(name))


def open_contents(container: Container) -> Opened:
    """Open the bundle in a container, which is closed where it is refused.

    Raises what `verify` raises.
    """
    with _closed_where_refused(container):
        return _open(container)


class _closed_where_refused:
    """Closes a container where what is done with it raises."""

    __slots__ = ("_container",)

    def __init__(self, container: Container) -> None:
        self._container = container

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None:
            self._container.close()


def _open(container: Container) -> Opened:
    names = container.names()
    if MANIFEST not in names:
        raise BundleError("HB8001", f"the {container.kind} is no bundle: it has no {MANIFEST}")
    if container.size(MANIFEST) > MAX_MANIFEST:
        raise BundleError("HB8008", f"the manifest is larger than {MAX_MANIFEST} bytes", MANIFEST)
    data = container.read(MANIFEST)
    manifest = read_manifest(data)
    if manifest.source != "." and not is_plain(manifest.source):
        raise BundleError("HB8001", f"`source` is no folder of a project: {manifest.source!r}")
    files = manifest.files
    there = dict.fromkeys(names)
    del there[MANIFEST]
    signed = there.pop(SIGNATURES, True) is None
    if there.keys() != files.keys():
        check_names(files)
        for name in sorted(files.keys() - there.keys()):
            raise BundleError("HB8004", f"{name} is not there, and the manifest lists it", name)
        for name in sorted(there.keys() - files.keys()):
            raise BundleError("HB8005", f"{name} is there, and the manifest does not list it", name)
    for name, listed in files.items():
        if not has_place(name):
            raise BundleError("HB8007", f"{name} has no place in a bundle", name)
        if container.size(name) != listed.size:
            _changed(name, f"{container.size(name)} bytes, not {listed.size}")
    opened = Opened(container, manifest, hexdigest(data))
    if signed:
        if container.size(SIGNATURES) > MAX_MANIFEST:
            raise BundleError("HB8008", f"the signatures are larger than {MAX_MANIFEST} bytes")
        opened.signatures = container.read(SIGNATURES)
    return opened


def _changed(name: str, how: str = "") -> None:
    detail = f" ({how})" if how else ""
    raise BundleError(
        "HB8006",
        f"{name} is not the file that the manifest lists{detail}",
        name,
        "get the bundle anew from who made it",
    )
