"""The door for what goes into a bundle: regular files of the project, and no link on the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.regular import read_regular

MAX_TEXT = 4_000_000
"""The largest text file, in bytes; to parse one takes some 100 times its size in memory."""

MAX_DATA = 512 * 1024 * 1024
"""The largest data file, in bytes."""


class Door:
    """Lets files of one project through, and looks at each folder on the way once."""

    def __init__(self, root: Path, findings: Findings) -> None:
        self._root = os.fspath(root)
        self._findings = findings
        self._sound: dict[str, bool] = {"": True, ".": True}

    def text(self, path: str) -> bytes | None:
        """Read a file whole, with LF line ends, or add a finding that says why there is none.

        ``path`` is relative to the project, with forward slashes.
        """
        if self.size(path, MAX_TEXT) is None:
            return None
        try:
            data = read_regular(os.path.join(self._root, path))
        except OSError as error:
            self.unreadable(path, error)
            return None
        return data.replace(b"\r\n", b"\n") if b"\r" in data else data

    def size(self, path: str, most: int = MAX_DATA) -> int | None:
        """The size of a regular file of the project in bytes, or None with a finding."""
        if path.startswith("/") or ".." in path.split("/") or "\0" in path:
            self._refuse("HB8105", path, "is outside the project", "bring it into the project")
            return None
        if not self._folder(path.rpartition("/")[0]):
            return None
        status = self._status(path)
        if status is None:
            return None
        if not stat.S_ISREG(status.st_mode):
            self._refuse("HB8107", path, "is not a regular file", "only regular files are bundled")
            return None
        if status.st_size > most:
            size = f"{most:,} bytes"
            self._refuse("HB8111", path, f"is larger than {size}", "fetch it when it is needed")
            return None
        return status.st_size

    def unreadable(self, path: str, error: OSError) -> None:
        """Report a file that cannot be read."""
        self._refuse("HB8107", path, f"cannot be read: {error.strerror}")

    def _folder(self, path: str) -> bool:
        if path not in self._sound:
            above = self._folder(path.rpartition("/")[0])
            self._sound[path] = above and self._status(path) is not None
        return self._sound[path]

    def _status(self, path: str) -> os.stat_result | None:
        try:
            status = os.lstat(os.path.join(self._root, path))
        except OSError as error:
            self.unreadable(path, error)
            return None
        if stat.S_ISLNK(status.st_mode) or _is_junction(status):
            advice = "put the file or folder itself there"
            self._refuse("HB8106", path, "is a link, and a bundle holds none", advice)
            return None
        return status

    def _refuse(self, code: str, path: str, what: str, *help: str) -> None:
        shown = path.encode("utf-8", "backslashreplace").decode()
        self._findings.add(code, f"`{shown}` {what}", Span(shown), help=help)


def _is_junction(status: os.stat_result) -> bool:
    """Whether this is a folder of Windows that leads elsewhere."""
    tag = getattr(status, "st_reparse_tag", 0)
    return bool(tag) and tag == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", -1)
