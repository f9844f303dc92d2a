"""The files of a program in a space of its own, as `importlib.resources` gives them out."""

from __future__ import annotations

import errno
import io
import os
from importlib.resources.abc import TraversableResources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Any

    from hermes_build.bundle.sources import Sources


class Reader(TraversableResources):
    """The resources of one package; ``folder`` is its folder, relative to the roots."""

    def __init__(self, sources: Sources, folder: str) -> None:
        self._sources = sources
        self._folder = folder

    def files(self) -> Place:
        """The package's folder."""
        return Place(self._sources, self._folder)


class Place:
    """A file or folder of a program: an `importlib.resources.abc.Traversable`.

    It need not exist. A way up, ``..``, leads as far as the folder of the roots and not out of it.
    """

    __slots__ = ("_path", "_sources")

    def __init__(self, sources: Sources, path: str) -> None:
        self._sources = sources
        self._path = path

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._path.rpartition("/")[2]

    def is_dir(self) -> bool:
        """Whether it is a folder that is there."""
        return self._path in self._sources.index()[1]

    def is_file(self) -> bool:
        """Whether it is a file that is there."""
        return self._path in self._sources.index()[0]

    def iterdir(self) -> Iterator[Place]:
        """The files and folders in a folder, by name.

        Raises:
            NotADirectoryError: it is a file; FileNotFoundError: it is not there.
        """
        if not self.is_dir():
            number = errno.ENOTDIR if self.is_file() else errno.ENOENT
            raise OSError(number, os.strerror(number), str(self))
        start = f"{self._path}/" if self._path else ""
        files, folders = self._sources.index()
        inside = {one for one in (*files, *folders) if one and one.startswith(start)}
        names = {one[len(start) :] for one in inside}
        for name in sorted(one for one in names if "/" not in one):
            yield Place(self._sources, start + name)

    def joinpath(self, *descendants: str | os.PathLike[str]) -> Place:
        """The place that is reached from here."""
        parts = self._path.split("/") if self._path else []
        for one in descendants:
            for part in os.fspath(one).replace(os.sep, "/").split("/"):
                if part == "..":
                    del parts[-1:]
                elif part not in ("", "."):
                    parts.append(part)
        return Place(self._sources, "/".join(parts))

    __truediv__ = joinpath

    def read_bytes(self) -> bytes:
        """The content of a file.

        Raises:
            OSError: it is not there, or a folder.
        """
        return self._sources.read(self._path)

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        """The content of a file as text. Raises what `read_bytes` raises."""
        with self.open("r", encoding=encoding, errors=errors) as file:
            text: str = file.read()
        return text

    def open(self, mode: str = "r", *args: Any, **kwargs: Any) -> IO[Any]:
        """Open a file to read; ``args`` are those of `io.TextIOWrapper`, for ``mode`` ``r``.

        Raises:
            ValueError: ``mode`` is neither ``r`` nor ``rb``. Else what `read_bytes` raises.
        """
        if mode not in ("r", "rt", "rb"):
            raise ValueError(f"a file of a bundle is opened with mode 'r' or 'rb', not {mode!r}")
        data = io.BytesIO(self.read_bytes())
        return data if mode == "rb" else io.TextIOWrapper(data, *args, **kwargs)

    def __str__(self) -> str:
        return self._sources.file(self._path)

    def __repr__(self) -> str:
        return f"Place({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Place)
            and other._sources is self._sources
            and other._path == self._path
        )

    def __hash__(self) -> int:
        return hash(self._path)
