"""What the tests of the handlers share: a workspace, memory and web server, fresh each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from handlers.files.workspace import Workspace
from handlers.planning.store import Store
from handlers.shells.processes import Processes
from tests.handlers.web_server import Server


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "root"
    root.mkdir()
    return Workspace.at(str(root))


@pytest.fixture
def root(workspace: Workspace) -> Path:
    return Path(workspace.root)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as one:
        yield one


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "memory.sqlite3"))


@pytest.fixture
def table() -> Iterator[Processes]:
    """A table whose processes are all ended after the test."""
    one = Processes()
    yield one
    for process in list(one._table.values()):
        process.running.stop()
