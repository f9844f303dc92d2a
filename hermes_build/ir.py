"""The one vocabulary: what a program's tools, toolsets and servers are.

Everything here is frozen and made of the standard library alone. JSON values are plain ``dict``,
``list``, ``str``, ``int``, ``float``, ``bool`` and ``None``; nobody changes them after the stage
that made them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
Schema: TypeAlias = JsonObject | bool
HandlerKind: TypeAlias = Literal["self", "external", "server"]

TOOL_NAME = r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$"
"""What a tool's or toolset's name may be: the names that every model provider accepts."""

_NAME = re.compile(TOOL_NAME)

RESERVED_TOOLSETS = ("all", "*")
"""Toolset names that mean every tool; nobody may declare them."""


def is_name(text: str) -> bool:
    """Whether a tool or a toolset may have this name, reserved ones aside."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a source file; ``path`` is relative to the project, with forward slashes."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Requires:
    """What must be there for a tool to be available; empty fields demand nothing."""

    env: tuple[str, ...] = ()
    any_env: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    check: bool = False


@dataclass(frozen=True, slots=True)
class Annotations:
    """Hints on a tool's side effects, after MCP; ``None`` where the spec does not say."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True, slots=True)
class Deprecated:
    """Since which version a tool is deprecated, and which tool takes its place."""

    since: str | None = None
    use: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as its spec declares it; its schemas hold what they refer to in other files."""

    name: str
    place: Place
    description: str
    parameters: JsonObject
    toolset: str | None = None
    title: str | None = None
    emoji: str | None = None
    output_schema: Schema | None = None
    is_async: bool | None = None
    requires: Requires = Requires()
    max_result_chars: int | None = None
    timeout_seconds: float | None = None
    annotations: Annotations = Annotations()
    tags: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    deprecated: Deprecated | None = None
    examples: tuple[JsonObject, ...] = ()
    handler: HandlerKind = "self"


@dataclass(frozen=True, slots=True)
class Guards:
    """What a composition promises about its resolved tools; proved at compile time."""

    forbid_tags: tuple[str, ...] = ()
    require: Mapping[str, bool] = field(default_factory=dict)
    max_tools: int | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Toolset:
    """One toolset: as declared, and ``resolved`` to the sorted names of its tools.

    ``tools`` is None where the document leaves it out, until resolution fills in the tools that
    name the toolset as their owner. One that is not ``declared`` by a document of its own has the
    place of its first such tool. One that ``may_be_empty`` waits for tools that a running program
    registers into it.
    """

    name: str
    place: Place
    description: str = ""
    tools: tuple[str, ...] | None = None
    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    guards: Guards = field(default_factory=Guards)
    aliases: tuple[str, ...] = ()
    may_be_empty: bool = False
    resolved: tuple[str, ...] = ()
    declared: bool = True


@dataclass(frozen=True, slots=True)
class Server:
    """An MCP server as declared; ``${VAR}`` in its values is read when it starts, never here."""

    name: str
    place: Place
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Catalog:
    """A whole program, each tuple sorted by name."""

    tools: tuple[Tool, ...] = ()
    toolsets: tuple[Toolset, ...] = ()
    servers: tuple[Server, ...] = ()
