"""Every file of a bundle: what it is called there, and what it holds."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import hermes_build
from hermes_build.bundle import format, main
from hermes_build.bundle.format import BundleError, File
from hermes_build.bundle.names import check_names
from hermes_build.compiler import files
from hermes_build.compiler.bundling.closure import NOT_CARRIED, Closure
from hermes_build.compiler.bundling.data import find_data
from hermes_build.compiler.bundling.directives import may_suppress
from hermes_build.compiler.bundling.door import MAX_TEXT, Door
from hermes_build.compiler.bundling.kept import Disk, Kept, Read, Texts, keep, keep_bytes
from hermes_build.compiler.bundling.line_ends import Attributes, ends_in_crlf
from hermes_build.compiler.bundling.narrow import Narrowed, generated_files
from hermes_build.compiler.bundling.places import Mentions, machine_places
from hermes_build.compiler.bundling.remembered import Remembered
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.project import Project
from hermes_build.compiler.regular import read_regular

TEXT = (".py", ".pyi", ".yaml", ".yml", ".toml", ".md")
"""Endings of files that are text: their line ends are LF in a bundle, whatever a checkout has."""

_TEXT_LIKE = 1 << 20
"""The largest data file, in bytes, that is looked into as people's texts are."""


@dataclass(frozen=True, slots=True)
class Contents:
    """``files`` maps paths in the bundle to what is there.

    By their paths in the project, ``texts`` are those of its own files that are text and were
    written by people, ``generated`` those of the others that may name a place of this machine, and
    ``data`` those that are no text, or large. ``specs`` are those texts that declare tools and
    toolsets, and ``suppressing`` those that may say which findings are to be lived with.
    """

    files: dict[str, Kept] = field(default_factory=dict)
    texts: Texts = field(default_factory=Texts)
    generated: Texts = field(default_factory=Texts)
    data: Texts = field(default_factory=Texts)
    specs: set[str] = field(default_factory=set)
    suppressing: dict[str, bytes] = field(default_factory=dict)

    @property
    def listed(self) -> dict[str, File]:
        """The size and the digest of each, as a manifest lists them."""
        return {path: one.file for path, one in self.files.items()}

    def add(self, path: str, data: bytes) -> None:
        """Add a content that stands in no file of the project."""
        self.files[path] = keep_bytes(data, path)


def gather(
    project: Project,
    narrowed: Narrowed,
    closure: Closure,
    door: Door,
    known: Remembered,
    findings: Findings,
) -> Contents:
    """Gather every file; one that a bundle cannot hold is a finding."""
    gathering = _Gathering(project, door, findings)
    found = gathering.found
    _take_specs(project, narrowed, gathering, known)
    found.files[format.LOCK] = keep(lambda _: narrowed.lock(), format.LOCK)
    for path, seal in generated_files(narrowed.lock):
        gathering.take_generated(path, seal, narrowed)
    for path, seal in closure.sources.items():
        gathering.take_text(gathering.place(path), path, seal)
    for path in sorted({*find_data(project, closure.sources, findings), *closure.data}):
        if gathering.place(path) not in found.files:
            gathering.take_data(path)
    for name in _licences(project.root):
        gathering.take_text(name, name)
    _check_names(found, gathering.prefix, findings)
    for path, data in carried_runtime():
        found.add(path, data)
    found.add(format.MAIN, main.TEXT.encode())
    return found


