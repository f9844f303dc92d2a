"""The help line for a misspelt name."""

from __future__ import annotations

from collections.abc import Iterable

from hermes_build.nearest import nearest


def did_you_mean(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the help line for a misspelt name, or nothing when no known name is close."""
    found = nearest(name, known)
    return (f"did you mean `{found}`?",) if found else ()
