"""Everything that ``check`` decides, in one verdict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hermes_build.compiler.diagnostics import Diagnostic, Findings, position
from hermes_build.compiler.drift import probe_handlers
from hermes_build.compiler.freshness import stale
from hermes_build.compiler.memory import Memory
from hermes_build.compiler.pipeline import build
from hermes_build.compiler.project import Project, read_project
from hermes_build.compiler.root import LOCK, SETTINGS
from hermes_build.compiler.verdict import Watch


@dataclass(frozen=True, slots=True)
class Judgement:
    """The findings by place, on what they rest, and how many files were read.

    ``complete`` is false where errors kept later stages from looking.
    ``lasting`` is false where the same files may be judged otherwise the next time: an import can
    fail for want of anything, such as a package that somebody then installs.
    """

    findings: tuple[Diagnostic, ...]
    watch: Watch
    files: int
    lasting: bool = True
    complete: bool = True


def judge(root: Path, memory: Memory, *, imports: bool) -> Judgement:
    """Compile in memory, compare with the disk, and import the handlers of what is fresh.

    Handlers are judged against the generated files, so that stale ones must be compiled first.
    """
    findings = Findings()
    watch = Watch(root)
    watch.add(*SETTINGS)
    project = read_project(root, findings)
    inputs = watched(project)
    watch.add(*inputs)
    made = build(project, memory, findings)
    found = list(made.findings)
    complete = made.tree is not None
    if made.tree is not None and made.lock is not None:
        outdated = stale(project, made.tree, made.lock, made.catalog)
        found += outdated
        complete = not (imports and outdated)
        if imports and not outdated:
            drift = Findings()
            folders = tuple(f"{path}/" for path in inputs)
            imported = probe_handlers(project, drift)
            watch.add_read(*(path for path in imported if not path.startswith(folders)))
            found += drift
    files = sum(1 for _ in made.sources)
    lasting = all(one.code != "HB3008" for one in found)
    return Judgement(tuple(sorted(found, key=position)), watch, files, lasting, complete)


def watched(project: Project) -> tuple[str, ...]:
    """Return the paths below the root on which a verdict rests, whether they exist or not."""
    source = [] if project.source == "." else [project.source]
    handlers = ["/".join([*source, *name.split(".")]) for name in project.handlers]
    return (
        LOCK,
        project.specs,
        project.toolsets,
        project.templates,
        project.output_folder,
        *handlers,
        *(f"{path}.py" for path in handlers),
    )
