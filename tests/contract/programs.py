"""The compiled programs that the tests of the contract run, and what those tests share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_build.runtime.registry import ToolRegistry
from tests.runtime_program import tool, toolset, write_program

ANY: dict[str, Any] = {"type": "object"}
INTEGER = {"type": "object", "properties": {"n": {"type": "integer", "default": 7}}}

OWNERS = {
    "fetch": "web",
    "search": "web",
    "read": "file",
    "write": "file",
    "run": "terminal",
}

Make = Callable[..., ToolRegistry]


def echo(args: dict[str, Any], **context: Any) -> str:
    """A handler that tells what it was given."""
    context.pop("session", None)
    return json.dumps({"args": args, "context": context}, ensure_ascii=False)


def says(text: str) -> Callable[..., str]:
    """A handler that always says the same."""

    def handler(args: dict[str, Any], **context: Any) -> str:
        return text

    return handler


def schema(name: str, parameters: Any = None) -> dict[str, Any]:
    """What a registration at run time passes as its schema."""
    parameters = ANY if parameters is None else parameters
    return {"name": name, "description": f"The tool {name}.", "parameters": parameters}


def offer(name: str, toolset: str = "extra", **fields: Any) -> dict[str, Any]:
    """The arguments of a registration at run time; ``fields`` replace or add to the usual ones."""
    return {
        "name": name,
        "toolset": toolset,
        "schema": schema(name),
        "handler": says(f"{name} ran"),
        **fields,
    }


def one_tool(folder: Path, handler: Any, parameters: Any = None, **fields: Any) -> ToolRegistry:
    """The registry of a program with one tool ``t``; ``fields`` are those of its record."""
    bound = {key: fields.pop(key) for key in ("check_fn", "overrides") if key in fields}
    parameters = ANY if parameters is None else parameters
    record = tool("t", parameters, handler="external", **fields)
    registry = write_program(folder, [record]).registry
    registry.register(
        "t",
        handler=handler,
        check_fn=bound.get("check_fn"),
        dynamic_schema_overrides=bound.get("overrides"),
    )
    return registry


def several(folder: Path, **more: dict[str, Any]) -> ToolRegistry:
    """Five tools that say their names, in three leaves, two compositions and one with an exclude.

    ``more`` are fields of records by tool; those that promise a check are not bound yet.
    """
    tools = [
        tool(name, ANY, toolset=owner, handler="external", **more.get(name, {}))
        for name, owner in OWNERS.items()
    ]
    sets = [
        toolset("web", ["fetch", "search"], aliases=["net"]),
        toolset("file", ["read", "write"]),
        toolset("terminal", ["run"]),
        composition("coding", ["read", "run", "write"], ["file", "terminal"]),
        composition("full", sorted(OWNERS), ["coding", "web"]),
        composition("safe", ["fetch", "read", "run", "search"], ["coding", "web"], ["write"]),
    ]
    registry = write_program(folder, tools, toolsets=sets).registry
    for name in OWNERS:
        if not more.get(name, {}).get("requires", {}).get("check"):
            registry.register(name, handler=says(name))
    return registry


def composition(
    name: str, resolved: list[str], includes: list[str], excludes: list[str] | None = None
) -> dict[str, Any]:
    """The record of a toolset that owns nothing."""
    record = {"name": name, "tools": [], "includes": includes, "resolved": resolved}
    return {**record, "excludes": excludes} if excludes else record


def error_of(answer: Any) -> str:
    """The message of an answer that is an error."""
    value = fields_of(answer)
    assert isinstance(value.get("error"), str), answer
    return str(value["error"])


def fields_of(answer: Any) -> dict[str, Any]:
    """The object that an answer holds as JSON text, which UTF-8 can carry."""
    assert isinstance(answer, str)
    answer.encode()
    value = json.loads(answer)
    assert isinstance(value, dict)
    return value


def names_of(definitions: Any) -> list[str]:
    """The names of the tools that are defined, in their order."""
    return [one["function"]["name"] for one in definitions]


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Check:
    """A check function that counts how often it ran, and answers what it is told to."""

    def __init__(self, answer: Any = True) -> None:
        self.answer = answer
        self.runs = 0

    def __call__(self) -> Any:
        self.runs += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Recorder:
    """Hooks that note which of them was called with what, in order."""

    def __init__(self, registry: ToolRegistry) -> None:
        self.seen: list[tuple[str, dict[str, Any]]] = []
        for name in ("pre_tool_call", "post_tool_call", "transform_tool_result"):
            registry.hooks.add(name, self._note(name))

    def _note(self, hook: str) -> Callable[..., None]:
        def note(**values: Any) -> None:
            self.seen.append((hook, values))

        return note

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.seen]

    def last(self, hook: str) -> dict[str, Any]:
        """What a hook was given at last."""
        return next(values for name, values in reversed(self.seen) if name == hook)
