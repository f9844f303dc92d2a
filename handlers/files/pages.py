"""One page of a search's results, put together while the search still runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from handlers.files.events import Event
from handlers.files.globs import Glob
from handlers.room import room_of

COUNTED = 10_000
"""How many results are counted; a search that has found more is stopped."""

LINE_CHARS = 400
"""How much of a long line is shown, around where it matches."""

PAGE_CHARS = 60_000
"""Where a page ends even when its limit is not reached; below the tool's `max_result_chars`."""


@dataclass(slots=True)
class _File:
    """What one file has so far; it counts only once the file proves to be text."""

    path: str
    matches: int = 0
    rows: list[tuple[int, bool, str]] = field(default_factory=list)


@dataclass(slots=True)
class Page:
    """Results ``offset`` to ``offset + limit`` of a search in one ``mode``.

    The mode is ``files`` or an output mode. What is counted is matching lines for ``content``, and
    files for the others. ``prefix`` leads from the workspace's root to the searched folder.
    """

    mode: str
    prefix: str
    globs: tuple[Glob, ...]
    offset: int
    limit: int
    context: int
    hidden: bool
    results: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    total: int = 0
    taken: int = 0
    matches: int = 0
    chars: int = 0
    error: str = ""
    _file: _File | None = None
    _skipped: bool = False

    @property
    def full(self) -> bool:
        """Whether so much was found that the search need not go on."""
        return self.total > max(COUNTED, self.offset + self.limit)

    def add_path(self, path: str) -> None:
        """Take in a file of the list of files."""
        if self._wanted(path):
            self._take(self.prefix + path, room_of(path))

    def add_event(self, event: Event) -> None:
        """Take in the next thing that the search prints."""
        if event.kind == "error":
            self.error = event.text
        elif event.kind == "begin":
            self._file = _File(event.path) if self._wanted(event.path) else None
        elif self._file is None:
            return
        elif event.kind == "end":
            if not event.binary and self._file.matches:
                self._finish(self._file)
            self._file = None
        else:
            self._add_line(self._file, event)

    def answer(self, backend: str, stopped: bool, deadline: float) -> dict[str, Any]:
        """The page as JSON data."""
        answer: dict[str, Any] = {"results": self.results, "total": self.total}
        if self.mode == "count":
            answer["matches"] = self.matches
        if self.offset + self.taken < self.total:
            answer["next_offset"] = self.offset + self.taken
        answer["backend"] = backend
        if stopped:
            busy = f" while it searched {self.prefix}{self._file.path}" if self._file else ""
            self.notes.append(f"the search was stopped after {deadline:g} s{busy}")
        if self.full:
            self.notes.append("there is more than was counted; narrow the search")
        if stopped or self.full:
            answer["incomplete"] = True
        if self.notes:
            answer["notes"] = self.notes
        return answer

    def _wanted(self, path: str) -> bool:
        if not self.hidden and any(part.startswith(".") for part in path.split("/")):
            return False
        return all(glob.matches(path) for glob in self.globs)

    def _open(self, index: int) -> bool:
        """Whether the result of this number belongs on the page, and there is room for it."""
        return self.offset <= index < self.offset + self.limit and self.chars < PAGE_CHARS

    def _take(self, result: Any, chars: int) -> None:
        # A page that was closed for its length must not take a later, shorter result.
        if self._open(self.total) and self.total == self.offset + self.taken:
            self.results.append(result)
            self.taken += 1
            self.chars += chars
        self.total += 1

    def _add_line(self, file: _File, event: Event) -> None:
        index = self.total + file.matches
        is_match = event.kind == "match"
        file.matches += is_match
        if self.mode != "content":
            return
        # A context line may come before the first match of the page, or after its last.
        if self._open(index) or (not is_match and self._open(index - 1)):
            text = _shortened(event.text, event.column if is_match else 0)
            file.rows.append((event.line, is_match, text))
            self.chars += room_of(text) + 8

    def _finish(self, file: _File) -> None:
        path = self.prefix + file.path
        if self.mode == "count":
            self.matches += file.matches
            self._take({"path": path, "count": file.matches}, room_of(path) + 20)
        elif self.mode == "files_with_matches":
            self._take(path, room_of(path))
        else:
            self._finish_content(path, file)

    def _finish_content(self, path: str, file: _File) -> None:
        self.total += file.matches
        shown = [line for line, is_match, _ in file.rows if is_match]
        self.taken += len(shown)
        if not shown:
            return
        around = range(-self.context, self.context + 1)
        near = {line + distance for line in shown for distance in around}
        lines: list[str] = []
        previous = 0
        for line, is_match, text in file.rows:
            if line not in near:
                continue
            if self.context and previous and line > previous + 1:
                lines.append("--")
            lines.append(f"{line}{':' if is_match else '-'}{text}")
            previous = line
        self.chars += room_of(path)
        self.results.append({"path": path, "lines": lines})


def _shortened(text: str, column: int) -> str:
    if len(text) <= LINE_CHARS:
        return text
    start = max(0, min(column - LINE_CHARS // 4, len(text) - LINE_CHARS))
    end = start + LINE_CHARS
    return f"{'…' * (start > 0)}{text[start:end]}{'…' * (end < len(text))}"
