"""Every file of a bundle: what it is called there, and what it holds."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

import hermes_build
from hermes_build.bundle import format, main
from hermes_build.bundle.format import BundleError, File
from hermes_build.bundle.names import check_names
from hermes_build.compiler.bundling.closure import NOT_CARRIED, Closure
from hermes_build.compiler.bundling.data import find_data
from hermes_build.compiler.bundling.door import MAX_TEXT, Door
from hermes_build.compiler.bundling.line_ends import Attributes, ends_in_crlf, with_lf
from hermes_build.compiler.bundling.narrow import Narrowed
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.project import Project
from hermes_build.compiler.regular import read_regular
from hermes_build.compiler.sources import Sources
from hermes_build.lock import render

Content: TypeAlias = bytes | Callable[[], Iterable[bytes]]

TEXT = (".py", ".pyi", ".yaml", ".yml", ".toml", ".md")
"""Endings of files that are text: their line ends are LF in a bundle, whatever a checkout has."""

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Contents:
    """``files`` maps paths in the bundle to what is there; a function gives a content in pieces.

    ``listed`` has the size and the digest of each, as a manifest lists them. ``texts`` are those of
    the project's own files that are text and were written by people, by their path in the project,
    ``generated`` the others; ``data`` are those that are no text, or large.
    """

    files: dict[str, Content] = field(default_factory=dict)
    listed: dict[str, File] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    generated: dict[str, bytes] = field(default_factory=dict)
    data: dict[str, Content] = field(default_factory=dict)


def gather(
    project: Project,
    narrowed: Narrowed,
    closure: Closure,
    sources: Sources,
    door: Door,
    findings: Findings,
) -> Contents:
    """Gather every file; one that a bundle cannot hold is a finding."""
    found = Contents()
    prefix = "" if project.source == "." else f"{project.source}/"
    _add(found, format.LOCK, render(narrowed.lock))
    for path, data in narrowed.tree.items():
        found.generated[path] = data
        _add(found, format.PROGRAM + path.removeprefix(prefix), data)
    for path, data in closure.sources.items():
        found.texts[path] = data
        _add(found, format.PROGRAM + path.removeprefix(prefix), data)
    attributes = Attributes(project.root)
    for path in sorted({*find_data(project, closure.sources, findings), *closure.data}):
        place = format.PROGRAM + path.removeprefix(prefix)
        if place not in found.files:
            _add_data(found, place, path, project, door, attributes)
    for path in _declaring(narrowed, sources):
        source = sources.get(path)
        if source is not None and door.size(path, MAX_TEXT) is not None:
            found.texts[path] = source.text.encode("utf-8", "surrogatepass")
            _add(found, format.SPECS + path, found.texts[path])
    for name in _licences(project.root):
        if (text := door.text(name)) is not None:
            found.texts[name] = text
            _add(found, name, text)
    _check_names(found, prefix, findings)
    for path, data in carried_runtime():
        _add(found, path, data)
    _add(found, format.MAIN, main.TEXT.encode())
    return found


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


def _add(found: Contents, path: str, data: bytes) -> None:
    found.files[path] = data
    found.listed[path] = File(hashlib.sha256(data).hexdigest(), len(data))


def _add_data(
    found: Contents, place: str, path: str, project: Project, door: Door, attributes: Attributes
) -> None:
    """Add a data file: text as text is, others as they are, large ones without reading them in."""
    if path.endswith(TEXT):
        if (text := door.text(path)) is not None:
            found.texts[path] = text
            _add(found, place, text)
        return
    size = door.size(path)
    if size is None:
        return
    where = os.path.join(project.root, path)
    if size <= _BLOCK:
        data = read_regular(where)
        if ends_in_crlf([data]) and not attributes.keep_crlf(path):
            data = data.replace(b"\r\n", b"\n")
        _add(found, place, data)
        (found.data if b"\0" in data else found.texts)[path] = data
        return
    lf = ends_in_crlf(_pieces(where)) and not attributes.keep_crlf(path)
    hashed = hashlib.sha256()
    size = 0
    for piece in _pieces(where, lf=lf):
        hashed.update(piece)
        size += len(piece)
    found.listed[place] = File(hashed.hexdigest(), size)
    found.files[place] = found.data[path] = _Unchanged(where, place, hashed.hexdigest(), lf)


@dataclass(frozen=True, slots=True)
class _Unchanged:
    """A large file's content, piece by piece; it must stay what it was when it was listed.

    With ``lf``, line ends become LF.
    """

    where: str
    place: str
    sha256: str
    lf: bool

    def __call__(self) -> Iterator[bytes]:
        hashed = hashlib.sha256()
        for piece in _pieces(self.where, lf=self.lf):
            hashed.update(piece)
            yield piece
        if hashed.hexdigest() != self.sha256:
            raise BundleError(
                "HB8006", f"{self.place} was changed while the bundle was made", self.place
            )


def _pieces(where: str, *, lf: bool = False) -> Iterator[bytes]:
    with open(where, "rb") as file:
        pieces = iter(lambda: file.read(_BLOCK), b"")
        yield from with_lf(pieces) if lf else pieces


def _declaring(narrowed: Narrowed, sources: Sources) -> list[str]:
    """The files that declare what is in the bundle, and those that their schemas refer to."""
    catalog = narrowed.catalog
    places = [one.place for one in catalog.tools] + [one.place for one in catalog.toolsets]
    paths = {one.path for one in places}
    waiting = sorted(paths)
    while waiting:
        path = waiting.pop()
        for other in _references(path, sources):
            if other not in paths and sources.get(other) is not None:
                paths.add(other)
                waiting.append(other)
    return sorted(paths)


def _references(path: str, sources: Sources) -> Iterator[str]:
    """The other files that the schemas of a file refer to."""
    source = sources.get(path)
    if source is None or "$ref" not in source.text:
        return
    stack = [one.value for one in sources.documents(path)]
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
