"""The search without ripgrep: a program of its own that prints what ``rg --json`` would print.

It runs in a child process, because an expression can take for ever on one line and nothing but the
end of the process stops `re`. Its source is run in Python's isolated mode, so it imports only the
standard library and nothing of this package. The request is one JSON object on the standard input;
the answer is NUL-ended paths, or one JSON event a line.
"""

from __future__ import annotations

import codecs
import fnmatch
import json
import os
import re
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")
"""Folders that are never entered."""

MEMORY = 2 << 30
"""What the process may use, in bytes; an expression can also ask for too much of it."""

_HEAD = 1 << 16


def main() -> None:
    """Answer the request on the standard input."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    request = json.load(sys.stdin)
    try:
        if request["target"] == "files":
            for path in _files(request):
                sys.stdout.buffer.write(os.fsencode(path) + b"\0")
        else:
            _search(request)
    except re.error as error:
        _event("error", message=str(error))
    except (MemoryError, RecursionError, OverflowError):
        _event("error", message="the expression needs too much memory")
    sys.stdout.flush()


def _files(request: dict[str, Any]) -> Iterator[str]:
    """The paths to look at, folder by folder in the order of their names' bytes."""
    start = request["start"]
    if start != ".":
        yield f"./{start}"
        return
    names = [re.compile(fnmatch.translate(name)) for name in request["names"]]
    pending = ["."]
    while pending:
        path = pending.pop()
        if not path.endswith("/") and path != ".":
            name = path.rpartition("/")[2]
            if not names or any(one.match(name) for one in names):
                yield path
            continue
        found = []
        # A folder that may not be read, or is gone by now, is passed over as ripgrep does.
        with suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                if entry.name in VERSION_CONTROL or (
                    entry.name.startswith(".") and not request["hidden"]
                ):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    found.append(f"{path.rstrip('/')}/{entry.name}/")
                elif entry.is_file(follow_symlinks=False):
                    found.append(f"{path.rstrip('/')}/{entry.name}")
        pending += sorted(found, key=lambda one: os.fsencode(one.rstrip("/")), reverse=True)


def _search(request: dict[str, Any]) -> None:
    pattern = re.escape(request["pattern"]) if request["literal"] else request["pattern"]
    expression = re.compile(pattern, re.IGNORECASE if request["ignore_case"] else 0)
    for path in _files(request):
        lines = _lines(path, request["most_bytes"])
        if lines is None:
            continue
        # The line goes out before the file is searched, so that a search that is stopped can
        # name the file that it was busy with.
        _event("begin", path=_text(path))
        sys.stdout.flush()
        _search_lines(lines, expression, request["context"])
        _event("end", path=_text(path), binary_offset=None)


def _search_lines(lines: list[str], expression: re.Pattern[str], context: int) -> None:
    before: deque[tuple[int, str]] = deque(maxlen=context)
    after = 0
    for number, line in enumerate(lines, 1):
        match = expression.search(line)
        if match:
            for one in before:
                _line("context", *one)
            before.clear()
            _line("match", number, line, [{"start": len(line[: match.start()].encode())}])
            after = context
        elif after:
            after -= 1
            _line("context", number, line)
        else:
            before.append((number, line))


def _lines(path: str, most: int) -> list[str] | None:
    """The lines of a text file without their ends; None for one that is not searched."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            if os.fstat(descriptor).st_size > most:
                return None
            data = stream.read(_HEAD)
            wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
            if b"\0" in data and not wide:
                return None
            data += stream.read(most)
    except OSError:
        return None
    if wide:
        return _split(data.decode("utf-16", "replace"))
    if b"\0" in data:
        return None
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return _split(data.decode("utf-8"))
    except UnicodeDecodeError:
        return [_decoded(line) for line in _split(data.decode("latin-1"))]


def _split(text: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines if lines[-1] else lines[:-1]


def _decoded(line: str) -> str:
    try:
        return line.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return line


def _line(kind: str, number: int, line: str, submatches: Any = ()) -> None:
    _event(kind, line_number=number, lines={"text": line}, submatches=list(submatches))


def _text(path: str) -> dict[str, str]:
    return {"text": os.fsencode(path).decode("utf-8", "replace")}


def _event(kind: str, **data: Any) -> None:
    sys.stdout.write(json.dumps({"type": kind, "data": data}) + "\n")


if __name__ == "__main__":
    main()
