"""The sentence for a misspelt name, at the end of an error."""

from __future__ import annotations

from hermes_build.nearest import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with a leading space, or nothing where no name is near."""
    found = nearest(name, known)
    return f" Did you mean {found!r}?" if found else ""
