"""Where a project stands: the commit that its repository has checked out."""

from __future__ import annotations

import os
import subprocess

from hermes_build.signing.statement import Source

_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")
"""Looks and does not touch; a repository's own programs are not started for it."""


def source_of(folder: str | os.PathLike[str]) -> Source | None:
    """Return the commit that a project's folder is checked out from.

    Changed, staged and untracked files below ``folder`` make it unclean; those that git is told to
    ignore do not. None where there is no git, no repository, no commit, or where the repository
    around the folder has no file in it.
    """
    commit = _git(folder, "rev-parse", "--verify", "HEAD^{commit}")
    if commit is None or not _git(folder, "ls-files", "--", "."):
        return None
    status = _git(folder, "status", "--porcelain", "--untracked-files=normal", "--", ".")
    return None if status is None else Source(commit.strip(), not status)


def _git(folder: str | os.PathLike[str], *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            [*_GIT, "-C", os.fspath(folder), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace")
