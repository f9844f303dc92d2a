"""The door for source files: what may be read, how much of it, and as which text."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from hermes_build.compiler.diagnostics import Findings, Span

MAX_BYTES = 8 * 1024 * 1024
"""The largest source file that is read."""

_SUFFIXES = (".yaml", ".yml")
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_UTF8 = "save the file as UTF-8"
_FOLDER = ("is a folder", "rename the folder: a name in .yaml is a file's")


class _Refused(Exception):
    """A file that is not read; the message is the finding's."""

    def __init__(self, message: str, *help: str, code: str = "HB0001", span: Span | None = None):
        super().__init__(message)
        self.message, self.help, self.code, self.span = message, help, code, span


def find(root: Path, folder: str, findings: Findings) -> list[str]:
    """Return the paths of the YAML files under ``folder``, sorted, relative to ``root``."""
    folder = folder.strip("/")
    top = os.path.join(root, folder)
    if not os.path.lexists(top):
        return []
    if not _is_inside(top, root):
        findings.add(
            "HB0001",
            f"{folder} is a link that leaves the project",
            Span(folder),
            help=("keep the folder inside the project",),
        )
        return []
    return sorted(_walk(top, folder, findings))


def _walk(top: str, folder: str, findings: Findings) -> Iterator[str]:
    waiting = [(top, folder)]
    while waiting:
        place, path = waiting.pop()
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name)
        except OSError as error:
            findings.add("HB0001", f"{path} cannot be read: {_reason(error)}", Span(path))
            continue
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            inner = f"{path}/{name}" if path not in ("", ".") else name
            named = name.lower().endswith(_SUFFIXES)
            if named and inner != _shown(inner):
                _refuse(inner, "is no valid Unicode", "rename it", findings)
            elif not os.path.isdir(entry.path):
                if named:
                    yield inner
            elif entry.is_symlink():
                advice = "links to folders are not followed: move the folder here"
                _refuse(inner, "is a link to a folder", advice, findings)
            elif named:
                _refuse(inner, *_FOLDER, findings)
            else:
                waiting.append((entry.path, inner))


def _refuse(path: str, what: str, advice: str, findings: Findings) -> None:
    shown = _shown(path)
    findings.add("HB0001", f"{shown} {what}", Span(shown), help=(advice,))


def read(root: Path, path: str, findings: Findings) -> str | None:
    """Return the text of a file of the project, or add a finding that says why there is none."""
    try:
        return normalised(_text(_content(root, path), path))
    except _Refused as why:
        message = f"{_shown(path)} {why.message}"
        findings.add(why.code, message, why.span or Span(_shown(path)), help=why.help)
    return None


def normalised(text: str) -> str:
    """Return a text with LF line ends and without a byte order mark."""
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def _content(root: Path, path: str) -> bytes:
    full = os.path.join(root, path)
    _check_place(root, path)
    try:
        # A named pipe would wait for a writer and a device may act on being opened: look first.
        _check_kind(os.stat(full))
        handle = os.open(full, _OPEN)
    except ValueError:
        raise _Refused("cannot be a file name") from None
    except FileNotFoundError:
        if os.path.islink(full):
            raise _Refused("is a link to nothing", "mend the link or remove it") from None
        raise _Refused("does not exist") from None
    except OSError as error:
        raise _Refused(f"cannot be read: {_reason(error)}") from None
    with open(handle, "rb") as file:
        try:
            status = os.fstat(handle)
            _check_kind(status)
            data = file.read(status.st_size + 1)  # room for the most there may be is dear
            if len(data) > status.st_size:
                data += file.read(MAX_BYTES)
            return _bounded(data)
        except OSError as error:
            raise _Refused(f"cannot be read: {_reason(error)}") from None


def _check_place(root: Path, path: str) -> None:
    """Refuse a path that leads out of the project, by its parts or through a link."""
    parts = path.split("/")
    if ".." in parts or os.path.isabs(path) or "\0" in path:
        raise _Refused("is outside the project", "a source file lies inside the project")
    place = os.fspath(root)
    for part in parts:
        place = os.path.join(place, part)
        if os.path.islink(place) and not _is_inside(place, root):
            raise _Refused(
                "is a link that leaves the project",
                "copy the file into the project: what is compiled is what is committed",
            )


def _is_inside(place: str, root: Path) -> bool:
    real, base = os.path.realpath(place), os.path.realpath(root)
    return real == base or real.startswith(base.rstrip(os.sep) + os.sep)


def _check_kind(info: os.stat_result) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise _Refused(*_FOLDER)
    if not stat.S_ISREG(info.st_mode):
        raise _Refused("is not a regular file", "only regular files are read, no pipes or devices")
    _check_size(info.st_size)


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise _Refused(
            f"is larger than {MAX_BYTES // 1024 // 1024} MiB",
            "split it: a file may hold any number of documents, and so may a folder",
            code="HB0011",
        )


def _bounded(data: bytes) -> bytes:
    _check_size(len(data))
    return data


def _text(data: bytes, path: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        raise _Refused("is not UTF-8 but UTF-16 or UTF-32", _UTF8)
    nul = data.find(b"\0")
    if nul >= 0:
        if data[1::2].count(0) * 3 > len(data) or data[0::2].count(0) * 3 > len(data):
            raise _Refused("looks like UTF-16, without a byte order mark", _UTF8)
        raise _Refused(
            f"is binary: byte {nul} is NUL",
            "only text can be compiled",
            span=_span(data, nul, path),
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        at = error.start
        line = data.count(b"\n", 0, at) + 1
        raise _Refused(
            f"is not valid UTF-8: byte {at}, in line {line}, is 0x{data[at]:02x}",
            _UTF8,
            span=_span(data, at, path),
        ) from None


def _span(data: bytes, at: int, path: str) -> Span:
    """Return the place of a byte whose predecessors are valid UTF-8."""
    line = data.count(b"\n", 0, at) + 1
    before = data[data.rfind(b"\n", 0, at) + 1 : at].decode("utf-8", "replace")
    column = len(before.removeprefix("\ufeff")) + 1
    return Span(path, line, column, line, column + 1)


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _shown(path: str) -> str:
    """Return a path as text that can be printed: bytes that are no UTF-8 become escapes."""
    return path.encode("utf-8", "backslashreplace").decode()
