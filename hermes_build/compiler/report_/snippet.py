"""Draws the lines of a source file with markers below the places that a finding speaks of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from hermes_build.compiler.diagnostics import Span
from hermes_build.compiler.glyphs import Line, visible

Paint: TypeAlias = Callable[[str, str], str]
"""``paint(style, text)``: the text in a style (``frame``, ``strong``, ``other``, a severity)."""

_CUT = "…"
_WHOLE_UP_TO = 5
"""A span over more lines than this is shown by its first two lines and its last one."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place to point at; ``style`` names its colour, ``sign`` is its marker (``^`` or ``-``)."""

    span: Span
    label: str
    style: str
    sign: str


@dataclass(frozen=True, slots=True)
class _Range:
    """A mark in terms of one file: lines from 1, characters from 0, ends exclusive."""

    mark: Mark
    first: int
    begin: int
    last: int
    end: int

    @property
    def over_lines(self) -> bool:
        return self.last > self.first


def _settle(mark: Mark, lines: Sequence[str]) -> _Range:
    """Clip a span to the file; a span that ends in blank lines ends at the text before them.

    Where only a line is known, a span is empty and begins its line: the whole line is marked.
    """
    span = mark.span
    first = span.line
    begin = min(max(span.column - 1, 0), len(lines[first - 1]))
    last = min(max(span.end_line, first), len(lines))
    end = len(lines[last - 1])
    if last == span.end_line:
        end = min(max(span.end_column - 1, 0), end)
    while last > first and not lines[last - 1][:end].strip():
        last -= 1
        end = len(lines[last - 1])
    if (first, 0, 0) == (last, begin, end):
        text = lines[first - 1]
        begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
    if last == first:
        end = max(end, begin + 1)
    return _Range(mark, first, begin, last, end)


def _is_indent(text: str, one: _Range) -> bool:
    return not text[: one.begin].strip()


def draw(
    lines: Sequence[str], marks: Sequence[Mark], digits: int, width: int, paint: Paint
) -> list[str]:
    """The rows of one file's snippet, from the first marked line to the last.

    Every mark's first line must exist in ``lines``. ``digits`` is the room for line numbers and
    ``width`` the cells for source text, after which a line is cut around its markers.
    """
    return list(_Drawing(lines, marks, digits, width, paint).rows())


class _Drawing:
    """The state of one `draw`: which marks over several lines are open at the current row."""

    def __init__(
        self, lines: Sequence[str], marks: Sequence[Mark], digits: int, width: int, paint: Paint
    ) -> None:
        settled = [_settle(mark, lines) for mark in marks]
        self.lines = lines
        self.short = [one for one in settled if not one.over_lines]
        self.long = [one for one in settled if one.over_lines]
        self.open: set[int] = set()
        self.digits = digits
        self.width = width
        self.paint = paint

    def rows(self) -> Iterator[str]:
        before = 0
        for number in self._shown():
            if before and number > before + 1:
                yield (self._gutter("...", "") + self._bars()).rstrip()
            yield from self._line(number)
            before = number

    def _shown(self) -> list[int]:
        wanted = {one.first for one in self.short}
        for one in self.long:
            whole = one.last - one.first < _WHOLE_UP_TO
            wanted.update(
                range(one.first, one.last + 1) if whole else (one.first, one.first + 1, one.last)
            )
        # A single line is never worth replacing by three dots.
        wanted.update(number + 1 for number in list(wanted) if number + 2 in wanted)
        return sorted(wanted)

    def _line(self, number: int) -> Iterator[str]:
        text = self.lines[number - 1]
        line = Line(text)
        short = [one for one in self.short if one.first == number]
        begins = [(slot, one) for slot, one in enumerate(self.long) if one.first == number]
        ends = [(slot, one) for slot, one in enumerate(self.long) if one.last == number]
        ranges = [(one.begin, one.end) for one in short]
        ranges += [(one.begin, one.begin + 1) for _, one in begins]
        ranges += [(one.end - 1, one.end) for _, one in ends]
        for window in line.windows(ranges, self.width):
            # A mark that begins where the text does needs no row of its own for its beginning.
            plain = {slot for slot, one in begins if not window[0] and _is_indent(text, one)}
            bars = self._bars(heads=plain)
            self.open |= plain
            shown = self._shown_text(line, window)
            yield (self._gutter(str(number), "|") + bars + shown).rstrip()
            for one in short:
                if window[0] <= one.begin <= window[1]:
                    yield self._short(line, window, one)
            for slot, one in begins:
                if slot not in self.open and window[0] <= one.begin <= window[1]:
                    yield self._corner(line, window, slot, one.begin, one, label="")
                    self.open.add(slot)
            for slot, one in ends:
                if slot in self.open and window[0] <= one.end - 1 <= window[1]:
                    yield self._corner(line, window, slot, one.end - 1, one, label=one.mark.label)
                    self.open.discard(slot)

    def _shown_text(self, line: Line, window: tuple[int, int]) -> str:
        begin, end = window
        text = "".join(line.pieces[begin:end])
        return (_CUT if begin else "") + text + (_CUT if end < len(line) else "")

    def _column(self, line: Line, window: tuple[int, int], at: int) -> int:
        """The cell of a character within its window; past the line's end, the cell after it."""
        return line.starts[min(at, len(line))] - line.starts[window[0]] + (1 if window[0] else 0)

    def _short(self, line: Line, window: tuple[int, int], one: _Range) -> str:
        start = self._column(line, window, one.begin)
        stop = self._column(line, window, max(min(one.end, window[1]), one.begin))
        marker = one.mark.sign * max(stop - start, 1)
        label = f" {visible(one.mark.label)}" if one.mark.label else ""
        drawn = self.paint(one.mark.style, marker + label)
        return self._gutter("", "|") + self._bars() + " " * start + drawn

    def _corner(
        self, line: Line, window: tuple[int, int], slot: int, at: int, one: _Range, *, label: str
    ) -> str:
        """The row that leads from a mark's bar to the character where it begins or ends."""
        column = self._column(line, window, at)
        bars = [" "] * (2 * len(self.long))
        styles = [one.mark.style] * len(bars)
        for other in self.open:
            bars[2 * other] = "|"
            styles[2 * other] = self.long[other].mark.style
        for cell in range(2 * slot + 1, len(bars)):
            bars[cell] = "_" if bars[cell] == " " else bars[cell]
        margin = "".join(self.paint(style, char) for style, char in zip(styles, bars, strict=True))
        text = f" {visible(label)}" if label else ""
        lead = self.paint(one.mark.style, "_" * column + one.mark.sign + text)
        return self._gutter("", "|") + margin + lead

    def _bars(self, heads: Set[int] = frozenset()) -> str:
        cells = []
        for slot, one in enumerate(self.long):
            sign = "/" if slot in heads else "|" if slot in self.open else " "
            cells.append(self.paint(one.mark.style, sign) + " " if sign != " " else "  ")
        return "".join(cells)

    def _gutter(self, number: str, bar: str) -> str:
        # The three dots take the place of number and bar together.
        text = f" {number:>{self.digits}} {bar}" if bar else f"{number:<{self.digits + 3}}"
        return self.paint("frame", text) + " "
