"""The file of a bundle, held open, and read as it was or not at all."""

from __future__ import annotations

from hermes_build.bundle.format import BundleError
from hermes_build.open_file import OpenFile

_KIND, _REGULAR = 0o170000, 0o100000  # as in `stat`


class Held(OpenFile):
    """A file that is held open, and read by position from any thread.

    Raises:
        BundleError: ``HB8001``, there is something else than a file.
        OSError: there is nothing, or it cannot be read.
    """

    __slots__ = ()

    def __init__(self, path: str) -> None:
        super().__init__(path)
        if self.status.st_mode & _KIND != _REGULAR:
            self.close()
            raise BundleError("HB8001", "it is neither a file nor a folder")

    def read(self, position: int, size: int) -> bytes:
        """Return so many bytes from a position.

        Raises:
            BundleError: ``HB8002``, the file was made shorter.
            OSError: it cannot be read, or was closed.
        """
        data = b""
        while len(data) < size:
            more = self.read_once(position + len(data), size - len(data))
            if not more:
                what = "the file ends too early: it was damaged or changed"
                raise BundleError("HB8002", what, "", "get the bundle anew from who made it")
            data = data + more if data else more
        return data
