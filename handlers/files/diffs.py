"""Changes of a text by lines: how they are applied, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT = 3
"""How many unchanged lines a shown change has around it."""

MOST_CHARS = 20_000
"""Where the text of a shown change is cut."""

ALIGNABLE = 400
"""Up to how many lines two texts are aligned line by line; that takes time by the square."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines ``start`` to ``end`` (from 0, the end exclusive) become ``lines``."""

    start: int
    end: int
    lines: tuple[str, ...]


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends. Only ``\\n`` ends a line, as in every diff format."""
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def aligned(old: Sequence[str], new: Sequence[str]) -> list[tuple[bool, int, int, int, int]]:
    """Blocks ``(equal, old start, old end, new start, new end)`` that cover both texts in order."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
    old_end, new_end = len(old) - tail, len(new) - tail
    blocks = [(True, 0, head, 0, head)]
    middle = old_end - head, new_end - head
    if 0 in middle or middle == (1, 1) or sum(middle) > ALIGNABLE:
        blocks.append((False, head, old_end, head, new_end))
    else:
        matcher = SequenceMatcher(None, old[head:old_end], new[head:new_end], autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            blocks.append((tag == "equal", head + a, head + b, head + c, head + d))
    blocks.append((True, old_end, len(old), new_end, len(new)))
    return [block for block in blocks if block[1] < block[2] or block[3] < block[4]]


def apply_edits(lines: Sequence[str], edits: Sequence[Edit]) -> list[str]:
    """The lines after the edits, which are sorted and do not overlap."""
    result: list[str] = []
    position = 0
    for edit in edits:
        result += lines[position : edit.start]
        result += edit.lines
        position = edit.end
    return result + list(lines[position:])


def narrowed(lines: Sequence[str], edits: Sequence[Edit]) -> list[Edit]:
    """The same change, in which no edit replaces a line by itself."""
    result: list[Edit] = []
    for edit in edits:
        for equal, a, b, c, d in aligned(lines[edit.start : edit.end], edit.lines):
            if not equal:
                result.append(Edit(edit.start + a, edit.start + b, edit.lines[c:d]))
    return result


def show(
    lines: Sequence[str], edits: Sequence[Edit], old_path: str | None, new_path: str | None
) -> str:
    """A unified diff of what the edits do; a missing path is a file that is not there.

    It is made from the edits themselves and not by comparing two whole texts, which for a large
    file takes minutes.
    """
    parts = [f"--- {_side('a', old_path)}\n", f"+++ {_side('b', new_path)}\n"]
    moved = 0
    shown = _first(edits)
    for group in _groups(narrowed(lines, shown)):
        first = max(0, group[0].start - CONTEXT)
        last = min(len(lines), group[-1].end + CONTEXT)
        body: list[str] = []
        position = first
        for edit in group:
            body += [_line(" ", one) for one in lines[position : edit.start]]
            body += [_line("-", one) for one in lines[edit.start : edit.end]]
            body += [_line("+", one) for one in edit.lines]
            position = edit.end
        body += [_line(" ", one) for one in lines[position:last]]
        grown = sum(len(edit.lines) - (edit.end - edit.start) for edit in group)
        old, new = _range(first, last - first), _range(first + moved, last - first + grown)
        parts.append(f"@@ -{old} +{new} @@\n")
        parts += body
        moved += grown
    text = "".join(parts)
    if len(shown) == len(edits) and len(text) <= MOST_CHARS:
        return text
    return f"{text[:MOST_CHARS]}\n[the rest is not shown]\n"


def counted(lines: Sequence[str], edits: Sequence[Edit]) -> tuple[int, int]:
    """How many lines the edits add, and how many they remove."""
    narrow = narrowed(lines, edits)
    return sum(len(one.lines) for one in narrow), sum(one.end - one.start for one in narrow)


def _first(edits: Sequence[Edit]) -> Sequence[Edit]:
    """As many of the edits as are sure to fill what is shown."""
    chars = 0
    for count, edit in enumerate(edits, 1):
        chars += sum(map(len, edit.lines)) + edit.end - edit.start
        if chars > MOST_CHARS:
            return edits[:count]
    return edits


def _groups(edits: Sequence[Edit]) -> list[list[Edit]]:
    groups: list[list[Edit]] = []
    for edit in edits:
        if groups and edit.start - groups[-1][-1].end <= 2 * CONTEXT:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return groups


def _line(sign: str, line: str) -> str:
    end = "" if line.endswith("\n") else "\n\\ No newline at end of file\n"
    return f"{sign}{line}{end}"


def _range(start: int, length: int) -> str:
    first = start + 1 if length else start
    return f"{first}" if length == 1 else f"{first},{length}"


def _side(letter: str, path: str | None) -> str:
    return "/dev/null" if path is None else f"{letter}/{path}"
