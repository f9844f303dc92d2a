"""The known name that a misspelt one was most likely meant to be: for messages."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


_MANY = 100
"""Comparing letter by letter takes some 10 µs a name; of more than these, the likeliest are."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to ``name``, or None when none is close."""
    from difflib import get_close_matches  # imported by mistakes only

    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(one.casefold().replace("-", "_"), one)
    # Names are short; a longer text is no misspelling, and comparing it would take seconds.
    wanted = name[:100].casefold().replace("-", "_")
    likely: Iterable[str] = folded
    if len(folded) > _MANY:
        from heapq import nlargest
        from itertools import pairwise

        pairs = set(pairwise(wanted))
        likely = nlargest(_MANY, folded, lambda one: len(pairs.intersection(pairwise(one))))
    found = get_close_matches(wanted, likely, n=1, cutoff=0.6)
    return folded[found[0]] if found else None
