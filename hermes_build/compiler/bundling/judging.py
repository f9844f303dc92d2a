"""What the files of a bundle must not hold: secrets, and paths of the machine that made it.

Secrets are looked for in every file, as text and as UTF-16; what is compressed or encrypted stays
closed. A path counts where it is one of this machine: of the project's folder, of the home folder
and of a folder for temporary files of one's own. What people write for models must not name
anybody's home either. Other absolute paths, such as ``/etc/hosts``, are the program's own business.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from hermes_build.compiler.bundling.places import HOME, NOBODY
from hermes_build.compiler.bundling.secrets import find_secrets
from hermes_build.compiler.diagnostics import Findings, Span

_WINDOW = 1 << 20
_CONTEXT = 4096
"""So much of what was looked at before is looked at again: what begins there may end later."""

_READABLE = re.compile(r"[\t\n\r -~]{8,}")
"""What may hold a secret, in data: the shortest ones have this length with their names."""

_HEAD = 8000
"""A file with a NUL byte so near to its beginning is no text, as git judges it."""

_MOST = 20
"""So many findings of a data file are shown."""


def find_in_texts(texts: Mapping[str, bytes], findings: Findings) -> None:
    """Report every secret in the texts, which are given by their path in the project."""
    for path, data in texts.items():
        text = _decoded(data)
        lines = None
        for one in find_secrets(text, code=_is_code(path)):
            lines = lines or _Lines(path, text)
            _report_secret(path, one.what, lines.span(one.start, one.end), findings)


def find_in_data(
    data: Mapping[str, bytes | Callable[[], Iterable[bytes]]],
    places: Iterable[str],
    findings: Findings,
) -> None:
    """Report secrets and paths of this machine in files that are no text, or large.

    ``data`` maps the path in the project to the content, or to what gives it in pieces; of these,
    never more than a few are held in memory. ``places`` are what `machine_places` tells. Raises
    what giving a content raises.
    """
    named = [(place, _pattern(_as_bytes(place))) for place in places]
    for path, content in data.items():
        pieces = [content] if isinstance(content, bytes) else content()
        for count, (what, found, span) in enumerate(_look(path, pieces, named)):
            if count == _MOST:
                break
            if found:
                _report_path(path, found, span, findings)
            else:
                _report_secret(path, what, span, findings)


def find_paths(
    places: Iterable[str],
    written: Container[str],
    texts: Mapping[str, bytes],
    generated: Mapping[str, bytes],
    findings: Findings,
) -> None:
    """Report paths of this machine in texts, and those of anybody's home in what models read.

    ``places`` are what `machine_places` tells. ``written`` are specs, which are among ``texts``;
    what a spec says stands in the ``generated`` files too, and is reported where people wrote it.
    """
    known: set[str] = set()
    patterns = [(one, _pattern(one)) for one in places]
    for files in (texts, generated):
        for path, data in files.items():
            text = _decoded(data)
            is_read = files is generated or path in written
            for start, end in _paths(text, patterns, anybody=is_read):
                found = text[start:end]
                if files is generated and found in known:
                    continue
                known.add(found)
                _report_path(path, found, _Lines(path, text).span(start, end), findings)


def _pattern(place: str) -> re.Pattern[str]:
    """What finds a place in a text, where nothing continues its name on either side."""
    if re.match(r"[A-Za-z]:|\\\\", place):  # of Windows, where a text may double the backslash
        body = r"(?i:" + r"(?:\\{1,2}|/)".join(map(re.escape, re.split(r"[\\/]+", place))) + ")"
    else:
        body = re.escape(place.rstrip("/"))
    return re.compile(rf"(?:(?<![\w.~/-])|(?<=://)){body}(?![\w-])(?!\.\w)")


def _paths(
    text: str, patterns: Iterable[tuple[str, re.Pattern[str]]], *, anybody: bool
) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    if anybody and ("/home/" in text or "Users" in text):  # a pattern takes a hundred times as long
        found = [one.span() for one in HOME.finditer(text) if one[1].lower() not in NOBODY]
    for place, pattern in patterns:  # the longest place first: it covers those that it lies in
        if place.rstrip("/") not in text and "\\" not in place:
            continue
        for match in pattern.finditer(text):
            start, end = match.span()
            if not any(start < other[1] and other[0] < end for other in found):
                found.append((start, end))
    return sorted(found)


@dataclass(slots=True)
class _Position:
    """How far a file was read: ``line`` from 1, and the characters of it that were read."""

    offset: int = 0
    line: int = 1
    column: int = 0

    def after(self, data: bytes) -> _Position:
        start = data.rfind(b"\n") + 1
        column = len(data[start:].decode("utf-8", "replace")) + (0 if start else self.column)
        return _Position(self.offset + len(data), self.line + data.count(b"\n"), column)


def _look(
    path: str, pieces: Iterable[bytes], named: list[tuple[str, re.Pattern[str]]]
) -> Iterator[tuple[str, str, Span]]:
    """What a file holds that it must not: what it is, the place that it names if any, and where."""
    base, new, is_text = _Position(), 0, None
    for window, is_last in _windows(pieces):
        if is_text is None:
            is_text = b"\0" not in window[:_HEAD]
        until = len(window) if is_last else len(window) - _CONTEXT
        for start, end, what, found in sorted(_hits(window, named, code=_is_code(path))):
            if new <= start < until:
                span = Span(path)
                if is_text:
                    at, to = base.after(window[:start]), base.after(window[:end])
                    span = Span(path, at.line, at.column + 1, to.line, to.column + 1)
                else:
                    what += f" (at byte {base.offset + start:,})"
                yield what, found, span
        # The next window begins with as much of this one as may belong to what follows.
        kept = max(until - _CONTEXT, 0)
        base, new = base.after(window[:kept]), until - kept


def _windows(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Overlapping stretches of a content, each with whether it is the last."""
    held = b""
    for piece in pieces:
        for start in range(0, len(piece), _WINDOW):
            held += piece[start : start + _WINDOW]
            if len(held) >= _WINDOW:
                yield held, False
                held = held[-2 * _CONTEXT :]
    yield held, True


