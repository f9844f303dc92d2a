"""Directives in comments: which findings the author of a file has decided to live with."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from hermes_build.compiler.load import Suppression
from hermes_build.compiler.yaml12 import dialect
from hermes_build.compiler.yaml12.places import Lines

_DIRECTIVE = re.compile(
    r"(?:^|(?<=[ \t]))#[ \t]*hermes-build:[ \t]*ignore\b[ \t]*(?:\[([^\]\n]*)\])?([^\n]*)",
    re.MULTILINE,
)
_BETWEEN = ("---", "...")


def directives(path: str, text: str) -> Iterator[Suppression]:
    """Yield each ``# hermes-build: ignore[CODE, ...] reason`` of a text, from the top.

    At the end of a line it is for that line; on a line of its own, for the next line that is
    neither blank nor a comment nor between two documents. What only looks like a comment, inside
    a text, is none.
    """
    found = list(_DIRECTIVE.finditer(text))
    if not found:
        return
    scalars = [(_body(text, one), one.end) for one in dialect.tokens(text) if one.alias is None]
    starts = [start for start, _ in scalars]
    contents = [number for number, row in enumerate(text.split("\n"), 1) if _holds_content(row)]
    lines = Lines(path, text)
    for match in found:
        before = bisect_right(starts, match.start()) - 1
        if before >= 0 and match.start() < scalars[before][1]:
            continue
        line, column = lines.position(match.start())
        if not text[match.start() - column + 1 : match.start()].strip():
            following = bisect_right(contents, line)
            line = contents[following] if following < len(contents) else line
        codes = tuple(filter(None, re.split(r"[,\s]+", match[1] or "")))
        end = match.start() + len(match[0].rstrip())
        yield Suppression(line, codes, match[2].strip(), lines.span(match.start(), end))


def _holds_content(row: str) -> bool:
    return bool(row.strip()) and row.lstrip()[0] != "#" and row.rstrip() not in _BETWEEN


def _body(text: str, scalar: dialect.Token) -> int:
    """Return where the text of a scalar begins: a block's begins below its first line."""
    if scalar.style in ("|", ">"):
        return text.find("\n", scalar.start) + 1 or scalar.end
    return scalar.start
