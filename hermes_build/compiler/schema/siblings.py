"""The files that the refs of a schema may name, read through whoever has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hermes_build.compiler.load import Document


def _none(path: str) -> tuple[Document, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Siblings:
    """The files that a ``$ref`` may name: those of the specs folder.

    ``folder`` is the specs folder and ``paths`` are its files, relative to the project with forward
    slashes; ``documents`` gives what a file of these holds.
    """

    folder: str = ""
    paths: frozenset[str] = frozenset()
    documents: Callable[[str], tuple[Document, ...]] = _none

    def watched(self) -> tuple[Siblings, set[str]]:
        """Return the same files, and a set that gathers the paths that are looked into.

        What is found of a schema, mistakes included, holds as long as these files stay the same;
        a path without a file is among them.
        """
        seen: set[str] = set()

        def documents(path: str) -> tuple[Document, ...]:
            seen.add(path)
            return self.documents(path)

        return replace(self, documents=documents), seen
