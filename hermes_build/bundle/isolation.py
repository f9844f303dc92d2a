"""Importing a program in a space of its own, beside other programs and other versions of it.

The modules of a program are imported under a private package, so that nothing of them meets the
modules of the host program, or those of another bundle. Their source stays as it is: what they
import is mapped when they import it. The names that the program has for its own packages, its
roots, lead into the space; all other names lead where they always do.

How it works:

- Modules are called ``hermes_bundle_ID.handlers.files``, and stand under that name in
  ``sys.modules``. So classes, dataclasses, type hints, loggers, pickling and reloading work as in
  any package, and two threads that import one module wait for each other as they always do.
- ``__builtins__`` of every module is the space's own copy of the builtins, with an ``__import__``
  that maps roots. Functions keep the builtins of their module, in whatever thread they run, and
  `exec` hands them on.
- ``importlib``, ``pkgutil``, ``importlib.resources`` and ``builtins`` are seen through stand-ins
  (`hermes_build.bundle.standins`) that map names given as texts, as in
  ``importlib.import_module("handlers.files")``.
- ``sys.path`` is not touched. One finder, which answers for private names alone, is put in front of
  ``sys.meta_path`` with the first space, and stays.

What differs from the same program in a folder on the path:

- ``__name__`` and ``__module__`` are private names, in logs as elsewhere. A class is pickled under
  its private name: that can be read where the same bundle is open, and not in another process that
  has not opened it, such as a worker of `multiprocessing` that was not forked.
- Names as texts that are given to other packages than those above are not mapped: to
  ``sys.modules``, ``runpy``, ``unittest.mock.patch``, ``logging.config``.
- A file of an archive is no file of the system: ``open(__file__)`` fails. Data is read through
  ``importlib.resources`` or ``pkgutil.get_data``.
- What is put into the builtins after a space was made, as `gettext.install` does, is not seen in
  it. Extension modules are not imported. No bytecode is read or written.
- A folder without ``__init__.py`` holds what the bundle has of it, and no more: it is not merged
  with folders of the same name that are installed.
"""

from __future__ import annotations

import builtins
import os
import sys
from _thread import RLock
from importlib.machinery import ModuleSpec
from types import ModuleType

from hermes_build.bundle.loader import Loader
from hermes_build.bundle.sources import Sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from hermes_build.bundle.sources import Files


PREFIX = "hermes_bundle_"
"""How the names of private packages begin."""

_spaces: dict[str, Space | None] = {}
"""The space of each private package; None where it was closed, and the name can be taken again."""

_lock = RLock()  # a space may be closed by the collector of garbage, which comes at any moment


