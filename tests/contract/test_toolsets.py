"""Points 23 to 27 of the contract: what a toolset stands for, and what a session has of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hermes_build.runtime import ToolsetError, UnknownToolset
from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import OWNERS, error_of, names_of, offer

EVERY = sorted(OWNERS)


def test_23_a_leaf_resolves_to_exactly_its_tools(registry: ToolRegistry) -> None:
    assert registry.resolve_toolset("file") == ["read", "write"]
    assert registry.resolve_toolset("net") == ["fetch", "search"]


def test_23_a_composite_is_the_union_over_its_includes_minus_excludes(
    registry: ToolRegistry,
) -> None:
    assert registry.resolve_toolset("coding") == ["read", "run", "write"]
    assert registry.resolve_toolset("full") == EVERY
    assert registry.resolve_toolset("safe") == ["fetch", "read", "run", "search"]
    registry.plugin("p").register(**offer("aim", "file"))  # from here on it is walked again
    assert registry.resolve_toolset("safe") == ["aim", "fetch", "read", "run", "search"]


def test_23_all_and_the_star_mean_every_tool(registry: ToolRegistry) -> None:
    registry.plugin("p").register(**offer("zoom"))
    for name in ("all", "*"):
        assert registry.resolve_toolset(name) == sorted([*EVERY, "zoom"])
        assert registry.validate_toolset(name)
        assert registry.session([name]).names == tuple(sorted([*EVERY, "zoom"]))


def test_23_several_toolsets_are_their_union_without_duplicates(registry: ToolRegistry) -> None:
    assert registry.resolve_multiple_toolsets(["coding", "file", "net", "web"]) == EVERY
    assert registry.resolve_multiple_toolsets([]) == []
    assert registry.session(["coding", "file", "read"]).names == ("read", "run", "write")


def test_24_tools_of_run_time_are_merged_into_a_declared_toolset(registry: ToolRegistry) -> None:
    registry.plugin("p").register(**offer("aim", "file"))
    assert registry.resolve_toolset("file") == ["aim", "read", "write"]
    assert registry.resolve_toolset("coding") == ["aim", "read", "run", "write"]
    shown = registry.get_toolset("file")
    assert shown is not None and shown["tools"] == ["aim", "read", "write"]


def test_24_a_toolset_of_the_registry_alone_resolves_to_its_tools_sorted(
    registry: ToolRegistry,
) -> None:
    plugin = registry.plugin("p")
    for name in ("zoom", "aim"):
        plugin.register(**offer(name))
    assert registry.resolve_toolset("extra") == ["aim", "zoom"]
    assert registry.validate_toolset("extra")


def test_24_a_static_view_shows_only_what_was_compiled(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("aim", "file"))
    plugin.register(**offer("zoom"))
    registry.deregister("read")
    assert registry.resolve_toolset("file", include_registry=False) == ["read", "write"]
    static = registry.get_toolset("file", include_registry=False)
    assert static is not None and static["tools"] == ["read", "write"]
    assert registry.get_toolset("extra", include_registry=False) is None
    with pytest.raises(UnknownToolset):
        registry.resolve_toolset("extra", include_registry=False)


def test_25_a_custom_toolset_validates_and_resolves_like_a_declared_one(
    registry: ToolRegistry,
) -> None:
    registry.create_custom_toolset("mine", "Mine.", ["run"], ["web"], excludes=["search"])
    assert registry.validate_toolset("mine") and "mine" in registry.get_toolset_names()
    assert registry.resolve_toolset("mine") == ["fetch", "run"]
    assert registry.session(["mine"]).names == ("fetch", "run")
    registry.create_custom_toolset("wider", "Wider.", includes=["mine", "file"])
    assert registry.resolve_toolset("wider") == ["fetch", "read", "run", "write"]
    info = registry.get_toolset_info("mine")
    assert info is not None and info["tool_count"] == 2 and info["is_composite"]
    assert registry.get_toolset_info("file")["is_composite"] is False  # type: ignore[index]


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown tool": ({"tools": ["reed"]}, "read"),
    "an unknown toolset": ({"includes": ["flie"]}, "file"),
    "itself": ({"includes": ["mine"]}, "include each other"),
    "nothing": ({}, "resolves to no tool"),
    "everything excluded": ({"tools": ["read"], "excludes": ["read"]}, "resolves to no tool"),
    "a vain exclude": ({"tools": ["read"], "excludes": ["run"]}, "does not hold"),
    "text for a list": ({"tools": "read"}, "list of names"),
    "a taken name": ({"name": "file", "tools": ["read"]}, "already"),
    "a taken alias": ({"name": "net", "tools": ["read"]}, "alias"),
    "a name that means all": ({"name": "all", "tools": ["read"]}, "every tool"),
    "a name that is none": ({"name": "has space", "tools": ["read"]}, "letters"),
}


@pytest.mark.parametrize(("fields", "message"), MISTAKES.values(), ids=MISTAKES)
def test_25_a_custom_toolset_is_held_to_the_rules_of_declared_ones(
    registry: ToolRegistry, fields: dict[str, Any], message: str
) -> None:
    names = registry.get_toolset_names()
    with pytest.raises(ToolsetError, match=message):
        registry.create_custom_toolset(**{"name": "mine", "description": "Mine.", **fields})
    assert registry.get_toolset_names() == names


def test_26_a_servers_alias_and_its_canonical_name_both_resolve_to_its_tools(
    registry: ToolRegistry,
) -> None:
    server = registry.server("lens")
    for name in ("zoom", "aim"):
        server.register(**offer(name, "mcp-lens"))
    for name in ("lens", "mcp-lens"):
        assert registry.resolve_toolset(name) == ["aim", "zoom"]
        assert registry.validate_toolset(name)
        assert registry.session([name]).names == ("aim", "zoom")
        assert registry.session(disabled=[name]).names == tuple(EVERY)
    assert registry.get_toolset_alias_target("lens") == "mcp-lens"
    server.close()
    assert not registry.validate_toolset("lens") and not registry.validate_toolset("mcp-lens")


@pytest.mark.parametrize("enabled", [["full"], ["web", "file"], ["fetch", "read"], None])
def test_27_deny_is_applied_last_and_always_wins(
    registry: ToolRegistry, enabled: list[str] | None
) -> None:
    session = registry.session(enabled, ["web"])
    assert not {"fetch", "search"} & set(session.names)
    assert "read" in session.names
    assert not {"fetch", "search"} & set(names_of(session.definitions()))
    for answer in (session.call("fetch", {}), asyncio.run(session.acall("fetch", {}))):
        assert "not in this session" in error_of(answer)
    # Also over tools that come later, and over one that is enabled by its own name.
    registry.plugin("p").register(**offer("surf", "web"))
    assert "surf" not in session.names
    assert registry.session(["read", "fetch"], ["fetch", "fetch"]).names == ("read",)


def test_27_each_tool_has_one_owner_and_composites_own_nothing(registry: ToolRegistry) -> None:
    assert registry.get_tool_to_toolset_map() == OWNERS
    assert registry.get_tool_names_for_toolset("coding") == []
    assert registry.get_registered_toolset_names() == ["file", "terminal", "web"]


def test_27_denying_a_composite_removes_what_it_resolves_to_and_explain_says_so(
    registry: ToolRegistry,
) -> None:
    session = registry.session(["full"], ["coding"])
    assert session.names == ("fetch", "search")
    why = session.explain("read")
    assert not why.granted
    assert "'coding'" in why.because[0] and "disabled" in why.because[0]
    assert "comes through" in str(why)


def test_27_none_and_nothing_and_unknown_are_three_outcomes(registry: ToolRegistry) -> None:
    assert registry.session(None).names == registry.session().names == tuple(EVERY)
    nothing = registry.session([])
    assert nothing.names == () and nothing.definitions() == []
    assert "not in this session" in error_of(nothing.call("read", {}))
    for rule in ("enabled", "disabled"):
        with pytest.raises(UnknownToolset, match="'file'") as caught:
            registry.session(**{rule: ["web", "flie"]})
        assert (caught.value.name, caught.value.nearest) == ("flie", "file")
        with pytest.raises(TypeError):
            registry.session(**{rule: "file"})
    with pytest.raises(UnknownToolset, match="'file'"):
        registry.resolve_toolset("flie")
    assert not registry.validate_toolset("flie")
