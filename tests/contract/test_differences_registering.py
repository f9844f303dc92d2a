"""The differences from hermes-agent that are meant, in registering: who may take which name."""

from __future__ import annotations

import pytest

from hermes_build.runtime import (
    ConsentRequired,
    RegistrationError,
    SchemaDriftError,
    ToolConflict,
    ToolsetError,
)
from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import offer, says, schema


def test_difference_a_registration_is_held_against_its_spec(registry: ToolRegistry) -> None:
    registry.deregister("read")
    other = schema("read", {"type": "object", "properties": {"path": {"type": "string"}}})
    for fields in ({"schema": other}, {"toolset": "web"}):
        with pytest.raises(SchemaDriftError, match="read"):
            registry.register(**{**offer("read", "file"), **fields})
    with pytest.raises(SchemaDriftError, match="no spec declares"):
        registry.register(**offer("zoom"))
    registry.register(**offer("read", "file"))
    assert registry.call("read", {}) == "read ran"


def test_difference_a_refused_registration_is_an_exception(registry: ToolRegistry) -> None:
    with pytest.raises(ToolConflict, match="'file'"):
        registry.plugin("p").register(**offer("read"))
    assert registry.call("read", {}) == "read"


def test_difference_a_duplicate_in_the_same_toolset_is_refused(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom", handler=says("first")))
    with pytest.raises(ToolConflict):
        plugin.register(**offer("zoom", handler=says("second")))
    with pytest.raises(SchemaDriftError):
        registry.register("read", "file", handler=says("second"))
    assert registry.call("zoom", {}) == "first" and registry.call("read", {}) == "read"


def test_difference_a_server_does_not_overwrite_another(registry: ToolRegistry) -> None:
    registry.server("one").register(**offer("far", "mcp-one", handler=says("one")))
    two = registry.server("two")
    with pytest.raises(ToolConflict):
        two.register(**offer("far", "mcp-two", handler=says("two")))
    report = two.register_many([{"name": "far", "schema": schema("far"), "handler": says("two")}])
    assert [one.present_origin for one in report.skipped] == ["the server 'one'"]
    assert registry.call("far", {}) == "one"


def test_difference_a_plugin_is_known_by_its_handle(registry: ToolRegistry) -> None:
    handler = says("mine")
    handler.__module__ = "hermes_plugins.first.handlers"
    registry.plugin("first").register(**offer("zoom", handler=handler))
    second = registry.plugin("second")
    handler.__module__ = "hermes_plugins.second.handlers"
    with pytest.raises(ConsentRequired):
        second.deregister("zoom")


def test_difference_what_an_override_covered_comes_back(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p", allow_override=True)
    plugin.register(**offer("read", handler=says("mine")), override=True)
    assert registry.call("read", {}) == "mine"
    plugin.deregister("read")
    assert registry.call("read", {}) == "read"
    assert registry.get_toolset_for_tool("read") == "file"


@pytest.mark.parametrize("toolset", ["all", "*", "mcp-lens", "has space", ""])
def test_difference_names_are_reserved_and_have_a_form(
    registry: ToolRegistry, toolset: str
) -> None:
    plugin = registry.plugin("p", allow_override=True)
    with pytest.raises(RegistrationError):
        plugin.register(**offer("zoom", toolset))
    with pytest.raises(ToolsetError):
        registry.create_custom_toolset(toolset, "Mine.", ["read"])
    for name in ("has.dot", "naïve", "1st", "a" * 65, ""):
        with pytest.raises(RegistrationError):
            plugin.register(**offer(name))
