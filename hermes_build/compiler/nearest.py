"""The help line for a misspelt name."""

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
