"""What the tests of the file tools share: a fresh workspace each."""

from __future__ import annotations

from pathlib import Path

import pytest

from handlers.files.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "root"
    root.mkdir()
    return Workspace.at(str(root))


@pytest.fixture
def root(workspace: Workspace) -> Path:
    return Path(workspace.root)
