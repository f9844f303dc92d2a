"""Modules of others as a program in a space of its own sees them, and its ``__import__``.

A stand-in has every name of the module that it stands for, and a few of its own: functions that
take names of modules as texts, and map those that lead into the space.
"""

from __future__ import annotations

import builtins
import sys
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pkgutil import ModuleInfo
    from typing import Any

    from hermes_build.bundle.isolation import Space

_RESOURCES = (
    "contents",
    "is_resource",
    "open_binary",
    "open_text",
    "path",
    "read_binary",
    "read_text",
)
"""Functions of `importlib.resources` that take a package first; not every Python has all."""


def _stand_in(
    name: str, real: ModuleType, own: Mapping[str, object], get: Callable[[str], object]
) -> ModuleType:
    """A module that shows another, with some names of its own in front."""
    made = ModuleType(real.__name__, real.__doc__)
    for key in ("__file__", "__loader__", "__package__", "__path__", "__spec__"):
        if hasattr(real, key):
            made.__dict__[key] = getattr(real, key)
    made.__dict__.update(own)
    made.__dict__["__getattr__"] = _looking_at(name, real, get)
    made.__dict__["__dir__"] = lambda: sorted({*dir(real), *own})
    return made


def _looking_at(
    module: str, real: ModuleType, get: Callable[[str], object]
) -> Callable[[str], object]:
    def look(name: str) -> object:
        found = getattr(real, name)
        if isinstance(found, ModuleType):
            return get(found.__name__) or get(f"{module}.{name}") or found
        return found

    return look


def _constant(own: Mapping[str, object]) -> Callable[[ModuleType], Mapping[str, object]]:
    return lambda real: own


class StandIns:
    """The stand-ins of one space, each made when it is first asked for.

    ``given`` are names that modules of the host program have for this space alone, by module.
    ``tops`` are the top-level names of all modules that have a stand-in.
    """

    def __init__(self, space: Space, given: Mapping[str, Mapping[str, object]]) -> None:
        self._space = space
        self._made: dict[str, ModuleType] = {}
        self.builtins = ModuleType("builtins", builtins.__doc__)
        self.builtins.__dict__.update(builtins.__dict__)
        self._made["builtins"] = self.builtins
        self._makers: dict[str, Callable[[ModuleType], Mapping[str, object]]] = {
            "importlib": self._importlib,
            "importlib.resources": self._resources,
            "importlib.util": self._util,
            "pkgutil": self._pkgutil,
        }
        for name, own in given.items():
            self._makers[name] = _constant(own)
            while name := name.rpartition(".")[0]:
                self._makers.setdefault(name, _constant({}))
        self.tops = frozenset(name.partition(".")[0] for name in (*self._makers, *self._made))
        self.builtins.__dict__["__import__"] = self._import = _importing(space, self)

    def get(self, name: str) -> ModuleType | None:
        """The stand-in of a module that is imported; None where it has none."""
        found = self._made.get(name)
        if found is None and name in self._makers:
            # In a space that runs in another one, the name is mapped by that.
            real = builtins.__import__(name, None, None, ("__name__",), 0)
            made = _stand_in(name, real, self._makers[name](real), self.get)
            found = self._made.setdefault(name, made)
        return found

    # What maps names; `_mapped` leaves what is no text as it is, for the real function to judge.

    def _mapped(self, name: Any) -> Any:
        own = isinstance(name, str) and self._space.is_own(name)
        return self._space.private(name) if own else name

    def _importlib(self, real: Any) -> Mapping[str, object]:
        def import_module(name: Any, package: str | None = None) -> ModuleType:
            if isinstance(name, str) and self._space.is_own(name):
                return self._space.import_module(name)
            found: ModuleType = real.import_module(name, self._mapped(package))
            return self.get(found.__name__) or self.get(name) or found

        return {"import_module": import_module, "__import__": self._import}

    def _util(self, real: Any) -> Mapping[str, object]:
        def find_spec(name: str, package: str | None = None) -> Any:
            try:
                return real.find_spec(self._mapped(name), self._mapped(package))
            except ModuleNotFoundError as error:
                wanted = real.resolve_name(self._mapped(name), self._mapped(package))
                if error.name == wanted and wanted.startswith(self._space.package):
                    return None
                raise

        return {"find_spec": find_spec}

    def _resources(self, real: Any) -> Mapping[str, object]:
        def files(*anchor: Any, **named: Any) -> Any:
            if named:
                anchor = (*anchor, *named.values())
            if not anchor or anchor[0] is None:
                # Newer Pythons mean the caller's own package.
                anchor = (sys._getframe(1).f_globals["__package__"],)
            return real.files(self._mapped(anchor[0]))

        def mapping(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda package, *rest, **named: function(self._mapped(package), *rest, **named)

        own = {name: mapping(getattr(real, name)) for name in _RESOURCES if hasattr(real, name)}
        return {**own, "files": files}

    def _pkgutil(self, real: Any) -> Mapping[str, object]:
        def get_data(package: str, resource: str) -> bytes | None:
            found: bytes | None = real.get_data(self._mapped(package), resource)
            return found

        def resolve_name(name: str) -> Any:
            return real.resolve_name(self._mapped(name))

        def iter_modules(
            path: Iterable[str] | None = None, prefix: str = ""
        ) -> Iterator[ModuleInfo]:
            if path is None or isinstance(path, str):
                yield from real.iter_modules(path, prefix)
                return
            for place in path:
                folder = self._space.sources.folder_at(place)
                if folder is None:
                    yield from real.iter_modules([place], prefix)
                    continue
                finder = real.get_importer(place)
                for name, is_package in self._space.sources.modules_in(folder):
                    yield real.ModuleInfo(finder, prefix + name, is_package)

        def walk_packages(
            path: Iterable[str] | None = None,
            prefix: str = "",
            onerror: Callable[[str], object] | None = None,
        ) -> Iterator[ModuleInfo]:
            for one in iter_modules(path, prefix):
                yield one
                if not one.ispkg:
                    continue
                try:
                    package = self._import(one.name, fromlist=("__path__",))
                except Exception as error:
                    if onerror is not None:
                        onerror(one.name)
                    elif not isinstance(error, ImportError):
                        raise
                else:
                    yield from walk_packages(list(package.__path__), f"{one.name}.", onerror)

        return {
            "get_data": get_data,
            "iter_modules": iter_modules,
            "resolve_name": resolve_name,
            "walk_packages": walk_packages,
        }


def _importing(space: Space, stand_ins: StandIns) -> Callable[..., Any]:
    """The ``__import__`` of a space's modules."""
    roots, package = space.roots, space.package

    def __import__(
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if level == 0:
            top = name.partition(".")[0]
            if top not in roots:
                found = builtins.__import__(name, globals, locals, fromlist or (), 0)
                if top not in stand_ins.tops:
                    return found
                return stand_ins.get(name if fromlist else top) or found
            wanted = f"{package}.{name}"
        else:
            _demand_inside(space, globals, level)
            wanted = name
        found = space.get(wanted, globals, locals, fromlist, level)
        return found if fromlist or level else sys.modules[f"{package}.{top}"]

    return __import__


def _demand_inside(space: Space, globals: Mapping[str, Any] | None, level: int) -> None:
    """Refuse a relative import that would lead above the program's own top level."""
    package = (globals or {}).get("__package__")
    if not isinstance(package, str) or not package.startswith(space.package):
        return
    if level > package.count("."):
        inside = "." in package
        raise ImportError(
            "attempted relative import beyond top-level package"
            if inside
            else "attempted relative import with no known parent package"
        )
