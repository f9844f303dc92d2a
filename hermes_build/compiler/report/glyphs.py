"""What a terminal shows of a text: harmless characters, each with the cells that it takes.

Texts in findings come from files that nobody has vetted yet. A raw escape sequence among them could
recolour, hide or overwrite what the terminal shows, and an invisible or direction-changing
character could make a snippet read as something else. Such characters are shown by their number,
``<U+202E>``, which also keeps every marker below its character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

TAB_WIDTH = 4

# Controls, formats (bidirectional marks, joiners, tags), surrogates, line and paragraph separators,
# and numbers that no character has: what each of them would do to a terminal is not ours to guess.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})
# Letters and marks that show as nothing: fillers, the grapheme joiner, two Khmer vowels.
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u034f\u17b4\u17b5")
_EMOJI_STYLE = "\ufe0f"


def _is_unsafe(char: str) -> bool:
    if " " <= char <= "~":
        return False
    if unicodedata.category(char) in _UNSAFE_CATEGORIES or char in _BLANK:
        return True
    # Selectors other than the two for text and emoji style can carry hidden data.
    return "\ufe00" <= char <= "\ufe0d" or "\U000e0100" <= char <= "\U000e01ef"


def _escaped(char: str) -> str:
    return f"<U+{ord(char):04X}>"


def visible(text: str) -> str:
    """The text with every unsafe character, line breaks included, shown by its number."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(char) if _is_unsafe(char) else char for char in text)


def _cells(char: str, before: str) -> int:
    """How many cells a safe character adds, given the character before it."""
    if " " <= char <= "~":
        return 1
    if char == _EMOJI_STYLE:
        # It widens a symbol or a digit that is narrow by itself.
        narrow = before and unicodedata.east_asian_width(before) not in "WF"
        return int(bool(narrow) and unicodedata.category(before) in {"So", "Sm", "Po", "Nd"})
    if "\U0001f3fb" <= char <= "\U0001f3ff" and before and _cells(before, "") == 2:
        return 0  # a skin tone colours the emoji before it
    if unicodedata.category(char) in {"Mn", "Me"} or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


class Line:
    """One source line laid out for a terminal: a piece of text and a cell count per character."""

    __slots__ = ("pieces", "starts")

    def __init__(self, text: str) -> None:
        self.pieces: list[str] = []
        self.starts: list[int] = [0]
        """The cell at which each character begins, and, last, the cells of the whole line."""
        before = ""
        for char in text:
            at = self.starts[-1]
            if char == "\t":
                piece = " " * (TAB_WIDTH - at % TAB_WIDTH)
                cells = len(piece)
            elif _is_unsafe(char):
                piece = _escaped(char)
                cells = len(piece)
            else:
                piece = char
                cells = _cells(char, before)
            self.pieces.append(piece)
            self.starts.append(at + cells)
            before = char

    def __len__(self) -> int:
        return len(self.pieces)

    def windows(self, ranges: Sequence[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
        """Parts of the line, each at most ``limit`` cells wide, that show all the ranges.

        ``ranges`` and the result are character positions ``(begin, end)``, from 0, end exclusive.
        A line that fits is one window. A range wider than the limit is shown by its beginning.
        """
        if self.starts[-1] <= limit:
            return [(0, len(self))]
        groups: list[tuple[int, int]] = []
        for begin, end in sorted(ranges):
            if groups and self._width(groups[-1][0], end) <= limit * 2 // 3:
                groups[-1] = (groups[-1][0], max(groups[-1][1], end))
            else:
                groups.append((begin, end))
        return [self._around(begin, end, limit) for begin, end in groups or [(0, 0)]]

    def _width(self, begin: int, end: int) -> int:
        last = len(self)
        return self.starts[min(end, last)] - self.starts[min(begin, last)]

    def _around(self, begin: int, end: int, limit: int) -> tuple[int, int]:
        """The range with what fits on both sides of it, the sides as equal as the line allows."""
        begin, end = min(begin, len(self)), min(end, len(self))
        while end > begin and self._width(begin, end) > limit:
            end -= 1
        spare = limit - self._width(begin, end)
        after = min(self.starts[-1] - self.starts[end], spare - spare // 2)
        while begin > 0 and self._width(begin - 1, end) <= limit - after:
            begin -= 1
        while end < len(self) and self._width(begin, end + 1) <= limit:
            end += 1
        return begin, end
