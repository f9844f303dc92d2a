"""Writing files, all of them or none.

The new content of every file is written and synced to a temporary file in the target's own folder
first; only then are they moved into place, each by one atomic rename. A reader, and a machine that
loses power, sees an old file or a new one and never a part. When a later file cannot be moved into
place, the earlier ones get their old content back.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from handlers.files.workspace import Place, Workspace, check_regular
from handlers.refusal import Refusal, refusing

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file as it was when it was read: its bytes, and what tells whether it changed since."""

    data: bytes
    stamp: tuple[int, int, int, int]
    mode: int


@dataclass(frozen=True, slots=True)
class Change:
    """One file to write, or to delete where ``after`` is None.

    With ``checked`` the file must still be as ``before`` shows it (absent for None); without it,
    whatever stands there is written over, and cannot be restored. The file keeps its mode, or has
    what the umask leaves to a new one, unless ``mode`` says otherwise; ``executable`` then adds or
    takes away the right to run it.
    """

    place: Place
    after: bytes | None
    before: Snapshot | None = None
    checked: bool = True
    mode: int | None = None
    executable: bool | None = None


@dataclass(slots=True)
class _Staged:
    change: Change
    folder: int
    temporary: str
    existed: bool
    done: bool = field(default=False)


def read_snapshot(workspace: Workspace, place: Place, most: int) -> Snapshot:
    """The whole of a file of at most ``most`` bytes.

    Raises:
        Refusal: when it is larger, not a regular file, or cannot be read.
    """
    with workspace.open_file(place) as descriptor, refusing(place.shown):
        status = os.fstat(descriptor)
        if status.st_size > most:
            raise Refusal(
                f"{place.shown} has {status.st_size:,} bytes; files up to {most:,} can be patched.",
                path=place.shown,
            )
        with open(descriptor, "rb", closefd=False) as stream:
            data = stream.read(most + 1)
        return Snapshot(data, stamp(status), stat.S_IMODE(status.st_mode))


def stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    """What changes when somebody writes a file."""
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def write(workspace: Workspace, changes: Sequence[Change], *, parents: bool) -> list[bool]:
    """Carry out all changes, or none; the answer says for each whether the file existed.

    The caller holds `Workspace.editing`. With ``parents``, folders that are missing are made.

    Raises:
        Refusal: when one of them cannot be carried out; everything is then as it was.
    """
    staged: list[_Staged] = []
    made: list[tuple[str, ...]] = []
    with ExitStack() as folders:
        try:
            for change in changes:
                with refusing(change.place.shown):
                    if parents and change.after is not None:
                        made += _make_folders(workspace, change.place.parent)
                    folder = folders.enter_context(workspace.folder(change.place.parent))
                    staged.append(_stage(change, folder))
            for one in staged:
                with refusing(one.change.place.shown):
                    _commit(one)
            return [one.existed for one in staged]
        except BaseException as error:
            lost = [one.change.place.shown for one in reversed(staged) if not _undo(one)]
            for parts in reversed(made):
                with suppress(OSError), workspace.folder(parts[:-1]) as folder:
                    os.rmdir(parts[-1], dir_fd=folder)
            if lost and isinstance(error, Refusal):
                raise Refusal(
                    f"{error} What was already changed could not be put back: {', '.join(lost)}.",
                    **error.fields,
                ) from error
            raise


def _make_folders(workspace: Workspace, parts: tuple[str, ...]) -> list[tuple[str, ...]]:
    made = []
    for depth in range(1, len(parts) + 1):
        with workspace.folder(parts[: depth - 1]) as above, suppress(FileExistsError):
            os.mkdir(parts[depth - 1], dir_fd=above)
            made.append(parts[:depth])
    return made


def _stage(change: Change, folder: int) -> _Staged:
    """Look at what stands there, and write the new content beside it."""
    name = change.place.name
    status = _status(name, folder)
    if status is not None:
        check_regular(status, change.place)
        if change.after is not None and not status.st_mode & 0o222:
            raise Refusal(f"{change.place.shown} is read-only.", path=change.place.shown)
    _check_unchanged(change, status)
    staged = _Staged(change, folder, "", status is not None)
    if change.after is not None:
        mode = stat.S_IMODE(status.st_mode) if status and change.mode is None else change.mode
        staged.temporary = _write_beside(
            change.after, folder, mode, executable=change.executable, owner=status
        )
    return staged


def _write_beside(
    data: bytes,
    folder: int,
    mode: int | None,
    *,
    executable: bool | None = None,
    owner: os.stat_result | None = None,
) -> str:
    # The name is ours and short, because the target's may already be as long as names can be.
    temporary = f".hermes-{secrets.token_hex(8)}.tmp"
    descriptor = os.open(temporary, _NEW, 0o666, dir_fd=folder)
    try:
        with open(descriptor, "wb") as stream:
            if owner and (owner.st_uid, owner.st_gid) != (os.geteuid(), os.getegid()):
                # Only the superuser may give a file away; for others it becomes theirs.
                with suppress(OSError):
                    os.fchown(descriptor, owner.st_uid, owner.st_gid)
            wanted = stat.S_IMODE(os.fstat(descriptor).st_mode) if mode is None else mode
            if executable is not None:
                # Who may read it may run it, as git has it.
                wanted = wanted & ~0o111 | (wanted >> 2 & 0o111 if executable else 0)
            os.fchmod(descriptor, wanted)
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    return temporary


def _commit(staged: _Staged) -> None:
    change, name = staged.change, staged.change.place.name
    _check_unchanged(change, _status(name, staged.folder))
    if change.after is None:
        os.unlink(name, dir_fd=staged.folder)
    else:
        os.replace(staged.temporary, name, src_dir_fd=staged.folder, dst_dir_fd=staged.folder)
    staged.done = True
    os.fsync(staged.folder)


def _undo(staged: _Staged) -> bool:
    """Put back what one change did; false when that fails too."""
    change, name, folder = staged.change, staged.change.place.name, staged.folder
    try:
        if not staged.done:
            if staged.temporary:
                os.unlink(staged.temporary, dir_fd=folder)
        elif not staged.existed:
            os.unlink(name, dir_fd=folder)
        elif change.before is not None:
            old = _write_beside(change.before.data, folder, change.before.mode)
            os.replace(old, name, src_dir_fd=folder, dst_dir_fd=folder)
        return True
    except OSError:
        # A temporary file that is left over changes nothing.
        return not staged.done


def _check_unchanged(change: Change, status: os.stat_result | None) -> None:
    if not change.checked:
        return
    found = None if status is None else stamp(status)
    if found != (change.before.stamp if change.before else None):
        raise Refusal(
            f"{change.place.shown} was changed by somebody else meanwhile; read it again.",
            path=change.place.shown,
        )


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
