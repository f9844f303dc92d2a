"""Finding the passage that an edit means, when it is not quite the passage that stands there.

Strategies are tried from the strictest to the most lenient, and the first that finds anything
decides. Every strategy refuses a passage that stands in more than one place. A lenient match never
writes the model's idea of an unchanged line over the file's own: lines that the old and the new
text share keep what the file has, and only lines that really change are taken from the new text,
indented as the file is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from itertools import accumulate
from typing import TypeAlias

from handlers.files.diffs import Edit, aligned, split_lines
from handlers.files.refusal import Refusal

Key: TypeAlias = Callable[[str], str]

LISTED = 10
"""How many places of an ambiguous passage are named."""

ALIKE = 0.8
"""How alike a passage must be as a whole, and no line less than `LINE_ALIKE`, by difflib's ratio."""

LINE_ALIKE = 0.6

_TYPOGRAPHY = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "\u00a0": " "}
    | {"\u202f": " ", "\u2009": " ", "…": "..."}
)
_NUMBERED = re.compile(r"\s*\d+\|")


@dataclass(frozen=True, slots=True)
class Replacement:
    """What is to be changed: ``edits`` by lines, the ``strategy``, and each place's first line."""

    edits: tuple[Edit, ...]
    strategy: str
    places: tuple[int, ...]


def find_replacement(text: str, old: str, new: str, replace_all: bool = False) -> Replacement:
    """The change that puts ``new`` where ``old`` stands in ``text``.

    Raises:
        Refusal: when the passage is not there (with what comes nearest), when it is there more
            than once and not all are to be replaced, or when there is nothing to change.
    """
    if old == new:
        raise Refusal("old_string and new_string are equal; there is nothing to change.")
    for strategy, wanted, wanted_new in _spellings(text, old, new):
        starts = _occurrences(text, wanted, replace_all)
        if starts:
            lines = split_lines(text)
            edits = _edits_of_spans(text, lines, starts, len(wanted), wanted_new)
            places = [text.count("\n", 0, start) + 1 for start in starts[: LISTED + 1]]
            return _checked(edits, strategy, places, len(starts), replace_all)
    lines = split_lines(text)
    passage = _Passage(lines, old, new)
    if old.strip():
        for strategy, key in _KEYS:
            starts = passage.windows(key, apart=replace_all)
            if strategy == "indentation":
                starts = [start for start in starts if passage.indents(start) is not None]
            if starts:
                return passage.replacement(strategy, starts, replace_all)
        starts = passage.similar()
        if starts:
            return passage.replacement("similar context", starts, replace_all=False)
    raise _not_found(lines, text, old, new)


def file_end(text: str) -> str:
    """The line end that a text uses throughout; ``\\n`` where it uses several."""
    crlf = text.count("\r\n")
    return "\r\n" if crlf and crlf == text.count("\n") else "\n"


def _spellings(text: str, old: str, new: str) -> list[tuple[str, str, str]]:
    """The passage as given, then with the file's line ends."""
    if file_end(text) == "\r\n":
        ends = re.compile(r"\r?\n")
        new = ends.sub("\r\n", new)
        return [("exact", old, new), ("line ends", ends.sub("\r\n", old), new)]
    if "\r\n" in old and "\r" not in text:
        return [("line ends", old.replace("\r\n", "\n"), new.replace("\r\n", "\n"))]
    return [("exact", old, new)]


def _occurrences(text: str, wanted: str, apart: bool) -> list[int]:
    """Where a passage starts; unless ``apart``, occurrences that overlap count too."""
    starts, step = [], len(wanted) if apart else 1
    position = text.find(wanted)
    while position >= 0 and (apart or len(starts) <= LISTED):
        starts.append(position)
        position = text.find(wanted, position + step)
    return starts


def _edits_of_spans(
    text: str, lines: Sequence[str], starts: Sequence[int], length: int, new: str
) -> list[Edit]:
    """Replaced stretches of characters as replaced lines; stretches that share a line are one."""
    offsets = [0, *accumulate(map(len, lines))]
    edits: list[Edit] = []
    group: list[int] = []

    def close() -> None:
        first = bisect_right(offsets, group[0]) - 1
        last = min(bisect_right(offsets, group[-1] + length) - 1, len(lines) - 1)
        pieces, position = [], offsets[first]
        for start in group:
            pieces += [text[position:start], new]
            position = start + length
        pieces.append(text[position : offsets[last + 1]])
        edits.append(Edit(first, last + 1, tuple(split_lines("".join(pieces)))))

    reach = -1
    for start in starts:
        if group and bisect_right(offsets, start) - 1 > reach:
            close()
            group = []
        group.append(start)
        reach = bisect_right(offsets, start + length) - 1
    close()
    return edits


