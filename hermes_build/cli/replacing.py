"""What an output may take the place of: what its command has written before, and nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable

import click

from hermes_build.bundle.format import MANIFEST
from hermes_build.cli.present import Undecided

force_option = click.option(
    "--force",
    is_flag=True,
    help="Let the output replace a file of another kind, unless the command reads it.",
)

_HEAD = 30
"""So many bytes stand before the name of the first entry of an archive."""


def check_output(
    target: str, kind: str, is_ours: Callable[[str], bool], inputs: Iterable[str], *, force: bool
) -> None:
    """Refuse to write to a path where somebody would miss the file that stands there.

    Args:
        target: the path; a link stands for the file that it leads to.
        kind: what the command writes, such as ``bundle``.
        is_ours: whether the command wrote the file at a path, in an earlier run.
        inputs: paths of what the command reads; a folder stands for all that is in it, but for what
            the command wrote itself.
        force: whether somebody has said that a file of another kind may go.

    Raises:
        Undecided: naming what to do instead.
    """
    try:
        status = os.stat(target)
    except OSError:
        return  # there is nothing, or whoever writes will say what it is
    if not stat.S_ISREG(status.st_mode):
        return
    place = os.path.realpath(target)
    ours = is_ours(target)
    for path in inputs:
        if _is(path, status) or (not ours and _holds(path, place)):
            raise Undecided(
                f"{target} is of what the {kind} is made of, and stays as it is: name another file"
            )
    if not (ours or force or status.st_size == 0):
        raise Undecided(
            f"{target} exists, and is no {kind}: name another file, or let it go with --force"
        )


def is_bundle_file(path: str) -> bool:
    """Whether a file begins as a bundle does, whole or not: an archive of ours, or a wheel."""
    with open(path, "rb") as file:
        head = file.read(_HEAD + 100)
    if not head.startswith(b"PK\3\4"):
        return False
    first = head[_HEAD : _HEAD + int.from_bytes(head[26:28], "little")]
    return first == MANIFEST.encode() or first.startswith(b"hermes_bundle_")


def _is(path: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), status)
    except OSError:
        return False


def _holds(folder: str, place: str) -> bool:
    return place.startswith(os.path.join(os.path.realpath(folder), ""))
