"""A compiled program cut down to the tools of some toolsets.

It is cut by its lock and its catalogue, as they were compiled, record by record: what is generated
of a tool does not depend on the others, so that nothing is compiled again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple, TypeAlias

from hermes_build import layout
from hermes_build.canonical import compact
from hermes_build.compiler.bundling.closure import Wanted
from hermes_build.compiler.bundling.kept import Disk, at_line_ends
from hermes_build.compiler.diagnostics import Span
from hermes_build.compiler.project import Project
from hermes_build.compiler.root import LOCK
from hermes_build.layout import EVERY_TOOL
from hermes_build.lock import Lock, LockedFile, LockedToolset, read, render, rendered

Record: TypeAlias = "dict[str, Any]"
Pieces: TypeAlias = Callable[[], Iterable[bytes]]
"""Gives a content in pieces, again at each call."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled program: its lock, its catalogue, and the module that opens this."""

    lock: Lock
    catalogue: Pieces
    registry: Pieces


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A smaller program: the names of its tools and toolsets, and its lock's text.

    ``digest`` is that of its catalogue's records. ``replaced`` are the generated files that are not
    as the whole program has them, by their paths in the project. ``declaring`` are the files that
    declare what is left, ``required`` the modules that its specs demand, with the places, and
    ``wanted`` is what to follow for it.
    """

    tools: tuple[str, ...]
    toolsets: tuple[str, ...]
    lock: Pieces
    digest: str
    wanted: Wanted
    replaced: Mapping[str, Pieces] = field(default_factory=dict)
    declaring: frozenset[str] = frozenset()
    required: tuple[tuple[str, Span], ...] = ()


def compiled(project: Project) -> Compiled:
    """Return the program of a project as it stands on the disk.

    Raises:
        OSError: it was never compiled.
        LockError, UnicodeDecodeError: its lock is damaged.
    """
    disk = Disk(project.root)
    folder = project.output_folder
    lock = read(b"".join(disk.text(LOCK)).decode())
    return Compiled(
        lock,
        lambda: disk.text(f"{folder}/{layout.CATALOGUE}"),
        lambda: disk.text(f"{folder}/registry.py"),
    )


def narrow(project: Project, program: Compiled, toolsets: Iterable[str] = ()) -> Narrowed:
    """Keep the tools of the named toolsets, by name or alias; all of them where none is named.

    Kept are these toolsets, those that they include, to any depth, and those that own a tool which
    is kept; each is cut to tools that are kept.

    Raises:
        KeyError: there is no toolset of a name.
        OSError, ValueError: the catalogue cannot be read.
    """
    found = _Found(program.catalogue)
    named = list(toolsets)
    if not named or any(name in EVERY_TOOL for name in named):
        whole = _text_of(project, program.lock)
        return found.narrowed(found.tools, found.toolsets, whole, found.digest, {})
    tools, sets = found.choose(named)
    cut = _Cut(program.catalogue, tools, sets)
    registry = b"".join(program.registry()).replace(found.digest.encode(), cut.digest.encode())
    folder = project.output_folder
    replaced: dict[str, Pieces] = {
        f"{folder}/{layout.CATALOGUE}": cut,
        f"{folder}/registry.py": lambda: (registry,),
    }
    lock = render(_cut_lock(program.lock, tools, sets, replaced))
    return found.narrowed(tools, sets, lambda: (lock,), cut.digest, replaced)


def generated_files(lock: Pieces) -> Iterator[tuple[str, str]]:
    """Each generated file that the text of a lock names, with its digest as the lock has it."""
    for piece in at_line_ends(lock()):
        for line in piece.decode().split("\n"):
            if line.startswith(("file ", "  module ")):
                path, _, digest = line.lstrip().partition(" ")[2].rpartition(" ")
                yield path, digest


def _text_of(project: Project, lock: Lock) -> Pieces:
    """The text of a whole lock: from the disk, where it stands there as it is written."""
    disk = Disk(project.root)
    try:
        if _digest(disk.text(LOCK)) == _digest(rendered(lock)):
            return lambda: disk.text(LOCK)
    except OSError:
        pass
    data = render(lock)
    return lambda: (data,)


def _digest(pieces: Iterable[bytes]) -> str:
    hashed = sha256()
    for piece in pieces:
        hashed.update(piece)
    return hashed.hexdigest()


class _Tool(NamedTuple):
    toolset: str | None
    module: str | None
    path: str


class _Found:
    """What a catalogue says of the whole program, as far as it decides what is bundled."""

    def __init__(self, catalogue: Pieces) -> None:
        self.tools: dict[str, _Tool] = {}
        self.toolsets: dict[str, Record] = {}
        self.required: list[tuple[str, str, Span]] = []
        shared: dict[str, str] = {}
        for key, text in _lines(catalogue):
            if key.startswith((layout.TOOL, layout.TOOLSET, layout.HEADER)):
                record = json.loads(text)
            if key.startswith(layout.TOOL):
                name = key.removeprefix(layout.TOOL)
                path, _, line = record["source"].rpartition(":")
                words = record.get("toolset"), record.get("module"), path
                self.tools[name] = _Tool(*(one and shared.setdefault(one, one) for one in words))
                for module in record.get("requires", {}).get("python", ()):
                    self.required.append((name, module, Span(path, int(line), 1, int(line), 1)))
            elif key.startswith(layout.TOOLSET):
                self.toolsets[key.removeprefix(layout.TOOLSET)] = record
            elif key == layout.HEADER:
                self.digest: str = record["digest"]

    def choose(self, named: list[str]) -> tuple[set[str], set[str]]:
        """The tools and the toolsets that are kept for the named toolsets."""
        known = {
            alias: name for name, one in self.toolsets.items() for alias in one.get("aliases", ())
        }
        names = [name if name in self.toolsets else known[name] for name in named]
        tools = {tool for name in names for tool in self.toolsets[name]["resolved"]}
        names += [str(self.tools[name].toolset) for name in tools]
        kept: set[str] = set()
        while names:
            name = names.pop()
            if name in self.toolsets and name not in kept:
                kept.add(name)
                names += self.toolsets[name].get("includes", ())
        return tools, {name for name in kept if tools.intersection(self.toolsets[name]["resolved"])}

    def narrowed(
        self, tools: Collection[str], toolsets: Collection[str], lock: Pieces, digest: str,
        replaced: Mapping[str, Pieces],
    ) -> Narrowed:  # fmt: skip
        """Say what is left where these tools and toolsets are kept."""
        places = {self.tools[name].path for name in tools}
        places |= {self.toolsets[name]["source"].rpartition(":")[0] for name in toolsets}
        modules = {one.module for name in tools if (one := self.tools[name]).module is not None}
        others = {name: one.module for name, one in self.tools.items() if name not in tools}
        return Narrowed(
            tuple(sorted(tools)),
            tuple(sorted(toolsets)),
            lock,
            digest,
            Wanted(tuple(sorted(modules)), frozenset(tools), others),
            replaced,
            frozenset(places),
            tuple((module, span) for name, module, span in self.required if name in tools),
        )


class _Cut:
    """The catalogue of some tools, in pieces; ``digest`` is of its records."""

    def __init__(self, whole: Pieces, tools: Collection[str], toolsets: Collection[str]) -> None:
        self._whole, self._tools, self._toolsets = whole, tools, toolsets
        self._left = dict.fromkeys(("tools", "excludes", "resolved"), tools)
        self._left["includes"] = {*toolsets, *EVERY_TOOL}
        self.digest = _digest(self._records())

    def __call__(self) -> Iterator[bytes]:
        """Give the lines."""
        head = json.loads(next(iter(_lines(self._whole)))[1])
        head |= {
            "digest": self.digest, "tools": len(self._tools), "toolsets": len(self._toolsets)
        }  # fmt: skip
        yield _line(layout.HEADER, head)
        yield from self._records()

    def _records(self) -> Iterator[bytes]:
        tools, toolsets = self._tools, self._toolsets
        for key, text in _lines(self._whole):
            kind, slash, name = key.rpartition("/")
            kind += slash
            if kind == layout.TOOL:
                if name in tools:
                    yield f"{key}\t{text}\n".encode()
            elif kind in (layout.TOOL_ALIAS, layout.TOOLSET_ALIAS):
                if json.loads(text)["name"] in (tools if kind == layout.TOOL_ALIAS else toolsets):
                    yield f"{key}\t{text}\n".encode()
            elif kind == layout.TOOLSET:
                if name in toolsets:
                    yield _line(key, self._cut(json.loads(text)))
            elif kind == layout.MODULE and (one := self._cut(json.loads(text))):
                yield _line(key, one)

    def _cut(self, record: Record) -> Record:
        """A record with what is left of its lists; as everywhere, empty ones are left out."""
        left = self._left
        cut = {
            key: [one for one in value if one in left[key]] if key in left else value
            for key, value in record.items()
        }
        return {key: value for key, value in cut.items() if value or key not in left}


def _cut_lock(
    lock: Lock, tools: Collection[str], toolsets: Collection[str], replaced: Mapping[str, Pieces]
) -> Lock:
    marks = {path: f"sha256:{_digest(pieces())}" for path, pieces in replaced.items()}
    return replace(
        lock,
        tools=tuple(one for one in lock.tools if one.name in tools),
        toolsets=tuple(
            LockedToolset(one.name, tuple(name for name in one.tools if name in tools), one.source)
            for one in lock.toolsets
            if one.name in toolsets
        ),
        files=tuple(LockedFile(one.path, marks.get(one.path, one.digest)) for one in lock.files),
    )


def _lines(catalogue: Pieces) -> Iterator[tuple[str, str]]:
    for piece in at_line_ends(catalogue()):
        for line in piece.decode().split("\n"):
            key, tab, text = line.partition("\t")
            if tab:
                yield key, text


def _line(key: str, record: Record) -> bytes:
    return f"{key}\t{compact(record)}\n".encode()
