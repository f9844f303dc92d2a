"""The door through which generated files are compared with what stands on the disk.

A tree maps paths to content. A file that equals the tree but for CRLF line ends, which a checkout
may have put in, is unchanged. Which files are ours is known from the old lock and from the journal
of a write that was interrupted, never from walking a folder.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hermes_build.compiler.canonical import digest
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.journal import Journal, read_journal
from hermes_build.compiler.lock import Lock, LockError, is_plain, read, salvage
from hermes_build.compiler.regular import read_regular

Tree: TypeAlias = dict[str, bytes]
"""Generated files: path in the project, with forward slashes, to content with LF line ends."""

_CONFLICT = re.compile(rb"^(?:<<<<<<< |>>>>>>> )", re.MULTILINE)
"""What version control leaves in a file that two branches changed."""

MEND = "run `hermes-build compile`"


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something that we did not write, where a file of ours must stand, and what it is.

    ``unnamed`` is a file that could be ours, and that no lock and no journal names.
    """

    path: str
    reason: str
    unnamed: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """What writing a tree would do, path by path, each tuple sorted.

    ``surplus`` are files of ours that the tree no longer has. ``edited`` are those of ``changed``
    that hold neither the old lock's content nor the tree's: somebody edited them by hand.
    ``conflicted`` are those in which a merge has left its marks. ``lock`` is whether the lock was
    written.
    """

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    surplus: tuple[str, ...] = ()
    foreign: tuple[Foreign, ...] = ()
    edited: tuple[str, ...] = ()
    conflicted: tuple[str, ...] = ()
    lock: bool = False

    @property
    def clean(self) -> bool:
        """Whether the disk holds the tree already."""
        return not (self.created or self.changed or self.surplus or self.foreign)


def compare(root: Path, tree: Tree, owned: Mapping[str, str], output: str = "") -> Changes:
    """Compare ``tree`` with the disk; nothing is written.

    ``owned`` maps the files that the old lock names to their digests, ``output`` is the folder
    of the generated package. A file named in the old lock is surplus when the tree lacks it;
    outside ``output`` only while it still holds what we wrote, so that a careless lock deletes
    nothing.

    Raises:
        ValueError: a path of the tree leaves the project or ``output``, which is a fault of ours.
    """
    journal = read_journal(root)
    walls = _Walls(root)
    created, changed, unchanged, edited, conflicted = [], [], [], [], []
    foreign: dict[Foreign, None] = {}
    for path in sorted(tree):
        if not is_plain(path) or not is_inside(path, output):
            raise ValueError(f"{path!r} is not a path inside {output or 'the project'!r}")
        found = walls.at(path)
        if found is None:
            created.append(path)
        elif isinstance(found, Foreign):
            foreign[found] = None
        elif isinstance(found, bytes) and _lf(found) == _lf(tree[path]):
            unchanged.append(path)
        elif path in owned:
            changed.append(path)
            if isinstance(found, bytes) and _CONFLICT.search(found):
                conflicted.append(path)
            elif not _holds(found, path, owned, journal):
                edited.append(path)
        elif _holds(found, path, owned, journal):
            changed.append(path)
        else:
            foreign[Foreign(path, "hermes-build did not write this file", unnamed=True)] = None
    surplus = []
    for path in sorted((owned.keys() | journal.files.keys()) - tree.keys()):
        found = walls.at(path) if is_plain(path) else None
        if found is None or isinstance(found, Foreign):
            continue
        ours = path in owned and output and is_inside(path, output)
        if ours or _holds(found, path, owned, journal):
            surplus.append(path)
    return Changes(
        tuple(created),
        tuple(changed),
        tuple(unchanged),
        tuple(surplus),
        tuple(foreign),
        tuple(edited),
        tuple(conflicted),
    )


def report(changes: Changes, tree: Tree, root: Path, findings: Findings) -> None:
    """Add a finding for each file in which the disk differs: what ``--check`` says."""
    report_foreign(changes, findings)
    for path in changes.created:
        findings.add("HB5002", f"`{path}` is missing", Span(path), help=(MEND,))
    for path in changes.changed:
        line = _first_difference(_standing_bytes(root, path), tree[path])
        notes: tuple[str, ...] = ()
        if path in changes.edited:
            notes = ("the file was edited by hand; compiling drops the edit",)
        elif path in changes.conflicted:
            notes = ("a merge conflict stands in it; compiling settles it, whatever the sides say",)
        findings.add(
            "HB5001",
            f"`{path}` differs from what its sources give",
            Span(path, line, 1, line, 1),
            label="the first difference",
            notes=notes,
            help=(MEND, "`hermes-build compile --diff` shows the difference"),
        )
    for path in changes.surplus:
        findings.add(
            "HB5009", f"`{path}` is left from a tool that is gone", Span(path), help=(MEND,)
        )


def report_foreign(changes: Changes, findings: Findings) -> None:
    """Add a finding for everything that stands in the way of writing."""
    for one in changes.foreign:
        findings.add(
            "HB5003",
            f"`{one.path}` is in the way: {one.reason}",
            Span(one.path),
            help=(
                "move it away, or delete it if a lost `hermes-build.lock` once named it",
                "or give the generated package another place with `output` in the settings",
            ),
        )


