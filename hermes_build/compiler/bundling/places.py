"""The folders of one machine: what no other one has, and no bundle may name."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable

HOME = re.compile(
    r"(?<![\w.~/-])(?:/(?:home|Users)/|[A-Za-z]:(?:\\{1,2}|/)Users(?:\\{1,2}|/))([\w.-]+)"
)
NOBODY = frozenset(("user", "username", "you", "me", "name", "someone", "somebody"))
"""Names that people in examples have."""

_SHARED = frozenset(("/var/tmp", "/usr/tmp", "/private/tmp", "/private/var/tmp"))
"""Folders for temporary files that other machines have too."""


def machine_places(root: str | os.PathLike[str]) -> tuple[str, ...]:
    """The folders of this machine that no bundle may name: project, home, temporary files.

    Those that many machines have, such as ``/root`` and ``/tmp``, are none of them.
    """
    found = {os.fspath(root), os.path.expanduser("~"), tempfile.gettempdir()}
    found |= {os.path.realpath(one) for one in found}
    return tuple(
        sorted((one for one in found if _is_telling(one)), key=lambda one: (-len(one), one))
    )


class Mentions:
    """Sees a text in pieces, and tells whether it can name a place, or anybody's home.

    A quick look, which leaves few texts to look at closely: ``found`` is the answer.
    """

    __slots__ = ("_before", "_marks", "found")

    def __init__(self, places: Iterable[str]) -> None:
        self._marks = [b"/home/", b"Users", *(os.fsencode(one.rstrip("/")) for one in places)]
        self._before = b""
        # Windows takes its names in either case, and with slashes of either kind.
        self.found = any("\\" in one for one in places)

    def look(self, piece: bytes) -> None:
        """See the next piece."""
        text = self._before + piece
        self.found = self.found or any(mark in text for mark in self._marks)
        self._before = text[-max(map(len, self._marks)) :]


def _is_telling(place: str) -> bool:
    parts = [one for one in re.split(r"[\\/]", place) if one]
    if not os.path.isabs(place) or len(parts) < 2 or place.rstrip("/") in _SHARED:
        return False
    home = HOME.fullmatch(place)
    return home is None or home[1].lower() not in NOBODY
