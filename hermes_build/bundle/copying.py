"""Writing a bundle that is open once more: to another place, or with other signatures."""

from __future__ import annotations

import os
from hashlib import sha256

from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import MANIFEST, SIGNATURES, BundleError
from hermes_build.bundle.placing import placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hermes_build.bundle.archive import Source
    from hermes_build.bundle.verifying import Opened


def entries_of(opened: Opened, signatures: bytes | None = None) -> dict[str, Source]:
    """Return the entries of the archive of a bundle that is open, for `write_archive`.

    Contents come in pieces, each held against the manifest as it is read: one that was changed
    raises ``HB8006``. ``signatures`` replace those of the bundle.
    """
    entries: dict[str, Source] = {MANIFEST: opened.manifest.to_bytes()}
    signatures = opened.signatures if signatures is None else signatures
    if signatures is not None:
        entries[SIGNATURES] = signatures
    for name in opened.names():
        entries[name] = _content(opened, name)
    return entries


def put_signatures(opened: Opened, signatures: bytes) -> None:
    """Give the bundle that is open these signatures, where it stands, all or nothing.

    What is open stays what it was.

    Raises:
        BundleError: ``HB8001`` the container takes no signatures afterwards, ``HB8006`` a file was
            changed meanwhile.
        OSError: it cannot be written.
    """
    path = opened.path
    if opened.container.kind == "folder":
        with placed(os.path.join(path, SIGNATURES)) as write:
            write(signatures)
    elif opened.container.kind == "archive":
        write_archive(entries_of(opened, signatures), path)
    else:
        raise BundleError(
            "HB8001",
            f"a bundle in a {opened.container.kind} cannot be signed afterwards",
            "",
            "sign it when it is made: `hermes-build bundle --sign KEY`",
        )


def _content(opened: Opened, name: str) -> Callable[[], Iterator[bytes]]:
    def pieces() -> Iterator[bytes]:
        hashed = sha256()
        for piece in opened.container.pieces(name):
            hashed.update(piece)
            yield piece
        if hashed.hexdigest() != opened.manifest.files[name].sha256:
            raise BundleError("HB8006", f"{name} was changed while it was copied", name)

    return pieces
