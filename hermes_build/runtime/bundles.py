"""Opening a bundle: its registry, in a space of its own, while the program runs.

A program can have several open at once, two versions of one among them, and change from one to the
other between two calls::

    with open_bundle("agent-1.hermes") as old, open_bundle("agent-2.hermes") as new:
        old.call("read_file", {"path": "a.txt"})
        new.call("read_file", {"path": "a.txt"})

Opening imports nothing of the bundle: its handlers are imported when they are first called, as
those of every registry are (`hermes_build.bundle.isolation` says how, and what differs). They see
the `hermes_build.runtime` of the program that opens the bundle, and its installed packages.
"""

from __future__ import annotations

import os

from hermes_build.bundle.format import PROGRAM
from hermes_build.bundle.glance import Glance
from hermes_build.bundle.pythons import unfit
from hermes_build.layout import CATALOGUE
from hermes_build.runtime.catalogue import Catalogue, check_format
from hermes_build.runtime.errors import CatalogueError
from hermes_build.runtime.pinned import Pinned
from hermes_build.runtime.registry import ToolRegistry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from weakref import finalize

    from hermes_build.bundle.isolation import Space
    from hermes_build.bundle.verifying import Opened
    from hermes_build.signing.keys import PublicKey


def open_bundle(
    path: str | os.PathLike[str],
    *,
    keys: Sequence[PublicKey] = (),
    threshold: int = 1,
    require_signature: bool = False,
    verify: bool = True,
) -> BundledRegistry:
    """Open a bundle, and return its registry.

    A file is held open: one that takes its place changes nothing. Of a folder each file is opened
    when it is needed. Either way, what is read is held against the manifest right then, however the
    bundle was opened: each module and data file, and the catalogue block by block.

    The bundle is open until its registry is closed, or until nobody has that any more.

    Args:
        path: an archive, a wheel, the folder of a bundle that was unpacked, or the folder of the
            package that a wheel was installed as.
        keys: public keys (`hermes_build.signing.keys`). Where any are given, the bundle must be
            signed with ``threshold`` of them.
        threshold: how many of the keys must have signed, from 1 on.
        require_signature: refuse to open anything without keys, as where they come from a setting
            that may be empty.
        verify: hash every file now. False is for a bundle that was verified when it came in: then
            opening takes a glance at the manifest, and a file is hashed when it is first used.

    Raises:
        BundleError: what is at ``path`` is no bundle, is not whole, or is not signed as demanded.
            What is asked of the registry later raises it as well, where a file has changed.
        CatalogueError: the bundle needs another version of hermes-build or of Python, which the
            message names.
        SigningUnavailable: keys are given, and what checks signatures is not installed.
        ValueError: the threshold is below 1 or above the number of keys, or ``require_signature``
            is asked for without keys.
        OSError: there is nothing at ``path``, or it cannot be read.
    """
    if require_signature and not keys:
        raise ValueError(
            "a signature is required, and no keys are given that could have made it: give the "
            "public keys of whom you trust"
        )
    if threshold != 1 and not keys:
        raise ValueError(
            f"{threshold} signatures are demanded, and no keys are given that could have made "
            "them: give the public keys of whom you trust"
        )
    glance = Glance(path)
    try:
        if verify:
            glance.open(verify=True)
        if keys:
            from hermes_build.signing.dsse import check

            opened = glance.open()
            check(opened.manifest.to_bytes(), opened.signatures, keys, threshold)
        check_format(glance.format, glance.path, glance.needs)
        if why := unfit(glance.pythons):
            raise CatalogueError(f"{glance.path} {why}.")
        registry = BundledRegistry(glance)
        if verify:
            registry._catalogue.begin()
    except BaseException:
        glance.close()
        raise
    return registry


class BundledRegistry(ToolRegistry):
    """The registry of a bundle, for as long as that is open."""

    def __init__(self, glance: Glance) -> None:
        path = glance.path
        name = f"{PROGRAM}{glance.package.replace('.', '/')}/{CATALOGUE}"
        place = os.path.join(path, *name.split("/"))
        catalogue = Catalogue(place, glance.registry, Pinned(glance, name))
        super().__init__(catalogue, glance.registry, os.path.join(path, PROGRAM[:-1]))
        self._glance = glance
        self._space: Space | None = None
        self._leave: finalize[[], BundledRegistry] | None = None

    @property
    def bundle(self) -> Opened:
        """The open bundle, with its ``manifest``, ``digest`` and ``path``.

        Raises:
            BundleError: the bundle was not verified when it was opened, and is not whole.
        """
        return self._glance.open()

    @property
    def space(self) -> Space:
        """What the bundle's modules are imported in; it is made when it is first needed."""
        if self._space is None:
            from weakref import finalize

            from hermes_build.bundle.isolation import Space

            with self._lock:
                if self._space is None:
                    mine = {"frozen": _frozen_of(self)}
                    manifest = self.bundle.manifest
                    space = Space(
                        self.bundle,
                        manifest.roots,
                        self.bundle.digest[:12],
                        path=self.bundle.path,
                        base=PROGRAM,
                        absent=dict(manifest.left_out),
                        given={"hermes_build.runtime.registry": mine},
                    )
                    self.root = space.place
                    self._leave = finalize(self, space.close)
                    self._leave.atexit = False
                    self._space = space
        return self._space

    def module_name(self, module: str) -> str:
        """The name under which a handler module is imported into this process."""
        return self.space.private(module)

    def close(self) -> None:
        """Let go of the bundle: its file, its modules and what was made ready of its tools.

        Calls that still run go on, and fail where they import more of the bundle or look at its
        registry; so close it when the last has ended. A later call answers with an error, and what
        else is asked of the registry raises `CatalogueError`.
        """
        with self._lock:
            self._changed()
            self._catalogue.close()
            leave = self._leave
        if leave is not None:
            leave()

    def __enter__(self) -> BundledRegistry:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _frozen_of(registry: BundledRegistry) -> Callable[..., Any]:
    """The `frozen` that the bundle's own ``registry.py`` calls: it gives what is open already.

    It gives that as a proxy. The import system holds the modules of the bundle, and if they held
    the registry, neither would ever go.
    """
    from weakref import proxy

    given, digest = proxy(registry), registry._digest

    def frozen(file: str, catalogue: str = CATALOGUE, **stated: Any) -> Any:
        if stated.get("digest") != digest:
            raise CatalogueError(
                f"{file} was generated with another catalogue than the bundle's manifest names"
            )
        return given

    return frozen
