"""The files of a program, as its modules are found among them."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    class Files(Protocol):
        """The files of a bundle; a path is relative and has forward slashes."""

        def names(self) -> Iterable[str]:
            """The path of every file."""

        def read(self, name: str) -> bytes:
            """The content of a file."""


class Sources:
    """The files below one folder of a bundle; paths are relative to it, with forward slashes.

    Args:
        files: what holds the files.
        base: the folder: a path with a slash at its end, or empty.
        place: how the system would name the folder.
    """

    __slots__ = ("_base", "_files", "_index", "place")

    def __init__(self, files: Files, base: str, place: str) -> None:
        self._files = files
        self._base = base
        self._index: tuple[frozenset[str], frozenset[str]] | None = None
        self.place = place

    def read(self, path: str) -> bytes:
        """The content of a file.

        Raises:
            FileNotFoundError: there is none; IsADirectoryError: it is a folder.
        """
        files, folders = self.index()
        if path in files:
            return self._files.read(self._base + path)
        number = errno.EISDIR if path in folders else errno.ENOENT
        raise OSError(number, os.strerror(number), self.file(path))

    def index(self) -> tuple[frozenset[str], frozenset[str]]:
        """All files, and all folders that hold any."""
        if self._index is None:
            base = self._base
            files = frozenset(
                name[len(base) :] for name in self._files.names() if name.startswith(base)
            )
            folders = {""}
            for name in files:
                folder = name.rpartition("/")[0]
                while folder not in folders:
                    folders.add(folder)
                    folder = folder.rpartition("/")[0]
            self._index = files, frozenset(folders)
        return self._index

    def file(self, path: str) -> str:
        """How the system would name a file or folder."""
        return os.path.join(self.place, *path.split("/")) if path else self.place

    def folder_at(self, place: Any) -> str | None:
        """The folder that the system would name so; None where it is none of the space."""
        if not isinstance(place, str) or not (place + os.sep).startswith(self.place + os.sep):
            return None
        folder = place[len(self.place) + 1 :].replace(os.sep, "/")
        return folder if folder in self.index()[1] else None

    def modules_in(self, folder: str) -> list[tuple[str, bool]]:
        """The modules in a folder, sorted, each with whether it is a package."""
        start = f"{folder}/" if folder else ""
        found: dict[str, bool] = {}
        for path in self.index()[0]:
            if path.startswith(start) and path.endswith(".py"):
                name, _, rest = path[len(start) :].partition("/")
                if not rest and name != "__init__.py":
                    found.setdefault(name[:-3], False)
                elif rest == "__init__.py":
                    found[name] = True
        return sorted(found.items())
