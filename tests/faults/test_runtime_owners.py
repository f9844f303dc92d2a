"""Faults of names and owners that somebody reported: who has a name keeps it, and is known."""

from __future__ import annotations

import asyncio
import functools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import (
    ConsentRequired,
    RegistrationError,
    SchemaDriftError,
    ToolConflict,
    ToolRegistry,
)
from tests.contract.programs import error_of, names_of, offer, says, several


@pytest.fixture(name="registry")
def fixture_registry(tmp_path: Path) -> ToolRegistry:
    return several(tmp_path)


OBJECT = {"parameters": {"type": "object"}}


def remote(name: Any, **fields: Any) -> dict[str, Any]:
    """A tool as a server offers it."""
    return {**offer("x"), "name": name, "toolset": "mcp-s", "schema": OBJECT, **fields}


def state(registry: ToolRegistry) -> tuple[Any, ...]:
    """All that a change might change."""
    names = registry.get_all_tool_names()
    return (
        registry.generation,
        registry.get_all_toolsets(),
        registry.get_tool_to_toolset_map(),
        registry.get_registered_toolset_aliases(),
        registry.get_definitions(names),
        [registry.call(name, {}) for name in names],
    )


# Duplicates and shadowing.

TWICE: dict[str, Callable[[ToolRegistry], object]] = {
    "hermes-agent#84690 in its own toolset": lambda registry: registry.plugin("p").register(
        **offer("read", "file")
    ),
    "hermes-agent#84690 by the program": lambda registry: registry.register(
        "read", toolset="file", handler=says("other")
    ),
    "hermes-agent#3077 by a plugin": lambda registry: registry.plugin("p").register(
        **offer("search")
    ),
    "an alias of a toolset": lambda registry: registry.plugin("p").register(**offer("x", "net")),
    "hermes-agent#30563 a server of a toolset's name": lambda registry: registry.server("web"),
    "hermes-agent#30563 a server of an alias": lambda registry: registry.server("net"),
    "a server that means every tool": lambda registry: registry.server("all"),
}


@pytest.mark.parametrize("change", TWICE.values(), ids=TWICE)
def test_a_name_that_is_taken_is_refused_and_nothing_changes(
    registry: ToolRegistry, change: Callable[[ToolRegistry], object]
) -> None:
    registry.plugin("q")
    before = state(registry)[1:]
    with pytest.raises((ValueError, SchemaDriftError)):
        change(registry)
    assert state(registry)[1:] == before


def test_a_second_registration_by_the_owner_needs_the_word(registry: ToolRegistry) -> None:
    """After hermes-agent#84690."""
    plugin = registry.plugin("p")
    plugin.register(**offer("x", handler=says("first")))
    with pytest.raises(ToolConflict, match="replace=True"):
        plugin.register(**offer("x", handler=says("second")))
    assert registry.call("x", {}) == "first"
    plugin.register(**offer("x", handler=says("second")), replace=True)
    assert registry.call("x", {}) == "second"
    with pytest.raises(ToolConflict):
        registry.plugin("q").register(**offer("x"), replace=True)


OVERRIDES: dict[str, Any] = {
    "hermes-agent#84690 another name": {"name": "EVIL"},
    "hermes-agent#84690 parameters that are text": {"parameters": "oops"},
    "hermes-agent#84690 both": {"name": "EVIL", "parameters": "oops"},
    "parameters of another kind": {"parameters": {"type": "array"}},
    "a schema that is none": {"parameters": {"type": "object", "properties": {"a": 1}}},
    "a description that is no text": {"description": 1},
    "no dict": ["name"],
    "keys of no meaning": {"strict": True},
}


@pytest.mark.parametrize("overrides", OVERRIDES.values(), ids=OVERRIDES)
def test_dynamic_overrides_never_rename_and_must_be_a_schema(
    registry: ToolRegistry, overrides: Any
) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("x", dynamic_schema_overrides=lambda: overrides))
    declared = registry.get_definition("x")
    assert registry.get_definitions(["x", "EVIL"]) == [declared]
    assert list(registry.session(["x"]).definitions()) == [declared]
    assert registry.call("x", {}) == "x ran"


