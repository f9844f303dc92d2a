"""The container of a bundle that was installed as a wheel: the folder of a package."""

from __future__ import annotations

import os

from hermes_build.bundle.folder import Folder
from hermes_build.bundle.format import MANIFEST, BundleError
from hermes_build.bundle.held import Held
from hermes_build.bundle.wheel import ANEW, ENTRY, TREE, entry_module, read_small


class Packaged(Folder):
    """The bundle in the folder of an installed package; names are those that it has in the bundle.

    What installers and Python compile is not looked at: of the tree, it is never run; of the
    package's own ``__init__.py``, Python runs it, as it runs all that stands in an environment.

    Args:
        path: the folder of the package, or that of the tree in it.

    Attributes:
        path: the folder of the tree.
        kind: ``package``.

    Raises:
        BundleError: what `Folder` raises; ``HB8001``, ``HB8003``, ``HB8005`` or ``HB8006`` where
            ``__init__.py`` is not the bundle's own, or is not alone beside the tree.
        OSError: the folder cannot be read.
    """

    __slots__ = ()

    kind = "package"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        package = _package_at(os.fspath(path))
        super().__init__(os.path.join(package, TREE[:-1]), compiled=True)
        for name in sorted(os.listdir(package)):
            if name not in ("__init__.py", "__pycache__", TREE[:-1]):
                raise BundleError("HB8005", f"{name} is there, and no file of the bundle", name)
        if ENTRY not in self:
            raise BundleError("HB8004", f"{ENTRY} is not there, and a wheel needs it", ENTRY)
        wanted = entry_module(read_small(self, ENTRY))
        place = os.path.join(package, "__init__.py")
        if os.path.islink(place):
            raise BundleError("HB8003", "__init__.py is a link", "__init__.py", ANEW)
        file = Held(place)
        try:
            if file.size != len(wanted) or file.read(0, file.size) != wanted:
                what = "__init__.py is not the file that a wheel of this bundle has"
                raise BundleError("HB8006", what, "__init__.py", ANEW)
        finally:
            file.close()

    @staticmethod
    def is_at(path: str) -> bool:
        """Whether a folder is that of such a package, or of the tree in one."""
        package = _package_at(path)
        return os.path.lexists(os.path.join(package, TREE, MANIFEST)) and os.path.lexists(
            os.path.join(package, "__init__.py")
        )


def _package_at(path: str) -> str:
    """The folder of the package, from that or the tree's."""
    whole = os.path.abspath(path)
    inside = os.path.lexists(os.path.join(whole, MANIFEST))
    return os.path.dirname(whole) if inside and os.path.basename(whole) == TREE[:-1] else path
