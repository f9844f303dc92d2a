"""The folder for what one machine remembers between runs.

Nothing in it is an input or an output: deleting it costs time, never correctness. It imports the
standard library's ``os`` alone, because the run that finds nothing changed goes through here.
"""

from __future__ import annotations

import os

STATE = ".hermes-build"
"""The folder's name, beside the project's settings."""

IGNORE = ".gitignore"


def open_state(root: str | os.PathLike[str]) -> str:
    """Return the path of the state folder of the project at ``root``; make it when it is missing.

    It tells version control to leave it alone, so that a project need not.

    Raises:
        OSError: the folder cannot be made.
    """
    folder = os.path.join(root, STATE)
    os.makedirs(folder, exist_ok=True)
    ignore = os.path.join(folder, IGNORE)
    if not os.path.exists(ignore):
        with open(ignore, "wb") as file:
            file.write(b"*\n")
    return folder
