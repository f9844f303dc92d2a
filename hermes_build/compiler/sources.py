"""Every source file of a project, each parsed when somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from hermes_build.compiler import load
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.load import Document, Source
from hermes_build.compiler.schema import Siblings
from hermes_build.ir import Place


class Locate(Protocol):
    """Turns a document's place and a pointer into it into a span."""

    def __call__(self, place: Place, *pointer: str | int, key: bool = False) -> Span:
        """Return the span of a node, of a key, or of what is nearest around it."""


class Sources:
    """The files by path; a file that nobody looks into is never parsed."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = {one.path: one for one in sources}
        self._documents: dict[str, tuple[Document, ...]] = {}
        self._by_line: dict[str, dict[int, Document]] = {}

    def __iter__(self) -> Iterator[Source]:
        return iter(self._sources.values())

    def get(self, path: str) -> Source | None:
        """Return the file at ``path``, relative to the project."""
        return self._sources.get(path)

    def parsed(self, source: Source, findings: Findings) -> tuple[Document, ...]:
        """Parse one of the files, with its mistakes added to ``findings``."""
        documents = load.parse(source, findings)
        self._documents[source.path] = documents
        return documents

    def documents(self, path: str) -> tuple[Document, ...]:
        """Return the documents of a file; its mistakes are reported where it is examined."""
        if path not in self._documents:
            source = self._sources.get(path)
            self._documents[path] = load.parse(source, Findings()) if source else ()
        return self._documents[path]

    def siblings(self, folder: str) -> Siblings:
        """Return what the references of a spec in ``folder`` may name."""
        return Siblings(folder, frozenset(self._sources), self.documents)

    def locate(self, place: Place, *pointer: str | int, key: bool = False) -> Span:
        """Return the span of a node in the document that begins at ``place``, or around it."""
        if place.path not in self._by_line:
            documents = self.documents(place.path)
            self._by_line[place.path] = {document.line: document for document in documents}
        found = self._by_line[place.path].get(place.line)
        if found is not None:
            return found.at(*pointer, key=key)
        for document in reversed(self.documents(place.path)):
            servers = (
                document.value.get("mcp_servers") if isinstance(document.value, dict) else None
            )
            if isinstance(servers, dict) and document.line <= place.line:
                return document.at("mcp_servers", *pointer, key=True)
        return Span(place.path, place.line, 1, place.line, 1)
