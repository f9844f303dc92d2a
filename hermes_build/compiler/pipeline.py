"""The stages of a compile, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hermes_build.compiler.bindings import check_bindings, find_bindings
from hermes_build.compiler.diagnostics import Diagnostic, Findings, Span
from hermes_build.compiler.digests import Digests
from hermes_build.compiler.emit.program import emit
from hermes_build.compiler.examine import Declared, Kind, examine, with_digests
from hermes_build.compiler.load import Source, find_sources, read_source
from hermes_build.compiler.memory import Memory
from hermes_build.compiler.project import Project
from hermes_build.compiler.resolve import resolve
from hermes_build.compiler.schema import Siblings
from hermes_build.compiler.seal import seal
from hermes_build.compiler.sources import Sources
from hermes_build.compiler.suppress import Suppressions
from hermes_build.compiler.tree import Tree
from hermes_build.ir import Catalog
from hermes_build.lock import Lock


@dataclass(frozen=True, slots=True)
class Build:
    """What a compile found and made.

    ``catalog`` is there once every spec was read and resolved; ``tree`` and ``lock`` are there when
    nothing stands against writing them. ``findings`` are those that nothing suppresses, by place.
    """

    findings: tuple[Diagnostic, ...]
    sources: Sources
    catalog: Catalog | None = None
    tree: Tree | None = None
    lock: Lock | None = None


def build(project: Project, memory: Memory, findings: Findings, *, jobs: int = 1) -> Build:
    """Compile a project in memory: nothing is written.

    ``findings`` holds what reading the settings found. Stages stop at the first that finds errors,
    and everything found up to there is reported at once.
    """
    made = _resolved(project, memory, findings)
    if made.catalog is None:
        return made.ended(memory)
    bindings = find_bindings(project, findings)
    found = check_bindings(bindings, made.catalog.tools, made.sources.locate, findings)
    if made.stopped():
        return made.ended(memory)
    registered = {name: one.module for name, one in found.items()}
    emitted = emit(
        project, made.catalog, registered, made.digests, memory, made.sources.locate, findings,
        jobs=jobs,
    )  # fmt: skip
    if emitted is None or made.stopped():
        return made.ended(memory)
    lock = seal(made.catalog, registered, made.digests, made.set_texts, emitted)
    findings.extend(made.suppressions.unused())
    return replace(made.ended(memory), tree=emitted.tree, lock=lock)


def resolve_project(project: Project, memory: Memory, findings: Findings) -> Build:
    """Read and resolve a project, and stop there: what commands that only look need."""
    return _resolved(project, memory, findings).ended(memory)


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A compile halfway: everything declared, and the catalog unless there are errors."""

    sources: Sources
    suppressions: Suppressions
    findings: Findings
    digests: Mapping[str, Digests]
    set_texts: Mapping[str, str]
    catalog: Catalog | None = None

    def stopped(self) -> bool:
        """Whether something that nothing suppresses keeps the next stage from running."""
        return any(one.severity == "error" for one in self.suppressions.visible(self.findings))

    def ended(self, memory: Memory) -> Build:
        """Stop here, with what was found so far."""
        memory.save()
        visible = self.suppressions.visible(self.findings.sorted())
        return Build(tuple(visible), self.sources, self.catalog)


def _resolved(project: Project, memory: Memory, findings: Findings) -> _Resolved:
    if any(one.code == "HB1403" for one in findings):
        # Where things are is not known: looking in the usual places would find what is not so.
        return _Resolved(Sources(()), Suppressions((), project.lint), findings, {}, {})
    sources, files = _read(project, findings)
    siblings = sources.siblings(project.specs)
    declared = [_examined(source, kind, sources, siblings, memory) for source, kind in files]
    findings.extend(finding for one in declared for finding in one.findings)
    inline = [row for one in declared for row in one.suppressions]
    suppressions = Suppressions(inline, project.lint)
    findings.extend(suppressions.mistakes())
    digests = {
        tool.name: mark
        for one in declared
        for tool, mark in zip(one.tools, one.digests, strict=True)
    }
    set_texts = {
        toolset.name: text
        for one in declared
        for toolset, text in zip(one.toolsets, one.set_texts, strict=True)
    }
    _check_surface(project, declared, findings)
    halfway = _Resolved(sources, suppressions, findings, digests, set_texts)
    if halfway.stopped():
        return halfway
    catalog = resolve(
        [tool for one in declared for tool in one.tools],
        [toolset for one in declared for toolset in one.toolsets],
        [server for one in declared for server in one.servers],
        sources.locate,
        findings,
    )
    return replace(halfway, catalog=catalog)


def _read(project: Project, findings: Findings) -> tuple[Sources, list[tuple[Source, Kind]]]:
    files: list[tuple[Source, Kind]] = []
    folders: tuple[tuple[str, Kind], ...] = (
        (project.specs, "specs"),
        (project.toolsets, "toolsets"),
    )
    for folder, kind in folders:
        paths = find_sources(project.root, folder, findings)
        if not paths and kind == "specs":
            findings.add(
                "HB1007",
                f"there is no spec in `{folder}/`",
                Span(project.file),
                help=(
                    "`hermes-build new TOOL` writes one",
                    "`specs` in the settings names the folder",
                ),
            )
        for path in paths:
            source = read_source(project.root, path, findings)
            if source is not None:
                files.append((source, kind))
    return Sources(source for source, _ in files), files


def _check_surface(project: Project, declared: Sequence[Declared], findings: Findings) -> None:
    """Report specs that declare no tool; where something could not be read, one may be in it."""
    if not declared or findings.has_errors or any(one.tools for one in declared):
        return
    findings.add(
        "HB1007",
        f"no file in `{project.specs}/` declares a tool",
        Span(project.file),
        help=("`hermes-build new TOOL` writes one",),
    )


def _examined(
    source: Source, kind: Kind, sources: Sources, siblings: Siblings, memory: Memory
) -> Declared:
    declared = memory.recall(source, kind, sources)
    if declared is None:
        declared = with_digests(examine(source, kind, sources, siblings))
        memory.keep(source, kind, declared)
    return declared
