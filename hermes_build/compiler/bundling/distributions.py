"""Which installed distribution an import comes from."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from typing import Any

from hermes_build.compiler.bundling.closure import Outside
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import Project
from hermes_build.compiler.regular import read_regular

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def find_dependencies(
    project: Project, outside: Iterable[Outside], findings: Findings
) -> dict[str, str | None]:
    """Map each import name to the distribution that has it, or to None where that is not known.

    The name is the top-level one, or a longer one where several distributions share that. What the
    environment does not hold is looked for in the dependencies of the project's ``pyproject.toml``;
    an import that the program can go on without, and that nobody knows, is no finding.
    """
    declared = declared_dependencies(project)
    found: dict[str, str | None] = {}
    for one in outside:
        for name, distribution in _distributions(one, declared):
            if distribution is None and not one.guarded and name not in found:
                findings.add(
                    "HB8104",
                    f"no installed distribution is known to have `{name}`",
                    one.span,
                    help=("install what the project needs, or declare it in `pyproject.toml`",),
                )
            found[name] = found.get(name) or distribution
    return dict(sorted(found.items()))


def declared_dependencies(project: Project) -> frozenset[str]:
    """The normalised names of the project's dependencies, with those of all its extras."""
    table = project_table(project)
    extras = table.get("optional-dependencies", {})
    lists = [table.get("dependencies", [])]
    lists += list(extras.values()) if isinstance(extras, Mapping) else []
    rows = [row for rows in lists if isinstance(rows, list) for row in rows]
    names = [_NAME.match(row) for row in rows if isinstance(row, str)]
    return frozenset(normalised(name[1]) for name in names if name)


def project_table(project: Project) -> dict[str, Any]:
    """``[project]`` of ``pyproject.toml``; empty where there is none that can be read."""
    try:
        data = tomllib.loads(read_regular(project.root / "pyproject.toml").decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    table = data.get("project", {})
    return table if isinstance(table, dict) else {}


def normalised(name: str) -> str:
    """The one form of a distribution's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _distributions(one: Outside, declared: frozenset[str]) -> list[tuple[str, str | None]]:
    """The import names, with their distributions, that one import stands for."""
    top = one.module.partition(".")[0]
    homes = _installed(tuple(sys.path)).get(top, ())
    if len(homes) > 1:
        # Several distributions share the top-level name: the files tell which of them it is.
        found = {}
        for name in [f"{one.module}.{each}" for each in one.names] or [one.module]:
            known, holder = _holder(name, homes)
            found[known] = holder
        return list(found.items())
    if homes:
        return [(top, homes[0])]
    return [(top, normalised(top) if normalised(top) in declared else None)]


def _holder(name: str, homes: Iterable[str]) -> tuple[str, str | None]:
    """The longest part of a dotted name that one distribution alone has, and which."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        stem = "/".join(parts[:count])
        having = [home for home in homes if _has(home, stem)]
        if len(having) == 1:
            return ".".join(parts[:count]), having[0]
        if not having:
            break
    return name if len(parts) == 1 else ".".join(parts[:2]), None


@cache
def _files(distribution: str) -> tuple[str, ...]:
    try:
        files = metadata.files(distribution)
    except metadata.PackageNotFoundError:
        return ()
    return tuple(one.as_posix() for one in files or ())


def _has(distribution: str, stem: str) -> bool:
    return any(one.startswith((f"{stem}/", f"{stem}.")) for one in _files(distribution))


@cache
def _installed(path: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Each top-level name that can be imported from ``path``, with what distributions have it."""
    return {
        name: tuple(sorted({normalised(one) for one in homes}))
        for name, homes in metadata.packages_distributions().items()
    }
