"""The source that a signature states: the commit, and whether it has all that was taken in."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hermes_build.signing.provenance import source_of
from hermes_build.signing.statement import Source

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
INPUTS = ("tool.yaml", "missing.yaml")


@needs_git
def test_the_source_is_the_commit_and_whether_it_has_all_that_was_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repository"
    project = root / "agent"
    project.mkdir(parents=True)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert source_of(project, INPUTS) is None
    git(root, "init", "-q")
    assert source_of(project, INPUTS) is None
    (project / "tool.yaml").write_text("name: a\n")
    (root / "elsewhere.txt").write_text("1\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "one")
    commit = git(root, "rev-parse", "HEAD").strip()
    assert source_of(project, INPUTS) == Source(commit, clean=True)
    (root / "elsewhere.txt").write_text("2\n")
    assert source_of(project, INPUTS) == Source(commit, clean=True)
    assert source_of(root, INPUTS) == Source(commit, clean=False)
    (project / "tool.yaml").write_text("name: b\n")
    assert source_of(project, INPUTS) == Source(commit, clean=False)
    git(root, "checkout", "-q", "--", ".")
    (project / "made.hermes").write_text("a bundle\n")
    assert source_of(project, INPUTS) == Source(commit, clean=True)
    (project / "ünused.yaml").write_text("name: b\n")
    assert source_of(project, INPUTS) == Source(commit, clean=True)
    assert source_of(project, (*INPUTS, "ünused.yaml")) == Source(commit, clean=False)
    (project / ".gitignore").write_text("*\n")
    assert source_of(project, (*INPUTS, "ünused.yaml")) == Source(commit, clean=False)
    git(root, "add", "-f", "agent/ünused.yaml")
    assert source_of(project, INPUTS) == Source(commit, clean=False)
    git(root, "commit", "-q", "-m", "two")
    commit = git(root, "rev-parse", "HEAD").strip()
    assert source_of(project, (*INPUTS, "ünused.yaml")) == Source(commit, clean=True)
    other = project / "ignored"
    other.mkdir()
    assert source_of(other, ()) is None


@needs_git
def test_looking_at_a_repository_starts_no_program_of_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-q", "-m", "one")
    hook = tmp_path / ".git" / "watch"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(hook))
    assert source_of(tmp_path, INPUTS) is not None
    assert not (tmp_path / "ran").exists()


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.invalid", *arguments],
        cwd=folder,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@needs_git
@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_is_told_not_to_look_at_is_not_taken_for_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    git(tmp_path, "init", "-q")
    (tmp_path / "tool.yaml").write_text("name: a\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "one")
    commit = git(tmp_path, "rev-parse", "HEAD").strip()
    git(tmp_path, "update-index", flag, "tool.yaml")
    (tmp_path / "tool.yaml").write_text("name: b\n")
    assert source_of(tmp_path, INPUTS) == Source(commit, clean=False)


@needs_git
def test_the_source_is_the_project_s_own_repository_whatever_a_hook_of_another_inherits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = []
    for name in ("mine", "other"):
        folder = tmp_path / name
        folder.mkdir()
        git(folder, "init", "-q")
        (folder / "tool.yaml").write_text(f"name: {name}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", name)
        commits.append(git(folder, "rev-parse", "HEAD").strip())
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    assert source_of(tmp_path / "mine", INPUTS) == Source(commits[0], clean=True)
