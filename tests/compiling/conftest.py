"""What the tests of `compile` share: a compiled project."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.command_line import (
    hermes,
    project,
)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = project(tmp_path_factory.mktemp("compiled"), "read_file", "write_file")
    assert hermes(root, "compile").code == 0
    return root


@pytest.fixture
def root(compiled: Path, tmp_path: Path) -> Path:
    """A compiled project of two tools, to change at will."""
    return shutil.copytree(compiled, tmp_path / "project")
