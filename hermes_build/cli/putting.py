"""Writing files that belong to the user from then on: nothing that exists is replaced."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from hermes_build.cli.present import Undecided
from hermes_build.compiler.regular import read_regular


def put(root: Path, files: Mapping[str, str], *, replace: tuple[str, ...] = ()) -> None:
    """Write new files, with LF line ends; only those in ``replace`` may exist.

    Raises:
        Undecided: a file exists, cannot be written, or would be outside ``root``, through a link
            that came with the project; those before it were written.
    """
    inside = os.path.join(os.path.realpath(root), "")
    for path, text in files.items():
        place = root / path
        if not os.path.realpath(place).startswith(inside):
            raise Undecided(f"{path} leads out of the project through a link: replace the link")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open(
                "w" if path in replace else "x", encoding="utf-8", newline="\n"
            ) as file:
                file.write(text)
        except FileExistsError as error:
            raise Undecided(f"{path} exists, and stays as it is") from error
        except OSError as error:
            raise Undecided(f"{path} cannot be written: {error.strerror}") from error


def differing(root: Path, files: Mapping[str, str]) -> list[str]:
    """Return those paths at which something other than the text stands already."""
    return [path for path in existing(root, files) if not _holds(root / path, files[path])]


def _holds(place: Path, text: str) -> bool:
    try:
        return read_regular(place).replace(b"\r\n", b"\n") == text.encode()
    except OSError:
        return False


def existing(root: Path, files: Mapping[str, str]) -> list[str]:
    """Return those paths at which something stands already."""
    return [path for path in files if (root / path).exists() or (root / path).is_symlink()]
