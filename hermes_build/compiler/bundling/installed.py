"""Which distributions of this environment hold which modules."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from inspect import getmodulename

from hermes_build.compiler.bundling.distributions import Holder, normalised


def holders(imports: Iterable[tuple[str, tuple[str, ...]]]) -> list[list[Holder]]:
    """The import names, with their distributions, that each of some imports stands for.

    An import is a dotted name, and what is taken of it. The import name is the top-level one, or a
    longer one where several distributions share that.
    """
    imports = list(imports)
    installed = _find_installed({module.partition(".")[0] for module, _ in imports})
    return [_holders(module, names, installed) for module, names in imports]


def _holders(
    module: str, names: tuple[str, ...], installed: dict[str, list[_Installed]]
) -> list[Holder]:
    top = module.partition(".")[0]
    homes = installed.get(top, [])
    if len(homes) > 1:
        # Several distributions share the top-level name: the files tell which of them it is.
        wanted = [f"{module}.{each}" for each in names] or [module]
        return list(dict(_holder(name, homes) for name in wanted).items())
    return [(top, homes[0].name if homes else None)]


def _holder(name: str, homes: Iterable[_Installed]) -> Holder:
    """The longest part of a dotted name that one distribution alone has, and which."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        stem = "/".join(parts[:count])
        having = [home for home in homes if home.has(stem)]
        if len(having) == 1:
            return ".".join(parts[:count]), having[0].name
        if not having:
            break
    return name if len(parts) == 1 else ".".join(parts[:2]), None


@dataclass(frozen=True, slots=True)
class _Installed:
    """A distribution: its normalised name, and its files."""

    name: str
    files: tuple[str, ...]

    def has(self, stem: str) -> bool:
        return any(one.startswith((f"{stem}/", f"{stem}.")) for one in self.files)


def _find_installed(tops: set[str]) -> dict[str, list[_Installed]]:
    """The distributions that have each of some top-level import names, by their own names.

    `importlib.metadata.packages_distributions` says the same of all names, and takes half a second
    to make an object of every installed file. Here the list of files is read as text, and looked
    into where one of the names stands in it.
    """
    found: dict[str, dict[str, _Installed]] = {}
    for one in metadata.distributions():
        held = (one.read_text("top_level.txt") or "").split()
        text = "\n" + (one.read_text("RECORD") or "")
        if text != "\n" and tops.isdisjoint(held) and not any(f"\n{top}" in text for top in tops):
            continue
        rows = csv.reader(text.splitlines())
        files = tuple(row[0] for row in rows if row) or tuple(map(str, one.files or ()))
        wanted = tops.intersection(held or map(_top_level, files))
        if wanted:
            home = _Installed(normalised(one.metadata["Name"]), files)
            for top in wanted:
                found.setdefault(top, {}).setdefault(home.name, home)
    return {top: [homes[name] for name in sorted(homes)] for top, homes in found.items()}


def _top_level(file: str) -> str:
    """The name by which a file, or what it is in, is imported; empty for no module."""
    top, slash, _ = file.partition("/")
    name = top if slash else getmodulename(top) or ""
    return name if name.isidentifier() else ""
