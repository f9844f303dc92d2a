"""Looking tools and toolsets up in a frozen registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_build.runtime.errors import UnknownToolset
from hermes_build.runtime.registry import ToolRegistry
from tests.runtime_program import tool, toolset, write_program


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> ToolRegistry:
    tools = [
        tool(
            "read_file", emoji="📖", aliases=["cat_file"], max_result_chars=50, handler="external"
        ),
        tool("web_search", toolset="web", requires={"env": ["KEY"]}, handler="external"),
        tool("loose", toolset=None, handler="external"),
    ]
    toolsets = [
        toolset("file", ["read_file"]),
        toolset("web", ["web_search"]),
        toolset("debugging", ["read_file", "web_search"], aliases=["debug"], includes=["web"]),
    ]
    return write_program(tmp_path_factory.mktemp("p"), tools, toolsets=toolsets).registry


def test_a_definition_is_what_the_spec_says(registry: ToolRegistry) -> None:
    definition = registry.get_definition("read_file")
    assert definition is not None
    assert definition["type"] == "function"
    assert list(definition["function"]) == ["name", "description", "parameters"]
    assert definition["function"] == registry.get_schema("read_file")


def test_definitions_come_once_each_and_sorted_and_unknown_ones_are_left_out(
    registry: ToolRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "there")
    found = registry.get_definitions(["web_search", "nope", "read_file", "read_file", "cat_file"])
    assert [one["function"]["name"] for one in found] == ["read_file", "web_search"]


def test_what_is_handed_out_is_nobody_elses(registry: ToolRegistry) -> None:
    definition = registry.get_definition("read_file")
    assert definition is not None
    definition["function"]["parameters"]["properties"].clear()
    registry.get_all_tool_names().clear()
    registry.get_tool_to_toolset_map().clear()
    registry.resolve_toolset("all").clear()
    entry = registry.get_entry("read_file")
    assert entry is not None
    entry.schema.clear()
    assert registry.get_definition("read_file") != definition
    assert registry.get_all_tool_names() == ["loose", "read_file", "web_search"]
    assert registry.get_toolset_for_tool("read_file") == "file"


def test_listings_follow_hermes_agent(registry: ToolRegistry) -> None:
    assert registry.get_tool_to_toolset_map() == {"read_file": "file", "web_search": "web"}
    assert registry.get_registered_toolset_names() == ["file", "web"]
    assert registry.get_tool_names_for_toolset("file") == ["read_file"]
    assert registry.get_tool_names_for_toolset("debugging") == []
    assert registry.get_toolset_names() == ["debugging", "file", "web"]
    assert registry.get_toolset_for_tool("nope") is None
    assert registry.get_entry("nope") is None
    assert registry.get_schema("nope") is None
    assert registry.get_definition("nope") is None


def test_emoji_and_size_fall_back_to_the_callers_default(registry: ToolRegistry) -> None:
    assert registry.get_emoji("read_file") == "📖"
    assert registry.get_emoji("web_search") == "⚡"
    assert registry.get_emoji("nope", "?") == "?"
    assert registry.get_max_result_size("read_file", 7) == 50
    assert registry.get_max_result_size("web_search", 7) == 7
    assert registry.get_max_result_size("web_search") == 100_000


def test_an_entry_has_hermes_agents_eleven_fields(registry: ToolRegistry) -> None:
    registry.register("web_search", handler=(handler := lambda args, **context: "found"))
    entry = registry.get_entry("web_search")
    assert entry is not None
    assert entry.handler is handler
    assert (entry.name, entry.toolset, entry.requires_env) == ("web_search", "web", ["KEY"])
    assert (entry.check_fn, entry.is_async, entry.dynamic_schema_overrides) == (None, False, None)
    assert (entry.emoji, entry.max_result_size_chars) == ("", None)
    assert entry.description == entry.schema["description"] == "The tool web_search."


def test_an_entry_has_all_that_was_declared_as_a_copy_of_its_own(tmp_path: Path) -> None:
    fields = {
        "requires": {"env": ["KEY"], "platforms": ["linux"], "check": True},
        "annotations": {"read_only": True},
        "timeout_seconds": 30,
        "max_result_chars": 50,
        "dynamic": ["/description"],
        "tags": ["network"],
    }
    registry = write_program(tmp_path, [tool("t", aliases=["old"], **fields)]).registry
    entry = registry.get_entry("old")
    assert entry is not None
    assert {key: entry.spec[key] for key in fields} == fields
    entry.spec["requires"].clear()
    assert entry.spec["requires"] == fields["requires"]


def test_an_alias_finds_its_tool(registry: ToolRegistry) -> None:
    assert registry.get_schema("cat_file") == registry.get_schema("read_file")
    assert registry.get_toolset_for_tool("cat_file") == "file"


def test_a_toolset_resolves_to_what_was_compiled(registry: ToolRegistry) -> None:
    assert registry.resolve_toolset("debugging") == ["read_file", "web_search"]
    assert registry.resolve_toolset("debug") == ["read_file", "web_search"]
    assert registry.resolve_toolset("file") == ["read_file"]


@pytest.mark.parametrize("name", ["all", "*"])
def test_all_means_every_tool(registry: ToolRegistry, name: str) -> None:
    assert registry.resolve_toolset(name) == registry.get_all_tool_names()


def test_an_unknown_toolset_names_the_nearest(registry: ToolRegistry) -> None:
    with pytest.raises(UnknownToolset) as caught:
        registry.resolve_toolset("debuging")
    assert (caught.value.name, caught.value.nearest) == ("debuging", "debugging")
    with pytest.raises(UnknownToolset) as caught:
        registry.resolve_toolset("quite else")
    assert caught.value.nearest is None


def test_an_alias_may_be_added_but_never_hides_a_toolset(tmp_path: Path) -> None:
    toolsets = [toolset("file", ["a"], aliases=["f"]), toolset("web", ["b"])]
    tools = [tool("a", handler="external"), tool("b", handler="external")]
    registry = write_program(tmp_path, tools, toolsets=toolsets).registry
    registry.register_toolset_alias("files", "f")
    registry.register_toolset_alias("files", "file")
    assert registry.resolve_toolset("files") == ["a"]
    assert registry.get_registered_toolset_aliases() == {"f": "file", "files": "file"}
    assert registry.get_toolset_alias_target("files") == "file"
    with pytest.raises(ValueError, match="stands for 'file'"):
        registry.register_toolset_alias("files", "web")
    for name in ("web", "all", "*"):
        with pytest.raises(ValueError, match="name of a toolset"):
            registry.register_toolset_alias(name, "file")
    with pytest.raises(UnknownToolset):
        registry.register_toolset_alias("x", "nope")