def _checked(
    edits: Sequence[Edit], strategy: str, places: Sequence[int], count: int, replace_all: bool
) -> Replacement:
    if count > 1 and not replace_all:
        listed = ", ".join(map(str, places[:LISTED])) + (" and more" if count > LISTED else "")
        raise Refusal(
            f"old_string stands in more than one place (at lines {listed}). Give more lines "
            "around it so that it is unique, or set replace_all.",
            lines=list(places[:LISTED]),
            strategy=strategy,
        )
    return Replacement(tuple(edits), strategy, tuple(places))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _spaces(line: str) -> str:
    return " ".join(line.split())


def _typography(line: str) -> str:
    return _spaces(line.translate(_TYPOGRAPHY))


_KEYS: tuple[tuple[str, Key], ...] = (
    ("trailing whitespace", str.rstrip),
    ("indentation", str.strip),
    ("whitespace", _spaces),
    ("typography", _typography),
)


class _Passage:
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
            if found[start] == wanted[0] and found[start : start + len(wanted)] == wanted:
                if not apart or not starts or start >= starts[-1] + len(wanted):
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

    def replacement(self, strategy: str, starts: Sequence[int], replace_all: bool) -> Replacement:
        edits = [self._edit(start) for start in starts]
        return _checked(edits, strategy, [one + 1 for one in starts], len(starts), replace_all)

    def _edit(self, start: int) -> Edit:
        end = start + len(self.old)
        window = self.lines[start:end]
        line_end = "\r\n" if window[0].endswith("\r\n") else "\n"
        pairs = self._loose_indents(start)
        result: list[str] = []
        for equal, a, b, c, d in self.blocks:
            if equal:
                result += window[a:b]
            else:
                result += [_reindented(line, pairs) + line_end for line in self.new[c:d]]
        if end < len(self.lines) or window[-1].endswith("\n"):
            result = [one if one.endswith("\n") else one + line_end for one in result]
        elif result:
            result = [one if one.endswith("\n") else one + line_end for one in result]
            result[-1] = result[-1].removesuffix("\n").removesuffix("\r")
        return Edit(start, end, tuple(result))

    def _loose_indents(self, start: int) -> dict[str, str]:
        pairs: dict[str, str] = {}
        for line, here in zip(self.old, self.lines[start:], strict=False):
            if line.strip():
                pairs.setdefault(_indent(line), _indent(here))
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
    """Deeper indentation in the file's own kind, where the file has tabs for spaces or spaces for tabs."""
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
        ratio = 1.0 if one == other else SequenceMatcher(None, one, other).ratio()
        if ratio < LINE_ALIKE:
            return False
        ratios.append(ratio)
    return sum(ratios) / len(ratios) >= ALIKE


def _not_found(lines: Sequence[str], text: str, old: str, new: str) -> Refusal:
    wanted = [line for line in old.split("\n") if line.strip()]
    if wanted and all(_NUMBERED.match(line) for line in wanted):
        return Refusal(
            "old_string was not found. It carries the line numbers that read_file prints; give "
            "the text after `|` only."
        )
    if new.strip() and len(new) > len(old.strip()) and text.count(new) == 1:
        line = text.count("\n", 0, text.index(new)) + 1
        return Refusal(
            f"old_string was not found, but new_string already stands at line {line}. "
            "Perhaps the edit was already made.",
            line=line,
        )
    longest = max(wanted, key=len, default="").strip()
    stripped = [line.strip() for line in lines[:5_000]]
    near = get_close_matches(longest, set(stripped), n=1, cutoff=0.6) if len(longest) < 500 else []
    if not near:
        return Refusal(
            "old_string was not found. Read the file again and copy the passage from it."
        )
    at = stripped.index(near[0])
    first, last = max(0, at - 2), min(len(lines), at + 3)
    shown = [
        f"{first + i + 1:5d}|{line.rstrip()[:200]}" for i, line in enumerate(lines[first:last])
    ]
    return Refusal(
        f"old_string was not found. The nearest line is {at + 1}; read the file again and copy "
        "the passage from it.",
        line=at + 1,
        nearest="\n".join(shown),
    )
