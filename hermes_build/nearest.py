"""The known name that a misspelt one was most likely meant to be: for messages."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to ``name``, or None when none is close."""
    from difflib import get_close_matches  # imported by mistakes only

    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(one.casefold().replace("-", "_"), one)
    # Names are short; a longer text is no misspelling, and comparing it would take seconds.
    wanted = name[:100].casefold().replace("-", "_")
    found = get_close_matches(wanted, folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None
