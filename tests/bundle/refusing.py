"""Demands that something is refused, in every way that it can be looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_build.bundle.archive import open_archive
from hermes_build.bundle.format import BundleError
from hermes_build.bundle.verifying import verify


def code_of(act: Callable[[], object]) -> str:
    """Demand that something is refused, and return the code of the error."""
    with pytest.raises(BundleError) as caught:
        act()
    return caught.value.code


def verify_refuses(path: Path, code: str) -> BundleError:
    """Demand that verifying refuses a bundle with this code, and return the error."""
    with pytest.raises(BundleError) as caught:
        verify(path)
    assert caught.value.code == code, caught.value.message
    return caught.value


def archive_refuses(path: Path, code: str) -> BundleError:
    """Demand that an archive is refused when all of it is read, and return the error.

    It is read in each way: one may open what the other does not look at.
    """
    errors = []
    for sums in (False, True):
        with pytest.raises(BundleError) as caught, open_archive(path) as found:
            list(found.digests(sums=sums))
        errors.append(caught.value)
    with pytest.raises(BundleError) as caught, open_archive(path) as found:
        for name in found.names():
            found.read(name)
    assert [one.code for one in (*errors, caught.value)] == [code] * 3, caught.value.message
    return caught.value


def opens(path: Path) -> bool:
    """Whether an archive can be read from its beginning to its end."""
    with open_archive(path) as found:
        return len(list(found.digests(sums=True))) == len(found.names())


def written(folder: Path, data: bytes) -> Path:
    """A file of this content."""
    (folder / "x").write_bytes(data)
    return folder / "x"
