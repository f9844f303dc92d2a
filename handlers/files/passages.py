"""A passage as whole lines, found in a file although it is not quite what stands there.

A lenient match never writes the model's idea of an unchanged line over the file's own: lines that
the old and the new text share keep what the file has, and only lines that really change are taken
from the new text, indented as the file is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import TypeAlias

from handlers.files.diffs import Edit, aligned

Key: TypeAlias = Callable[[str], str]

ALIKE = 0.8
"""How alike a passage must be as a whole, by difflib's ratio."""

LINE_ALIKE = 0.6
"""How alike each of its lines must be."""

_TYPOGRAPHY = str.maketrans(
    {
        "\N{LEFT SINGLE QUOTATION MARK}": "'",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{LEFT DOUBLE QUOTATION MARK}": '"',
        "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
        "\N{EN DASH}": "-",
        "\N{EM DASH}": "-",
        "\N{MINUS SIGN}": "-",
        "\N{NO-BREAK SPACE}": " ",
        "\N{NARROW NO-BREAK SPACE}": " ",
        "\N{THIN SPACE}": " ",
        "\N{HORIZONTAL ELLIPSIS}": "...",
    }
)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _spaces(line: str) -> str:
    return " ".join(line.split())


def _typography(line: str) -> str:
    return _spaces(line.translate(_TYPOGRAPHY))


KEYS: tuple[tuple[str, Key], ...] = (
    ("trailing whitespace", str.rstrip),
    ("indentation", str.strip),
    ("whitespace", _spaces),
    ("typography", _typography),
)


class Passage:
    """An old and a new text as whole lines, looked for in the lines of a file."""

    def __init__(self, lines: Sequence[str], old: str, new: str) -> None:
        self.lines = lines
        # A text that ends with a line end means whole lines; then nothing follows its last one.
        whole = old.endswith("\n")
        self.old = [one.rstrip("\r") for one in old.removesuffix("\n").split("\n")]
        self.new = [one.rstrip("\r") for one in new.removesuffix("\n" * whole).split("\n")]
        if whole and not new:
            self.new = []
        self.blocks = aligned(self.old, self.new)

    def windows(self, key: Key, apart: bool) -> list[int]:
        """Each line of the file at which the old text stands, compared by ``key``."""
        wanted = [key(line) for line in self.old]
        found = [key(line) for line in self.lines]
        starts: list[int] = []
        for start in range(len(found) - len(wanted) + 1):
            if apart and starts and start < starts[-1] + len(wanted):
                continue
            if found[start] == wanted[0] and found[start : start + len(wanted)] == wanted:
                starts.append(start)
        return starts

    def indents(self, start: int) -> dict[str, str] | None:
        """Which indentation of the file stands for which of the old text; None if for several."""
        pairs: dict[str, str] = {}
        for line, here in zip(self.old, self.lines[start:], strict=False):
            if line.strip() and pairs.setdefault(_indent(line), _indent(here)) != _indent(here):
                return None
        return pairs

    def similar(self) -> list[int]:
        """Windows in which what is changed stands as given, and what stays is merely alike."""
        firm = self._firm_lines()
        anchor = next((at for at in firm if len(self.old[at].strip()) > 2), None)
        if anchor is None or len(self.old) < 3:
            return []
        wanted = [_typography(line) for line in self.old]
        found = [_typography(line) for line in self.lines]
        starts = [at - anchor for at, line in enumerate(found) if line == wanted[anchor]]
        return [
            start
            for start in starts[:200]
            if 0 <= start <= len(found) - len(wanted)
            and all(found[start + at] == wanted[at] for at in firm)
            and _alike(wanted, found[start : start + len(wanted)])
        ]

    def _firm_lines(self) -> list[int]:
        """The old lines that go away, and the neighbours of each place where new lines come in."""
        firm: set[int] = set()
        for equal, a, b, _, _ in self.blocks:
            if not equal:
                firm |= set(range(a, b)) or {max(0, a - 1), min(len(self.old) - 1, a)}
        return sorted(firm)

    def edit(self, start: int) -> Edit:
        """The change at one window: what stays is the file's, what is new is indented like it."""
        end = start + len(self.old)
        window = self.lines[start:end]
        line_end = "\r\n" if window[0].endswith("\r\n") else "\n"
        result: list[str] = []
        for equal, a, b, c, d in self.blocks:
            if equal:
                result += window[a:b]
            else:
                pairs = self._indents_near(start, a, b)
                result += [_reindented(line, pairs) + line_end for line in self.new[c:d]]
        if end < len(self.lines) or window[-1].endswith("\n"):
            result = [one if one.endswith("\n") else one + line_end for one in result]
        elif result:
            result = [one if one.endswith("\n") else one + line_end for one in result]
            result[-1] = result[-1].removesuffix("\n").removesuffix("\r")
        return Edit(start, end, tuple(result))

    def _indents_near(self, start: int, first: int, last: int) -> dict[str, str]:
        """As `indents`, but where several stand for one, that of the line nearest to a block."""
        pairs: dict[str, str] = {}
        middle = (first + last - 1) / 2
        for at in sorted(range(len(self.old)), key=lambda one: abs(one - middle)):
            if self.old[at].strip():
                pairs.setdefault(_indent(self.old[at]), _indent(self.lines[start + at]))
        return pairs


def _reindented(line: str, pairs: dict[str, str]) -> str:
    """A line of the new text with the indentation that the file has for its own."""
    indent = _indent(line)
    if not line.strip() or not pairs:
        return line
    if indent in pairs:
        return pairs[indent] + line[len(indent) :]
    below = [one for one in pairs if indent.startswith(one)]
    if below:
        base = max(below, key=len)
        return pairs[base] + _converted(indent[len(base) :], pairs) + line[len(indent) :]
    base = min(pairs, key=len)
    if base.startswith(indent):
        fewer = len(_converted(base[len(indent) :], pairs))
        return pairs[base][: max(0, len(pairs[base]) - fewer)] + line[len(indent) :]
    return line


def _converted(indent: str, pairs: dict[str, str]) -> str:
    """Deeper indentation in the kind that the file has: tabs for spaces, or spaces for tabs."""
    for ours, theirs in pairs.items():
        if not ours or not theirs or {*ours, *theirs} != {" ", "\t"}:
            continue
        if set(ours) == {" "} and len(ours) % len(theirs) == 0 and set(indent) == {" "}:
            tabs, spaces = divmod(len(indent), len(ours) // len(theirs))
            return "\t" * tabs + " " * spaces
        if set(theirs) == {" "} and len(theirs) % len(ours) == 0 and set(indent) == {"\t"}:
            return " " * (len(indent) * (len(theirs) // len(ours)))
    return indent


def _alike(wanted: Sequence[str], found: Sequence[str]) -> bool:
    ratios = []
    for one, other in zip(wanted, found, strict=True):
        # Comparing two long lines takes time by the square; those must be equal.
        known = one == other or len(one) + len(other) > 1_000
        ratio = float(one == other) if known else SequenceMatcher(None, one, other).ratio()
        if ratio < LINE_ALIKE:
            return False
        ratios.append(ratio)
    return sum(ratios) / len(ratios) >= ALIKE
