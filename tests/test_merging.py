"""The lock as several people have it: what changes it, what is said of it, how a merge ends."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.command_line import LOCK, contents, hermes, project, spec, write

TOOLSETS = """\
name: readers
description: What may be read.
tools: [read_file]
---
name: everyone
includes: [readers]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = project(tmp_path / "project", "read_file")
    write(root, {"toolsets/sets.yaml": TOOLSETS})
    assert hermes(root, "compile").code == 0
    return root


def _lines(root: Path) -> list[str]:
    return (root / LOCK).read_text().splitlines()


def test_an_edit_of_one_toolset_changes_no_other_block_of_the_lock(root: Path) -> None:
    before = _lines(root)
    write(root, {"toolsets/sets.yaml": TOOLSETS.replace("may be read", "we may read")})
    assert hermes(root, "compile").code == 0
    changed = [nth for nth, (a, b) in enumerate(zip(before, _lines(root), strict=True)) if a != b]
    start = before.index("toolset readers")
    source = next(nth for nth in range(start, len(before)) if before[nth].startswith("  source"))
    assert [nth for nth in changed if not before[nth].startswith("file ")] == [source]


def test_the_lock_of_a_toolset_is_remembered_as_it_is_read(root: Path) -> None:
    good = contents(root)
    (root / LOCK).unlink()
    assert hermes(root, "compile").code == 0
    assert contents(root) == good
    assert hermes(root, "compile", "--no-cache", "--check").code == 0


def test_a_lock_that_was_written_is_said_to_be(root: Path) -> None:
    (root / LOCK).unlink()
    assert "wrote the lock, 5 unchanged" in hermes(root, "compile").err
    assert "wrote 0 files, 5 unchanged" in hermes(root, "compile").err


def _git(root: Path, *arguments: str, check: bool = True) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    subprocess.run(command, cwd=root, check=check, capture_output=True)


def test_a_merge_of_two_branches_is_settled_by_compiling(root: Path) -> None:
    write(root, {".gitignore": ".hermes-build/\n"})
    _git(root, "init", "-b", "main")
    _git(root, "add", "-A")
    _git(root, "commit", "-m", "start")
    for branch, name in (("one", "read_line"), ("other", "read_page")):
        _git(root, "checkout", "-b", branch, "main")
        write(root, {f"tool_specs/{name}.yaml": spec(name)})
        assert hermes(root, "compile").code == 0
        _git(root, "add", "-A")
        _git(root, "commit", "-m", branch)
    _git(root, "merge", "one", check=False)
    paths = (LOCK, "generated/catalogue.jsonl", "generated/registry.py")
    assert all("<<<<<<<" in (root / path).read_text() for path in paths)

    check = hermes(root, "check", "--format", "concise")
    assert check.codes == ["HB5001", "HB5001", "HB5005"]
    said = hermes(root, "check").out
    assert "by hand" not in said
    assert said.count("a merge conflict stands in it") == 2

    done = hermes(root, "compile")
    assert (done.code, "by hand" in done.err) == (0, False)
    assert "generated/registry.py had a merge conflict" in done.err
    assert hermes(root, "check").code == 0
    assert [line for line in _lines(root) if line.startswith("tool ")] == [
        "tool read_file",
        "tool read_line",
        "tool read_page",
    ]
