"""``compile --watch``: again after each change, with the last good output kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from watchfiles import DefaultFilter, watch

from hermes_build.cli.present import open_project, say
from hermes_build.compiler.project import Project
from hermes_build.compiler.root import LOCK
from hermes_build.compiler.state import STATE


class _Sources(DefaultFilter):
    """Lets through what a compile reads, and nothing that it writes."""

    def __init__(self, project: Project) -> None:
        super().__init__()
        root = project.root
        self._ours = tuple(str(root / one) for one in (project.output_folder, LOCK, STATE))

    def __call__(self, change: object, path: str) -> bool:
        return not path.startswith(self._ours) and super().__call__(change, path)  # type: ignore[arg-type]


def watch_project(root: Path, once: Callable[[], int]) -> int:
    """Run ``once`` now and after each change below ``root``, until interrupted; return its last."""
    code = once()
    say("watching for changes; press Ctrl-C to stop")
    while True:
        project, _ = open_project(str(root))
        folders = [
            root / project.specs,
            root / project.toolsets,
            root / project.templates,
            *(project.source_root / name.replace(".", "/") for name in project.handlers),
        ]
        watched = [one for one in folders if one.exists()]
        changes = watch(
            *watched,
            root / project.file,
            watch_filter=_Sources(project),
            raise_interrupt=False,
            debounce=200,
        )
        if next(changes, None) is None:
            return code
        code = once()
