"""Placing hunks in a text that may have moved on since the diff was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from handlers.files.diffs import Edit
from handlers.files.refusal import Refusal
from handlers.files.replacing import file_end
from handlers.files.unified import Hunk

Key: TypeAlias = Callable[[str], str]

MOST_FUZZ = 2
"""How many context lines at each edge of a hunk may be wrong; what GNU patch allows."""

_EXACT = "exact"


def _same(line: str) -> str:
    return line


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


_LEVELS: tuple[tuple[str, Key, int], ...] = (
    (_EXACT, _same, 0),
    ("line ends", _without_end, 0),
    ("trailing whitespace", str.rstrip, 0),
    *((f"fuzz {fuzz}", str.rstrip, fuzz) for fuzz in range(1, MOST_FUZZ + 1)),
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A hunk where it fits: its ``edit``, how far that is from where it said, and how it matched."""

    hunk: Hunk
    edit: Edit
    offset: int
    matched: str

    @property
    def exact(self) -> bool:
        """Whether the hunk fitted as it stands, at the place that it names."""
        return self.matched == _EXACT and self.offset == 0 and not self.hunk.note


def place_hunks(lines: Sequence[str], hunks: Sequence[Hunk]) -> tuple[list[Placed], list[Refusal]]:
    """Where each hunk goes, in order and without overlap; and what is wrong with the others."""
    end = file_end("".join(lines))
    placed: list[Placed] = []
    failed: list[Refusal] = []
    floor = moved = 0
    for hunk in hunks:
        try:
            one = _place(lines, hunk, floor, moved, end)
        except Refusal as refusal:
            failed.append(refusal)
            continue
        placed.append(one)
        floor, moved = one.edit.end, one.offset
    return placed, failed


def _place(lines: Sequence[str], hunk: Hunk, floor: int, moved: int, end: str) -> Placed:
    old = hunk.old
    if not old:
        if not floor <= hunk.start <= len(lines):
            raise _refusal(hunk, f"the file has {len(lines)} lines, so nothing can be added there")
        return Placed(hunk, _edit(lines, hunk, hunk.start, 0, 0, _EXACT, end), 0, _EXACT)
    for matched, key, fuzz in _LEVELS:
        head, tail = _droppable(hunk, fuzz)
        wanted = [key(line) for line in old[head : len(old) - tail]]
        if fuzz and (not wanted or head + tail == 0):
            continue
        expected = hunk.start + head + moved
        at = _nearest(lines, key, wanted, expected, floor)
        if at is None:
            continue
        if isinstance(at, tuple):
            first, second = at
            raise _refusal(
                hunk, f"it fits equally well at lines {first + 1} and {second + 1}; add context"
            )
        edit = _edit(lines, hunk, at, head, tail, matched, end)
        return Placed(hunk, edit, at - hunk.start - head, matched)
    raise _missing(lines, hunk, old)


def _nearest(
    lines: Sequence[str], key: Key, wanted: Sequence[str], expected: int, floor: int
) -> int | tuple[int, int] | None:
    """The match nearest to where it is expected; two where they are equally near."""
    keys = [key(line) for line in lines]
    last = len(keys) - len(wanted)
    furthest = max(expected - floor, last - expected, 0)
    for distance in range(furthest + 1):
        found = [
            at
            for at in dict.fromkeys((expected - distance, expected + distance))
            if floor <= at <= last
            and keys[at] == wanted[0]
            and keys[at : at + len(wanted)] == wanted
        ]
        if len(found) == 2:
            return found[0], found[1]
        if found:
            return found[0]
    return None


def _droppable(hunk: Hunk, fuzz: int) -> tuple[int, int]:
    """How many context lines at each edge ``fuzz`` leaves out of the comparison."""
    signs = [sign for sign, _ in hunk.lines]
    head = next((i for i, sign in enumerate(signs) if sign != " "), len(signs))
    tail = next((i for i, sign in enumerate(reversed(signs)) if sign != " "), len(signs))
    return min(fuzz, head), min(fuzz, tail)


def _edit(
    lines: Sequence[str], hunk: Hunk, at: int, head: int, tail: int, matched: str, end: str
) -> Edit:
    """The hunk as an edit at line ``at``: context stays as the file has it."""
    body = hunk.lines[head : len(hunk.lines) - tail]
    position, result = at, list[str]()
    for sign, text in body:
        if sign == "+":
            result.append(text if matched == _EXACT else _without_end(text) + end)
            continue
        if sign == " ":
            result.append(lines[position])
        position += 1
    at_end = position == len(lines)
    if matched != _EXACT and at_end and result and lines and not lines[-1].endswith("\n"):
        # The patch is vague about line ends, so the file keeps having none after its last line.
        result[-1] = _without_end(result[-1])
    inner = result if not at_end else result[:-1]
    for index, line in enumerate(inner):
        if not line.endswith("\n"):
            result[index] = line + end
    return Edit(at, position, tuple(result))


def _missing(lines: Sequence[str], hunk: Hunk, old: Sequence[str]) -> Refusal:
    """Say which line of the hunk is the first that the file does not have where it should."""
    start = min(hunk.start, max(0, len(lines) - 1))
    here = [line.rstrip() for line in lines[start : start + len(old)]]
    for index, line in enumerate(old):
        found = here[index] if index < len(here) else None
        if found != line.rstrip():
            stands = "the file has ended" if found is None else f"the file has {found[:200]!r}"
            return _refusal(
                hunk,
                f"its lines are not in the file; at line {start + index + 1} the hunk has "
                f"{line.rstrip()[:200]!r} and {stands}",
            )
    return _refusal(hunk, "its lines stand only before those of the hunk above it")


def _refusal(hunk: Hunk, reason: str) -> Refusal:
    return Refusal(f"hunk {hunk.number} does not apply: {reason}", hunk=hunk.number)