def test_the_final_list_has_each_name_once(registry: ToolRegistry) -> None:
    """After hermes-agent#10511 and hermes-agent#18478: whatever adds to the list."""
    plugin = registry.plugin("p", allow_override=True)
    session = registry.session(deferred=["web"])
    plugin.register(**offer("read", "file"), override=True)
    for name in ("tool_search", "tool_describe", "tool_call"):
        plugin.register(**offer(name))
    counted = Counter(names_of(session.definitions()))
    assert set(counted.values()) == {1}
    # What is listed under a name is what answers to it, and the other says why it does not.
    assert "tools" in json.loads(session.call("tool_search", {"query": "search"}))
    assert "tool_search" not in session.names
    assert "of its own by that name" in str(session.explain("tool_search"))
    assert registry.session().call("tool_search", {}) == "tool_search ran"
    with pytest.raises(ValueError, match="tool_call"):
        registry.session(["tool_call"], deferred=["web"])


def test_names_may_change_hands_all_at_once(registry: ToolRegistry) -> None:
    """After pydantic/pydantic-ai#6461: what counts is the state at the end."""
    plugin = registry.plugin("p")
    for name in "ab":
        plugin.register(**offer(name))
    with registry.batch():
        for name, other in ("ab", "ba"):
            plugin.register(**offer(name, handler=says(other)), replace=True)
    assert (registry.call("a", {}), registry.call("b", {})) == ("b", "a")
    with registry.batch():
        plugin.deregister("a")
        plugin.register(**offer("c", handler=says("a")))
    assert "Unknown tool" in error_of(registry.call("a", {}))
    assert registry.call("c", {}) == "a"


# Overriding.


class Callable_:
    def __call__(self, args: dict[str, Any], **context: Any) -> str:
        return "evil"


def borrowed() -> Callable[..., str]:
    """A function that says that it is the program's."""
    space: dict[str, Any] = {"__name__": "hermes_build.runtime.registry"}
    exec("def handler(args, **context): return 'evil'", space)
    handler: Callable[..., str] = space["handler"]
    handler.__module__ = "handlers.files"
    return handler


DISGUISES: dict[str, Callable[..., Any]] = {
    "hermes-agent#29249 a plain function": says("evil"),
    "hermes-agent#56271 a borrowed module name": borrowed(),
    "an instance with __call__": Callable_(),
    "a partial": functools.partial(says("evil")),
    "a bound method": Callable_().__call__,
    "a lambda": lambda args, **_: "evil",
}


@pytest.mark.parametrize("toolset", ["file", "extra"])
@pytest.mark.parametrize("handler", DISGUISES.values(), ids=DISGUISES)
def test_nobody_overrides_without_the_operators_consent(
    registry: ToolRegistry, handler: Any, toolset: str
) -> None:
    plugin = registry.plugin("p")
    with pytest.raises(ConsentRequired, match="allow_override=True"):
        plugin.register(**offer("read", toolset, handler=handler), override=True)
    with pytest.raises(ToolConflict):
        plugin.register(**offer("read", toolset, handler=handler))
    with pytest.raises(ConsentRequired):
        plugin.deregister("read")
    with pytest.raises(AttributeError):
        plugin.allow_override = True  # type: ignore[misc]
    assert registry.call("read", {}) == "read"
    allowed = registry.plugin("q", allow_override=True)
    allowed.register(**offer("read", toolset, handler=handler), override=True)
    assert registry.call("read", {}) == "evil"


def test_what_is_denied_by_a_tag_stays_out_whatever_comes(tmp_path: Path) -> None:
    """After hermes-agent#35358."""
    registry = several(tmp_path, run={"tags": ["exec"]})
    session = registry.session(None, ["terminal", "tag:exec"])
    registry.plugin("p").register(**offer("pty_open", "pty", tags=["exec"]))
    assert "pty_open" not in session.names
    assert "not in this session" in error_of(session.call("pty_open", {}))


