"""``compile --watch``: again after each change, with the last good output kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click
from watchfiles import watch

from hermes_build.cli.present import open_project, say
from hermes_build.compiler.judge import watched
from hermes_build.compiler.root import LOCK, SETTINGS
from hermes_build.compiler.tree import is_inside

_INTERRUPTED = 130

_GLANCE_MS = 250
"""Milliseconds after which to look whether a folder has come or gone, which no event tells."""


def watch_project(root: Path, once: Callable[[], int]) -> int:
    """Run ``once`` now and after each change, until interrupted; return its last exit code.

    ``once`` runs only while a watcher is listening, so that no change falls between two runs. When
    it is interrupted itself, the code is 130.
    """
    code = _INTERRUPTED
    try:
        for run in _runs(root, once):
            code = _INTERRUPTED
            code = run()
            say("watching for changes; press Ctrl-C to stop")
    except KeyboardInterrupt:
        pass
    return code


def _runs(root: Path, once: Callable[[], int]) -> Iterator[Callable[[], int]]:
    """Give a run whenever there is something to compile; end when interrupted while waiting."""
    while True:
        inputs, output = _inputs(root)
        places = _there(root, inputs)
        changes = watch(
            *places,
            watch_filter=lambda _, path: _is_read(root, path, output),  # noqa: B023 (used up below)
            raise_interrupt=False,
            debounce=200,
            rust_timeout=_GLANCE_MS,
            yield_on_timeout=True,
        )
        if next(changes, None) is None:
            return
        yield partial(_run, once)
        for change in changes:
            if change or _there(root, inputs) != places:
                break
        else:
            return


def _run(once: Callable[[], int]) -> int:
    """Compile; settings that are gone for a moment, as while an editor saves, end nothing."""
    try:
        return once()
    except click.ClickException as error:
        say(error.format_message())
        return error.exit_code


def _inputs(root: Path) -> tuple[tuple[str, ...], str]:
    """The paths that a compile reads, there or not, and the folder that it writes."""
    try:
        project, _ = open_project(str(root))
    except click.ClickException:
        return SETTINGS, LOCK
    output = project.output_folder
    return (*SETTINGS, *(one for one in watched(project) if one not in (LOCK, output))), output


def _there(root: Path, inputs: tuple[str, ...]) -> list[Path]:
    return [root / path for path in inputs if (root / path).exists()] or [root]


def _is_read(root: Path, path: str, output: str) -> bool:
    """Whether a compile may read a file: hidden ones and compiled Python it passes over."""
    inner = os.path.relpath(path, root).replace(os.sep, "/")
    passed_over = any(part[0] == "." or part == "__pycache__" for part in inner.split("/"))
    return not passed_over and inner != output and not is_inside(inner, output)
