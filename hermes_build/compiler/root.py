"""Where a project's root is, and the names of what stands in it.

It imports nothing but ``os``: the run that finds nothing changed goes through here.
"""

from __future__ import annotations

import os

SETTINGS = ("hermes-build.toml", "pyproject.toml")
LOCK = "hermes-build.lock"


class NoProject(Exception):
    """There is no project here; the message says what to do."""


def find_root(start: str | os.PathLike[str]) -> str:
    """Return the nearest folder at or above ``start`` that holds a project's settings.

    Raises:
        NoProject: no folder up to the root of the file system is a project.
    """
    start = folder = os.path.realpath(start)
    while True:
        if os.path.isfile(os.path.join(folder, SETTINGS[0])):
            return folder
        try:
            with open(os.path.join(folder, SETTINGS[1]), "rb") as file:
                if b"tool.hermes-build" in file.read():
                    return folder
        except OSError:
            pass
        parent = os.path.dirname(folder)
        if parent == folder:
            raise NoProject(
                f"no hermes-build project at {start} or above it: "
                "run `hermes-build init`, or add [tool.hermes-build] to pyproject.toml"
            )
        folder = parent
