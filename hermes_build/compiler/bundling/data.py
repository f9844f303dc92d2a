"""The files that `bundle-data` names: globs in the source folder."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator
from fnmatch import translate

from hermes_build.compiler.bundling.modules import NATIVE
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.project import Project

_WILD = re.compile(r"[*?\[]")

CODE = (".py", ".pyw", ".pyc", *NATIVE)
"""Endings of what can be imported: it is taken in as modules are, or not at all."""


def find_data(project: Project, modules: Container[str], findings: Findings) -> list[str]:
    """Return the paths in the project that the globs meet, sorted; a glob that meets none is wrong.

    ``*``, ``?`` and ``[...]`` stand for what is between two slashes, ``**`` for any number of
    folders. Hidden files, and what Python remembers beside sources, are met by no wildcard. Links
    are returned like files, for whoever opens them to refuse. Code is no data: it is reported
    unless it is one of ``modules``, the paths of those that are taken in, and never returned.
    """
    prefix = "" if project.source == "." else f"{project.source}/"
    found: set[str] = set()
    for glob in project.bundle_data:
        met = {prefix + path for path in _matches(os.fspath(project.source_root), glob)}
        if not met:
            findings.add(
                "HB8112",
                f"`bundle-data` names what is not there: `{glob}`",
                Span(project.file),
                help=("a glob is on files below the source folder, such as `handlers/data/*`",),
            )
        found |= met
    for path in sorted(found):
        if path.lower().endswith(CODE) and path not in modules:
            findings.add(
                "HB8117",
                f"`bundle-data` names code, which it does not take: `{path}`",
                Span(path),
                help=(
                    "name a module in `bundle-modules`",
                    "give a text that is no module another name, such as `main.py-tpl`",
                ),
            )
    return sorted(path for path in found if not path.lower().endswith(CODE))


def _matches(root: str, glob: str) -> Iterator[str]:
    parts = glob.split("/")
    plain = next((n for n, part in enumerate(parts) if _WILD.search(part)), len(parts) - 1)
    top = "/".join(parts[:plain])
    yield from _below(root, top, parts[plain:])


def _below(root: str, folder: str, parts: list[str]) -> Iterator[str]:
    """The files that the rest of a glob meets in a folder."""
    part, rest = parts[0], parts[1:]
    if part == "**":
        yield from _below(root, folder, rest or ["*"])
        for name, is_folder in _entries(root, folder):
            if is_folder and not name.startswith("."):
                yield from _below(root, _joined(folder, name), parts)
        return
    pattern = re.compile(translate(part))
    for name, is_folder in _entries(root, folder):
        hidden = name.startswith(".") and not part.startswith(".")
        if hidden or not pattern.match(name):
            continue
        inner = _joined(folder, name)
        if is_folder and rest:
            yield from _below(root, inner, rest)
        elif not is_folder and (not rest or os.path.islink(os.path.join(root, inner))):
            yield inner


def _entries(root: str, folder: str) -> list[tuple[str, bool]]:
    """What is in a folder, sorted, each with whether it is a folder itself and no link to one."""
    try:
        with os.scandir(os.path.join(root, folder)) as entries:
            rows = [(one.name, one.is_dir(follow_symlinks=False)) for one in entries]
    except OSError:
        return []
    return sorted(row for row in rows if row[0] != "__pycache__")


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
