"""What a misspelt name was most likely meant to be."""

from __future__ import annotations

from collections.abc import Iterable

from hermes_build.compiler.diagnostics import Findings
from hermes_build.nearest import nearest


def did_you_mean(
    name: str, known: Iterable[str], findings: Findings | None = None
) -> tuple[str, ...]:
    """Return the help line for a misspelt name, or nothing when no known name is close.

    Nor is there any for what would be one of too many ``findings``.
    """
    if findings is not None and findings.crowded:
        return ()
    found = nearest(name, known)
    return (f"did you mean `{found}`?",) if found else ()


def is_slip(name: str, meant: str) -> bool:
    """Whether two names are one slip apart: a letter too many, too few, wrong, or two swapped.

    Names that differ in a digit are counted up and no slips, nor are very short ones.
    """
    if min(len(name), len(meant)) < 4:
        return False
    start = _alike(name, meant)
    one, other = name[start:], meant[start:]
    end = _alike(one[::-1], other[::-1])
    one, other = one[: len(one) - end], other[: len(other) - end]
    if any(letter.isdigit() for letter in one + other):
        return False
    return max(len(one), len(other)) == 1 or (len(one) == 2 and one == other[::-1])


def _alike(one: str, other: str) -> int:
    """How many letters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((nth for nth, (a, b) in pairs if a != b), min(len(one), len(other)))
