"""Reading unified diffs: of one file or of many, plain or as git writes them.

What models get wrong about the form is read as it was meant and noted: line counts that do not
fit, blank context lines that lost their space. What could be meant in two ways is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from handlers.refusal import Refusal

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(r"\\([0-7]{3}|.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_NO_END = "\\"


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk: its lines as ``(sign, text)``, where the text has its line end.

    ``start`` is the index (from 0) at which its old lines are said to begin.
    """

    number: int
    start: int
    lines: tuple[tuple[str, str], ...]
    note: str = ""

    @property
    def old(self) -> list[str]:
        """The lines that must stand in the file."""
        return [text for sign, text in self.lines if sign != "+"]


@dataclass(slots=True)
class FilePatch:
    """What a patch does to one file; a missing side is a file that is not there.

    ``git`` tells a rename that the patch declares from two names of one file, as ``diff`` and
    ``patch`` have them.
    """

    old_path: str | None
    new_path: str | None
    git: bool = False
    executable: bool | None = None
    hunks: list[Hunk] = field(default_factory=list)


def parse(patch: str) -> list[FilePatch]:
    """The files of a patch, in its order.

    Raises:
        Refusal: when there is none, or a part of it cannot be read; it names the line.
    """
    if re.search(r"^\*\*\* (Begin Patch|Update File|Add File)", patch, re.MULTILINE):
        raise Refusal(
            "This is not a unified diff. Give `--- a/path`, `+++ b/path` and `@@ -1,3 +1,3 @@` "
            "lines, as `git diff` prints them."
        )
    reader = _Reader(patch.split("\n"))
    reader.read()
    if not reader.files:
        raise Refusal(
            "There is no file header in the patch. Each file begins with `--- a/path` and "
            "`+++ b/path`, and `/dev/null` stands for a file that is not there."
        )
    for one in reader.files:
        if one.old_path is None and one.new_path is None:
            raise Refusal("A file of the patch has /dev/null on both sides.")
        if not one.hunks and one.old_path == one.new_path and one.executable is None:
            raise Refusal(f"{one.new_path}: the patch has a header and no hunk for this file.")
    return reader.files


