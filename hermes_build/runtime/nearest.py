"""The known name most like an unknown one, for messages."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one known name close enough to be what was meant, or None."""
    # difflib is imported by mistakes only.
    from difflib import get_close_matches

    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(one.casefold(), one)
    # Names are short; a longer text is no misspelling, and comparing it would take seconds.
    match = get_close_matches(name[:100].casefold(), folded, n=1, cutoff=0.6)
    return folded[match[0]] if match else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with a leading space, or nothing where no name is near."""
    found = nearest(name, known)
    return f" Did you mean {found!r}?" if found else ""
