"""Finding the passage that an edit means, when it is not quite the passage that stands there.

Strategies are tried from the strictest to the most lenient, and the first that finds anything
decides. Every strategy refuses a passage that stands in more than one place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import accumulate

from handlers.files.diffs import Edit, split_lines
from handlers.files.passages import KEYS, Passage
from handlers.refusal import Refusal

LISTED = 10
"""How many places of an ambiguous passage are named."""

SIMILAR = "similar context"

_NUMBERED = re.compile(r"\s*\d+\|")


@dataclass(frozen=True, slots=True)
class Replacement:
    """What is to be changed: ``edits`` by lines, and where.

    ``places`` holds the first lines (from 1) of the first places, ``count`` is how many there are.
    """

    edits: tuple[Edit, ...]
    strategy: str
    places: tuple[int, ...]
    count: int


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
    if old.strip():
        passage = Passage(lines, old, new)
        for strategy, starts in _lenient(passage, replace_all):
            edits = [passage.edit(start) for start in starts]
            places = [start + 1 for start in starts]
            # What is merely alike is changed in one place or not at all.
            every = replace_all and strategy != SIMILAR
            return _checked(edits, strategy, places, len(starts), every)
    raise _not_found(lines, text, old, new)


def _lenient(passage: Passage, replace_all: bool) -> Iterator[tuple[str, list[int]]]:
    """Each strategy that finds the passage, with the lines (from 0) where it does."""
    for strategy, key in KEYS:
        starts = passage.windows(key, apart=replace_all)
        if strategy == "indentation":
            starts = [start for start in starts if passage.indents(start) is not None]
        if starts:
            yield strategy, starts
    starts = passage.similar()
    if starts:
        yield SIMILAR, starts


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
    starts: list[int] = []
    step = len(wanted) if apart else 1
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
    return Replacement(tuple(edits), strategy, tuple(places[:LISTED]), count)


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
    # Likeness takes time, so only the beginnings of the first lines are compared.
    longest = max(wanted, key=len, default="").strip()[:120]
    stripped = [line.strip()[:120] for line in lines[:2_000]]
    near = get_close_matches(longest, set(stripped), n=1, cutoff=0.6)
    if not near:
        return Refusal(
            "old_string was not found. Read the file again and copy the passage from it."
        )
    at = stripped.index(near[0])
    around = range(max(0, at - 2), min(len(lines), at + 3))
    return Refusal(
        f"old_string was not found. The nearest line is {at + 1}; read the file again and copy "
        "the passage from it.",
        line=at + 1,
        nearest="\n".join(f"{one + 1:5d}|{lines[one].rstrip()[:200]}" for one in around),
    )