class Space:
    """A program's modules, imported under a private package.

    Args:
        files: what holds the files; it is read for as long as the space is open.
        roots: the top-level names that lead into the space.
        identity: tells this version of the program from others: letters, digits and ``_``.
        path: where the files stand, as places in tracebacks and ``__file__`` begin.
        base: the part of ``files`` that the roots stand in, empty or with a slash at its end.
        absent: why the program lacks a module that it may ask for, by the module's name.
        given: what modules of the host program hold for this program alone, by the module's name.

    Attributes:
        package: the name of the private package.
        sources: the program's files.
    """

    def __init__(
        self,
        files: Files,
        roots: Iterable[str],
        identity: str,
        *,
        path: str,
        base: str = "program/",
        absent: Mapping[str, str] | None = None,
        given: Mapping[str, Mapping[str, object]] | None = None,
    ) -> None:
        from hermes_build.bundle.standins import StandIns

        self.roots = frozenset(roots)
        self.identity = identity
        self.is_open = True
        self._inside = 0
        self._absent = dict(absent or {})
        with _lock:
            self.package = _free_name(identity)
            self.sources = Sources(files, base, _free_place(os.path.abspath(path), base, identity))
            _spaces[self.package] = self
            if _Finder not in sys.meta_path:
                # At the front, where a thread that goes through the list right now misses nothing.
                sys.meta_path.insert(0, _Finder)
        self.stand_ins = StandIns(self, given or {})
        self.builtins: dict[str, Any] = self.stand_ins.builtins.__dict__

    # Importing.

    @property
    def place(self) -> str:
        """What ``__file__`` of each module begins with: a folder, or as if it were one."""
        return self.sources.place

    def private(self, name: str) -> str:
        """The private name of a module, from the one that the program has for it."""
        return f"{self.package}.{name}"

    def public(self, text: str) -> str:
        """A text in which private names are replaced by those that the program has."""
        return text.replace(self.package + ".", "")

    def is_own(self, name: str) -> bool:
        """Whether an absolute name, as the program has it, leads into the space.

        What ``:`` parts from the name of a module, as in ``handlers:read``, does not count.
        """
        return name.partition(":")[0].partition(".")[0] in self.roots

    def import_module(self, name: str) -> ModuleType:
        """Import a module by the name that the program has for it.

        Raises:
            ImportError: there is none, or the space was closed; else what the module raises.
        """
        self.demand_open()
        # A name that every module has: with one to look for, it is the module itself that returns.
        found: ModuleType = self.get(self.private(name), None, None, ("__name__",), 0)
        return found

    def get(
        self,
        name: str,
        globals: Mapping[str, Any] | None,
        locals: Mapping[str, Any] | None,
        fromlist: Sequence[str] | None,
        level: int,
    ) -> Any:
        """Import by a private name or a relative one; the arguments are those of ``__import__``.

        Raises what `import_module` raises.
        """
        self.enter()
        try:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        except ImportError as error:
            # The program may look at the name of what is missing.
            if error.name and error.name.startswith(self.package):
                error.name = self.public(error.name)
                error.msg = self.public(str(error.msg))
            raise
        except KeyError:
            self.demand_open()  # the import system misses a module that `close` has taken out
            raise
        finally:
            self.leave()

    def enter(self) -> None:
        """Begin to import something, until `leave` is called.

        Raises:
            ImportError: the space was closed.
        """
        with _lock:
            self.demand_open()
            self._inside += 1

    def leave(self) -> None:
        """End an import."""
        with _lock:
            self._inside -= 1
            if not self.is_open:
                self._vanish()

    def close(self) -> None:
        """Let go of the modules; imports in functions that still run fail from now on.

        Functions that somebody holds go on working otherwise.
        """
        with _lock:
            self.is_open = False
            self._vanish()
        lines = sys.modules.get("linecache")
        if lines is not None:
            for file in list(lines.cache):
                if file.startswith(self.place + os.sep):
                    lines.cache.pop(file, None)

    def _vanish(self) -> None:
        """Take every module out of ``sys.modules``, and give the name back when nobody imports.

        A thread that is still importing puts more there, which must not meet another space.
        """
        if _spaces[self.package] is not self:
            return
        if not self._inside:
            _spaces[self.package] = None
        inside = self.package + "."
        for name in list(sys.modules):
            if name == self.package or name.startswith(inside):
                sys.modules.pop(name, None)

    def __enter__(self) -> Space:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def demand_open(self) -> None:
        """Refuse what cannot be done any more.

        Raises:
            ImportError: the space was closed.
        """
        if not self.is_open:
            raise ImportError(f"{self.place} was closed: nothing can be imported from it any more")

    # Finding.

    def source_of(self, name: str) -> str | None:
        """The file of a module by its private name; None for a folder without ``__init__.py``.

        Raises:
            ModuleNotFoundError: there is none.
        """
        inner = name[len(self.package) + 1 :]
        stem = inner.replace(".", "/")
        files, folders = self.sources.index()
        if stem and f"{stem}/__init__.py" in files:
            return f"{stem}/__init__.py"
        if stem and f"{stem}.py" in files:
            return f"{stem}.py"
        if stem in folders:
            return None
        why = self._absent.get(inner)
        message = f"No module named {inner!r} in {self.place}"
        raise ModuleNotFoundError(f"{message}: {why}" if why else message, name=name)

    def find_spec(self, name: str) -> ModuleSpec:
        """The spec of a module by its private name.

        Raises:
            ModuleNotFoundError: there is none.
        """
        source = self.source_of(name)
        loader: Any = Loader(self)
        folder = name[len(self.package) + 1 :].replace(".", "/")
        if source is None:
            spec = ModuleSpec(name, loader, is_package=True)
        else:
            package = source.endswith("/__init__.py")
            spec = ModuleSpec(name, loader, origin=self.sources.file(source), is_package=package)
            spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(self.sources.file(folder))
        return spec


class _Finder:
    """Answers for names of open spaces, and lets nobody else answer for them."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of a space; None for names of others.

        Raises:
            ModuleNotFoundError: the space has no such module. The folders on ``__path__`` may hold
                one that is not of the bundle, so that no other finder may look for it.
        """
        if not name.startswith(PREFIX):
            return None
        top = name.partition(".")[0]
        if top not in _spaces:
            return None
        space = _spaces[top]
        if space is None or not space.is_open:
            raise ModuleNotFoundError(f"{top} was closed, and {name} with it", name=name)
        return space.find_spec(name)


def _free_name(identity: str) -> str:
    name, number = PREFIX + identity, 1
    while _spaces.get(name) is not None or name in sys.modules:
        number += 1
        name = f"{PREFIX}{identity}_{number}"
    return name


def _free_place(path: str, base: str, identity: str) -> str:
    """Keep two versions at one path apart, since the lines in tracebacks are kept by file."""
    whole = os.path.join(path, *base.split("/")).rstrip(os.sep)
    if os.path.isdir(whole):
        return whole  # real files are told apart by their times
    for one in list(_spaces.values()):
        if one is not None and one.place == whole and one.identity != identity:
            return _free_place(f"{path}@{identity}", base, identity)
    return whole
