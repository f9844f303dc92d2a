"""The workspace: one folder that no path of a call can leave.

A path is resolved once, links included, and must end inside the root. It is then opened from the
root downwards, one folder at a time and without following links: the resolved path holds none, so
a link that stands there when it is opened was put there in between, and opening it fails. That is
why the check cannot be raced. It needs ``dir_fd``, which Linux and macOS have.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from handlers.refusal import Refusal, refusing

VARIABLE = "HERMES_WORKSPACE"
"""The environment variable that names the root; without it the root is the current folder."""

LOCK_SECONDS = 10.0
"""How long one edit waits for another to finish."""

_PSEUDO = ("/proc", "/sys", "/dev")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK the opening of a named pipe would wait for its writer for ever.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Place:
    """A resolved place inside the workspace: ``parts`` lead there from the root, without links."""

    parts: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The path as answers write it: relative to the root, with forward slashes."""
        return printable("/".join(self.parts)) or "."

    @property
    def parent(self) -> tuple[str, ...]:
        """The parts of the folder that holds it."""
        return self.parts[:-1]

    @property
    def name(self) -> str:
        """The last part; empty for the root itself."""
        return self.parts[-1] if self.parts else ""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace by its ``root``, an absolute path without links."""

    root: str

    @staticmethod
    def at(folder: str) -> Workspace:
        """The workspace whose root is ``folder``.

        Raises:
            Refusal: when there is no such folder.
        """
        root = os.path.realpath(folder)
        if not os.path.isdir(root):
            raise Refusal(f"The workspace {folder!r} is not a folder; {VARIABLE} must name one.")
        return Workspace(root)

    @staticmethod
    def from_environment(environ: Mapping[str, str] = os.environ) -> Workspace:
        """The workspace that the environment names.

        Raises:
            Refusal: when it names something that is not a folder.
        """
        return Workspace.at(environ.get(VARIABLE) or os.curdir)

    def locate(self, path: str) -> Place:
        """Resolve a path of a call; it may be relative to the root, or absolute inside it.

        Raises:
            Refusal: when the path is no path, or leads out of the root.
        """
        _check_text(path)
        head = path.split("/", 1)[0]
        tilde = head == "~" or (head.startswith("~") and head != path)
        if tilde and not os.path.lexists(os.path.join(self.root, head)):
            raise Refusal(
                f"{path}: `~` is not expanded. Give a path relative to the workspace.", path=path
            )
        with refusing(path):
            # A link that may not be read, as some below /proc, is an error even here.
            real = os.path.realpath(os.path.join(self.root, path))
        if not _inside(real, self.root):
            raise Refusal(
                f"{path}: leads out of the workspace. Give a path relative to the workspace; "
                "links that point outside are not followed.",
                path=path,
            )
        for pseudo in _PSEUDO:
            if _inside(real, pseudo) and not _inside(self.root, pseudo):
                raise Refusal(f"{path}: {pseudo} holds no ordinary files.", path=path)
        relative = os.path.relpath(real, self.root)
        return Place(() if relative == os.curdir else tuple(relative.split(os.sep)))

    @contextmanager
    def folder(self, parts: tuple[str, ...]) -> Iterator[int]:
        """A descriptor of the folder at ``parts``, open while the block runs.

        Raises:
            OSError: when it is missing, or something on the way is no folder (a link is none).
        """
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                below = os.open(part, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)

    def status(self, place: Place) -> os.stat_result | None:
        """What stands at a place, a link not followed; None when nothing does.

        Raises:
            Refusal: when the system does not let us look.
        """
        with refusing(place.shown):
            try:
                with self.folder(place.parent) as parent:
                    if not place.parts:
                        return os.fstat(parent)
                    return os.stat(place.name, dir_fd=parent, follow_symlinks=False)
            except FileNotFoundError:
                return None

    @contextmanager
    def open_file(self, place: Place) -> Iterator[int]:
        """A descriptor of the regular file at a place, open for reading while the block runs.

        Raises:
            Refusal: when it is anything but a regular file, or cannot be opened.
        """
        with refusing(place.shown):
            with self.folder(place.parent) as parent:
                # Opening a device can already do something, so its kind is asked first; the
                # second look is at what was really opened.
                check_regular(
                    os.stat(place.name or ".", dir_fd=parent, follow_symlinks=False), place
                )
                descriptor = os.open(place.name or ".", _FILE, dir_fd=parent)
            try:
                check_regular(os.fstat(descriptor), place)
                yield descriptor
            finally:
                os.close(descriptor)

    @contextmanager
    def editing(self) -> Iterator[None]:
        """Hold the workspace for one edit: a second one, in any process, waits its turn.

        Raises:
            Refusal: when the other edit does not end within `LOCK_SECONDS`.
        """
        with self.folder(()) as root:
            deadline = time.monotonic() + LOCK_SECONDS
            while True:
                try:
                    fcntl.flock(root, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise Refusal(
                            "Another edit of the workspace has not ended; try again."
                        ) from None
                    time.sleep(0.005)
                except OSError as error:
                    # Some network file systems know no locks; an edit there is still atomic.
                    if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL):
                        raise
                    break
            try:
                yield
            finally:
                with suppress(OSError):
                    fcntl.flock(root, fcntl.LOCK_UN)


def printable(path: str) -> str:
    """A file name as text that JSON can carry, whatever bytes it is made of."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def check_regular(status: os.stat_result, place: Place) -> None:
    """Let regular files pass.

    Raises:
        Refusal: for folders, links, pipes, sockets and devices; it says which it is.
    """
    kind = _kind(status.st_mode)
    if kind:
        raise Refusal(f"{place.shown} is {kind}, not a file.", path=place.shown)


def _kind(mode: int) -> str:
    tests = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a link that leads nowhere or in a circle"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((words for test, words in tests if test(mode)), "")


def _check_text(path: str) -> None:
    if not path.strip():
        raise Refusal("The path is empty. Give a path relative to the workspace.")
    if "\0" in path:
        raise Refusal(f"{path!r}: a path cannot hold a NUL character.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise Refusal(f"{path!r}: a path cannot hold half of a surrogate pair.") from None


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