def diff(root: Path, tree: Tree, changes: Changes) -> str:
    """Return the unified diff from the disk to the tree; empty when there is none."""
    import difflib  # needed by `--diff` alone

    pieces = []
    for path in sorted({*changes.created, *changes.changed, *changes.surplus}):
        old = _lf(_standing_bytes(root, path)) if path not in changes.created else b""
        new = _lf(tree.get(path, b""))
        lines = difflib.unified_diff(
            _lines(old),
            _lines(new),
            "/dev/null" if path in changes.created else f"a/{path}",
            "/dev/null" if path in changes.surplus else f"b/{path}",
        )
        for line in lines:
            pieces.append(
                line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            )
    return "".join(pieces)


def read_lock(root: Path, path: str, findings: Findings) -> tuple[Lock | None, dict[str, str]]:
    """Return the old lock, and the generated files that it names, as path to digest.

    No file is no lock and no finding. A damaged lock is a finding; the files that it still names
    are returned all the same, so that compiling over a merge conflict knows its own.
    """
    text = _lock_text(root, path, findings)
    if text is None:
        return None, {}
    try:
        lock = read(text)
    except LockError as error:
        findings.add(
            "HB5005",
            f"`{path}` cannot be read: {error.message}",
            Span(path, error.line, 1, error.line, 1),
            help=(error.help,),
        )
        return None, salvage(text)
    return lock, lock.owned()


def lock_opens(root: Path, path: str, findings: Findings) -> bool:
    """Whether the old lock can be read at all, as one that is not there can; report it if not.

    Without it nobody knows which files are ours, so that nothing may be written.
    """
    before = len(findings)
    _lock_text(root, path, findings)
    return len(findings) == before


def _lock_text(root: Path, path: str, findings: Findings) -> str | None:
    try:
        return read_regular(root / path).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        is_file = isinstance(error, PermissionError)
        findings.add(
            "HB5005",
            f"`{path}` cannot be read: {error.strerror}",
            Span(path),
            help=("make it readable" if is_file else "move away what stands there",),
        )
        return None


def is_inside(path: str, folder: str) -> bool:
    """Whether a plain path lies in a folder; every path lies in the folder that has no name."""
    return folder in ("", ".") or path.startswith(folder.rstrip("/") + "/")


def same_text(root: Path, path: str, data: bytes) -> bool:
    """Whether the file at ``path`` holds ``data``, line ends aside."""
    try:
        return _lf(read_regular(root / path)) == _lf(data)
    except OSError:
        return False


class _Link:
    """A link stands there: it is replaced or removed itself, and never followed."""


class _Walls:
    """Looks at paths of one project, and at each folder above them once."""

    def __init__(self, root: Path) -> None:
        self.root = os.path.realpath(root)
        self.folders: dict[str, Foreign | None] = {"": None}

    def at(self, path: str) -> bytes | _Link | Foreign | None:
        """What stands at ``path``: content, a link, something in the way, or None for nothing."""
        wall = self.folder(path.rpartition("/")[0])
        if wall is not None:
            return wall
        place = os.path.join(self.root, path)
        try:
            mode = os.lstat(place).st_mode
            if stat.S_ISREG(mode):
                return read_regular(place)
        except FileNotFoundError:
            return None
        except OSError as error:
            return Foreign(path, f"it cannot be read ({error.strerror})")
        if stat.S_ISLNK(mode):
            return _Link()
        what = "a folder" if stat.S_ISDIR(mode) else "a device, pipe or socket"
        return Foreign(path, f"it is {what}")

    def folder(self, path: str) -> Foreign | None:
        """What keeps us from writing into a folder that stands or is to be made."""
        if path not in self.folders:
            self.folders[path] = self.folder(path.rpartition("/")[0]) or self._wall(path)
        return self.folders[path]

    def _wall(self, path: str) -> Foreign | None:
        place = os.path.join(self.root, path)
        if not os.path.lexists(place):
            return None
        if not os.path.isdir(place):
            return Foreign(path, "it is a file, and a folder must stand here")
        real = os.path.realpath(place)
        if real != self.root and not real.startswith(self.root.rstrip(os.sep) + os.sep):
            return Foreign(path, "it is a link that leaves the project")
        return None


def _holds(found: bytes | _Link, path: str, owned: Mapping[str, str], journal: Journal) -> bool:
    """Whether what stands at ``path`` is what we once wrote there."""
    if isinstance(found, _Link):
        return False
    seal = digest(_lf(found))
    return owned.get(path) == seal or seal in journal.files.get(path, ())


def _lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def _lines(data: bytes) -> list[str]:
    *whole, rest = data.decode("utf-8", "backslashreplace").split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def _standing_bytes(root: Path, path: str) -> bytes:
    try:
        return read_regular(root / path)
    except OSError:
        return b""


def _first_difference(old: bytes, new: bytes) -> int:
    before, after = _lf(old).split(b"\n"), _lf(new).split(b"\n")
    for number, (one, other) in enumerate(zip(before, after, strict=False), 1):
        if one != other:
            return number
    return min(len(before), len(after))
