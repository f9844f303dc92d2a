"""What tests of bundles are given."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bundle import making, spaces


@pytest.fixture(params=["archive", "folder"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> making.Make:
    """Makes a bundle of given entries, in both containers in turn."""
    makers: dict[str, making.Make] = {"archive": making.archive, "folder": making.unpacked}
    number = itertools.count()
    return lambda entries=None: makers[request.param](tmp_path / f"made{next(number)}", entries)


@pytest.fixture(autouse=True)
def _close_all() -> Iterator[None]:
    yield
    spaces.close_all()
