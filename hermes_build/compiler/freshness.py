"""Whether the generated files and the lock are what the sources give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hermes_build.compiler.diagnostics import Diagnostic, Findings, Span
from hermes_build.compiler.lock_differences import Difference, differences
from hermes_build.compiler.project import Project
from hermes_build.compiler.root import LOCK
from hermes_build.compiler.tree import (
    Changes,
    Tree,
    compare,
    diff,
    read_lock,
    report,
    report_foreign,
)
from hermes_build.lock import Lock, render

_SHOWN = 20


def stale(project: Project, tree: Tree, lock: Lock) -> list[Diagnostic]:
    """Return a finding for each generated file, and for the lock, that is not as it should be."""
    findings = Findings(stale_lock(project, lock))
    report(_changes(project, tree), tree, project.root, findings)
    return findings.sorted()


def difference(project: Project, tree: Tree, lock: Lock) -> str:
    """Return the unified diff from the disk to what the sources give, the lock included."""
    changes = _changes(project, tree)
    text = {LOCK: render(lock)}
    of_lock = compare(project.root, text, {LOCK: ""})
    return diff(project.root, tree, changes) + diff(project.root, text, of_lock)


def obstacles(project: Project, tree: Tree) -> list[Diagnostic]:
    """Return a finding for everything that keeps the tree from being written."""
    findings = Findings()
    read_lock(project.root, LOCK, findings)
    report_foreign(_changes(project, tree), findings)
    return findings.sorted()


def _changes(project: Project, tree: Tree) -> Changes:
    """In what the disk differs; a lock that cannot be read says nothing against a file of ours."""
    findings = Findings()
    _, owned = read_lock(project.root, LOCK, findings)
    changes = compare(project.root, tree, owned, project.output_folder)
    if len(findings):
        known = tuple(one for one in changes.foreign if not one.unnamed)
        changes = replace(changes, foreign=known)
    return changes


def _by_entry(found: Iterable[Difference]) -> list[str]:
    """A line for each tool, toolset and file; a change of one spec shows in several digests."""
    entries: dict[tuple[str, str, str], list[str]] = {}
    for one in found:
        entries.setdefault((one.kind, one.name, one.what), []).append(one.field)
    return [
        str(Difference(kind, name, ", ".join(fields), what))
        for (kind, name, what), fields in entries.items()
    ]


def stale_lock(project: Project, lock: Lock) -> list[Diagnostic]:
    """Return a finding when the lock is missing, unreadable, or says otherwise than the sources."""
    findings = Findings()
    old, _ = read_lock(project.root, LOCK, findings)
    if old is None:
        if not len(findings):
            help = ("run `hermes-build compile`",)
            findings.add("HB5004", "there is no lock", Span(LOCK), help=help)
        return findings.sorted()
    rows = _by_entry(differences(old, lock))
    if rows:
        more = [f"and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else []
        entries = "one entry" if len(rows) == 1 else f"{len(rows)} entries"
        findings.add(
            "HB5004",
            f"the lock differs from what the sources give in {entries}",
            Span(LOCK),
            notes=[*rows[:_SHOWN], *more],
            help=("run `hermes-build compile`, and review what it changes in the lock",),
        )
    return findings.sorted()
