"""Whether the generated files and the lock are what the sources give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hermes_build.compiler.diagnostics import Diagnostic, Findings, Span
from hermes_build.compiler.lock_differences import Difference, differences
from hermes_build.compiler.project import Project
from hermes_build.compiler.root import LOCK
from hermes_build.compiler.tree import (
    Changes,
    Tree,
    compare,
    diff,
    has_digest,
    read_lock,
    report,
    report_foreign,
)
from hermes_build.ir import Catalog
from hermes_build.lock import Lock, render

_SHOWN = 20


def stale(
    project: Project, tree: Tree, lock: Lock, catalog: Catalog | None = None
) -> list[Diagnostic]:
    """Return a finding for each generated file, and for the lock, that is not as it should be.

    A file that is as the old lock says differs for the same cause as the lock does, and is not
    told on its own. ``catalog`` says in which files the causes are.
    """
    findings = Findings(stale_lock(project, lock, catalog))
    changes = _changes(project, tree)
    old, owned = read_lock(project.root, LOCK, Findings())
    if old is not None and len(findings):
        changes = _unexplained(changes, project, owned)
    report(changes, tree, project.root, findings)
    return findings.sorted()


def _unexplained(changes: Changes, project: Project, owned: Mapping[str, str]) -> Changes:
    """The changes without those of files that a lock which is stale itself accounts for."""

    return replace(
        changes,
        created=tuple(path for path in changes.created if path in owned),
        changed=tuple(
            path
            for path in changes.changed
            if path not in owned or not has_digest(project.root, path, owned[path])
        ),
    )


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


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry in which two locks differ; ``cause`` is the source to which that goes back."""

    row: str
    cause: str | None = None


def _entries(old: Lock, new: Lock, catalog: Catalog | None) -> list[_Entry]:
    """The entries that differ, without those that only follow from a change of another's source."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for one in differences(old, new):
        grouped.setdefault((one.kind, one.name, one.what), []).append(one.field)
    paths = {
        (kind, one.name): one.place.path
        for kind, items in (("tool", catalog.tools), ("toolset", catalog.toolsets))
        for one in items
    } if catalog else {}  # fmt: skip
    owners = {one.name for one in (*old.toolsets, *new.toolsets) if one.source is not None}
    entries = []
    for (kind, name, what), fields in grouped.items():
        cause = None
        is_source = kind == "tool" or (kind == "toolset" and name in owners)
        if is_source and (what != "changed" or "source" in fields):
            path = paths.get((kind, name))
            cause = f"`{path}` was {what}" if path else f"the {kind} `{name}` was {what}"
        entries.append(_Entry(str(Difference(kind, name, ", ".join(fields), what)), cause))
    caused = any(one.cause for one in entries)
    follow = ("file ", "toolset ") if caused else ()
    return [one for one in entries if one.cause or not one.row.startswith(follow)]


def stale_lock(project: Project, lock: Lock, catalog: Catalog | None = None) -> list[Diagnostic]:
    """Return a finding when the lock is missing, unreadable, or says otherwise than the sources."""
    findings = Findings()
    old, _ = read_lock(project.root, LOCK, findings)
    if old is None:
        if not len(findings):
            help = ("run `hermes-build compile`",)
            findings.add("HB5004", "there is no lock", Span(LOCK), help=help)
        return findings.sorted()
    entries = _entries(old, lock, catalog)
    if entries:
        causes = list(dict.fromkeys(one.cause for one in entries if one.cause))
        if not causes:
            count = "one entry" if len(entries) == 1 else f"{len(entries)} entries"
            message = f"the lock differs from what the sources give in {count}"
        elif len(causes) == 1:
            message = f"{causes[0]} since the last compile"
        else:
            message = f"{len(causes)} sources were changed since the last compile"
        rows = [
            f"{one.cause}: {one.row}" if one.cause and len(causes) > 1 else one.row
            for one in entries
        ]
        more = [f"and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else []
        findings.add(
            "HB5004",
            message,
            Span(LOCK),
            notes=[*rows[:_SHOWN], *more],
            help=(
                "run `hermes-build compile`, and review what it changes in the lock",
                "`hermes-build compile --diff` shows the difference",
            ),
        )
    return findings.sorted()
