"""What a write is about to do, noted before it does it.

The lock says which files are ours, and it is written last. A write that dies in between leaves
files that no lock names; the journal names them, so that the next write takes them for its own
and not for somebody else's, and removes the temporary files that were left.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hermes_build.compiler.regular import read_regular
from hermes_build.compiler.state import STATE, open_new, open_state
from hermes_build.lock import is_plain

JOURNAL = "journal"
_HEADER = "hermes-build journal 1"
_TEMP = re.compile(r"\.[0-9a-f]{8}-[0-9]+\.tmp")


def temp_path(path: str, token: str, number: int) -> str:
    """Return the temporary name of the ``number``-th file of one write: of a form that is ours."""
    folder, slash, _ = path.rpartition("/")
    return f"{folder}{slash}.{token}-{number}.tmp"


def _is_temp(path: str) -> bool:
    return is_plain(path) and _TEMP.fullmatch(path.rpartition("/")[2]) is not None


@dataclass(frozen=True, slots=True)
class Journal:
    """``files`` maps each path to the digests that we may have left there; ``temps`` are paths."""

    files: Mapping[str, frozenset[str]] = field(default_factory=dict)
    temps: tuple[str, ...] = ()


def read_journal(root: str | os.PathLike[str]) -> Journal:
    """Return what an interrupted write was about to do; empty when the last one finished.

    A journal replaces its predecessor in one step, so a damaged one is none of ours and is ignored.
    One may also have come with a checkout, so that it names nothing for removal but by such a name
    as only we give.
    """
    try:
        lines = read_regular(os.path.join(root, STATE, JOURNAL)).decode().split("\n")
    except (OSError, UnicodeDecodeError):
        return Journal()
    if lines[0] != _HEADER or lines[-2:] != ["end", ""]:
        return Journal()
    files: dict[str, frozenset[str]] = {}
    temps = []
    for line in lines[1:-2]:
        kind, _, rest = line.partition(" ")
        digest, _, path = rest.partition(" ")
        if kind == "temp" and _is_temp(rest):
            temps.append(rest)
        elif kind == "file" and is_plain(path):
            files[path] = files.get(path, frozenset()) | {digest}
    return Journal(files, tuple(temps))


def write_journal(root: str | os.PathLike[str], journal: Journal) -> None:
    """Put ``journal`` on the disk, durably: it must outlive what it announces.

    Raises:
        OSError: it cannot be written.
    """
    lines = [_HEADER]
    lines += [f"temp {path}" for path in journal.temps]
    lines += [
        f"file {digest} {path}" for path, some in journal.files.items() for digest in sorted(some)
    ]
    lines += ["end", ""]
    path = os.path.join(open_state(root), JOURNAL)
    write_durably(path, path + ".new", "\n".join(lines).encode())


def remove_journal(root: str | os.PathLike[str]) -> None:
    """Forget the journal: the lock now names everything that it named."""
    try:
        os.unlink(os.path.join(root, STATE, JOURNAL))
    except FileNotFoundError:
        pass


def write_durably(path: str, temp: str, data: bytes) -> None:
    """Write ``data`` to ``temp``, force it to the disk, and move it to ``path`` in one step.

    Raises:
        OSError: it cannot be written; ``path`` is then as it was.
    """
    try:
        with open_new(temp) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temp, path)
    except OSError as error:
        error.filename = path  # a full disk is reported without a name
        if os.path.isfile(temp):
            os.unlink(temp)
        raise
    sync_folder(os.path.dirname(path))


def sync_folder(folder: str) -> None:
    """Force a folder's entries to the disk, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
