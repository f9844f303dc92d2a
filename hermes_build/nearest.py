"""The known name that a misspelt one was most likely meant to be: for messages."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


_MANY = 100
"""Comparing letter by letter takes some µs a name; of more than these, the likeliest are."""

_CLOSE = 0.6
"""The share of the letters of two names that must be common to them."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to ``name``, or None when none is close."""
    # Names are short; a longer text is no misspelling, and comparing it would take a while.
    wanted = _folded(name[:100])
    likely = [*known]
    if len(likely) > _MANY:
        from heapq import nlargest
        from itertools import pairwise

        pairs = set(pairwise(wanted))
        likely = nlargest(
            _MANY, likely, lambda one: len(pairs.intersection(pairwise(_folded(one))))
        )
    best, closest, found = _CLOSE, "", None
    for one in likely:
        text = _folded(one)
        letters = len(text) + len(wanted)
        # No more letters are in the same order in both than are in both at all.
        if not letters or 2 * sum(map(text.__contains__, wanted)) / letters < best:
            continue
        ratio = 2 * _common(text, wanted) / letters
        if ratio > best or (ratio == best and text > closest):
            best, closest, found = ratio, text, one
    return found


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def _common(one: str, other: str) -> int:
    """How many letters two words have in common, by the measure of Ratcliff and Obershelp.

    Those are the letters of the longest stretch that stands in both, and by the same rule those of
    what is before it in both, and of what is behind it.
    """
    found, waiting = 0, [(one, other)]
    while waiting:
        one, other = waiting.pop()
        size, start, length, stretch = len(one), 0, 0, ""
        for begin in range(size):
            end = begin + length + 1
            while end <= size and (longer := one[begin:end]) in other:
                start, length, stretch = begin, length + 1, longer
                end += 1
        if length:
            found += length
            end, at = start + length, other.index(stretch)
            if start and at:
                waiting.append((one[:start], other[:at]))
            if end < size and at + length < len(other):
                waiting.append((one[end:], other[at + length :]))
    return found
