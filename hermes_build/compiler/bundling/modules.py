"""Which modules the source folder of a project holds, as an import would find them."""

from __future__ import annotations

import _imp
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Literal

RUNTIME = "hermes_build"
"""The package that runs every program: a bundle carries it apart from the program."""

STANDARD = sys.stdlib_module_names | {"annotationlib", "compression"}
"""The standard library's top-level modules: those of this Python and of newer ones."""

NATIVE = (".so", ".pyd", ".dylib")
"""Endings of compiled code that can be imported."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module or package: ``path`` is its file, relative to the source folder.

    ``kind`` is ``source``, ``native`` for compiled code, or ``namespace`` for a folder without
    ``__init__.py``, whose path is the folder's.
    """

    name: str
    path: str
    kind: Literal["source", "native", "namespace"]
    is_package: bool = False


class Modules:
    """Finds modules in one folder; each folder is listed once, and names are told apart by case."""

    def __init__(self, source_root: Path) -> None:
        self._root = os.fspath(source_root)
        self._listings: dict[str, frozenset[str]] = {}
        self._found: dict[str, Module | None] = {}
        self._ours: dict[str, bool] = {}

    def is_ours(self, name: str) -> bool:
        """Whether an import of this name would look into the source folder, and stay there."""
        top = name.partition(".")[0]
        if top not in self._ours:
            self._ours[top] = self._decide(top)
        return self._ours[top]

    def _decide(self, top: str) -> bool:
        if top == RUNTIME or top in sys.builtin_module_names or _imp.is_frozen(top):
            return False
        found = self.find(top)
        if found is None or found.kind != "namespace":
            return found is not None
        # A folder gives way to any module that is found elsewhere, whatever the order.
        return top not in STANDARD and not is_installed(top, self._root)

    def find(self, name: str) -> Module | None:
        """The module of a dotted name; None where the source folder has none."""
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def _find(self, name: str) -> Module | None:
        above, _, last = name.rpartition(".")
        folder = ""
        if above:
            parent = self.find(above)
            if parent is None or not (parent.is_package or parent.kind == "namespace"):
                return None
            namespace = parent.kind == "namespace"
            folder = parent.path if namespace else parent.path.rpartition("/")[0]
        inner = f"{folder}/{last}" if folder else last
        names = self._listing(folder)
        if last in names:
            inside = self._listing(inner)
            if "__init__.py" in inside:
                return Module(name, f"{inner}/__init__.py", "source", True)
            if any(_is_native(one, "__init__") for one in inside):
                return Module(name, f"{inner}/__init__", "native", True)
        if f"{last}.py" in names:
            return Module(name, f"{inner}.py", "source")
        for one in sorted(names):
            if _is_native(one, last):
                return Module(name, f"{folder}/{one}" if folder else one, "native")
        if last in names and os.path.isdir(os.path.join(self._root, inner)):
            return Module(name, inner, "namespace")
        return None

    def below(self, name: str) -> Iterator[Module]:
        """Every module of source in a package, to any depth, sorted; the package itself as well."""
        module = self.find(name)
        if module is None:
            return
        if module.kind == "source":
            yield module
        if not (module.is_package or module.kind == "namespace"):
            return
        folder = module.path if module.kind == "namespace" else module.path.rpartition("/")[0]
        for entry in sorted(self._listing(folder)):
            last = entry.removesuffix(".py")
            if last == "__init__" or not last.isidentifier():
                continue
            if last != entry:
                if last not in self._listing(folder) or not self._is_package(f"{folder}/{last}"):
                    found = self.find(f"{name}.{last}")
                    if found is not None and found.kind == "source":
                        yield found
            elif entry != "__pycache__" and self._is_folder(f"{folder}/{entry}"):
                yield from self.below(f"{name}.{entry}")

    def _is_folder(self, path: str) -> bool:
        place = os.path.join(self._root, path)
        return os.path.isdir(place) and not os.path.islink(place)

    def _is_package(self, folder: str) -> bool:
        return "__init__.py" in self._listing(folder)

    def _listing(self, folder: str) -> frozenset[str]:
        if folder not in self._listings:
            try:
                names = frozenset(os.listdir(os.path.join(self._root, folder)))
            except OSError:
                names = frozenset()
            self._listings[folder] = names
        return self._listings[folder]


def is_installed(top: str, source_root: str) -> bool:
    """Whether another folder on the path holds a module of this name that is more than a folder."""
    ours = os.path.realpath(source_root)
    path = [one for one in sys.path if one and os.path.realpath(one) != ours]
    try:
        spec = PathFinder.find_spec(top, path)
    except (ImportError, ValueError, OSError):
        return False
    return spec is not None and spec.origin is not None


def _is_native(entry: str, name: str) -> bool:
    """Whether a file holds compiled code for this module, such as ``name.cpython-311-linux.so``."""
    return entry.startswith(f"{name}.") and entry.endswith(NATIVE)
