"""The known name that a misspelt one was most likely meant to be."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to ``name``, or None when none is close."""
    import difflib  # imported on a mistake alone: a clean run needs no matcher

    by_folded = {one.casefold().replace("-", "_"): one for one in known}
    found = difflib.get_close_matches(name.casefold().replace("-", "_"), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the help line for a misspelt name, or nothing when no known name is close."""
    found = nearest(name, known)
    return (f"did you mean `{found}`?",) if found else ()
