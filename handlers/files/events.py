"""Reading what a search prints: ripgrep's JSON events, or NUL-ended paths."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Event:
    """``kind`` is ``begin``, ``match``, ``context``, ``end`` or ``error``.

    ``column`` is the index (from 0) of the character at which the first match begins.
    """

    kind: str
    path: str = ""
    line: int = 0
    text: str = ""
    column: int = 0
    binary: bool = False


def paths(output: IO[bytes]) -> Iterator[str]:
    """Each path of a NUL-ended list."""
    rest = b""
    while block := output.read(_BLOCK):
        *whole, rest = (rest + block).split(b"\0")
        for path in whole:
            yield _path(path)


def read_events(output: IO[bytes]) -> Iterator[Event]:
    """Each event that says something about files and lines."""
    for raw in output:
        if not raw.endswith(b"\n"):
            return  # The program was stopped in the middle of a line.
        event = json.loads(raw)
        kind, data = event["type"], event["data"]
        if kind in ("match", "context"):
            line = _bytes(data["lines"])
            found = data["submatches"]
            start = found[0]["start"] if found else 0
            yield Event(
                kind,
                line=data["line_number"],
                text=_text(line.removesuffix(b"\n").removesuffix(b"\r")),
                column=len(_text(line[:start])),
            )
        elif kind in ("begin", "end"):
            binary = data.get("binary_offset") is not None
            yield Event(kind, path=_path(_bytes(data["path"])), binary=binary)
        elif kind == "error":
            yield Event(kind, text=data["message"])


def _bytes(value: dict[str, Any]) -> bytes:
    """Text that is not UTF-8 comes in base64."""
    if "text" in value:
        text: str = value["text"]
        return text.encode()
    return base64.b64decode(value["bytes"])


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _path(data: bytes) -> str:
    return data.decode("utf-8", "replace").removeprefix("./")
