"""What type checkers say about handlers, at the line of the decorator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hermes_build

STUBS = """
from __future__ import annotations
from typing import TypedDict
from hermes_build.runtime.binding import AsyncImplements, EitherImplements, Implements, ToolResult
from hermes_build.runtime.registry import ToolRegistry
registry: ToolRegistry
class Args(TypedDict):
    path: str
class Other(TypedDict):
    url: str
sync = Implements[Args, ToolResult]("a", Args, "digest", registry)
coro = AsyncImplements[Args, ToolResult]("a", Args, "digest", registry)
either = EitherImplements[Args, ToolResult]("a", Args, "digest", registry)
"""

HEAD = "from __future__ import annotations\nfrom typing import Any\n"
HEAD += "from stubs import Args, Other, coro, either, sync\n"

GOOD = """
@sync
def g1(args: Args) -> str: return args["path"]
@sync
def g2(args: Args, **context: Any) -> dict[str, Any]: return {}
@sync(check_fn=lambda: True)
def g3(args: Args, *, task_id: str | None = None) -> list[str]: return []
@sync
def g4(args: Args) -> Other: return {"url": ""}
@coro
async def g5(args: Args, **context: Any) -> str: return ""
@coro(dynamic_schema_overrides=lambda: {})
async def g6(args: Args, *, task_id: str | None = None) -> str: return ""
@either
def g7(args: Args) -> str: return ""
@either(check_fn=lambda: True)
async def g8(args: Args, **context: Any) -> str: return ""
g1({"path": "x"}, task_id="3")
async def use() -> None:
    await g5({"path": "x"}, task_id="3")
    await g8({"path": "x"})
"""

BAD = """
@sync
def wrong_class(args: Other) -> str: return ""
@sync
def wrong_type(args: int) -> str: return ""
@sync
def missing_parameter() -> str: return ""
@sync
def surplus_parameter(args: Args, other: int) -> str: return ""
@sync
def wrong_return(args: Args) -> int: return 0
@sync
async def async_for_sync(args: Args) -> str: return ""
@coro
def sync_for_async(args: Args) -> str: return ""
@either
def either_wrong_class(args: Other) -> str: return ""
@either
async def either_wrong_return(args: Args) -> int: return 0
@sync(check_fn=lambda: True)
def wrong_class_with_options(args: Other) -> str: return ""
@coro(check_fn=lambda: True)
def sync_for_async_with_options(args: Args) -> str: return ""
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typed")
    (folder / "stubs.py").write_text(STUBS)
    (folder / "good.py").write_text(HEAD + GOOD)
    (folder / "bad.py").write_text(HEAD + BAD)
    return folder


def decorator_lines() -> list[int]:
    lines = (HEAD + BAD).splitlines()
    return [number for number, line in enumerate(lines, 1) if line.startswith("@")]


def reported_lines(output: str) -> list[int]:
    """The lines of bad.py with an error, from either checker's ``path:line: error``."""
    found = []
    for line in output.splitlines():
        place, error, _ = line.replace(" - error", " error").partition("error:")
        if error and "bad.py:" in place:
            found.append(int(place.split("bad.py:")[1].split(":")[0]))
    return sorted(set(found))


def test_mypy_accepts_every_honest_handler_and_reports_the_others(folder: Path) -> None:
    repository = str(Path(hermes_build.__file__).parent.parent)
    answer = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull),
            *("--cache-dir", str(folder / "cache"), "good.py", "bad.py"),
        ],
        cwd=folder,
        env={**os.environ, "MYPYPATH": repository},
        capture_output=True,
        text=True,
    )
    assert "good.py" not in answer.stdout
    assert reported_lines(answer.stdout) == decorator_lines(), answer.stdout
    assert 'expected "Callable[[Args], ' in answer.stdout


def test_pyright_accepts_every_honest_handler_and_reports_the_others(folder: Path) -> None:
    pytest.importorskip("pyright")
    repository = str(Path(hermes_build.__file__).parent.parent)
    (folder / "pyrightconfig.json").write_text(
        f'{{"extraPaths": ["{repository}"], "typeCheckingMode": "strict", '
        '"reportUnusedFunction": false, "reportUnusedImport": false}'
    )
    answer = subprocess.run(
        [sys.executable, "-m", "pyright", "good.py", "bad.py"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if "bad.py" not in answer.stdout:
        pytest.skip(f"pyright does not run here: {answer.stderr[-200:]}")
    assert "good.py:" not in answer.stdout
    assert reported_lines(answer.stdout) == decorator_lines(), answer.stdout
