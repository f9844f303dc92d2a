"""Print what a live registry holds, as JSON. A stand-alone script for any Python from 3.8 on.

It is run by its path, by the interpreter of the environment that has the registry, and never
imported by the compiler: it may use nothing but the standard library of that interpreter.
"""

from __future__ import annotations

import sys

# Python puts the folder of a script first on the path. The modules beside this one are not meant
# to be seen by the program that is read here; the folder that it is run from is.
if sys.path and __file__.startswith(sys.path[0]) and sys.path[0]:
    del sys.path[0]

import importlib
import json
import os
from typing import Any

MAX_DEPTH = 400


class Refused(Exception):
    """What was asked for cannot be read; the message says why."""


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to one request: the object's tools, and the toolsets where asked for."""
    for name in request["preload"]:
        importlib.import_module(name)
    subject = find(request["object"])
    answer: dict[str, Any] = {
        "tools": [],
        "definitions": [],
        "toolsets": None,
        "aliases": {},
        "refused": [],
    }
    for entry in entries(subject, request["object"]):
        try:
            if isinstance(entry, dict):
                answer["definitions"].append(plain(entry, "the definition"))
            else:
                answer["tools"].append(tool(entry))
        except Refused as error:
            name = entry.get("name") if isinstance(entry, dict) else getattr(entry, "name", None)
            answer["refused"].append([str(name), str(error)])
    aliases = getattr(subject, "get_registered_toolset_aliases", None)
    if callable(aliases):
        answer["aliases"] = {str(alias): str(name) for alias, name in aliases().items()}
    if request["toolsets"]:
        toolsets = find(request["toolsets"])
        if not isinstance(toolsets, dict):
            raise Refused(f"{request['toolsets']} is {kind(toolsets)}, not a dict of toolsets")
        answer["toolsets"] = [[str(name), toolset(one)] for name, one in toolsets.items()]
    return answer


def find(place: str) -> Any:
    """The object that `module:attribute` names; the attribute may be dotted."""
    module, _, path = place.partition(":")
    found = importlib.import_module(module)
    for part in path.split("."):
        if not hasattr(found, part):
            raise Refused(f"{module} has no {path!r}")
        found = getattr(found, part)
    return found


def entries(subject: Any, place: str) -> list[Any]:
    """Every registered tool, in the registry's own order."""
    names = getattr(subject, "get_all_tool_names", None)
    one = getattr(subject, "get_entry", None)
    if callable(names) and callable(one):
        return [one(name) for name in names()]
    subject = getattr(subject, "_tools", subject)
    if isinstance(subject, dict):
        return list(subject.values())
    if isinstance(subject, (list, tuple)):
        return list(subject)
    raise Refused(
        f"{place} is {kind(subject)}: expected a registry with get_all_tool_names() "
        "and get_entry(), or a list of tool definitions"
    )


def tool(entry: Any) -> dict[str, Any]:
    """One entry of a registry, as JSON values."""
    schema = getattr(entry, "schema", None)
    if not isinstance(schema, dict):
        raise Refused(f"its schema is {kind(schema)}, not a dict")
    name = getattr(entry, "name", None)
    limit = getattr(entry, "max_result_size_chars", None)
    return {
        "name": str(name),
        "toolset": text(getattr(entry, "toolset", None)),
        "schema": plain(schema, "schema"),
        "description": text(getattr(entry, "description", None)),
        "emoji": text(getattr(entry, "emoji", None)),
        "is_async": bool(getattr(entry, "is_async", False)),
        "requires_env": words(getattr(entry, "requires_env", None)),
        "check": getattr(entry, "check_fn", None) is not None,
        "max_result_size_chars": limit if isinstance(limit, (int, float)) else None,
        "dynamic": getattr(entry, "dynamic_schema_overrides", None) is not None,
    }


def toolset(one: Any) -> dict[str, Any] | str:
    """One toolset, as JSON values; a string where it is none, which says what it is instead."""
    if not isinstance(one, dict):
        return kind(one)
    known = ("description", "tools", "includes")
    return {
        "description": text(one.get("description")) or "",
        "tools": words(one.get("tools")),
        "includes": words(one.get("includes")),
        "more": sorted(str(key) for key in one if key not in known),
    }


def words(value: Any) -> list[str]:
    """A list of names; a set has no order of its own and is sorted."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, (set, frozenset)):
        return sorted(str(one) for one in value)
    return [str(one) for one in value or ()]


def text(value: Any) -> str | None:
    """The value as text, or None where there is none."""
    return str(value) if value else None


def kind(value: Any) -> str:
    """The name of the value's type, with its article."""
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def plain(value: Any, place: str, depth: int = 0) -> Any:
    """The value in the types of JSON alone; anything else is refused, with its place."""
    if depth > MAX_DEPTH:
        raise Refused(f"{place[:60]}... is nested deeper than {MAX_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise Refused(f"{place} has the key {key!r}, which is not text")
        return {
            str.__str__(key): plain(one, f"{place}/{key}", depth + 1) for key, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [plain(one, f"{place}/{nth}", depth + 1) for nth, one in enumerate(value)]
    raise Refused(f"{place} is {kind(value)}, which JSON cannot hold")


def run() -> None:
    """Answer the request in the first argument on what was standard output at the start."""
    # Whatever the imports print must not mix with the answer: from here on it goes to stderr.
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    request = json.loads(sys.argv[1])
    sys.path.insert(0, os.getcwd())
    try:
        answer = main(request)
    except Refused as error:
        answer = {"error": str(error)}
    answers.write(json.dumps(answer))
    answers.flush()
    # Threads that the imports started may never end, and exit hooks may hang: the work is done.
    os._exit(0)


if __name__ == "__main__":
    run()
