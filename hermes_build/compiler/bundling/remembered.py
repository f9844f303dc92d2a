"""What one machine remembers of the files of bundles, so that unchanged ones are not judged again.

Everything is keyed on a file's path and its content, and on a stamp of all that can change what is
read from it. Forgetting costs time, never correctness. It is kept beside what a compile remembers,
and bound to this machine as that is: a commit cannot bring along what its files are said to import.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from hermes_build.compiler.bundling.facts import Import, Imports, Undecided, Use
from hermes_build.compiler.bundling.kept import Texts
from hermes_build.compiler.diagnostics import Span
from hermes_build.compiler.regular import read_regular
from hermes_build.compiler.state import open_state, replace, seat

FILE = "bundling"

_CLASSES: dict[str, type] = {one.__name__: one for one in (Import, Imports, Span, Undecided, Use)}


class Remembered:
    """What is known of files; `remembering` opens what earlier runs knew."""

    def __init__(self, path: Path | None = None, head: bytes = b"") -> None:
        self._path = path
        self._head = head
        self._rows: dict[str, bytes] = {}
        self._changed = False

    def imports(
        self, source: bytes, digest: str, path: str, module: str, *, is_package: bool
    ) -> Imports:
        """What a module imports: `read_imports`, unless a file of the same content was read before.

        ``digest`` is the SHA-256 of the source. Raises what `read_imports` raises.
        """
        key = f"{module} {path}"
        found = self.recall(key, digest)
        if not isinstance(found, Imports):
            # What parses source is not imported where nothing has changed.
            from hermes_build.compiler.bundling.imports import read_imports

            found = read_imports(source, path, module, is_package=is_package)
            self.keep(key, digest, found)
        return found

    def doubtful(self, texts: Texts, places: Iterable[str]) -> Texts:
        """Those texts of which it is not known that they name none of the places, and no secret."""
        mark = _mark(places)
        return texts.only(lambda path: self.recall(path, texts.sha256(path) + mark) is None)

    def clear(self, texts: Texts, places: Iterable[str]) -> None:
        """Remember that these texts are harmless."""
        mark = _mark(places)
        for path in texts:
            self.keep(path, texts.sha256(path) + mark, True)

    def recall(self, key: str, digest: str) -> Any:
        """What was kept under a key with this very digest; None for nothing."""
        seal, _, row = self._rows.get(key, b"").partition(b" ")
        if seal != digest.encode():
            return None
        try:
            return _decoded(json.loads(row))
        except (ValueError, TypeError, KeyError):  # damaged
            return None

    def keep(self, key: str, digest: str, value: object) -> None:
        """Keep what is made of texts, tuples and the classes above."""
        if self._path is not None:
            text = json.dumps(_encoded(value), separators=(",", ":"))
            self._rows[key] = f"{digest} {text}".encode()
            self._changed = True

    def read(self) -> None:
        """Take in what earlier runs have written, if it was under the same stamp."""
        try:
            data = b"" if self._path is None else read_regular(self._path)
            if data.startswith(self._head):
                for line in data[len(self._head) :].split(b"\n")[:-1]:
                    key, _, row = line.partition(b"\t")
                    self._rows[json.loads(key)] = row
        except (OSError, ValueError):
            return  # none, or a damaged one

    def save(self) -> None:
        """Write what is known; a disk that does not take it is no reason to fail."""
        if self._path is None or not self._changed:
            return
        rows = (b"%s\t%s\n" % (json.dumps(key).encode(), row) for key, row in self._rows.items())
        with suppress(OSError):
            replace(self._path, chain([self._head], rows))


def remembering(root: Path, stamp: str) -> Remembered:
    """Return what is known of the files of the project at ``root``."""
    try:
        path = Path(open_state(root)) / FILE
        head = f"{stamp} {seat(root)}\n"
    except OSError:
        return Remembered()
    known = Remembered(path, head.encode("utf-8", "surrogateescape"))
    known.read()
    return known


def _mark(places: Iterable[str]) -> str:
    return "." + sha256("\0".join(places).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _encoded(value: Any) -> Any:
    """A value in JSON: an instance is an object whose one key is the name of its class."""
    if isinstance(value, tuple):
        return [_encoded(one) for one in value]
    name = type(value).__name__
    if name in _CLASSES:
        return {name: [_encoded(getattr(value, one)) for one in value.__slots__]}
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple([_decoded(one) for one in value])
    if isinstance(value, dict):
        ((name, fields),) = value.items()
        return _CLASSES[name](*_decoded(fields))
    return value
