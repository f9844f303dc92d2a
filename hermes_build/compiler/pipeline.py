"""The stages of a compile, in order."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hermes_build.compiler.bindings import check_bindings, find_bindings
from hermes_build.compiler.diagnostics import Diagnostic, Findings, Span
from hermes_build.compiler.emit.program import emit
from hermes_build.compiler.examine import Declared, Kind, examine
from hermes_build.compiler.load import Source, find_sources, read_source
from hermes_build.compiler.lock import Lock
from hermes_build.compiler.memory import Memory
from hermes_build.compiler.project import Project
from hermes_build.compiler.resolve import resolve
from hermes_build.compiler.schema import Siblings
from hermes_build.compiler.seal import seal
from hermes_build.compiler.sources import Sources
from hermes_build.compiler.suppress import Suppressions
from hermes_build.compiler.tree import Tree
from hermes_build.ir import Catalog


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
    sources, files = _read(project, findings)
    siblings = sources.siblings(project.specs)
    declared = [_examined(source, kind, sources, siblings, memory) for source, kind in files]
    findings.extend(finding for one in declared for finding in one.findings)
    inline = [row for one in declared for row in one.suppressions]
    suppressions = Suppressions(inline, project.lint)
    findings.extend(suppressions.mistakes())

    def stopped() -> bool:
        return any(one.severity == "error" for one in suppressions.visible(findings))

    def ended(catalog: Catalog | None = None) -> Build:
        memory.save()
        return Build(tuple(suppressions.visible(findings.sorted())), sources, catalog)

    if stopped():
        return ended()
    catalog = resolve(
        [tool for one in declared for tool in one.tools],
        [toolset for one in declared for toolset in one.toolsets],
        [server for one in declared for server in one.servers],
        sources.locate,
        findings,
    )
    bindings = find_bindings(project, findings)
    registered = check_bindings(bindings, catalog.tools, sources.locate, findings)
    if stopped():
        return ended(catalog)
    marks = {
        tool.name: mark
        for one in declared
        for tool, mark in zip(one.tools, one.digests, strict=True)
    }
    emitted = emit(project, catalog, registered, marks, memory, sources.locate, findings, jobs=jobs)
    if emitted is None or stopped():
        return ended(catalog)
    lock = seal(catalog, registered, marks, sources, emitted)
    findings.extend(suppressions.unused())
    return replace(ended(catalog), tree=emitted.tree, lock=lock)


def _read(project: Project, findings: Findings) -> tuple[Sources, list[tuple[Source, Kind]]]:
    files: list[tuple[Source, Kind]] = []
    folders: tuple[tuple[str, Kind], ...] = ((project.specs, "specs"), (project.toolsets, "toolsets"))
    for folder, kind in folders:
        paths = find_sources(project.root, folder, findings)
        if not paths and kind == "specs":
            findings.add(
                "HB1007",
                f"there is no spec in `{folder}/`",
                Span(project.file),
                help=("`hermes-build new TOOL` writes one", "`specs` in the settings names the folder"),
            )
        for path in paths:
            source = read_source(project.root, path, findings)
            if source is not None:
                files.append((source, kind))
    return Sources(source for source, _ in files), files


def _examined(
    source: Source, kind: Kind, sources: Sources, siblings: Siblings, memory: Memory
) -> Declared:
    declared = memory.recall(source, kind, sources)
    if declared is None:
        declared = examine(source, kind, sources, siblings)
        memory.keep(source, kind, declared)
    return declared