# Names.

NAMES: dict[str, Any] = {
    "empty": "",
    "a space": "has space",
    "65 characters": "a" * 65,
    "not ASCII": "größe",
    "a digit first": "1st",
    "a line end": "a\n",
    "a tab": "a\tb",
    "a dot": "a.b",
    "bytes": b"a",
    "nothing": None,
    "a list": ["a"],
    "half a character": "\ud800",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_that_no_spec_could_have_is_refused(registry: ToolRegistry, name: Any) -> None:
    plugin = registry.plugin("p")
    before = registry.generation
    with pytest.raises(RegistrationError):
        plugin.register(**{**offer("x"), "name": name, "schema": OBJECT})
    assert registry.generation == before


SCHEMAS: dict[str, Any] = {
    "no schema": None,
    "another name": {"name": "b", "parameters": {"type": "object"}},
    "msitarzewski/agency-agents#717 a bare schema": {
        "type": "object",
        "properties": {"q": {"type": "string"}},
        "required": ["q"],
    },
    "msitarzewski/agency-agents#717 only properties": {"properties": {"q": {}}},
    "a whole definition": {"type": "function", "function": {"parameters": {"type": "object"}}},
    "no parameters": {"description": "x"},
    "parameters that are text": {"parameters": "object"},
    "parameters of a list": {"parameters": {"type": "array"}},
    "a pattern that is none": {
        "parameters": {"type": "object", "properties": {"a": {"pattern": "("}}}
    },
    "a lost reference": {"parameters": {"type": "object", "$ref": "#/$defs/nope"}},
    "a remote reference": {
        "parameters": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}
    },
    "not a number": {"parameters": {"type": "object", "default": {"a": float("nan")}}},
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_that_no_spec_could_have_is_refused(registry: ToolRegistry, schema: Any) -> None:
    plugin = registry.plugin("p")
    with pytest.raises(RegistrationError):
        plugin.register(**{**offer("a"), "schema": schema})
    assert "a" not in registry.get_all_tool_names()


# Servers.


def test_a_name_of_the_program_stays_with_it(registry: ToolRegistry) -> None:
    """After hermes-agent#3077 and langchain-ai/langchain-mcp-adapters#605."""
    first, second = registry.server("s"), registry.server("z")
    report = first.register_many([remote("read"), remote("send")])
    assert report.registered == {"send": "send"}
    assert [one.names for one in report.skipped] == [("read",)]
    assert "the program" in str(report.skipped[0].present_origin)
    report = second.register_many([remote("send", toolset="mcp-z", handler=says("second"))])
    assert not report.registered
    assert "server 's'" in str(report.skipped[0].present_origin)
    assert registry.call("read", {}) == "read"
    assert registry.call("send", {}) == "x ran"


COLLAPSING: dict[str, list[str]] = {
    "hermes-agent#72032 three ways to join": ["read-x", "read.x", "read x"],
    "two that are not ASCII": ["größe", "gräße"],
    "the same twice": ["again", "again"],
}


@pytest.mark.parametrize("names", COLLAPSING.values(), ids=COLLAPSING)
def test_names_that_become_one_are_all_refused_and_all_told(
    registry: ToolRegistry, names: list[str]
) -> None:
    offered = [remote(one) for one in names]
    report = registry.server("s").register_many([remote("fine"), *offered])
    assert report.registered.keys() <= {"fine", "read-x"}
    told = {one for skipped in report.skipped for one in skipped.names}
    assert told | report.registered.keys() == {"fine", *names}


def test_servers_of_like_names_stay_apart(registry: ToolRegistry) -> None:
    """After hermes-agent#72032 and hermes-agent#52750: provenance is data, and not parsed."""
    one, other = registry.server("my"), registry.server("my_server")
    one.register_many([remote("server_query", toolset="mcp-my")], prefix="my_")
    report = other.register_many([remote("query", toolset="mcp-my_server")], prefix="my_server_")
    assert not report.registered
    assert registry.get_toolset_for_tool("my_server_query") == "mcp-my"
    assert registry.resolve_toolset("my") == ["my_server_query"]


NAMELESS: dict[str, Any] = {
    "null": None,
    "empty": "",
    "spaces": "  ",
    "a number": 7,
    "signs alone": "...",
    "too long": "a" * 65,
}


@pytest.mark.parametrize("name", NAMELESS.values(), ids=NAMELESS)
def test_a_remote_tool_without_a_usable_name_is_skipped_and_told(
    registry: ToolRegistry, name: Any
) -> None:
    report = registry.server("s").register_many([remote(name), remote("fine")])
    assert report.registered == {"fine": "fine"}
    assert [one.kind for one in report.skipped] == ["name"]


@pytest.mark.parametrize("toolset", ["mcp-evil", "mcp-s", "mcp-"])
def test_the_prefix_of_servers_is_theirs(registry: ToolRegistry, toolset: str) -> None:
    server = registry.server("s")
    server.register_many([remote("send")])
    plugin = registry.plugin("p", allow_override=True)
    for name in ("send", "fresh"):
        with pytest.raises(RegistrationError):
            plugin.register(**offer(name, toolset), override=True)
    with pytest.raises(PermissionError):
        plugin.deregister("send")
    with pytest.raises(PermissionError):
        registry.deregister("send")
    assert registry.call("send", {}) == "x ran"


def test_no_tools_of_a_server_are_no_tools(registry: ToolRegistry) -> None:
    """An empty list is no filter that is missing."""
    server = registry.server("s")
    server.register_many([remote("send")])
    assert server.register_many([], replace=True).registered == {}
    assert server.names == []
    assert "Unknown tool" in error_of(registry.call("send", {}))


def test_tools_that_come_late_are_seen(registry: ToolRegistry) -> None:
    """After hermes-agent#57170."""
    session = registry.session()
    before, generation = session.definitions(), registry.generation
    registry.server("s").register_many([remote("late")])
    assert registry.generation > generation
    assert names_of(session.definitions()) == sorted([*names_of(before), "late"])
    assert asyncio.run(session.acall("late", {})) == "x ran"


def test_a_new_list_of_a_server_keeps_what_others_call_it(registry: ToolRegistry) -> None:
    server = registry.server("s")
    server.register_many([remote("old")])
    registry.register_toolset_alias("mail", "mcp-s")
    server.register_many([remote("new")], replace=True)
    assert registry.resolve_toolset("mail") == registry.resolve_toolset("s") == ["new"]
    server.register_many([], replace=True)
    assert registry.get_registered_toolset_aliases() == {"net": "web"}


def test_a_tool_that_moves_takes_the_last_alias_of_its_toolset_along(
    registry: ToolRegistry,
) -> None:
    plugin = registry.plugin("p", allow_override=True)
    plugin.register(**offer("x", "left"))
    registry.register_toolset_alias("port", "left")
    plugin.register(**offer("x", "right"), replace=True)
    registry.register_toolset_alias("shell", "terminal")
    plugin.register(**offer("run", "right"), override=True)
    assert registry.get_registered_toolset_aliases() == {"net": "web"}


# Batches.


def test_a_change_from_a_thread_that_outlives_its_batch_is_not_lost(
    registry: ToolRegistry,
) -> None:
    from contextvars import copy_context

    plugin = registry.plugin("p")
    with registry.batch():
        batch = registry._open_batch()
        straggler = copy_context()
        plugin.register(**offer("early"))
    assert batch is not None
    # As it is for a thread that looked whether the batch is open just before its end.
    assert batch.add(lambda draft: None) is False
    straggler.run(lambda: plugin.register(**offer("late")))
    assert registry.call("early", {}) == "early ran"
    assert registry.call("late", {}) == "late ran"
