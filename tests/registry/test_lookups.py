"""Looking up, listing, calling and removing tools, those that came at run time among them."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import SchemaDriftError
from hermes_build.runtime.registry import ToolRegistry
from tests.registry.programs import TEXT, make_registry, offer, says, schema
from tests.runtime_program import tool, write_program

BEFORE = ["read_file", "web_fetch", "web_search", "write_file"]


def test_a_registered_tool_is_called_with_its_arguments_and_its_text_comes_back(
    registry: ToolRegistry,
) -> None:
    seen: list[Any] = []

    def handler(args: dict[str, Any], **context: Any) -> str:
        seen.append((args, context))
        return "naïve → text"

    registry.plugin("p").register(**offer("echo", handler=handler))
    for _ in range(2):  # the first call of a tool goes another way than the next
        assert registry.call("echo", {"text": "a"}, task_id="7") == "naïve → text"
    assert registry.dispatch("echo") == "naïve → text"
    assert seen[0] == seen[1] == ({"text": "a"}, {"task_id": "7"})
    assert seen[2] == ({}, {})


def test_arguments_of_a_run_time_tool_are_validated_and_filled_in(registry: ToolRegistry) -> None:
    parameters = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
    given = offer("count", schema=schema("count", parameters), handler=lambda *, n: str(n))
    registry.plugin("p").register(**given)
    assert registry.call("count", {}) == "3"
    refused = json.loads(registry.call("count", {"n": [1]}))
    assert "Invalid arguments for count" in refused["error"]


def test_an_unknown_name_is_an_error_for_the_model_that_names_the_nearest(
    registry: ToolRegistry,
) -> None:
    registry.plugin("p").register(**offer("translate"))
    answer = json.loads(registry.call("translat", {}))
    assert answer["error"] == "Unknown tool: translat. Did you mean 'translate'?"


def test_lookups_know_run_time_tools(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom", toolset="web", emoji="🔭", max_result_size_chars=12))
    plugin.register(**offer("aim", description="Unused, since the schema has one."))
    assert registry.get_all_tool_names() == sorted([*BEFORE, "aim", "zoom"])
    assert registry.get_toolset_for_tool("zoom") == "web"
    assert registry.get_toolset_for_tool("nope") is None
    assert registry.get_tool_to_toolset_map()["aim"] == "extra"
    assert registry.get_registered_toolset_names() == ["extra", "file", "web"]
    assert registry.get_tool_names_for_toolset("web") == ["web_fetch", "web_search", "zoom"]
    assert registry.get_schema("aim") == schema("aim")
    assert registry.get_entry("nope") is None


def test_emoji_and_result_size_have_the_defaults_of_declared_tools(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom", emoji="🔭", max_result_size_chars=float("inf")))
    plugin.register(**offer("aim", emoji=""))
    assert (registry.get_emoji("zoom"), registry.get_emoji("aim")) == ("🔭", "⚡")
    assert registry.get_emoji("aim", "?") == "?"
    assert registry.get_max_result_size("zoom") == float("inf")
    assert registry.get_max_result_size("aim") == 100_000
    assert registry.get_max_result_size("aim", 5) == 5


def test_an_entry_of_a_run_time_tool_has_every_field(registry: ToolRegistry) -> None:
    def check() -> bool:
        return True

    def overrides() -> dict[str, Any]:
        return {}

    async def handler(args: dict[str, Any]) -> str:
        return ""

    given = offer(
        "zoom",
        handler=handler,
        check_fn=check,
        requires_env=["KEY"],
        emoji="🔭",
        max_result_size_chars=12,
        dynamic_schema_overrides=overrides,
        timeout_seconds=3,
        tags=["sky"],
        annotations={"read_only": True},
        output_schema={"type": "object"},
    )
    registry.plugin("stars").register(**given)
    entry = registry.get_entry("zoom")
    assert entry is not None
    assert (entry.name, entry.toolset, entry.schema) == ("zoom", "extra", schema("zoom"))
    assert (entry.handler, entry.check_fn, entry.is_async) == (handler, check, True)
    assert (entry.requires_env, entry.emoji, entry.max_result_size_chars) == (["KEY"], "🔭", 12)
    assert entry.description == "The tool zoom."
    assert entry.dynamic_schema_overrides is overrides
    assert entry.origin == "plugin 'stars'"
    assert entry.spec["timeout_seconds"] == 3
    assert entry.spec["tags"] == ["sky"]
    assert entry.spec["annotations"] == {"read_only": True}
    assert entry.spec["output_schema"] == {"type": "object"}
    declared = registry.get_entry("read_file")
    assert declared is not None and declared.origin == "tool_specs/read_file.yaml:1"


def test_an_entry_stays_what_it_was_when_its_tool_is_replaced(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    first = says("first")
    plugin.register(**offer("zoom", handler=first))
    entry = registry.get_entry("zoom")
    plugin.register(**offer("zoom", toolset="other"), replace=True)
    assert entry is not None and entry.handler is first
    assert (entry.toolset, entry.spec["toolset"]) == ("extra", "extra")


def test_what_is_handed_out_is_nobody_elses(registry: ToolRegistry) -> None:
    passed = schema("zoom", {"type": "object", "properties": {"a": {"type": "string"}}})
    registry.plugin("p").register(**offer("zoom", schema=passed))
    passed["parameters"]["properties"].clear()
    for look in (
        lambda: registry.get_schema("zoom")["parameters"],  # type: ignore[index]
        lambda: registry.get_definitions(["zoom"])[0]["function"]["parameters"],
        lambda: registry.get_entry("zoom").spec["schema"]["parameters"],  # type: ignore[union-attr]
    ):
        assert look()["properties"] == {"a": {"type": "string"}}
        look()["properties"].clear()
    registry.get_all_tool_names().clear()
    registry.get_tool_to_toolset_map().clear()
    assert registry.get_schema("zoom")["parameters"]["properties"]  # type: ignore[index]
    assert registry.get_toolset_for_tool("zoom") == "extra"
    assert "zoom" in registry.get_all_tool_names()


# Definitions.


def test_definitions_come_once_each_in_the_frozen_order(registry: ToolRegistry) -> None:
    registry.plugin("p").register(**offer("aim"))
    names = ["write_file", "nope", "aim", "read_file", "aim", "cat"]
    found = registry.get_definitions(names)
    assert [one["function"]["name"] for one in found] == ["aim", "read_file", "write_file"]
    assert found[0] == {"type": "function", "function": schema("aim")}
    with pytest.raises(TypeError, match="one text"):
        registry.get_definitions("aim")


def test_a_tool_that_is_unavailable_is_left_out_and_others_are_not(
    registry: ToolRegistry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("HB_TEST_KEY", raising=False)
    asked = []

    def closed() -> bool:
        asked.append("closed")
        return False

    def broken() -> bool:
        raise OSError("gone")

    plugin = registry.plugin("p")
    plugin.register(**offer("a", check_fn=closed))
    plugin.register(**offer("b", check_fn=closed))
    plugin.register(**offer("c", check_fn=broken))
    plugin.register(**offer("d", requires_env=["HB_TEST_KEY"]))
    plugin.register(**offer("e", check_fn=lambda: True))
    with caplog.at_level(logging.WARNING):
        found = registry.get_definitions(["a", "b", "c", "d", "e", "read_file"])
    assert [one["function"]["name"] for one in found] == ["e", "read_file"]
    assert asked == ["closed"]
    assert "HB_TEST_KEY" in caplog.text
    assert "not available here" in json.loads(registry.call("d", {}))["error"]
    monkeypatch.setenv("HB_TEST_KEY", "1")
    assert registry.get_definitions(["d"])
    assert registry.call("d", {}) == "d ran"


def test_overrides_of_a_run_time_tool_are_applied_at_each_listing_and_never_rename_it(
    registry: ToolRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    given: dict[str, Any] = {"description": "first"}
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom", dynamic_schema_overrides=lambda: given))

    def listed() -> dict[str, Any]:
        function: dict[str, Any] = registry.get_definitions(["zoom"])[0]["function"]
        return function

    assert listed()["description"] == "first"
    listed()["parameters"]["properties"].clear()
    assert listed()["parameters"] == TEXT
    given["description"] = "second"
    assert listed()["description"] == "second"
    given["name"] = "web_search"
    assert listed() == schema("zoom")
    given.pop("name")
    given["parameters"] = "oops"
    assert listed() == schema("zoom")
    assert "zoom" in caplog.text


# Removing.


def test_a_removed_tool_is_gone_and_an_unknown_name_is_no_error(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom"))
    registry.call("zoom", {})
    registry.deregister("nope")
    plugin.deregister("nope")
    plugin.deregister("zoom")
    assert "Unknown tool" in registry.call("zoom", {})
    assert registry.get_entry("zoom") is None
    assert registry.get_all_tool_names() == BEFORE


def test_removing_nothing_changes_nothing(registry: ToolRegistry) -> None:
    before = registry.generation
    registry.deregister("nope")
    registry.plugin("p").deregister("nope")
    assert registry.generation == before + 1  # the handle


def test_a_declared_tool_that_the_host_takes_out_is_neither_listed_nor_found_nor_called(
    registry: ToolRegistry,
) -> None:
    assert registry.call("read_file", {}) == "read"
    registry.deregister("read_file")
    assert registry.find("read_file") is registry.find("cat") is None
    assert registry.get_definitions(["read_file"]) == []
    assert "read_file" not in registry.get_all_tool_names()
    assert registry.get_tool_names_for_toolset("file") == ["write_file"]
    assert "Unknown tool" in registry.call("read_file", {})
    assert "Unknown tool" in registry.call("cat", {})
    with pytest.raises(LookupError):
        registry.binding("read_file")
    assert registry.call("write_file", {}) == "written"


def test_importing_the_module_of_a_tool_that_was_taken_out_does_not_bring_it_back(
    registry: ToolRegistry,
) -> None:
    registry.deregister("read_file")
    assert registry.call("write_file", {}) == "written"  # this imports the module of both
    assert registry.find("read_file") is None
    registry.load()
    assert registry.find("read_file") is None


def test_a_module_whose_tools_are_all_taken_out_is_not_imported(tmp_path: Path) -> None:
    registry = make_registry(tmp_path)
    (module,) = registry.handler_modules()
    for name in ("read_file", "write_file"):
        registry.deregister(name)
        assert "Unknown tool" in registry.call(name, {})
    registry.load()
    assert module not in sys.modules


def test_the_host_brings_a_declared_tool_back_by_registering_a_handler(
    registry: ToolRegistry,
) -> None:
    registry.deregister("web_search")
    registry.register("web_search", toolset="web", handler=says("found again"))
    assert registry.call("web_search", {}) == "found again"
    assert "web_search" in registry.get_all_tool_names()


def test_a_tool_without_a_spec_is_refused_with_a_hint_at_plugins(registry: ToolRegistry) -> None:
    with pytest.raises(SchemaDriftError, match=r"registry\.plugin") as caught:
        registry.register(**offer("zoom"))
    assert [one.code for one in caught.value.mismatches] == ["HB3002"]


def test_with_the_last_tool_of_a_toolset_its_aliases_go(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom"))
    plugin.register(**offer("aim"))
    registry.register_toolset_alias("stars", "extra")
    plugin.deregister("zoom")
    assert registry.get_toolset_alias_target("stars") == "extra"
    plugin.deregister("aim")
    assert registry.get_toolset_alias_target("stars") is None
    registry.register_toolset_alias("net", "web")
    registry.deregister("web_search")
    assert registry.get_registered_toolset_aliases() == {"files": "file", "net": "web"}
    registry.deregister("web_fetch")
    assert registry.get_registered_toolset_aliases() == {"files": "file"}


def test_every_change_grows_the_generation(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    seen = [registry.generation]
    for change in (
        lambda: plugin.register(**offer("zoom")),
        lambda: registry.register_toolset_alias("stars", "extra"),
        lambda: registry.create_custom_toolset("mine", "Mine.", ["zoom"]),
        lambda: plugin.deregister("zoom"),
        lambda: registry.deregister("read_file"),
    ):
        change()
        seen.append(registry.generation)
    assert seen == list(range(seen[0], seen[0] + len(seen)))


def test_a_handler_module_that_fails_to_import_is_named_when_its_tool_is_called(
    tmp_path: Path,
) -> None:
    record = tool("t", TEXT, module="broken")
    source = "raise RuntimeError('no backend')\n"
    registry = write_program(tmp_path, [record], handlers={"broken": source}).registry
    for _ in range(2):
        error = json.loads(registry.call("t", {}))["error"]
        assert "broken' fails to import" in error and "no backend" in error