class _Reader:
    """One pass over the lines; ``at`` is the next one."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.at = 0
        self.files: list[FilePatch] = []

    def read(self) -> None:
        current: FilePatch | None = None
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith("diff --git "):
                current = self._git_header(line)
                self.files.append(current)
            elif self._is_file_header(self.at):
                old, new = _path(line[4:]), _path(self.lines[self.at + 1][4:])
                self.at += 2
                if current is None or current.hunks or not current.git:
                    current = FilePatch(None, None)
                    self.files.append(current)
                if not (current.git and current.old_path != current.new_path):
                    current.old_path, current.new_path = _unprefixed(old, new)
            elif line.startswith("@@"):
                if current is None:
                    raise self._wrong("a hunk comes before any `--- a/path` and `+++ b/path`")
                current.hunks.append(self._hunk(len(current.hunks) + 1))
            elif line.startswith(("GIT binary patch", "Binary files ")):
                raise self._wrong("changes of binary files cannot be applied")
            elif (
                current
                and current.hunks
                and line[:1] in ("+", "-")
                and line.strip() not in ("--", "---")
            ):
                raise self._wrong("a changed line stands outside of any hunk")
            else:
                self.at += 1

    def _git_header(self, line: str) -> FilePatch:
        old, new = _git_paths(line[len("diff --git ") :])
        result = FilePatch(old, new, git=True)
        self.at += 1
        while self.at < len(self.lines):
            key, value = _git_field(self.lines[self.at].rstrip("\r"))
            if key == "new file mode":
                result.old_path, result.executable = None, self._executable(value)
            elif key == "deleted file mode":
                result.new_path = None
            elif key == "new mode":
                result.executable = self._executable(value)
            elif key == "rename from":
                result.old_path = _unquoted(value)
            elif key == "rename to":
                result.new_path = _unquoted(value)
            elif key.startswith("copy"):
                raise self._wrong("copies cannot be applied; add the file instead")
            elif not key:
                break
            self.at += 1
        if result.old_path is None and result.new_path is None:
            raise self._wrong("the file's path cannot be read from this header")
        return result

    def _executable(self, mode: str) -> bool:
        if not mode.startswith("100"):
            raise self._wrong("only regular files can be patched, no links and no submodules")
        return mode == "100755"

    def _hunk(self, number: int) -> Hunk:
        match = _HUNK.match(self.lines[self.at])
        if not match:
            raise self._wrong("a hunk header has the form `@@ -12,5 +12,6 @@`")
        first, old_count, _, new_count = (int(one or 1) for one in match.groups())
        self.at += 1
        body, note = self._body(old_count, new_count)
        if not any(sign != " " for sign, _ in body):
            raise self._wrong(f"hunk {number} changes nothing")
        # With no old lines the header names the line after which the new ones come.
        return Hunk(number, first if old_count == 0 else max(0, first - 1), tuple(body), note)

    def _body(self, old_left: int, new_left: int) -> tuple[list[tuple[str, str]], str]:
        begin, said = self.at, f"{old_left} old and {new_left} new lines"
        body: list[tuple[str, str]] = []
        while (old_left > 0 or new_left > 0) and self._is_body(self.at):
            sign = self._take(body)
            old_left -= sign != "+"
            new_left -= sign != "-"
            self._no_end(body)
        if old_left == 0 and new_left == 0 and self._is_boundary():
            return body, ""
        # The counts are wrong, so the form of the lines decides where the hunk ends.
        self.at = begin
        body = []
        while self._is_body(self.at) and not self._is_file_header(self.at):
            self._take(body)
            self._no_end(body)
        while body and body[-1] == (" ", "\n") and self.lines[self.at - 1] == "":
            body.pop()
            self.at -= 1
        old = sum(sign != "+" for sign, _ in body)
        new = sum(sign != "-" for sign, _ in body)
        return body, f"the header says {said}, the hunk has {old} and {new}"

    def _take(self, body: list[tuple[str, str]]) -> str:
        line = self.lines[self.at]
        self.at += 1
        # Editors and models strip the space of a blank context line.
        sign, text = (line[0], line[1:]) if line.strip("\r") else (" ", line)
        body.append((sign, text + "\n"))
        return sign

    def _no_end(self, body: list[tuple[str, str]]) -> None:
        if body and self.at < len(self.lines) and self.lines[self.at].startswith(_NO_END):
            body[-1] = (body[-1][0], body[-1][1].removesuffix("\n"))
            self.at += 1

    def _is_body(self, at: int) -> bool:
        if at >= len(self.lines):
            return False
        line = self.lines[at]
        # The text after the patch's last line end is no line.
        blank = line.strip("\r") == "" and at < len(self.lines) - 1
        return blank or line.startswith((" ", "+", "-"))

    def _is_boundary(self) -> bool:
        """Whether a hunk may end here: nothing follows that still looks like its lines."""
        if self.at >= len(self.lines):
            return True
        line = self.lines[self.at]
        signature = line.rstrip("\r") == "-- "
        return line[:1] not in ("+", "-", " ") or signature or self._is_file_header(self.at)

    def _is_file_header(self, at: int) -> bool:
        pair = self.lines[at : at + 2]
        return len(pair) == 2 and pair[0].startswith("--- ") and pair[1].startswith("+++ ")

    def _wrong(self, what: str) -> Refusal:
        at = min(self.at, len(self.lines) - 1)
        return Refusal(
            f"The patch cannot be read at line {at + 1}: {what}.",
            line=at + 1,
            text=self.lines[at][:200],
        )


def _path(text: str) -> str | None:
    """A path of a ``---`` or ``+++`` line, without the time that may follow it after a tab."""
    text = text.rstrip("\r")
    path = _unquoted(text) if text.startswith('"') else text.split("\t", 1)[0].rstrip(" ")
    return None if path == "/dev/null" else path


def _unprefixed(old: str | None, new: str | None) -> tuple[str | None, str | None]:
    """Both paths without git's ``a/`` and ``b/``, where both sides have them."""
    if (old is None or old.startswith("a/")) and (new is None or new.startswith("b/")):
        return old and old[2:], new and new[2:]
    return old, new


def _git_paths(text: str) -> tuple[str | None, str | None]:
    """Both paths of a ``diff --git`` line: it does not mark where the first ends.

    That is decided only where both are the same, which is when no other line names them.
    """
    text = text.rstrip("\r")
    if text.startswith('"') and (end := re.match(r'"(?:[^"\\]|\\.)*"', text)):
        return _unprefixed(_unquoted(end[0]), _unquoted(text[end.end() :].strip()))
    middle = len(text) // 2
    old, new = text[:middle], text[middle + 1 :]
    if old[:2] == "a/" and new[:2] == "b/" and old[2:] == new[2:]:
        return old[2:], new[2:]
    parts = text.split(" ")
    return _unprefixed(parts[0], parts[1]) if len(parts) == 2 else (None, None)


def _git_field(line: str) -> tuple[str, str]:
    for key in (
        "old mode",
        "new mode",
        "new file mode",
        "deleted file mode",
        "rename from",
        "rename to",
        "copy from",
        "copy to",
        "similarity index",
        "dissimilarity index",
        "index",
    ):
        if line.startswith(f"{key} "):
            return key, line[len(key) + 1 :]
    return "", ""


def _unquoted(text: str) -> str:
    """A path as git quotes it: in double quotes, with octal escapes for bytes."""
    text = text.rstrip("\r")
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):
        return text

    def plain(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code, 8)) if code.isdigit() else _ESCAPED.get(code, code)

    return _bytes_as_text(_ESCAPE.sub(plain, text[1:-1]))


def _bytes_as_text(text: str) -> str:
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
