"""Where results that are too long for a model are kept, so that it can read them page by page."""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256

from hermes_build.runtime.previews import fold, preview
from hermes_build.runtime.result import utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol
else:
    Protocol = object

_SUFFIX = ".result.txt"
_PART = ".result.part"
_ABANDONED_SECONDS = 3_600
"""When an unfinished file is one whose writer is gone."""

_NAME_CHARS = 40
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class StoreError(Exception):
    """A text that could not be kept; the message says why."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A kept text: the ``place`` that the tool ``reader`` takes as its ``path``.

    ``note`` is a sentence on how the text looks there, for where it is not as it was.
    """

    place: str
    reader: str
    note: str = ""


class ResultStore(Protocol):
    """What keeps texts that are too long for a model. Calls may come from several threads.

    A store may have an attribute ``reader``, the name of the tool that reads what it keeps: what
    that tool returns is never kept in its turn.
    """

    def save(self, tool: str, call_id: str, text: str) -> Stored:
        """Keep the text that ``tool`` gave back in the call ``call_id`` (empty if unknown).

        Raises:
            StoreError: when it cannot be kept. Any other exception is taken for the same.
        """


def within_limit(tool: str, text: str, limit: int, store: ResultStore | None, call_id: str) -> str:
    """A result of at most ``limit`` characters: the very text, or a preview of it.

    A longer text goes to the store, whole. The preview says how long it is, where it is kept, and
    which tool reads it. Without a store, or with one that fails, it says that the rest is lost; so
    it does for the reading tool itself, whose pages would otherwise be stored page by page.
    """
    if len(text) <= limit:
        return text
    text = utf8(text)
    if len(text) <= limit:
        return text
    size = f"{len(text):,} characters"
    long = f"This result has {size}; only its beginning and its end are shown"
    if text[0] in "{[" and text.rstrip()[-1:] in ("}", "]"):
        long += ", so that it is text and no longer valid JSON"
    if store is not None and getattr(store, "reader", None) == tool:
        lost = "the rest was not kept: ask for a smaller page"
        return preview(text, limit, f"{long}; {lost}.", f"{size}; {lost}")
    kept = _keep(store, tool, call_id, text)
    if kept is None:
        lost = "the rest was not kept: call the tool again for less at a time"
        return preview(text, limit, f"{long}; {lost}.", f"{size}; the rest was not kept")
    from json import dumps

    call = f"`{kept.reader}` with {dumps({'path': kept.place}, ensure_ascii=False)}"
    note = f" {kept.note}" if kept.note else ""
    return preview(
        text, limit, f"{long}. Read all of it with {call}.{note}", f"{size}; read them with {call}"
    )


def _keep(store: ResultStore | None, tool: str, call_id: str, text: str) -> Stored | None:
    if store is None:
        return None
    try:
        kept = store.save(tool, call_id, text)
        return Stored(utf8(kept.place), utf8(kept.reader), utf8(kept.note))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a store is foreign code; a result outweighs what is cut off
        from hermes_build.runtime.logs import warn

        warn("A result of %s was not kept: %s", tool, error)
        return None


