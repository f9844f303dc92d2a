"""Files to documents: plain JSON values whose every part knows its place in the source.

YAML itself is imported when the first text is parsed: a check that finds nothing changed reads
and hashes files, and parses none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_build.compiler import files
from hermes_build.compiler.diagnostics import Findings, Span

if TYPE_CHECKING:
    from hermes_build.compiler.yaml12.places import Lines, Places


@dataclass(frozen=True, slots=True)
class Suppression:
    """A directive in a comment: which codes are hidden on ``line``, and for what reason.

    A directive that names no code has empty ``codes``, one that gives no reason an empty
    ``reason``. ``span`` is the directive's own place.
    """

    line: int
    codes: tuple[str, ...]
    reason: str
    span: Span


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was read: ``text`` has LF line ends and no byte order mark.

    ``path`` is relative to the project, with forward slashes; ``digest`` is the SHA-256 of the text
    in UTF-8, in hex, and so the same on every platform.
    """

    path: str
    text: str
    digest: str

    def suppressions(self) -> tuple[Suppression, ...]:
        """Return the ``# hermes-build: ignore[...]`` directives of the file, from the top."""
        if "hermes-build:" not in self.text:
            return ()
        from hermes_build.compiler.yaml12.comments import directives

        return tuple(directives(self.path, self.text))


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: its number in the stream from 0, its first line from 1, its value."""

    source: Source
    index: int
    line: int
    value: Any

    def at(self, *pointer: str | int, key: bool = False) -> Span:
        """Return the place of a part of the value, named by keys and positions.

        With ``key``, the place of the mapping key itself. A pointer that leaves the document ends
        at the nearest part around it.
        """
        return _places(self.source, self.line).at(pointer, key=key)


# Places are asked for where something is wrong, document by document and file by file. Nodes take
# a hundred times the size of their text, so only the last document's are kept.
@lru_cache(maxsize=1)
def _places(source: Source, line: int) -> Places:
    from hermes_build.compiler.yaml12.places import Places, document_text

    return Places(source.path, document_text(source.text, _lines(source).start(line)), line)


@lru_cache(maxsize=1)
def _lines(source: Source) -> Lines:
    from hermes_build.compiler.yaml12.places import Lines

    return Lines(source.path, source.text)


def find_sources(root: Path, folder: str, findings: Findings) -> list[str]:
    """Return the paths of the YAML files under ``folder``, sorted, relative to ``root``.

    Hidden files and folders are passed over, and a folder that is not there has none. Links to
    folders are never followed: each is a finding.
    """
    return files.find(root, folder, findings)


def read_source(root: Path, path: str, findings: Findings) -> Source | None:
    """Read one file of the project, or say in ``findings`` why it cannot be read."""
    text = files.read(root, path, findings)
    return None if text is None else _source(path, text)


def parse(source: Source, findings: Findings) -> tuple[Document, ...]:
    """Return the documents of a file that are free of errors; never raises, whatever the text.

    A document with an error is left out. A syntax error ends the file: the documents before it are
    returned.
    """
    from hermes_build.compiler.yaml12.reading import read

    return tuple(
        Document(source, index, line, value)
        for index, line, value in read(source.path, source.text, findings)
    )


def document(path: str, text: str) -> Document:
    """Return the first document of a text; a convenience for tests and for texts of our own.

    Raises:
        ValueError: The text holds no document, or there are findings on it.
    """
    findings = Findings()
    found = parse(_source(path, files.normalised(text)), findings)
    if len(findings) or not found:
        reasons = "; ".join(one.message for one in findings) or "the text holds no document"
        raise ValueError(f"{path}: {reasons}")
    return found[0]


def _source(path: str, text: str) -> Source:
    return Source(path, text, sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
