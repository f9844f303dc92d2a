"""Points 10 to 15 of the contract: who may have a tool's name."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import ConsentRequired, RegistrationError, SchemaDriftError, ToolConflict
from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import ANY, error_of, names_of, offer, says
from tests.runtime_program import tool, write_program


def test_10_a_taken_name_is_refused_with_an_exception_that_names_toolsets_and_places(
    registry: ToolRegistry,
) -> None:
    def first(args: dict[str, Any]) -> str:
        return "first"

    def late(args: dict[str, Any]) -> str:
        return "late"

    place = f"test_collisions.py:{first.__code__.co_firstlineno}"
    registry.plugin("first").register(**offer("zoom", "lens", handler=first))
    plugin = registry.plugin("late")
    for name, owner, where in (
        ("read", "file", "tool_specs/read.yaml:1"),
        ("zoom", "lens", place),
    ):
        with pytest.raises(ToolConflict) as caught:
            plugin.register(**offer(name, "other", handler=late))
        error = caught.value
        assert (error.present_toolset, error.toolset) == (owner, "other")
        own = f"test_collisions.py:{late.__code__.co_firstlineno}"
        for part in (f"'{owner}'", "'other'", where, own):
            assert part in str(error)


def test_10_who_has_the_name_keeps_it(registry: ToolRegistry) -> None:
    entry = registry.get_entry("read")
    assert entry is not None
    handler = entry.handler
    plugin = registry.plugin("p")
    with pytest.raises(ToolConflict):
        plugin.register(**offer("read", "other"))
    entry = registry.get_entry("read")
    assert entry is not None and entry.handler is handler and entry.toolset == "file"
    assert registry.call("read", {}) == "read"
    assert plugin.names == []


def test_10_a_declared_tool_is_its_handler_modules_before_that_is_imported(tmp_path: Path) -> None:
    source = (
        "from {generated}.registry import registry\n"
        "@registry.handler('read')\ndef handler(args): return 'read'\n"
    )
    tools = [tool("read", ANY, module="files")]
    registry = write_program(tmp_path, tools, handlers={"files": source}).registry
    with pytest.raises(SchemaDriftError, match="HB3003 read"):
        registry.register("read", handler=says("taken"))
    assert registry.call("read", {}) == "read"


def test_11_a_name_that_the_same_toolset_has_is_refused_too(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    with pytest.raises(ToolConflict):
        plugin.register(**offer("read", "file"))
    plugin.register(**offer("zoom", handler=says("first")))
    with pytest.raises(ToolConflict, match="replace=True"):
        plugin.register(**offer("zoom", handler=says("second")))
    with pytest.raises(ToolConflict):
        registry.plugin("q").register(**offer("zoom"))
    assert registry.call("read", {}) == "read" and registry.call("zoom", {}) == "first"


def test_11_the_host_program_cannot_bind_a_handler_twice_in_silence(
    registry: ToolRegistry,
) -> None:
    with pytest.raises(SchemaDriftError, match="already registered"):
        registry.register("read", handler=says("again"))
    assert registry.call("read", {}) == "read"


def test_11_the_very_same_owner_may_replace(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom", handler=says("first")))
    plugin.register(**offer("zoom", handler=says("second")), replace=True)
    assert registry.call("zoom", {}) == "second"
    with pytest.raises(ToolConflict):
        registry.plugin("q", allow_override=True).register(**offer("zoom"), replace=True)
    assert registry.call("zoom", {}) == "second"


def test_12_an_override_by_permitted_code_replaces_handler_and_toolset_and_is_logged(
    registry: ToolRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = registry.plugin("p", allow_override=True)
    with caplog.at_level(logging.INFO, "hermes_build.runtime"):
        plugin.register(**offer("read", "lens", handler=says("mine")), override=True)
    assert registry.call("read", {}) == "mine"
    assert registry.get_toolset_for_tool("read") == "lens"
    assert [one for one in caplog.messages if "read" in one and "'p'" in one and "file" in one]


def test_12_a_plugin_without_the_operators_consent_neither_overrides_nor_removes(
    registry: ToolRegistry,
) -> None:
    registry.plugin("other").register(**offer("zoom", handler=says("other")))
    plugin = registry.plugin("p")
    for name, text in (("read", "read"), ("zoom", "other")):
        with pytest.raises(ConsentRequired) as replacing:
            plugin.register(**offer(name), override=True)
        with pytest.raises(ConsentRequired) as removing:
            plugin.deregister(name)
        for caught in (replacing, removing):
            assert isinstance(caught.value, PermissionError)
            assert "registry.plugin('p', allow_override=True)" in str(caught.value)
        assert registry.call(name, {}) == text


def test_12_consent_is_also_for_removing(registry: ToolRegistry) -> None:
    registry.plugin("p", allow_override=True).deregister("read")
    assert registry.get_entry("read") is None


def test_12_a_plugin_may_always_remove_what_is_its_own(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom"))
    plugin.deregister("zoom")
    assert registry.get_entry("zoom") is None


def test_12_ownership_is_the_handle_and_nothing_that_a_plugin_chooses(
    registry: ToolRegistry,
) -> None:
    handler = says("shared")
    handler.__module__ = "the_program.itself"
    registry.plugin("first").register(**offer("zoom", "lens", handler=handler))
    # The same handler, the same toolset and the same calling code: it is another plugin still.
    second = registry.plugin("second")
    with pytest.raises(ToolConflict):
        second.register(**offer("zoom", "lens", handler=handler), replace=True)
    with pytest.raises(ConsentRequired):
        second.deregister("zoom")
    with pytest.raises(ValueError, match="already"):
        registry.plugin("first", allow_override=True)


def test_13_removing_and_registering_is_the_same_gate_as_overriding(
    registry: ToolRegistry,
) -> None:
    plugin = registry.plugin("p")
    with pytest.raises(ConsentRequired):
        plugin.deregister("read")
    registry.deregister("read")  # the host program itself takes it out
    for options in ({}, {"override": True}):
        with pytest.raises(ConsentRequired):
            plugin.register(**offer("read"), **options)
    registry.plugin("q", allow_override=True).register(**offer("read", handler=says("q")))
    assert registry.call("read", {}) == "q"


def test_13_the_prefix_of_servers_is_the_mcp_loaders_alone(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p", allow_override=True)
    with pytest.raises(RegistrationError, match="mcp-"):
        plugin.register(**offer("zoom", "mcp-lens"))
    with pytest.raises(ValueError, match="mcp-"):
        registry.create_custom_toolset("mcp-lens", "A lens.", ["read"])
    with pytest.raises(SchemaDriftError):
        registry.register(**offer("zoom", "mcp-lens"))
    assert not registry.validate_toolset("mcp-lens")


def test_13_a_servers_tools_are_removed_by_its_own_handle_alone(registry: ToolRegistry) -> None:
    server = registry.server("lens")
    server.register(**offer("zoom", "mcp-lens"))
    permitted = registry.plugin("p", allow_override=True)
    for remove in (registry.deregister, permitted.deregister, registry.server("q").deregister):
        with pytest.raises(PermissionError):
            remove("zoom")
    with pytest.raises(ToolConflict):
        permitted.register(**offer("zoom"), override=True)
    assert registry.call("zoom", {}) == "zoom ran"
    server.deregister("zoom")
    assert registry.get_entry("zoom") is None


def remote(name: str, says_: str = "") -> dict[str, Any]:
    """A tool as a server offers it."""
    return {
        "name": name,
        "schema": {"description": "Remote.", "parameters": {"type": "object"}},
        "handler": says(says_ or f"{name} ran"),
    }


def test_14_a_remote_tool_that_would_take_a_local_name_is_skipped_and_reported(
    registry: ToolRegistry,
) -> None:
    registry.plugin("p").register(**offer("zoom"))
    report = registry.server("s").register_many([remote("read"), remote("zoom"), remote("far")])
    assert report.registered == {"far": "far"}
    skipped = {one.tool: one for one in report.skipped}
    assert set(skipped) == {"read", "zoom"}
    assert skipped["read"].present_origin == "the program"
    assert skipped["zoom"].present_origin == "the plugin 'p'"
    assert "'read'" in skipped["read"].reason
    assert registry.call("read", {}) == "read" and registry.call("zoom", {}) == "zoom ran"
    assert registry.call("far", {}) == "far ran"


def test_14_of_two_remote_tools_with_one_name_the_present_owner_stays(
    registry: ToolRegistry,
) -> None:
    registry.server("one").register_many([remote("far", "one")])
    report = registry.server("two").register_many([remote("far", "two")])
    (skipped,) = report.skipped
    assert skipped.names == ("far",) and skipped.present_origin == "the server 'one'"
    assert registry.call("far", {}) == "one"
    assert registry.get_toolset_for_tool("far") == "mcp-one"


def test_14_names_of_one_server_that_become_equal_are_all_skipped_and_all_listed(
    registry: ToolRegistry,
) -> None:
    report = registry.server("s").register_many(
        [remote("a.b"), remote("a_b"), remote("a b"), remote("other")]
    )
    assert report.registered == {"other": "other"}
    (skipped,) = report.skipped
    assert skipped.tool == "a_b" and sorted(skipped.names) == ["a b", "a.b", "a_b"]
    assert all(repr(raw) in skipped.reason for raw in skipped.names)
    assert registry.get_entry("a_b") is None


def test_15_a_batch_that_fails_leaves_everything_as_it_was(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p", allow_override=True)
    plugin.register(**offer("zoom", handler=says("before")))
    session = registry.session()

    def state() -> tuple[Any, ...]:
        return (
            registry.generation,
            registry.get_tool_to_toolset_map(),
            registry.get_registered_toolset_aliases(),
            registry.get_toolset_names(),
            names_of(session.definitions()),
            registry.call("zoom", {}),
            registry.call("read", {}),
        )

    before = state()
    with pytest.raises(ToolConflict), registry.batch():
        plugin.register(**offer("zoom", handler=says("after")), replace=True)
        plugin.register(**offer("read", handler=says("mine")), override=True)
        plugin.register(**offer("aim"))
        plugin.deregister("write")
        registry.register_toolset_alias("lens", "extra")
        registry.create_custom_toolset("mine", "Mine.", ["aim"])
        late = registry.plugin("late", allow_override=True)
        late.register(**offer("aim"))
    assert state() == before
    assert "Unknown tool" in error_of(registry.call("aim", {}))
    # The handle that was issued inside is gone with its policy, and its name is free.
    with pytest.raises(RegistrationError, match="closed"):
        late.register(**offer("aim"), override=True)
    with pytest.raises(ConsentRequired):
        registry.plugin("late").deregister("read")


def test_15_a_batch_that_succeeds_takes_effect_as_one_generation(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    generation = registry.generation
    with registry.batch():
        plugin.register(**offer("zoom"))
        plugin.register(**offer("aim"))
        assert registry.get_entry("zoom") is None
    assert registry.generation == generation + 1
    assert plugin.names == ["aim", "zoom"]
