"""Where the nodes of a YAML text stand: from offsets to lines and columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import Any

from hermes_build.compiler.diagnostics import Span
from hermes_build.compiler.yaml12.dialect import MappingNode, Node, ScalarNode, SequenceNode, nodes


class Lines:
    """The lines of one text; they end at LF alone, whatever else a parser takes for a break.

    ``first`` is the number of the text's first line in its file.
    """

    def __init__(self, path: str, text: str, first: int = 1) -> None:
        self.path = path
        self.text = text
        self._first = first
        lengths = (len(line) + 1 for line in text.split("\n"))
        self._starts = list(accumulate(lengths, initial=0))[:-1]

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset, both from 1."""
        row = bisect_right(self._starts, offset) - 1
        return row + self._first, offset - self._starts[row] + 1

    def start(self, line: int) -> int:
        """Return the offset at which a line begins."""
        return self._starts[line - self._first]

    def span(self, start: int, end: int) -> Span:
        """Return the span of the characters from ``start`` up to ``end``, offsets from 0."""
        return Span(self.path, *self.position(start), *self.position(max(start, end)))

    def character(self, offset: int) -> Span:
        """Return the span of one character, or of the end of the text's last line with anything."""
        if offset >= len(self.text):
            offset = len(self.text.rstrip())
        return self.span(offset, offset + (self.text[offset : offset + 1] not in ("", "\n")))

    def node(self, node: Node) -> Span:
        """Return the span of a node without the blank lines and comments that follow it."""
        return self.span(node.start_mark.index, self.end(node))

    def end(self, node: Node) -> int:
        """Return the offset at which a node ends.

        A parser ends a block where it meets what comes next; here it ends with its last part.
        """
        start = node.start_mark.index
        last: Any = node
        for _ in range(len(self.text)):
            if last.__class__ is ScalarNode or last.flow_style or not last.value:
                break
            inner = last.value[-1]
            last = inner if last.__class__ is SequenceNode else inner[1]
            if last.start_mark.index < start:  # An alias: what it names stands further up.
                break
        end: int = last.end_mark.index
        if end < start or last.start_mark.index < start:
            end = node.end_mark.index
        return start + len(self.text[start:end].rstrip())


_MARKER = re.compile(r"^(?:---|\.\.\.)(?=\s|\Z)", re.MULTILINE)


def document_text(text: str, start: int) -> str:
    """Return the text of the document whose first line begins at an offset.

    A parser that is given one of ten thousand documents must not read all those behind it.
    """
    line_end = text.find("\n", start)
    # The first line may be the marker that begins the document itself; any other one ends it.
    after = _MARKER.search(text, line_end + 1) if line_end >= 0 else None
    return text[start : after.start()] if after else text[start:]


class Places:
    """The composed nodes of one document."""

    def __init__(self, path: str, text: str, line: int) -> None:
        """Compose the document whose first line is ``text``'s first, and ``line`` of its file."""
        # A document that was read once can be composed again, whatever follows it.
        self._root = next(nodes(text))
        self._lines = Lines(path, text[: self._root.end_mark.index + 1], line)
        # Thousands of findings may lie in one mapping, so that it is searched once.
        self._keys: dict[int, dict[str, tuple[Node, Node]]] = {}

    def at(self, pointer: tuple[str | int, ...], *, key: bool) -> Span:
        """Return the place that `load.Document.at` promises."""
        node = self._root
        name: Node | None = None
        for step in pointer:
            found = self._step(node, step)
            if found is None:
                return self._lines.node(node)
            name, node = found
        return self._lines.node(name if key and name is not None else node)

    def _step(self, node: Node, step: str | int) -> tuple[Node | None, Node] | None:
        if isinstance(node, MappingNode):
            keys = self._keys.get(id(node))
            if keys is None:
                keys = self._keys[id(node)] = {
                    name.value: (name, value)
                    for name, value in reversed(node.value)
                    if name.__class__ is ScalarNode
                }
            return keys.get(step) if isinstance(step, str) else None
        if isinstance(node, SequenceNode) and isinstance(step, int):
            return (None, node.value[step]) if 0 <= step < len(node.value) else None
        return None
