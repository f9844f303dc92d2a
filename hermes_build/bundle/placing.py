"""Writing one file all or nothing."""

from __future__ import annotations

import errno
import os
import stat
from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class placed:
    """Writes a file beside ``target``, and moves it there at the end of a ``with`` block.

    Where ``target`` is a link, the file that it leads to is written, and the link stays. A file
    that is there already passes its permissions on.

    Until then, and for ever where the block fails or the process is killed, ``target`` is what it
    was. When the block has ended well, the file and its name are on the disk, not only on the way
    there. The block is given a function, of bytes to write; afterwards its ``digest`` is the
    SHA-256 of them all in hexadecimal digits.

    Raises:
        OSError: the file cannot be written.
    """

    __slots__ = ("_beside", "_file", "_hash", "_target", "digest")

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self._target = os.path.realpath(target)
        folder, name = os.path.split(self._target)
        self._beside = os.path.join(folder, f".{name[:100]}.{os.urandom(6).hex()}.part")
        self._hash = sha256()
        self.digest = ""

    def __call__(self, data: bytes) -> None:
        """Add bytes to the file."""
        self._hash.update(data)
        self._file.write(data)

    def __enter__(self) -> placed:
        try:
            standing: int | None = os.stat(self._target).st_mode
        except FileNotFoundError:
            standing = None
        if standing is not None and not stat.S_ISREG(standing):
            # A device or a pipe would be replaced by a file.
            raise OSError(errno.EINVAL, "what is there is no regular file", self._target)
        self._file = open(os.open(self._beside, _CREATE, 0o666), "wb", buffering=1 << 18)
        if standing is not None and os.name != "nt":  # where whoever may read is not said by it
            self._permit(stat.S_IMODE(standing) & 0o777)
        return self

    def _permit(self, mode: int) -> None:
        """Let the file be for whom the one was that it replaces, as far as its system can say."""
        try:
            os.fchmod(self._file.fileno(), mode)
        except OSError:
            pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with self._file as file:
                if kind is not None:
                    return
                file.flush()
                os.fsync(file.fileno())
            os.replace(self._beside, self._target)
            self.digest = self._hash.hexdigest()
        finally:
            if not self.digest:
                _forget(self._beside)
        sync_folder(os.path.dirname(self._target))


def sync_folder(path: str) -> None:
    """Let the names in a folder be on the disk, where the system can be asked for that.

    Raises:
        OSError: the disk fails.
    """
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(path or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
