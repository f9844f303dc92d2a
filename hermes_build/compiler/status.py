"""The status of files: what tells a changed one from an unchanged one without opening it.

It imports the standard library's ``os`` alone, because the run that finds nothing changed goes
through here.
"""

from __future__ import annotations

import os

from hermes_build.compiler.regular import read_regular

TYPE_CHECKING = False  # `typing` would cost more than everything else here together
if TYPE_CHECKING:
    from collections.abc import Iterable

_KIND, _FILE, _FOLDER, _LINK = 0o170000, 0o100000, 0o040000, 0o120000  # as in `stat`

_TICK = 50_000_000
"""Nanoseconds within which two writes can bear one time; file systems tick every 1 to 10 ms."""
_COARSE_TICK = 2_000_000_000
"""The same where times are kept in whole seconds, or in the two seconds of FAT."""


class Unwatchable(Exception):
    """Something is watched that a status cannot stand for."""


REGULAR = "file "
FOLDER = "folder"
MISSING = "missing"


def look(root: str, inputs: Iterable[str]) -> dict[str, str]:
    """Return each file with its status as text, for files and folders below ``root``.

    Inside a folder, hidden files and compiled Python are passed over. A status that begins with
    `REGULAR` is a file's; what is missing, and the folders that were asked for, have one too.

    Raises:
        Unwatchable: a folder holds a link to a folder, whose end nobody knows.
        OSError: a folder cannot be read.
    """
    found: dict[str, str] = {}
    folders = []
    for path in inputs:
        place = os.path.join(root, path)
        try:
            status = os.stat(place)
        except (FileNotFoundError, NotADirectoryError):
            found[path] = MISSING
            continue
        if status.st_mode & _KIND == _FOLDER:
            found[path] = FOLDER
            folders.append(path)
        else:
            found[path] = _status(status, os.lstat(place))
    while folders:
        folder = folders.pop()
        prefix = "" if folder == "." else folder + "/"
        with os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                name = entry.name
                if name[0] == "." or name == "__pycache__":
                    continue
                status = entry.stat(follow_symlinks=False)
                kind = status.st_mode & _KIND
                if kind == _FOLDER:
                    folders.append(prefix + name)
                elif kind != _LINK:
                    found[prefix + name] = _status(status, status)
                elif entry.is_dir():
                    raise Unwatchable(entry.path)
                else:
                    found[prefix + name] = _link(entry, status)
    return dict(sorted(found.items()))


def _status(status: os.stat_result, link: os.stat_result) -> str:
    kind = REGULAR if status.st_mode & _KIND == _FILE else "other "
    text = f"{kind}{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
    if link is not status and link.st_ino != status.st_ino:
        text += f" {link.st_mtime_ns} {link.st_ctime_ns} {link.st_ino}"
    return text


def _link(entry: os.DirEntry[str], link: os.stat_result) -> str:
    try:
        return _status(entry.stat(), link)
    except OSError:
        return f"dangling {link.st_ctime_ns} {link.st_ino}"


def is_young(status: str, clock: int) -> bool:
    """Whether a later write could have left this very status, seen when ``clock`` was the time."""
    _, _, mtime, ctime, *_ = status.split(" ")
    newest = max(int(mtime), int(ctime))
    return newest >= clock - (_TICK if newest % 1_000_000_000 else _COARSE_TICK)


def content_digest(root: str, path: str) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal.

    Raises:
        OSError: the file cannot be read.
    """
    from hashlib import sha256  # only where a status does not decide

    return sha256(read_regular(os.path.join(root, path))).hexdigest()
