"""Writing a tree so that a reader sees the old state or the new one.

The order is the whole of it:

1. the journal, forced to the disk: which files are about to be ours, under which temporary names;
2. every new content under its temporary name, so that a full disk or a folder that may not be
   written shows before anything has changed;
3. each temporary file moved to its place, which the system does in one step;
4. the surplus files removed, with the folders that they leave empty;
5. the lock, forced to the disk: the commit mark;
6. the journal removed.

An error in steps 2 to 5 is undone. A kill cannot be, but whatever it leaves is known from the old
lock and the journal: the next compile repairs it, and until then `check` reports it.

Contents are not forced to the disk: for 1,000 files that would double the time of writing, and a
content lost with the power differs from what its sources give, which is found and repaired alike.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hermes_build.canonical import digest
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.journal import (
    Journal,
    read_journal,
    remove_journal,
    sync_folder,
    temp_path,
    write_journal,
)
from hermes_build.compiler.regular import read_regular
from hermes_build.compiler.state import open_state
from hermes_build.compiler.tree import (
    Changes,
    Tree,
    compare,
    is_inside,
    report_foreign,
    same_text,
)

_PATIENCE = 1.0
"""Seconds to wait for another compile before saying so."""


@contextmanager
def exclusive(root: Path, findings: Findings, on_wait: Callable[[], None]) -> Iterator[bool]:
    """Hold the project for one compile; a second one waits, and calls ``on_wait`` after a second.

    Yields False, with a finding, where the project's folder may not be written.
    """
    from filelock import FileLock, Timeout  # 20 ms that a run without writing does not pay

    try:
        lock = FileLock(os.path.join(open_state(root), "compile.lock"))
        try:
            lock.acquire(timeout=_PATIENCE)
        except Timeout:
            on_wait()
            lock.acquire()
    except (OSError, NotImplementedError) as error:
        _report(error, root, findings, "nothing was changed")
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


def write(
    root: Path,
    tree: Tree,
    owned: Mapping[str, str],
    lock_path: str,
    lock_bytes: bytes,
    findings: Findings,
    output: str = "",
) -> Changes | None:
    """Make the disk hold ``tree`` and the lock, and return what changed.

    ``owned`` are the files that the old lock names, as path to digest; only they and what an
    interrupted write left are ever replaced or removed. A file that is as it must be keeps its
    modification time. What stands in the way, or cannot be written, is a finding and None is
    returned with the disk as it was. The caller holds the project with `exclusive`.
    """
    changes = replace(
        compare(root, tree, owned, output), lock=not same_text(root, lock_path, lock_bytes)
    )
    if changes.foreign:
        report_foreign(changes, findings)
        return None
    try:
        left = read_journal(root)
        _sweep(root, left)
        if changes.clean and not changes.lock:
            if left != Journal():
                remove_journal(root)
            return changes
        gone = (owned.keys() | left.files.keys() | set(left.temps)) - tree.keys()
        batch = _Batch(root, left, sorted(gone), output)
        contents = {path: tree[path] for path in (*changes.created, *changes.changed)}
        if changes.lock:
            contents[lock_path] = lock_bytes
        batch.run(contents, changes.surplus, lock_path)
    except OSError as error:
        undone = not read_journal(root).files
        _report(
            error,
            root,
            findings,
            "nothing was changed" if undone else "run `hermes-build compile` again to finish",
        )
        return None
    return changes


class _Batch:
    """One write in its steps, with what it takes to undo them.

    Each step is noted before it is taken, and undoing bears a step that was not: an interrupt from
    the keyboard may come between any two lines.
    """

    def __init__(self, root: Path, left: Journal, gone: Sequence[str], output: str) -> None:
        self.root = os.path.realpath(root)
        self.left = left
        self.gone = gone
        self.output = output
        self.temps: dict[str, str] = {}
        self.folders: list[str] = []
        self.standing = {""}
        self.done: list[tuple[str, bytes | str | None]] = []

    def run(self, contents: Mapping[str, bytes], surplus: Sequence[str], lock_path: str) -> None:
        """Write ``contents``, remove ``surplus``; the lock is the last of all.

        Raises:
            OSError: something cannot be written; what had been done is undone.
        """
        token = os.urandom(4).hex()
        for number, path in enumerate((*contents, *surplus)):
            self.temps[path] = temp_path(path, token, number)
        finished = False
        try:
            self._announce(contents, lock_path)
            for path, data in contents.items():
                self._stage(path, data)
            for path in contents:
                if path != lock_path:
                    self._move(path)
            for path in surplus:
                self.done.append((path, self._old(path)))
                os.unlink(self._at(path))
            for path in self.gone:
                self._prune(path)
            if lock_path in contents:
                self._force(lock_path)
                self._move(lock_path)
                sync_folder(os.path.dirname(self._at(lock_path)))
            finished = True
        finally:
            if not finished and self._undo() and not self.left.files:
                remove_journal(self.root)
        remove_journal(self.root)

    def _announce(self, contents: Mapping[str, bytes], lock_path: str) -> None:
        files = dict(self.left.files)
        for path, data in contents.items():
            if path != lock_path:
                files[path] = files.get(path, frozenset()) | {digest(data)}
        write_journal(self.root, Journal(files, tuple(self.temps.values())))

    def _at(self, path: str) -> str:
        return os.path.join(self.root, path)

    def _stage(self, path: str, data: bytes) -> None:
        self._folder(path.rpartition("/")[0])
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            handle = os.open(self._at(self.temps[path]), flags, 0o666)
            with open(handle, "wb", buffering=0) as file:
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
        except OSError as error:
            # A full disk is reported without a name, and nobody knows the temporary one.
            error.filename = self._at(path)
            raise

    def _folder(self, path: str) -> None:
        if path in self.standing:
            return
        self._folder(path.rpartition("/")[0])
        if not os.path.isdir(self._at(path)):
            self.folders.append(path)
            os.mkdir(self._at(path))
        self.standing.add(path)

    def _force(self, path: str) -> None:
        try:
            handle = os.open(self._at(self.temps[path]), os.O_RDWR)
        except OSError as error:
            error.filename = self._at(path)
            raise
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def _old(self, path: str) -> bytes | str | None:
        """What stands at ``path`` before it is replaced: content, a link's target, or nothing."""
        place = self._at(path)
        if os.path.islink(place):
            return os.readlink(place)
        try:
            return read_regular(place)
        except FileNotFoundError:
            return None

    def _move(self, path: str) -> None:
        self.done.append((path, self._old(path)))
        self._date(path)
        os.replace(self._at(self.temps[path]), self._at(path))

    def _date(self, path: str) -> None:
        """Give a module another second than the one that it replaces.

        Python takes a source of equal second and size for the one that it has compiled already,
        and a digest that changes leaves the size as it was.
        """
        if not path.endswith(".py"):
            return
        try:
            old = int(os.lstat(self._at(path)).st_mtime)
        except FileNotFoundError:
            return
        temp = self._at(self.temps[path])
        if int(os.lstat(temp).st_mtime) <= old:
            os.utime(temp, (old + 1, old + 1))

    def _prune(self, path: str) -> None:
        """Remove the folders that a file left empty, inside the output folder only."""
        folder = path.rpartition("/")[0]
        while folder and is_inside(folder, self.output):
            try:
                os.rmdir(self._at(folder))
            except FileNotFoundError:
                pass
            except OSError:
                return
            folder = folder.rpartition("/")[0]

    def _undo(self) -> bool:
        """Put everything back; False when that fails too, and the next compile has to repair."""
        try:
            for temp in self.temps.values():
                _unlink(self._at(temp))
            for path, old in reversed(self.done):
                self._restore(self._at(path), self._at(self.temps[path]), old)
            for folder in reversed(self.folders):
                if os.path.isdir(self._at(folder)):
                    os.rmdir(self._at(folder))
        except OSError:
            return False
        return True

    def _restore(self, place: str, temp: str, old: bytes | str | None) -> None:
        if old is None:
            _unlink(place)
            return
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if isinstance(old, str):
            os.symlink(old, temp)
        else:
            with open(temp, "wb") as file:
                file.write(old)
        os.replace(temp, place)


def _unlink(place: str) -> None:
    try:
        os.unlink(place)
    except (FileNotFoundError, NotADirectoryError):
        pass


def _sweep(root: Path, left: Journal) -> None:
    for temp in left.temps:
        _unlink(os.path.join(root, temp))


def _report(error: Exception, root: Path, findings: Findings, outcome: str) -> None:
    path, reason, advice = "", str(error), "make the folder writable"
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        if error.filename:
            name = os.fsdecode(error.filename2 or error.filename)
            path = os.path.relpath(name, os.path.realpath(root)).replace(os.sep, "/")
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            advice = "make room on the disk"
        elif error.errno in (errno.EISDIR, errno.EEXIST, errno.ENOTDIR, errno.EINVAL, errno.ELOOP):
            advice = "move away what stands there"
    findings.add(
        "HB5008",
        f"`{path}` cannot be written: {reason}" if path else f"writing failed: {reason}",
        Span(path) if path else None,
        notes=(outcome,),
        help=(advice,),
    )
