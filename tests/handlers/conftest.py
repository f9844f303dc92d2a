"""What the tests of the handlers share: what a tool works on or calls, fresh for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from examples.scripted_model import ModelServer, Scripted
from generated.registry import registry
from handlers.files.workspace import Workspace
from handlers.planning.store import Store
from handlers.shells.processes import Processes
from hermes_build.runtime.plugins import Plugin
from tests.handlers.web_server import Server

AGENTS = ("CODE_CALLS", "MAX_CHILDREN", "MAX_DEPTH", "CHILD_TURNS", "CHILD_SECONDS", "MODEL")


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


@pytest.fixture
def plugin(request: pytest.FixtureRequest) -> Iterator[Plugin]:
    handle = registry.plugin(request.node.name)
    yield handle
    handle.close()


@pytest.fixture
def two_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workspace with two files for a program or an agent, whose settings are the defaults."""
    (root / "a.txt").write_text("the first file\n")
    (root / "b.txt").write_text("the second file\n")
    monkeypatch.setenv("HERMES_WORKSPACE", str(root))
    for name in AGENTS:
        monkeypatch.delenv(f"HERMES_{name}", raising=False)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModelServer]]:
    """Starts an endpoint with a script, and leads the environment there."""
    with ExitStack() as started:

        def start(*script: Scripted, **environ: str) -> ModelServer:
            server = started.enter_context(ModelServer(script))
            for name, value in {**server.environment, **environ}.items():
                monkeypatch.setenv(name, value)
            return server

        yield start
