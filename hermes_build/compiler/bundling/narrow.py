"""A program cut down to the tools of some toolsets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hermes_build.compiler.bundling.closure import Wanted
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.digests import digests
from hermes_build.compiler.emit.program import emit
from hermes_build.compiler.memory import Memory
from hermes_build.compiler.pipeline import Build
from hermes_build.compiler.project import Project
from hermes_build.compiler.seal import seal
from hermes_build.compiler.tree import Tree
from hermes_build.compiler.why import MEANS_ALL
from hermes_build.ir import Catalog, Toolset
from hermes_build.lock import Lock


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A smaller program: its catalog, its generated files, its lock, and what to follow for it."""

    catalog: Catalog
    tree: Tree
    lock: Lock
    wanted: Wanted


def narrow(catalog: Catalog, toolsets: Iterable[str] = ()) -> Catalog:
    """Keep the resolved tools of the named toolsets, by name or alias; of all where none is named.

    Kept are these toolsets, those that they include, to any depth, and those that own a tool which
    is kept; each is cut to tools that are kept. Servers are not part of a program's catalogue.

    Raises:
        KeyError: there is no toolset of a name.
    """
    by_name = {one.name: one for one in catalog.toolsets}
    known = {alias: one.name for one in catalog.toolsets for alias in one.aliases}
    named = list(toolsets)
    if not named or any(name in MEANS_ALL for name in named):
        return replace(catalog, servers=())
    names = [name if name in by_name else known[name] for name in named]
    tools = {tool for name in names for tool in by_name[name].resolved}
    names += [str(one.toolset) for one in catalog.tools if one.name in tools and one.toolset]
    kept: dict[str, None] = {}
    while names:
        name = names.pop()
        if name in by_name and name not in kept:
            kept[name] = None
            names += by_name[name].includes
    left = {name for name in kept if tools.intersection(by_name[name].resolved)}
    return Catalog(
        tuple(one for one in catalog.tools if one.name in tools),
        tuple(_cut(one, tools, left) for one in catalog.toolsets if one.name in left),
    )


def _cut(one: Toolset, tools: set[str], toolsets: set[str]) -> Toolset:
    return replace(
        one,
        tools=None if one.tools is None else tuple(name for name in one.tools if name in tools),
        includes=tuple(name for name in one.includes if name in toolsets or name in MEANS_ALL),
        excludes=tuple(name for name in one.excludes if name in tools),
        resolved=tuple(name for name in one.resolved if name in tools),
    )


def make_narrowed(
    project: Project, made: Build, toolsets: Iterable[str], memory: Memory
) -> Narrowed:
    """Emit and seal what is left of a whole compile, ``made``, that found no error.

    ``memory`` is that of this compile: a tool's module is the one that it made.

    Raises:
        KeyError: there is no toolset of a name.
    """
    if made.catalog is None or made.lock is None:
        raise ValueError("the compile has not come to its end")
    catalog = narrow(made.catalog, toolsets)
    locked = {one.name: one for one in made.lock.tools}
    registered = {
        one.name: home for one in catalog.tools if (home := locked[one.name].handler) is not None
    }
    marks = {one.name: digests(one, locked[one.name].source) for one in catalog.tools}
    texts = {one.name: one.source for one in made.lock.toolsets if one.source is not None}
    findings = Findings()  # what may be said of a stub was said when the whole was compiled
    kept = replace(memory, stubs=dict(memory.stubs), path=None)
    emitted = emit(project, catalog, registered, marks, kept, made.sources.locate, findings)
    if emitted is None:
        raise ValueError("a part of a program that was emitted cannot be emitted")
    lock = seal(catalog, registered, marks, texts, emitted)
    names = frozenset(registered) | {one.name for one in catalog.tools}
    others = {one.name: one.handler for one in made.lock.tools if one.name not in names}
    return Narrowed(
        catalog, emitted.tree, lock, Wanted(tuple(sorted(set(registered.values()))), names, others)
    )
