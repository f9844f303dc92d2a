"""A bundle of tools as an installed package.

``registry`` is the registry of its tools. The bundle is opened when that is first asked for, once a
process, and runs by the runtime that it carries, in a space of its own: beside an installed
hermes-build, and beside other bundles, none of which sees the modules of another.
"""

# This file stands in two places: in the runtime, where the manifest lists it, and in front of the
# bundle as the package's `__init__.py`. So it imports nothing of the runtime by its name.

from __future__ import annotations

import os
from _thread import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType
    from typing import Any

    registry: Any
    """A `hermes_build.runtime.registry.ToolRegistry`, of the runtime that the bundle carries."""

__all__ = ["registry"]

_RUNTIME = "hermes_build"
_MAX_MANIFEST = 32 * 1024 * 1024  # as the format of bundles has it

_lock = RLock()


def __getattr__(name: str) -> Any:
    if name != "registry":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _lock:
        found = globals().get(name)
        if found is None:
            found = globals()[name] = _opened(os.path.dirname(os.path.abspath(__file__)))
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _opened(package: str) -> Any:
    """The registry of the bundle in the folder of this package.

    Raises:
        ImportError: a file of the runtime is not the one that the manifest lists, or the bundle is
            for another Python; else what `hermes_build.runtime.bundles.open_bundle` raises.
    """
    files = _Files(os.path.join(package, "bundle"))
    first = _First(files)
    pythons: Any = first.load("hermes_build.bundle.pythons")
    # Before more of the runtime is compiled, which may be too new for this Python.
    if why := pythons.unfit(files.pythons):
        raise ImportError(f"{package} {why}")
    isolation: Any = first.load("hermes_build.bundle.isolation")
    identity = f"runtime_{files.digest[:12]}"
    space = isolation.Space(files, (_RUNTIME,), identity, path=files.tree, base="runtime/")
    try:
        bundles: Any = space.import_module("hermes_build.runtime.bundles")
        # Installers hold the files against their list; whatever is read is held against the
        # manifest right then.
        return bundles.open_bundle(files.tree, verify=False)
    except BaseException:
        space.close()
        raise


class _Files:
    """The files of the bundle's runtime, each held against the manifest when it is read."""

    def __init__(self, tree: str) -> None:
        from hashlib import sha256
        from json import loads

        self.tree = tree
        self._hash = sha256
        try:
            with open(os.path.join(tree, "hermes-bundle.json"), "rb") as file:
                manifest = file.read(_MAX_MANIFEST + 1)
        except NotADirectoryError as error:
            raise ImportError(
                f"{tree} is in an archive: install the package to import it"
            ) from error
        self.digest = sha256(manifest).hexdigest()
        try:
            if len(manifest) > _MAX_MANIFEST:
                raise ValueError
            stated = loads(manifest)
            self.pythons: str = stated["requires_python"]
            self._listed: Mapping[str, Mapping[str, Any]] = stated["files"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ImportError(
                f"{file.name} is not as hermes-build writes it: install it anew"
            ) from error

    def names(self) -> Iterator[str]:
        return (name for name in self._listed if name.startswith("runtime/"))

    def read(self, name: str) -> bytes:
        listed = self._listed[name]
        with open(os.path.join(self.tree, *name.split("/")), "rb") as file:
            data = file.read(listed["size"] + 1)
        if self._hash(data).hexdigest() != listed["sha256"]:
            raise ImportError(
                f"{file.name} is not the file that the bundle's manifest lists: install it anew"
            )
        return data


class _First:
    """Runs the few modules that make a space before there is one to import them in."""

    def __init__(self, files: _Files) -> None:
        import builtins

        self._files = files
        self._loaded: dict[str, ModuleType] = {}
        self._import = builtins.__import__
        self._builtins = {**vars(builtins), "__import__": self._importing}

    def load(self, name: str) -> ModuleType:
        """Run a module, or return the one that was run before."""
        from types import ModuleType

        if name not in self._loaded:
            path = f"runtime/{name.replace('.', '/')}.py"
            module = self._loaded[name] = ModuleType(name)
            place = os.path.join(self._files.tree, *path.split("/"))
            module.__dict__.update(__file__=place, __builtins__=self._builtins)
            exec(compile(self._files.read(path), place, "exec", dont_inherit=True), module.__dict__)
        return self._loaded[name]

    def _importing(self, name: str, *more: Any) -> Any:
        # The runtime imports names from its own modules, never these modules as such.
        if name.startswith(f"{_RUNTIME}."):
            return self.load(name)
        return self._import(name, *more)
