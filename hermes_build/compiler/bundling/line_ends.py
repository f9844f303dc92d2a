"""The line ends of data: those that a checkout has made are taken back.

Git may write the LF of a text as CRLF when it checks a file out, as it does on Windows where nobody
says otherwise. Such a file ends every line so, which is all that can be seen of it. So a text whose
lines all end in CRLF is taken in with LF, unless the project's ``.gitattributes`` say that CRLF is
meant, by ``-text``, ``binary`` or ``eol=crlf``: then it is the same in every checkout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from hermes_build.compiler.regular import read_regular

_ODD = bytes({*range(32), 127} - {8, 9, 10, 12, 13, 27})
"""Bytes that are rare in text: git takes what has one of them in 128 for no text."""


def ends_in_crlf(pieces: Iterable[bytes]) -> bool:
    """Whether this is a text, as git tells one, and every line of it ends in CRLF."""
    size = odd = both = 0
    for piece in _unbroken(pieces):
        pairs = piece.count(b"\r\n")
        if b"\0" in piece or piece.count(b"\r") != pairs or piece.count(b"\n") != pairs:
            return False
        both += pairs
        size += len(piece)
        odd += len(piece) - len(piece.translate(None, _ODD))
    return bool(both) and (size - odd - 2 * both) >> 7 >= odd


def with_lf(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A content in pieces, with LF in the place of CRLF."""
    for piece in _unbroken(pieces):
        yield piece.replace(b"\r\n", b"\n")


def _unbroken(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same content in pieces that no CRLF lies across."""
    held = b""
    for piece in pieces:
        whole = held + piece
        held = whole[len(whole) - 1 :] if whole.endswith(b"\r") else b""
        yield whole.removesuffix(held)
    yield held


class Attributes:
    """What the ``.gitattributes`` in a project's folders say of line ends.

    Names and the patterns of git with ``*``, ``?``, ``[...]`` and ``**`` are understood; macros of
    a project's own are not.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._rows: dict[str, list[tuple[list[str], list[str]]]] = {}

    def keep_crlf(self, path: str) -> bool:
        """Whether CRLF is meant in a file, whose path in the project has forward slashes."""
        names = path.split("/")
        is_text, eol = True, ""
        for depth in range(len(names)):
            for pattern, words in self._in("/".join(names[:depth])):
                if not _meets(pattern, names[depth:]):
                    continue
                for word in words:
                    if word in ("-text", "binary"):
                        is_text = False
                    elif word in ("text", "text=auto", "!text", "-binary"):
                        is_text = True
                    elif word.startswith("eol=") or word in ("-eol", "!eol"):
                        eol = word.removeprefix("eol=")
        return not is_text or eol == "crlf"

    def _in(self, folder: str) -> list[tuple[list[str], list[str]]]:
        """The rows of one folder's file: the parts of a pattern, and what is said of its files."""
        if folder not in self._rows:
            rows = []
            try:
                text = read_regular(self._root / folder / ".gitattributes").decode("utf-8-sig")
            except (OSError, UnicodeDecodeError):
                text = ""
            for line in text.splitlines():
                pattern, *words = line.split() or ("#",)
                if not pattern.startswith(("#", "!", "[attr]")):
                    # A pattern without a slash is for files in folders below as well.
                    parts = pattern.strip("/").split("/")
                    rows.append((parts if "/" in pattern else ["**", *parts], words))
            self._rows[folder] = rows
        return self._rows[folder]


def _meets(pattern: list[str], names: list[str]) -> bool:
    if not pattern or not names:
        return not pattern and not names
    if pattern[0] == "**":
        rest = pattern[1:]
        return not rest or any(_meets(rest, names[count:]) for count in range(len(names)))
    return fnmatchcase(names[0], pattern[0]) and _meets(pattern[1:], names[1:])
