"""Definitions that refer to each other in a circle and never to a type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def empty_cycle(definitions: Mapping[str, dict[str, Any]]) -> str | None:
    """Return an alias that leads back to itself before any list, mapping or class, if one does."""
    links = {
        name: [one["$ref"][1:] for one in (node, *node.get("anyOf", ())) if "$ref" in one]
        for name, node in definitions.items()
    }
    done: set[str] = set()
    for start in definitions:
        trail: list[str] = []
        walk = [(start, False)]
        while walk:
            name, leave = walk.pop()
            if leave:
                trail.pop()
                done.add(name)
            elif name in trail:
                return name
            elif name not in done:
                trail.append(name)
                walk.append((name, True))
                walk.extend((one, False) for one in links.get(name, ()))
    return None
