"""Output cut to what fits into an answer: beginning and end, and the size of what was left out."""

from __future__ import annotations

from dataclasses import dataclass

from handlers.shells.buffer import Ends
from handlers.shells.cleaning import clean, complete

MOST = 50_000
"""How many characters of output an answer has at most."""

HEAD = 20_000
"""How many of them are its beginning; most errors stand at the end."""

_LONGEST_STUMP = 1_000
"""How many characters are given up to begin or end an excerpt with a whole line."""
_LATER_BYTES = bytes(range(0x80, 0xC0))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Output as an answer has it; ``omitted`` bytes of it were left out."""

    text: str
    omitted: int


def excerpt(data: bytes, before: int = 0) -> Excerpt:
    """The excerpt of ``data``, before which so many bytes are lost already."""
    if not before:
        return excerpt_of_text(clean(data))
    text = clean(_from_character(data))
    return _joined("", text[-MOST:], before + _size(text[:-MOST]))


def excerpt_of_text(text: str) -> Excerpt:
    """The excerpt of output that is text already."""
    if len(text) <= MOST:
        return Excerpt(text, 0)
    return _joined(text[:HEAD], text[HEAD - MOST :], _size(text[HEAD : HEAD - MOST]))


def excerpt_of_ends(ends: Ends) -> Excerpt:
    """The excerpt of a stream of which the beginning and the end are kept."""
    if not ends.dropped:
        return excerpt(ends.head + ends.tail)
    head, tail = clean(ends.head[: complete(ends.head)]), clean(_from_character(ends.tail))
    cut = _size(head[HEAD:]) + _size(tail[: HEAD - MOST])
    return _joined(head[:HEAD], tail[HEAD - MOST :], ends.dropped + cut)


def _joined(head: str, tail: str, omitted: int) -> Excerpt:
    """Head and tail, both cut back to whole lines where those are near."""
    end = head.rfind("\n", max(0, len(head) - _LONGEST_STUMP)) + 1 or len(head)
    begin = tail.find("\n", 0, _LONGEST_STUMP) + 1
    omitted += _size(head[end:]) + _size(tail[:begin])
    head, tail = head[:end], tail[begin:]
    gap = "\n" if head and not head.endswith("\n") else ""
    return Excerpt(f"{head}{gap}{_mark(omitted)}{tail}", omitted)


def _mark(omitted: int) -> str:
    return f"[... {omitted:,} bytes of output left out ...]\n"


def _from_character(data: bytes) -> bytes:
    """Without the rest of a character that was cut in two."""
    return data[:3].lstrip(_LATER_BYTES) + data[3:]


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