def _hits(
    window: bytes, named: list[tuple[str, re.Pattern[str]]], *, code: bool
) -> Iterator[tuple[int, int, str, str]]:
    """Where something stands, as offsets; bytes are characters here, since all of it is ASCII."""
    text = window.decode("latin-1")
    yield from _hits_in_text(text, named, code)
    if "\0" not in text:
        return
    halves = text[::2], text[1::2]
    for first in (0, 1):
        # UTF-16, whichever byte comes first: one half is the text, and the other one NUL bytes.
        half, other = halves[first], halves[1 - first]
        for start, end, what, found in _hits_in_text(half, named, code):
            inner = other[start + 1 : end]
            if inner.count("\0") == len(inner):
                yield 2 * start + first, 2 * end + first, what, found


def _hits_in_text(
    text: str, named: list[tuple[str, re.Pattern[str]]], code: bool
) -> Iterator[tuple[int, int, str, str]]:
    whole, places = _readable(text) if "\0" in text else (text, [(0, 0)])
    for one in find_secrets(whole, code=code):
        at, place = places[bisect_right(places, (one.start, len(text))) - 1]
        yield one.start - at + place, one.end - at + place, one.what, ""
    covered: list[tuple[int, int]] = []
    for name, pattern in named:
        if _as_bytes(name) in text or "\\" in name:
            for match in pattern.finditer(text):
                start, end = match.span()
                if not any(start < other[1] and other[0] < end for other in covered):
                    covered.append((start, end))
                    yield start, end, "", name


def _readable(text: str) -> tuple[str, list[tuple[int, int]]]:
    """What can be read of data, each part on a line, and where each part begins: here, and there.

    Most of what is no text is none of it, which makes looking for secrets quick.
    """
    parts, places, at = [], [(0, 0)], 0
    for match in _READABLE.finditer(text):
        parts.append(match[0])
        places.append((at, match.start()))
        at += len(match[0]) + 1
    return "\n".join(parts), places


def _as_bytes(text: str) -> str:
    """A text as its bytes look where each of them is taken for a character."""
    return os.fsencode(text).decode("latin-1")


def _report_secret(path: str, what: str, span: Span, findings: Findings) -> None:
    findings.add(
        "HB8110",
        f"`{path}` holds {what}, and would take it along",
        span,
        label="looks like a secret",
        help=("read it from the environment when the tool runs", "revoke it if it is real"),
    )


def _report_path(path: str, found: str, span: Span, findings: Findings) -> None:
    findings.add(
        "HB8109",
        f"`{path}` holds a path of one machine: `{found}`",
        span,
        label="not there elsewhere",
        help=("write it relative to the workspace, or with a made-up name",),
    )


def _is_code(path: str) -> bool:
    return path.endswith((".py", ".pyi"))


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class _Lines:
    """Turns offsets in a text into lines and columns."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def span(self, start: int, end: int) -> Span:
        line, column = self._position(start)
        end_line, end_column = self._position(end)
        return Span(self._path, line, column, end_line, end_column)

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1
