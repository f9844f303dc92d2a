"""Makes spaces of programs in memory."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from hermes_build.bundle.isolation import Space


class Memory:
    """The files of a program in memory; sources are dedented."""

    def __init__(self, sources: Mapping[str, str | bytes]) -> None:
        self._files = {
            f"program/{path}": text if isinstance(text, bytes) else textwrap.dedent(text).encode()
            for path, text in sources.items()
        }

    def names(self) -> list[str]:
        return [*self._files, "hermes-build.lock"]

    def read(self, name: str) -> bytes:
        return self._files[name]


opened: list[Space] = []
"""The spaces that a test has made; they are closed after it."""


def space(sources: Mapping[str, str | bytes], identity: str = "v1", **options: Any) -> Space:
    """A space of a program of these sources, that is closed after the test."""
    roots = {path.split("/")[0].removesuffix(".py") for path in sources}
    options.setdefault("path", "/nowhere/agent.hermes")
    made = Space(Memory(sources), roots, identity, **options)
    opened.append(made)
    return made


def close_all() -> None:
    """Close every space that `space` has made."""
    while opened:
        opened.pop().close()


PACKAGE: dict[str, str | bytes] = {
    "handlers/__init__.py": "",
    "handlers/files/__init__.py": "from handlers.files.reading import read as read\n",
    "handlers/files/reading.py": "def read(): return 'read'\nlimit = 7\n_hidden = 8\n",
}
"""A package with a package and a module in it."""