class _Gathering:
    """Takes file by file, each of which is read once to be listed."""

    def __init__(self, project: Project, door: Door, findings: Findings) -> None:
        self.found = Contents()
        self.prefix = "" if project.source == "." else f"{project.source}/"
        self._root, self._door, self._findings = project.root, door, findings
        self._disk = Disk(project.root)
        self._text, self._own = self._disk.text, self._spec  # one method each, not one a file
        self._attributes = Attributes(project.root)
        self._places = machine_places(project.root)

    def place(self, path: str) -> str:
        """Where a file of the source folder stands in the bundle."""
        return format.PROGRAM + path.removeprefix(self.prefix)

    def take_spec(self, path: str) -> bytes:
        """Add a file of specs or toolsets as the compiler reads it, and return its text."""
        if self._door.size(path, MAX_TEXT) is None:
            return b""
        self.found.specs.add(path)
        return self._take_text(format.SPECS + path, path, self._own)

    def take_generated(self, path: str, seal: str, narrowed: Narrowed) -> None:
        """Add a generated file, of which the lock of the program says ``seal``."""
        pieces = narrowed.replaced.get(path)
        read: Read = self._text if pieces is None else lambda _: pieces()
        mentions = Mentions(self._places)
        kept = self._keep(self.place(path), path, read, mentions.look)
        if kept is not None:
            if mentions.found:
                self.found.generated.add(path, kept)
            self._hold(path, f"sha256:{kept.file.sha256}", seal)

    def take_text(self, place: str, path: str, seal: str | None = None) -> None:
        """Add a text with LF line ends; ``seal`` is its SHA-256, where it was read before."""
        if self._door.size(path, MAX_TEXT) is not None:
            self._take_text(place, path, self._text)
            if seal is not None and place in self.found.files:
                self._hold(path, self.found.files[place].file.sha256, seal)

    def take_data(self, path: str) -> None:
        """Add a data file: text as text is, others as they are."""
        place = self.place(path)
        if path.endswith(TEXT):
            self.take_text(place, path)
            return
        size = self._door.size(path)
        if size is None:
            return
        nuls = 0

        def look(piece: bytes) -> None:
            nonlocal nuls
            nuls += piece.count(0)

        kept = self._keep(place, path, self._data, look)
        if kept is None:
            return
        if nuls or size > _TEXT_LIKE:
            self.found.data.add(path, kept)
        else:
            self._add_text(path, kept, b"".join(kept()))

    def _data(self, path: str) -> Iterable[bytes]:
        as_committed = ends_in_crlf(self._disk.data(path)) and not self._attributes.keep_crlf(path)
        return self._disk.text(path) if as_committed else self._disk.data(path)

    def _take_text(self, place: str, path: str, read: Read) -> bytes:
        pieces: list[bytes] = []
        kept = self._keep(place, path, read, pieces.append)
        data = b"".join(pieces)
        if kept is not None:
            self._add_text(path, kept, data)
        return data

    def _add_text(self, path: str, kept: Kept, data: bytes) -> None:
        self.found.texts.add(path, kept)
        if may_suppress(data):
            self.found.suppressing[path] = data

    def _keep(
        self, place: str, path: str, read: Read, look: Callable[[bytes], object] = len
    ) -> Kept | None:
        try:
            kept = keep(read, path, look)
        except OSError as error:
            self._door.unreadable(path, error)
            return None
        self.found.files[place] = kept
        return kept

    def _spec(self, path: str) -> Iterable[bytes]:
        findings = Findings()
        text = files.read(self._root, path, findings)
        if text is None:
            raise OSError(0, "; ".join(one.message for one in findings), path)
        return (text.encode("utf-8", "surrogatepass"),)

    def _hold(self, path: str, found: str, seal: str) -> None:
        """Hold what a file is now against what it was when something was decided by it."""
        if found != seal:
            self._findings.add(
                "HB8006",
                f"`{path}` was changed while the bundle was made",
                Span(path),
                help=("make it again when nothing writes there",),
            )


def carried_runtime() -> Iterator[tuple[str, bytes]]:
    """The runtime that is installed here: each file's path in a bundle, and its content."""
    top = Path(hermes_build.__file__).parent
    for folder, folders, names in os.walk(top):
        inner = Path(folder).relative_to(top)
        folders[:] = sorted(one for one in folders if (top / inner / one / "__init__.py").is_file())
        if inner == Path():
            folders[:] = [one for one in folders if one not in NOT_CARRIED]
        for name in sorted(names):
            path = (inner / name).as_posix()
            if name.endswith(".py") and path.removesuffix(".py") not in NOT_CARRIED:
                data = read_regular(os.path.join(folder, name)).replace(b"\r\n", b"\n")
                yield format.RUNTIME + path, data


def _take_specs(
    project: Project, narrowed: Narrowed, gathering: _Gathering, known: Remembered
) -> None:
    """Take the files that declare what is in the bundle, and those that their schemas refer to."""
    waiting = sorted(narrowed.declaring)
    taken = set(waiting)
    sources: set[str] | None = None
    while waiting:
        path = waiting.pop()
        data = gathering.take_spec(path)
        if b"$ref" not in data:
            continue
        mark = format.hexdigest(data)
        others = known.recall(f"$ref {path}", mark)
        if others is None:
            others = tuple(sorted(set(_references(path, data))))
            known.keep(f"$ref {path}", mark, others)
        if others and sources is None:
            folders = (project.specs, project.toolsets)
            sources = {
                one for each in folders for one in files.find(project.root, each, Findings())
            }
        for other in others:
            if other in (sources or ()) and other not in taken:
                taken.add(other)
                waiting.append(other)


def _references(path: str, data: bytes) -> Iterator[str]:
    """The other files that the schemas of a file refer to."""
    from hermes_build.compiler.load import Source, parse

    text = data.decode("utf-8", "surrogatepass")
    stack = [one.value for one in parse(Source(path, text, ""), Findings())]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            ref = value.get("$ref")
            name = ref.partition("#")[0] if isinstance(ref, str) else ""
            if name:
                yield posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(name)))
            stack += value.values()
        elif isinstance(value, list):
            stack += value


def _licences(root: Path) -> list[str]:
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    wanted = [one for one in names if format.is_licence(one)]
    return [one for one in wanted if not os.path.isdir(root / one) or os.path.islink(root / one)]


def _check_names(found: Contents, prefix: str, findings: Findings) -> None:
    """Report the first name that some system does not take, or takes for another."""
    try:
        check_names(found.files)
    except BundleError as error:
        path = error.path
        for folder, where in ((format.PROGRAM, prefix), (format.SPECS, "")):
            if path.startswith(folder):
                path = where + path.removeprefix(folder)
        shown = path.encode("utf-8", "backslashreplace").decode()
        message = error.message.replace(f"{error.path!r}", f"`{shown}`")
        findings.add("HB8108", message, Span(shown), help=("rename the file",))


def listed_size(listed: Mapping[str, File]) -> int:
    """How many bytes all files hold together."""
    return sum(one.size for one in listed.values())