class FolderStore:
    """Keeps results as files of one folder, which is made when the first one comes.

    Nothing but results of ours is ever removed from the folder. The files are for their owner
    alone (mode 0600; a folder that is made has 0700).
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        reader: str = "read_file",
        keep: int = 200,
        max_bytes: int = 256_000_000,
        *,
        base: str | os.PathLike[str] | None = None,
        line_chars: int = 2_000,
    ) -> None:
        """Say where; nothing is touched yet.

        Args:
            folder: the folder. Relative to the current folder of now, not of later.
            reader: the tool that reads a kept text, by the argument ``path``.
            keep: how many results are kept; the oldest are removed.
            max_bytes: how many bytes they may have together; the oldest are removed.
            base: the folder that the reader's paths are relative to. Places inside it are relative
                to it, with forward slashes; others, and all without a base, are absolute.
            line_chars: how much of a line the reader shows. Longer lines are folded in the file,
                since what follows in them could not be read; the preview then says so.
        """
        path = os.path.abspath(folder)
        # The folder itself may not be a link; where it is may be reached through some.
        self._folder = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        self.reader = reader
        self._keep = max(1, keep)
        self._max_bytes = max_bytes
        self._base = None if base is None else os.path.realpath(base)
        self._line_chars = max(1, line_chars)

    def save(self, tool: str, call_id: str, text: str) -> Stored:
        """Write a text into a file of its own; the same text of the same call into the same one.

        Raises:
            StoreError: when the folder is a link or no folder, cannot be made or written to, or has
                no room.
        """
        folded, was_folded = fold(text, self._line_chars)
        data = utf8(folded).encode()
        if len(data) > self._max_bytes:
            raise StoreError(
                f"the text has {len(data):,} bytes, and {self._max_bytes:,} may be kept"
            )
        digest = sha256(repr((tool, call_id)).encode() + data).hexdigest()[:16]
        name = f"{_plain(tool)}-{_plain(call_id)}-{digest}{_SUFFIX}"
        try:
            with self._opened() as (prefix, folder):
                _write(prefix, folder, name, data)
                self._remove_oldest(prefix, folder, name)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the folder's path
            raise StoreError(f"{self._folder}: {error}") from error
        note = (
            f"Lines are folded there after {self._line_chars:,} characters." if was_folded else ""
        )
        return Stored(self._place(name), self.reader, note)

    def _place(self, name: str) -> str:
        path = os.path.join(self._folder, name)
        if self._base is not None and path.startswith(os.path.join(self._base, "")):
            return os.path.relpath(path, self._base).replace(os.sep, "/")
        return path

    @contextmanager
    def _opened(self) -> Iterator[tuple[str, int | None]]:
        """The folder as a prefix of paths and the descriptor that these are relative to.

        With a descriptor, a folder that is swapped for a link meanwhile changes nothing.
        """
        os.makedirs(os.path.dirname(self._folder), exist_ok=True)
        try:
            os.mkdir(self._folder, 0o700)
        except FileExistsError:
            pass
        if os.path.realpath(self._folder) != self._folder:
            raise OSError("a folder of results may not be, or stand behind, a link")
        if os.open not in os.supports_dir_fd:
            if not os.path.isdir(self._folder):
                raise NotADirectoryError("it is not a folder")
            yield os.path.join(self._folder, ""), None
            return
        descriptor = os.open(self._folder, _FOLDER)
        try:
            yield "", descriptor
        finally:
            os.close(descriptor)

    def _remove_oldest(self, prefix: str, folder: int | None, newest: str) -> None:
        found: list[tuple[int, str, int]] = []
        for name in os.listdir(prefix if folder is None else folder):
            if not name.endswith((_SUFFIX, _PART)) or name == newest:
                continue
            try:
                status = os.stat(prefix + name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:  # another writer was faster
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            if name.endswith(_SUFFIX):
                found.append((status.st_mtime_ns, name, status.st_size))
            elif status.st_mtime < time.time() - _ABANDONED_SECONDS:
                _remove(prefix + name, folder)
        found.sort(reverse=True)
        size = 0
        try:
            status = os.stat(prefix + newest, dir_fd=folder)
            size = status.st_size
            if found and status.st_mtime_ns <= found[0][0]:
                # A clock that was set back, or a coarse one, would make the newest an old one.
                later = found[0][0] + 1
                os.utime(prefix + newest, ns=(later, later), dir_fd=folder)
        except (OSError, OverflowError):  # another writer keeps fewer, and is done already
            pass
        for number, (_, name, bytes_) in enumerate(found, start=2):
            size += bytes_
            if number > self._keep or size > self._max_bytes:
                _remove(prefix + name, folder)


def _plain(text: str) -> str:
    """What of a text may be a part of a file name, for people who look into the folder."""
    kept = [one if one.isascii() and one.isalnum() else "_" for one in text[:_NAME_CHARS]]
    return "".join(kept).strip("_") or "x"


def _write(prefix: str, folder: int | None, name: str, data: bytes) -> None:
    part = f"{prefix}{name[: -len(_SUFFIX)]}-{os.urandom(6).hex()}{_PART}"
    descriptor = os.open(part, _NEW_FILE, 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(part, prefix + name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        _remove(part, folder)
        raise


def _remove(path: str, folder: int | None) -> None:
    try:
        os.unlink(path, dir_fd=folder)
    except OSError:  # it is gone, or in use: the next result tries again
        pass
