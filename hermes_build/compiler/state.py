"""The folder for what one machine remembers between runs.

Nothing in it is an input or an output: deleting it costs time, never correctness. It imports the
standard library's ``os`` alone, because the run that finds nothing changed goes through here.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` would cost more than everything else here together
if TYPE_CHECKING:
    from collections.abc import Iterable
    from io import BufferedWriter

STATE = ".hermes-build"
"""The folder's name, beside the project's settings."""

IGNORE = ".gitignore"


def open_state(root: str | os.PathLike[str]) -> str:
    """Return the path of the state folder of the project at ``root``; make it when it is missing.

    It tells version control to leave it alone, so that a project need not. Links that came with a
    checkout are never followed: what is written here must not land outside the project.

    Raises:
        OSError: the folder cannot be made, or a link stands in its place.
    """
    folder = os.path.join(root, STATE)
    if os.path.islink(folder):
        import errno

        raise OSError(errno.EEXIST, "it is a link", folder)
    os.makedirs(folder, exist_ok=True)
    ignore = os.path.join(folder, IGNORE)
    if not os.path.lexists(ignore):
        with open(ignore, "wb") as file:
            file.write(b"*\n")
    return folder


def seat(root: str | os.PathLike[str]) -> str:
    """Return what no copy, archive or checkout of the state folder can carry: it names this one.

    Raises:
        OSError: there is no state folder.
    """
    status = os.lstat(os.path.join(root, STATE, IGNORE))
    return f"{status.st_ino} {status.st_ctime_ns}"


def open_new(path: str) -> BufferedWriter:
    """Open a file of the state folder that takes the place of whatever has its name, unfollowed.

    Raises:
        OSError: it cannot be made, or a folder stands in its place.
    """
    if os.path.lexists(path):
        os.unlink(path)
    return open(path, "xb")


def replace(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
    """Put a file of the state folder in the place of an earlier one, in one step.

    Raises:
        OSError: it cannot be written; the earlier one is there as before.
    """
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        with open_new(temporary) as file:
            file.writelines(pieces)
        os.replace(temporary, path)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:  # a disk that is only read does not even take a removal
            pass
        raise
