"""Writing files that belong to the user from then on: nothing that exists is replaced."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hermes_build.cli.present import Undecided


def put(root: Path, files: Mapping[str, str], *, replace: tuple[str, ...] = ()) -> None:
    """Write new files, with LF line ends; only those in ``replace`` may exist.

    Raises:
        Undecided: a file exists, or cannot be written; those before it were.
    """
    for path, text in files.items():
        place = root / path
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


def existing(root: Path, files: Mapping[str, str]) -> list[str]:
    """Return those paths at which something stands already."""
    return [path for path in files if (root / path).exists() or (root / path).is_symlink()]
