"""Which existing path a wrong path was probably meant to be."""

from __future__ import annotations

import os
from collections import deque
from difflib import get_close_matches

from handlers.files.workspace import Place, Workspace, printable
from handlers.refusal import Refusal

MOST = 3
"""How many paths are suggested."""

ENTRIES = 5_000
"""How many entries of the workspace are looked at; a wrong path must not cost seconds."""


def missing(workspace: Workspace, place: Place) -> Refusal:
    """The refusal for a place where nothing stands, with the nearest paths that do exist."""
    found = nearest(workspace, place)
    hint = f" Did you mean {' or '.join(found)}?" if found else ""
    return Refusal(f"{place.shown} does not exist.{hint}", path=place.shown, did_you_mean=found)


def nearest(workspace: Workspace, place: Place) -> list[str]:
    """Up to `MOST` existing paths like ``place``, the likeliest first.

    First the neighbours of the first part that does not exist, then files of that very name
    elsewhere in the workspace.
    """
    depth = 0
    while depth < len(place.parts) and workspace.status(Place(place.parts[: depth + 1])):
        depth += 1
    if depth == len(place.parts):
        return []
    base, wrong, rest = place.parts[:depth], place.parts[depth], place.parts[depth + 1 :]
    found: list[str] = []
    for name in get_close_matches(wrong, _names(workspace, base), n=MOST, cutoff=0.6):
        deeper = Place((*base, name, *rest))
        found.append(deeper.shown if workspace.status(deeper) else Place((*base, name)).shown)
    found += [path for path in _namesakes(workspace, place.name) if path not in found]
    return found[:MOST]


def _names(workspace: Workspace, parts: tuple[str, ...]) -> list[str]:
    try:
        with workspace.folder(parts) as folder:
            return sorted(os.listdir(folder))[:ENTRIES]
    except OSError:
        return []


def _namesakes(workspace: Workspace, name: str) -> list[str]:
    """Paths with this file name, nearest to the root first; hidden folders are not entered."""
    queue, left, found = deque([workspace.root]), ENTRIES, list[str]()
    while queue and left > 0 and len(found) < MOST:
        try:
            with os.scandir(queue.popleft()) as entries:
                for entry in entries:
                    left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        if not entry.name.startswith("."):
                            queue.append(entry.path)
                    elif entry.name == name:
                        found.append(printable(os.path.relpath(entry.path, workspace.root)))
        except OSError:
            continue
    return sorted(found)
