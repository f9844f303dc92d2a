"""Where a project's root is, and the names of what stands in it.

It imports next to nothing: the run that finds nothing changed goes through here.
"""

from __future__ import annotations

import os

from hermes_build.compiler.regular import read_regular

SETTINGS = ("hermes-build.toml", "pyproject.toml")
LOCK = "hermes-build.lock"


class NoProject(Exception):
    """There is no project here; the message says what to do."""


def find_root(start: str | os.PathLike[str]) -> str:
    """Return the nearest folder at or above ``start`` that holds a project's settings.

    Where none does, a folder whose settings cannot be read is one: reading them says why.

    Raises:
        NoProject: no folder up to the root of the file system is a project.
    """
    start = folder = os.path.realpath(start)
    unread = None
    while True:
        if os.path.lexists(os.path.join(folder, SETTINGS[0])):
            return folder
        try:
            if b"tool.hermes-build" in read_regular(os.path.join(folder, SETTINGS[1])):
                return folder
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError:
            unread = unread or folder
        parent = os.path.dirname(folder)
        if parent == folder and unread is not None:
            return unread
        if parent == folder:
            raise NoProject(
                f"no hermes-build project at {start} or above it: "
                "run `hermes-build init`, or add [tool.hermes-build] to pyproject.toml"
            )
        folder = parent
