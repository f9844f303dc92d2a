"""What `read_file` does: one page of a text file, with line numbers.

The file is streamed. What is kept in memory is the page, and of a long line its beginning, so that
a file larger than the memory, or one of a single line, costs no more than a small one.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from handlers.files import encodings
from handlers.files.nearest import missing
from handlers.files.workspace import Place, Workspace, printable
from handlers.refusal import Refusal, refusing

LINE_CHARS = 2_000
"""How many characters of one line are shown."""

PAGE_CHARS = 80_000
"""Where a page ends even when its lines are not used up; below the tool's `max_result_chars`."""

COUNT_BYTES = 1 << 30
"""How far a file is read only to count its lines."""

ENTRIES = 20
"""How many names of a folder's content the refusal of a folder lists."""

_CHUNK = 1 << 18
_KEEP = LINE_CHARS * 4


@dataclass(slots=True)
class _Page:
    """The lines of a page, and what was learnt about the file while it went by."""

    first: int
    last: int
    lines: list[str] = field(default_factory=list)
    chars: int = 0
    total: int = 0
    whole: bool = True
    ended: bool = True
    crlf: int = 0
    latin: int = 0
    cut: int = 0


def read_file(workspace: Workspace, path: str, offset: int = 1, limit: int = 500) -> str:
    """Lines ``offset`` to ``offset + limit - 1`` of a text file, counted from 1.

    Each line is ``NUMBER|TEXT``; a last line in brackets says which lines these are, how many
    there are, how to read on, and what is unusual about the file.

    Raises:
        Refusal: when there is no such file, it is not text, or it has fewer than ``offset`` lines.
    """
    place = workspace.locate(path)
    status = workspace.status(place)
    if status is None:
        raise missing(workspace, place)
    if not place.parts or stat.S_ISDIR(status.st_mode):
        raise _folder(workspace, place)
    with workspace.open_file(place) as descriptor, refusing(place.shown):
        head = os.pread(descriptor, encodings.HEAD, 0)
        kind = encodings.binary_kind(head)
        if kind:
            size = os.fstat(descriptor).st_size
            raise Refusal(
                f"{place.shown} is {kind} ({size:,} bytes), not text.", path=place.shown, size=size
            )
        encoding = encodings.marked(head) or encodings.UTF_8
        page = _Page(offset, offset + limit - 1)
        _fill(page, _utf8(_chunks(descriptor, len(encoding.mark)), encoding))
    return _shown(page, place, encoding)


def _chunks(descriptor: int, start: int) -> Iterator[bytes]:
    os.lseek(descriptor, start, os.SEEK_SET)
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk


def _utf8(chunks: Iterable[bytes], encoding: encodings.Encoding) -> Iterator[bytes]:
    """The chunks as UTF-8, so that lines are found in bytes whatever the encoding."""
    if encoding.codec == "utf-8":
        yield from chunks
        return
    for text in codecs.iterdecode(chunks, encoding.codec, errors="replace"):
        yield text.encode("utf-8")


def _fill(page: _Page, chunks: Iterable[bytes]) -> None:
    """Let the file go by: collect the lines of the page, and count the others."""
    number, kept, length, tail, seen = 1, bytearray(), 0, b"", 0
    for chunk in chunks:
        seen += len(chunk)
        position = 0
        while position < len(chunk):
            if number < page.first or number > page.last:
                position, number = _skip(chunk, position, number, page.first)
                continue
            end = chunk.find(b"\n", position)
            piece = chunk[position : end if end >= 0 else len(chunk)]
            kept += piece[: max(0, _KEEP - len(kept))]
            length += len(piece)
            tail = piece[-1:] or tail
            position += len(piece)
            if end < 0:
                continue
            position += 1
            _add(page, kept, length, tail)
            number, kept, length, tail = number + 1, bytearray(), 0, b""
            if page.chars >= PAGE_CHARS:
                page.last = number - 1
        page.ended = chunk.endswith(b"\n")
        if seen > COUNT_BYTES and number > page.last:
            page.whole = False
            break
    if length:
        _add(page, kept, length, tail)
    page.total = number - 1 if page.ended else number


def _skip(chunk: bytes, position: int, number: int, first: int) -> tuple[int, int]:
    """Pass over lines that are not shown; stop at line ``first`` where it begins in this chunk."""
    count = chunk.count(b"\n", position)
    if number > first or number + count < first:
        return len(chunk), number + count
    while number < first:
        position = chunk.index(b"\n", position) + 1
        number += 1
    return position, number


def _add(page: _Page, kept: bytearray, length: int, tail: bytes) -> None:
    crlf = tail == b"\r"
    page.crlf += crlf
    whole = length <= len(kept)
    raw = bytes(kept[:-1] if crlf and whole else kept)
    try:
        # A line that was cut may end inside a character; what is left of it is dropped.
        text = codecs.getincrementaldecoder("utf-8")().decode(raw, final=whole)
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
        page.latin += 1
    if not whole or len(text) > LINE_CHARS:
        text = text[:LINE_CHARS]
        left = length - crlf - len(text.encode("utf-8", "replace"))
        text += f"… [line cut here: about {left:,} more bytes]"
        page.cut += 1
    page.lines.append(text)
    page.chars += len(text)


def _shown(page: _Page, place: Place, encoding: encodings.Encoding) -> str:
    if not page.total:
        return f"[{place.shown} is empty]"
    total = f"{page.total:,}" if page.whole else f"more than {page.total:,}"
    if not page.lines:
        raise Refusal(
            f"{place.shown} has {total} line{'s' * (page.total != 1)}; "
            f"there is no line {page.first:,}.",
            path=place.shown,
            total_lines=page.total,
        )
    last = page.first + len(page.lines) - 1
    at_end = page.whole and last == page.total
    notes = [f"lines {page.first:,} to {last:,} of {total}"]
    notes.append("the end of the file" if at_end else f"read on with offset={last + 1}")
    if at_end and not page.ended:
        notes.append("no line end after the last line")
    if encoding is not encodings.UTF_8:
        notes.append(f"encoded as {encoding.shown}")
    if page.latin:
        notes.append(f"not UTF-8 and shown as Latin-1: {page.latin} of these lines")
    if page.crlf:
        all_of_them = page.crlf >= len(page.lines) - (at_end and not page.ended)
        notes.append("lines end in CRLF" if all_of_them else "some lines end in CRLF")
    if page.cut:
        notes.append(f"cut after {LINE_CHARS:,} characters: {page.cut} of these lines")
    numbered = [f"{page.first + index:5d}|{line}" for index, line in enumerate(page.lines)]
    return "\n".join([*numbered, f"[{'; '.join(notes)}]"])


def _folder(workspace: Workspace, place: Place) -> Refusal:
    with (
        refusing(place.shown),
        workspace.folder(place.parts) as folder,
        os.scandir(folder) as entries,
    ):
        names = sorted(printable(one.name) + "/" * one.is_dir() for one in entries)
    listed = ", ".join(names[:ENTRIES]) + (" and more" if len(names) > ENTRIES else "")
    return Refusal(
        f"{place.shown} is a folder, not a file. It holds: {listed or 'nothing'}. "
        "List a folder with search_files.",
        path=place.shown,
        entries=names[:ENTRIES],
    )
