"""What is shown of a text that is too long: its beginning, its end, and how much is left out."""

from __future__ import annotations

from unicodedata import combining

_LEAST_ROOM = 80
"""A beginning and an end shorter than this together say nothing."""

_HEAD = 2 / 3
_CLUSTER = 16
"""How many characters one that is seen as a whole may be made of before it is cut all the same."""

_JOINER = "\u200d"


def preview(text: str, limit: int, note: str, pointer: str) -> str:
    """A text in at most ``limit`` characters.

    Args:
        text: a text of more than ``limit`` characters.
        limit: the most characters of the preview.
        note: a sentence on the whole text, shown in brackets in front.
        pointer: the same in a few words, for where there is no room for ``note``.

    Returns:
        The note, the beginning and the end of the text with the number of characters between them,
        each cut at the end of a line where one is near. With little room: the pointer, and what
        fits of the beginning. With less: the beginning alone.
    """
    gap = f"[… {len(text):,} characters left out …]"  # at least as long as what is said in the end
    room = limit - len(f"[{note}]\n\n{gap}\n")
    if room >= _LEAST_ROOM:
        head = text[: _cut(text, int(room * _HEAD))]
        tail = text[_resume(text, len(text) - (room - int(room * _HEAD))) :]
        left = len(text) - len(head) - len(tail)
        return f"[{note}]\n{head}\n[… {left:,} characters left out …]\n{tail}"
    room = limit - len(f"[{pointer}]\n…")
    if room >= 0:
        return f"[{pointer}]\n{text[: _whole(text, room)]}…"
    return f"{text[: _whole(text, limit - 1)]}…" if limit > 0 else ""


def fold(text: str, width: int) -> tuple[str, bool]:
    """A text in lines of at most ``width`` characters, and whether any line was longer.

    Line ends are put in, behind a space where one is near; nothing else is changed.
    """
    folded = False
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if len(line) <= width:
            continue
        folded = True
        parts, start = [], 0
        while len(line) - start > width:
            space = line.rfind(" ", start + width - width // 5, start + width)
            end = space + 1 if space >= 0 else _whole(line, start + width, start)
            parts.append(line[start:end])
            start = end
        lines[number] = "\n".join([*parts, line[start:]])
    return ("\n".join(lines) if folded else text), folded


def _cut(text: str, end: int) -> int:
    """Where to end a beginning: before a line end in its last quarter, else at ``end``."""
    line_end = text.rfind("\n", end - end // 4, end + 1)
    return line_end if line_end > 0 else _whole(text, end)


def _resume(text: str, start: int) -> int:
    """Where to begin an end: behind a line end in its first quarter, else at ``start``."""
    line_end = text.find("\n", start - 1, start + (len(text) - start) // 4)
    if line_end >= 0:
        return line_end + 1
    whole = start
    while whole < len(text) and whole - start < _CLUSTER and _is_within(text, whole):
        whole += 1
    return whole


def _whole(text: str, end: int, start: int = 0) -> int:
    """``end``, or a little before it where it would cut what is seen as one character."""
    whole = end
    while whole > start and end - whole < _CLUSTER and _is_within(text, whole):
        whole -= 1
    return whole if whole > start else end


def _is_within(text: str, position: int) -> bool:
    """Whether the character at a position belongs to the one before it."""
    if position >= len(text):
        return False
    this, before = text[position], text[position - 1]
    return (
        this == _JOINER
        or before == _JOINER
        or combining(this) != 0
        or "\ufe00" <= this <= "\ufe0f"  # how the sign before is drawn
        or "\U0001f3fb" <= this <= "\U0001f3ff"  # the colour of a skin
        or "\U000e0020" <= this <= "\U000e007f"  # the tags behind a flag
        or (before == "\r" and this == "\n")
        or _is_second_of_flag(text, position)
    )


def _is_second_of_flag(text: str, position: int) -> bool:
    """Whether a letter of a flag is the second of its pair: those before it are counted."""
    count = 0
    while count <= _CLUSTER and position >= count and _is_flag(text[position - count]):
        count += 1
    return count > 0 and count % 2 == 0


def _is_flag(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"
