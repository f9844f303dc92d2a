"""Where a project stands: the commit that its repository has checked out.

A bundle is *clean* where the commit has all that it was made of: no tracked file of the project is
changed, and git tracks every file of the project that the bundle was made from. Other files that
nobody committed, such as bundles that were made before, say nothing of this one.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator

from hermes_build.bundle.format import PROGRAM, Manifest, is_licence
from hermes_build.bundle.sides import place_in_project
from hermes_build.signing.statement import Source

_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")
"""Looks and does not touch; a repository's own programs are not started for it."""


def source_of(folder: str | os.PathLike[str], inputs: Iterable[str]) -> Source | None:
    """Return the commit that a project's folder is checked out from.

    ``inputs`` are the files that something was made of, relative to ``folder`` with forward
    slashes; one that is not there counts for nothing. What is changed, staged or deleted below
    ``folder`` makes the source unclean. So does an input that is not tracked, whether git is told
    to ignore it or not, and one whose changes git is told not to look at. None where there is no
    git, no repository, no commit, or where the repository around the folder has no file in it.
    """
    commit = _git(folder, "rev-parse", "--verify", "HEAD^{commit}")
    tracked = commit and _git(folder, "ls-files", "-v", "-z", "--", ".")
    if not commit or not tracked:
        return None
    status = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ".")
    if status is None:
        return None
    # What git was told to take for unchanged, it says nothing of: its mark is a small letter, or S.
    marked = (line.partition(" ") for line in tracked.split("\0"))
    known = {name for mark, _, name in marked if mark.isupper() and mark != "S"}
    others = [one for one in inputs if one not in known]
    is_whole = not any(os.path.lexists(os.path.join(folder, one)) for one in others)
    return Source(commit.strip(), not status and is_whole)


def made_from(manifest: Manifest) -> Iterator[str]:
    """The files of the project that a bundle holds as people wrote them, as paths in the project.

    Generated files are none of them: they follow from the others.
    """
    generated = f"{PROGRAM}{manifest.package.replace('.', '/')}/"
    for path in manifest.files:
        place, role = place_in_project(manifest, path)
        is_written = role in ("program", "spec") or (role == "other" and is_licence(path))
        if is_written and not path.startswith(generated):
            yield place


def _surroundings() -> dict[str, str]:
    """The environment without what names another repository, as git's own hooks inherit it."""
    kept = ("GIT_CONFIG_", "GIT_CEILING_", "GIT_DISCOVERY_")
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_")
        or (name.startswith(kept) and name != "GIT_CONFIG_PARAMETERS")
    }


def _git(folder: str | os.PathLike[str], *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            [*_GIT, "-C", os.fspath(folder), *arguments],
            env=_surroundings(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:
        return None
    return None if done.returncode else os.fsdecode(done.stdout)
