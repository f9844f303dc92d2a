"""What a person would see of the bytes that a program writes to a terminal, as plain text."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor movements
    r"|\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # commands to the system: titles, links
    r"|[PX^_][^\x1b\n]*\x1b\\"  # other strings for the terminal
    r"|[ -/]*[0-~]"  # short sequences, and the beginning of one that never ends
    r")"
)
# C0 without tab and line feed, DEL, and C1.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ERASE_REST = re.compile(r"\x1b\[0?K")
_ERASE_LINE = "\x1b[2K"
_UNFINISHED = re.compile(
    rb"\x1b(?:[ -/]*|\[[0-?]*[ -/]*|\][^\x07\x1b\n]*\x1b?|[PX^_][^\x1b\n]*\x1b?)\Z"
)

_LONGEST_WAIT = 256
"""How many bytes of an unfinished sequence are held back; a longer one is shown as it is."""


def clean(data: bytes) -> str:
    """Turn a program's output into text: UTF-8 (U+FFFD for what is none), no control characters.

    Tabs and line feeds stay, and every line feed does. A carriage return lets what follows in its
    line overwrite what stands there, so that of a progress bar the last state is left; a backspace
    takes the character before it away.
    """
    text = data.decode("utf-8", "replace")
    if "\r" in text:
        text = "\n".join(_overwritten(line) if "\r" in line else line for line in text.split("\n"))
    return _plain(text)


def complete(data: bytes) -> int:
    """How many bytes of an unfinished stream can be cleaned apart from what is still to come.

    What is cut off is half a character, half an escape sequence or a carriage return whose line
    feed may follow.
    """
    end = len(data)
    begun = _UNFINISHED.search(data, max(0, end - _LONGEST_WAIT))
    if begun:
        return begun.start()
    if data.endswith(b"\r"):
        return end - 1
    for back in range(1, min(4, end + 1)):
        byte = data[end - back]
        if byte & 0xC0 == 0x80:  # a later byte of a character
            continue
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return end - back if length > back else end
    return end


def _plain(text: str) -> str:
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    if "\b" in text:
        text = _backspaced(text)
    return _CONTROL.sub("", text)


def _overwritten(line: str) -> str:
    """One line after its carriage returns; the parts are looked at from the last one back."""
    pieces: list[str] = []
    width = 0
    for part in reversed(line.split("\r")):
        text = _plain(part.rpartition(_ERASE_LINE)[2])
        pieces.append(text[width:])
        width = max(width, len(text))
        if _ERASE_LINE in part or _ERASE_REST.search(part):
            break
    return "".join(pieces)


def _backspaced(text: str) -> str:
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)
