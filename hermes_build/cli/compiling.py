"""``hermes-build compile``."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import click

from hermes_build.cli.present import (
    Report,
    counted,
    open_project,
    project_option,
    report_options,
    root_of,
    say,
    say_more_follows,
)
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.freshness import difference, obstacles, stale, stale_lock
from hermes_build.compiler.memory import Memory, forgetful, open_memory
from hermes_build.compiler.pipeline import build
from hermes_build.compiler.project import Project
from hermes_build.compiler.root import LOCK
from hermes_build.compiler.tree import lock_opens, read_lock
from hermes_build.compiler.verdict import stamp
from hermes_build.compiler.write import exclusive, write
from hermes_build.lock import render


@click.command("compile")
@project_option
@click.option(
    "--check", "check_only", is_flag=True, help="Write nothing; exit 1 if anything differs."
)
@click.option("--diff", "show_diff", is_flag=True, help="Write nothing; print what would change.")
@click.option("--locked", is_flag=True, help="Refuse to change the lock.")
@click.option("--watch", is_flag=True, help="Compile again whenever a source changes.")
@click.option("--jobs", "-j", type=click.IntRange(1), default=None, help="Processes to use.")
@click.option("--no-cache", is_flag=True, help="Forget what earlier runs remembered.")
@report_options
def compile_command(
    start: str,
    check_only: bool,
    show_diff: bool,
    locked: bool,
    watch: bool,
    jobs: int | None,
    no_cache: bool,
    report: Report,
) -> int:
    """Compile the specs: write the generated package and hermes-build.lock.

    All or nothing: while there are errors, the generated files stay as they are. Without a source
    changed, nothing is written. A second compile at the same time waits for the first.
    """
    if watch and (check_only or show_diff):
        raise click.UsageError("--watch writes: it goes with neither --check nor --diff")
    if show_diff and report.form == "json":
        raise click.UsageError("--diff prints a diff: it does not go with --format json")

    # A compile makes many small objects and next to no rubbish: look for it less often.
    gc.set_threshold(50_000, 20, 20)

    def once() -> int:
        if check_only or show_diff:
            return _compare(start, no_cache, jobs, show_diff, report)
        root = Path(root_of(start))
        waiting = "another hermes-build is writing here; waiting for it"
        findings = Findings()
        with exclusive(root, findings, lambda: say(waiting)) as held:
            if not held:
                return report.show(findings, root, quiet=True)
            # Whoever was waited for may have been followed by an edit: read only from here on.
            return _write(start, no_cache, jobs, locked, report)

    if watch:
        from hermes_build.cli.watching import watch_project

        return watch_project(Path(root_of(start)), once)
    return once()


def memory_of(project: Project, no_cache: bool) -> Memory:
    """Return what this machine remembers of the project, or an empty memory on request."""
    return forgetful() if no_cache else open_memory(project.root, stamp())


def job_count(jobs: int | None) -> int:
    """Return how many processes to use: as asked, or one for each core."""
    if jobs is not None:
        return jobs
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _write(start: str, no_cache: bool, jobs: int | None, locked: bool, report: Report) -> int:
    project, findings = open_project(start)
    memory = memory_of(project, no_cache)
    made = build(project, memory, findings, jobs=job_count(jobs))
    if made.tree is None or made.lock is None:
        code = report.show(made.findings, project.root, quiet=True)
        say_more_follows()
        say("nothing was written")
        return code
    if locked and (late := stale_lock(project, made.lock, made.catalog)):
        return report.show((*made.findings, *late), project.root, quiet=True)
    writing = Findings()
    if not lock_opens(project.root, LOCK, writing):
        code = report.show((*made.findings, *writing), project.root, quiet=True)
        say("nothing was written")
        return code
    _, owned = read_lock(project.root, LOCK, Findings())
    changes = write(
        project.root,
        made.tree,
        owned,
        LOCK,
        render(made.lock),
        writing,
        project.output_folder,
    )
    code = report.show((*made.findings, *writing), project.root, quiet=True)
    if changes is not None and made.catalog is not None:
        for path in changes.edited:
            say(f"{path} had been edited by hand, and is as its sources give it again")
        for path in changes.conflicted:
            say(f"{path} had a merge conflict, and is as its sources give it again")
        count = len(changes.created) + len(changes.changed)
        written = [counted(count, "file")] if count or not changes.lock else []
        written += ["the lock"] if changes.lock else []
        removed = f", removed {len(changes.surplus)}" if changes.surplus else ""
        say(
            f"compiled {counted(len(made.catalog.tools), 'tool')} and "
            f"{counted(len(made.catalog.toolsets), 'toolset')}: "
            f"wrote {' and '.join(written)}{removed}, {len(changes.unchanged)} unchanged"
        )
    return code


def _compare(start: str, no_cache: bool, jobs: int | None, show_diff: bool, report: Report) -> int:
    project, findings = open_project(start)
    memory = memory_of(project, no_cache)
    made = build(project, memory, findings, jobs=job_count(jobs))
    if made.tree is None or made.lock is None:
        code = report.show(made.findings, project.root, quiet=True)
        say_more_follows()
        return code
    if not show_diff:
        found = (*made.findings, *stale(project, made.tree, made.lock, made.catalog))
        return report.show(found, project.root, files=sum(1 for _ in made.sources))
    text = difference(project, made.tree, made.lock)
    click.echo(text, nl=False)
    # What a diff cannot show is reported below it.
    found = (*made.findings, *obstacles(project, made.tree))
    return max(report.show(found, project.root, quiet=True), int(bool(text)))
