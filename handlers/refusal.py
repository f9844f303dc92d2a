"""The one exception of the tools: a call that was understood and cannot be done."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from hermes_build.runtime.errors import ToolFailure

_SENTENCES = {
    errno.EACCES: "permission is denied",
    errno.EPERM: "the system does not permit it",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.ENAMETOOLONG: "a part of the path is too long for the file system",
    errno.ENOENT: "it does not exist",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.EISDIR: "it is a folder",
    errno.ELOOP: "it is a link that leads in a circle, or that was changed while it was opened",
    errno.EMFILE: "too many files are open",
}


class Refusal(ToolFailure):
    """A sentence for the model on what is wrong and what to do."""


@contextmanager
def refusing(shown: str) -> Iterator[None]:
    """Turn the system's errors inside the block into a `Refusal` that names ``shown``.

    Raises:
        Refusal: for every ``OSError``; the system's own path is left out, because it may lie
            outside what the model is meant to know.
    """
    try:
        yield
    except OSError as error:
        fallback = os.strerror(error.errno) if error.errno else type(error).__name__
        sentence = _SENTENCES.get(error.errno or 0, fallback)
        raise Refusal(f"{shown}: {sentence}.") from error
