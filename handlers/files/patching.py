"""What `patch` does: one passage replaced, or a unified diff applied to many files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from handlers.files import encodings
from handlers.files.changes import Change, Snapshot, read_snapshot, write
from handlers.files.diffs import Edit, apply_edits, counted, show, split_lines
from handlers.files.hunks import Placed, place_hunks
from handlers.files.nearest import missing
from handlers.files.replacing import find_replacement
from handlers.files.unified import FilePatch, parse
from handlers.files.workspace import Place, Workspace
from handlers.refusal import Refusal

MOST_BYTES = 16 * 1024 * 1024
"""How large a file may be to be patched: it is held in memory several times over."""

MOST_FILES = 200
"""How many files one patch may touch; each is an open folder until all are written."""

DIFF_CHARS = 40_000
"""Where the shown diff of all files together is cut."""


@dataclass(slots=True)
class _Draft:
    """One file on its way: what it was, and what the patch has made of it so far."""

    place: Place
    before: Snapshot | None
    encoding: encodings.Encoding
    text: str | None
    read: str | None
    mode: int | None = None
    executable: bool | None = None

    @property
    def changed(self) -> bool:
        """Whether anything is to be written; a file that was only looked at is left alone."""
        return self.text != self.read or (self.text is not None and self.executable is not None)


def replace(
    workspace: Workspace, path: str, old_string: str, new_string: str, replace_all: bool = False
) -> dict[str, Any]:
    """Replace a passage of a file, found by the strictest strategy that finds it.

    The answer has ``path``, ``strategy``, ``replacements``, the ``lines`` where they begin, and the
    ``diff`` of what was changed.

    Raises:
        Refusal: when the passage is not there, or is ambiguous; nothing is written then.
    """
    place = workspace.locate(path)
    with workspace.editing():
        draft = _opened(workspace, place)
        text = draft.text or ""
        found = find_replacement(text, old_string, new_string, replace_all)
        lines = split_lines(text)
        after = "".join(apply_edits(lines, found.edits))
        data = encodings.encode(after, draft.encoding, place.shown)
        write(workspace, [Change(place, data, draft.before)], parents=False)
    return {
        "path": place.shown,
        "strategy": found.strategy,
        "replacements": found.count,
        "lines": list(found.places),
        "diff": show(lines, found.edits, place.shown, place.shown),
    }


def apply_patch(workspace: Workspace, patch: str) -> dict[str, Any]:
    """Apply a unified diff to all the files that it names, or to none.

    The answer has ``files``, each with ``path``, ``action``, ``added`` and ``removed``, and under
    ``inexact`` the hunks that did not fit as they stood; and the ``diff`` of what was changed.

    Raises:
        Refusal: when any hunk does not fit; it lists all of those under ``failures``.
    """
    parsed = parse(patch)
    if len(parsed) > MOST_FILES:
        raise Refusal(f"The patch touches {len(parsed)} files; {MOST_FILES} are allowed.")
    drafts: dict[Place, _Draft] = {}
    reports: list[dict[str, Any]] = []
    shown: list[str] = []
    failures: list[dict[str, Any]] = []
    with workspace.editing():
        for one in parsed:
            try:
                report, diff = _apply(workspace, one, drafts)
                reports.append(report)
                shown.append(diff)
            except Refusal as refusal:
                path = one.new_path or one.old_path
                failures.append({"path": path, "reason": str(refusal), **refusal.fields})
        if failures:
            reasons = "; ".join(f"{one['path']}: {one['reason']}" for one in failures)
            raise Refusal(
                f"The patch does not apply and nothing was written. {reasons}", failures=failures
            )
        changes = [_change(draft) for draft in drafts.values() if draft.changed]
        write(workspace, changes, parents=True)
    diff = "".join(shown)
    if len(diff) > DIFF_CHARS:
        diff = f"{diff[:DIFF_CHARS]}\n[the rest is not shown]\n"
    return {"files": reports, "diff": diff}


def _apply(
    workspace: Workspace, patch: FilePatch, drafts: dict[Place, _Draft]
) -> tuple[dict[str, Any], str]:
    """Let one file's part of the patch work on the drafts."""
    old, new = _sides(workspace, patch, drafts)
    source = _draft(workspace, old, drafts) if old else None
    if source and source.text is None:
        raise missing(workspace, source.place)
    text = source.text if source and source.text is not None else ""
    lines = split_lines(text)
    placed, failed = place_hunks(lines, patch.hunks)
    if failed:
        raise Refusal("; ".join(map(str, failed)), hunks=[one.fields["hunk"] for one in failed])
    edits = [one.edit for one in placed]
    after = "".join(apply_edits(lines, edits))
    if new is None and after:
        left = len(split_lines(after))
        raise Refusal(f"the patch deletes the file but leaves {left} of its lines")
    if new and new != old:
        target = _draft(workspace, new, drafts)
        if target.text is not None:
            raise Refusal("the file exists already; a patch cannot create it")
        if source:
            target.encoding = source.encoding
            target.mode = source.before.mode if source.before else source.mode
            target.executable = source.executable
            source.text = None
        source = target
    assert source is not None  # One of the two sides is a file, or `parse` refuses the patch.
    source.text = None if new is None else after
    if patch.executable is not None:
        source.executable = patch.executable
    return _report(old, new, lines, edits, placed), _diff(old, new, lines, edits)


