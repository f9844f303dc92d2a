"""Placing hunks in a text that may have moved on since the diff was made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from handlers.files.diffs import Edit
from handlers.files.replacing import file_end
from handlers.files.unified import Hunk
from handlers.refusal import Refusal

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
    """A hunk where it fits: its ``edit``, how far that is from where it said, and by what."""

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
    indexes = _Indexes(lines)
    placed: list[Placed] = []
    failed: list[Refusal] = []
    floor = moved = 0
    for hunk in hunks:
        try:
            one = _place(indexes, hunk, floor, moved, end)
        except Refusal as refusal:
            failed.append(refusal)
            continue
        placed.append(one)
        floor, moved = one.edit.end, one.offset
    return placed, failed


class _Indexes:
    """The lines of a file, compared in the manner of each level; made when a level needs it."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._made: dict[Key, tuple[list[str], dict[str, list[int]]]] = {}

    def find(self, key: Key, wanted: Sequence[str], floor: int) -> list[int]:
        """Each line, from ``floor`` on, at which the wanted lines stand."""
        if key not in self._made:
            keys = [key(line) for line in self.lines]
            where: dict[str, list[int]] = {}
            for at, line in enumerate(keys):
                where.setdefault(line, []).append(at)
            self._made[key] = keys, where
        keys, where = self._made[key]
        return [
            at
            for at in where.get(wanted[0], ())
            if at >= floor and keys[at : at + len(wanted)] == wanted
        ]


def _place(indexes: _Indexes, hunk: Hunk, floor: int, moved: int, end: str) -> Placed:
    lines, old = indexes.lines, hunk.old
    if not old:
        if not floor <= hunk.start <= len(lines):
            raise _refusal(hunk, f"the file has {len(lines)} lines, so nothing can be added there")
        added = _edit(lines, hunk, hunk.start, 0, 0, _EXACT, end)
        if hunk.start > floor and not lines[hunk.start - 1].endswith("\n"):
            # The line above has no line end yet, and gets one.
            above = lines[hunk.start - 1] + end
            added = Edit(hunk.start - 1, hunk.start, (above, *added.lines))
        return Placed(hunk, added, 0, _EXACT)
    for matched, key, fuzz in _LEVELS:
        head, tail = _droppable(hunk, fuzz)
        wanted = [key(line) for line in old[head : len(old) - tail]]
        if fuzz and (not wanted or head + tail == 0):
            continue
        expected = hunk.start + head + moved
        found = indexes.find(key, wanted, floor)
        if not found:
            continue
        at, *others = sorted(found, key=lambda one: abs(one - expected))
        if others and abs(others[0] - expected) == abs(at - expected):
            raise _refusal(
                hunk, f"it fits equally well at lines {at + 1} and {others[0] + 1}; add context"
            )
        edit = _edit(lines, hunk, at, head, tail, matched, end)
        return Placed(hunk, edit, at - hunk.start - head, matched)
    raise _missing(lines, hunk, old)


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
