"""Which installed distribution an import comes from."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from hermes_build.bundle.format import hexdigest
from hermes_build.compiler.bundling.closure import Outside
from hermes_build.compiler.bundling.remembered import Remembered
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import Project
from hermes_build.compiler.regular import read_regular

UV_LOCK = "uv.lock"
"""What `uv` has chosen for a project, beside its ``pyproject.toml``."""

Holder: TypeAlias = tuple[str, str | None]
"""An import name, and the normalised name of the distribution that has it, if one is known."""

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def find_dependencies(
    project: Project, outside: Sequence[Outside], known: Remembered, findings: Findings
) -> dict[str, str | None]:
    """Map each import name to the distribution that has it, or to None where that is not known.

    The name is the top-level one, or a longer one where several distributions share that. What the
    environment does not hold is looked for in the dependencies of the project's ``pyproject.toml``;
    an import that the program can go on without, and that nobody knows, is no finding.
    """
    declared = declared_dependencies(project)
    found: dict[str, str | None] = {}
    for one, held in zip(outside, _holders(outside, known), strict=True):
        for name, home in held:
            distribution = home
            if home is None and normalised(name) in declared:
                distribution = normalised(name)
            if distribution is None and not one.guarded and name not in found:
                findings.add(
                    "HB8104",
                    f"no installed distribution is known to have `{name}`",
                    one.span,
                    help=("install what the project needs, or declare it in `pyproject.toml`",),
                )
            found[name] = found.get(name) or distribution
    return dict(sorted(found.items()))


def _holders(outside: Sequence[Outside], known: Remembered) -> Iterable[Iterable[Holder]]:
    """What the environment has for each import, which is remembered as long as it is the same."""
    imports = tuple((one.module, one.names) for one in outside)
    mark = hexdigest(repr(imports).encode("utf-8", "surrogatepass"))
    found: Iterable[Iterable[Holder]] | None = known.recall("installed", mark)
    if found is None:
        from hermes_build.compiler.bundling.installed import holders

        found = holders(imports)
        known.keep("installed", mark, tuple(map(tuple, found)))
    return found


def normalised(name: str) -> str:
    """The one form of a distribution's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


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
        return _table(read_regular(project.root / "pyproject.toml"))
    except (OSError, ValueError, RecursionError):
        return {}


@lru_cache(maxsize=1)
def _table(data: bytes) -> dict[str, Any]:
    table = tomllib.loads(data.decode("utf-8-sig")).get("project", {})
    return table if isinstance(table, dict) else {}