def _sides(
    workspace: Workspace, patch: FilePatch, drafts: dict[Place, _Draft]
) -> tuple[Place | None, Place | None]:
    """The file that is read and the file that is written; None where there is none."""
    old = workspace.locate(patch.old_path) if patch.old_path is not None else None
    new = workspace.locate(patch.new_path) if patch.new_path is not None else None
    if patch.git or not old or not new or old == new:
        return old, new
    # Without git's headers two names are one file: a copy such as `x.orig` and the file itself.
    there = new if _draft(workspace, new, drafts).text is not None else old
    return there, there


def _draft(workspace: Workspace, place: Place, drafts: dict[Place, _Draft]) -> _Draft:
    if place not in drafts:
        if workspace.status(place) is None:
            drafts[place] = _Draft(place, None, encodings.UTF_8, None, None)
        else:
            drafts[place] = _opened(workspace, place)
    return drafts[place]


def _opened(workspace: Workspace, place: Place) -> _Draft:
    if workspace.status(place) is None:
        raise missing(workspace, place)
    snapshot = read_snapshot(workspace, place, MOST_BYTES)
    text, encoding = encodings.decode(snapshot.data, place.shown)
    return _Draft(place, snapshot, encoding, text, text)


def _change(draft: _Draft) -> Change:
    data = None
    if draft.text is not None:
        data = encodings.encode(draft.text, draft.encoding, draft.place.shown)
    return Change(draft.place, data, draft.before, mode=draft.mode, executable=draft.executable)


def _report(
    old: Place | None,
    new: Place | None,
    lines: Sequence[str],
    edits: Sequence[Edit],
    placed: Sequence[Placed],
) -> dict[str, Any]:
    actual = new or old
    added, removed = counted(lines, edits)
    report: dict[str, Any] = {"path": actual.shown if actual else ""}
    if old and new and old != new:
        report |= {"action": "renamed", "from": old.shown}
    else:
        report["action"] = "deleted" if not new else "modified" if old else "created"
    report |= {"added": added, "removed": removed}
    inexact = [
        {
            "hunk": one.hunk.number,
            "line": one.edit.start + 1,
            "offset": one.offset,
            "matched": one.matched,
        }
        | ({"note": one.hunk.note} if one.hunk.note else {})
        for one in placed
        if not one.exact
    ]
    return report | ({"inexact": inexact} if inexact else {})


def _diff(old: Place | None, new: Place | None, lines: Sequence[str], edits: Sequence[Edit]) -> str:
    if not edits:
        return ""
    return show(lines, edits, old.shown if old else None, new.shown if new else None)
