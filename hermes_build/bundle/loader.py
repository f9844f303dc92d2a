"""How the modules of a program in a space of its own are found in it and run."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType

    from hermes_build.bundle.isolation import Space
    from hermes_build.bundle.resources import Reader


class Loader:
    """Runs the modules of a space; the loader of each of them."""

    __slots__ = ("_space",)

    def __init__(self, space: Space) -> None:
        self._space = space

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the making of the module to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's code in its namespace, which sees the space's builtins."""
        self._space.enter()
        try:
            code = self.get_code(module.__name__)
            if code is not None:
                module.__dict__["__builtins__"] = self._space.builtins
                exec(code, module.__dict__)
        finally:
            self._space.leave()

    def is_package(self, name: str) -> bool:
        """Whether modules can stand below a module."""
        source = self._space.source_of(name)
        return source is None or source.endswith("/__init__.py")

    def get_code(self, name: str) -> CodeType | None:
        """A module's code, compiled anew; None for a folder without ``__init__.py``."""
        source = self._space.source_of(name)
        if source is None:
            return None
        data = self._space.sources.read(source)
        code: CodeType = compile(data, self._space.sources.file(source), "exec", dont_inherit=True)
        return code

    def get_source(self, name: str) -> str | None:
        """A module's source text, which tracebacks and `inspect` show."""
        source = self._space.source_of(name)
        if source is None:
            return None
        from importlib.util import decode_source

        try:
            return decode_source(self._space.sources.read(source))
        except (UnicodeDecodeError, SyntaxError, OSError) as error:
            raise ImportError(f"the source of {name} cannot be read: {error}", name=name) from error

    def get_filename(self, name: str) -> str:
        """A module's file, as ``__file__`` has it."""
        source = self._space.source_of(name)
        if source is None:
            raise ImportError(f"{name} is a folder without a file of its own", name=name)
        return self._space.sources.file(source)

    def get_data(self, path: str) -> bytes:
        """The content of a file that is named as ``__file__`` names its neighbours."""
        folder, name = os.path.split(os.path.normpath(path))
        inside = self._space.sources.folder_at(folder)
        if inside is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._space.sources.read(f"{inside}/{name}" if inside else name)

    def get_resource_reader(self, name: str) -> Reader | None:
        """What `importlib.resources` reads the files of a package with."""
        if not self.is_package(name):
            return None
        from hermes_build.bundle.resources import Reader

        return Reader(self._space.sources, name[len(self._space.package) + 1 :].replace(".", "/"))
