"""Two that want one name: who has it keeps it, unless replacing is wanted and allowed."""

from __future__ import annotations

import functools
import json
import logging
from typing import Any

import pytest

from hermes_build.runtime import ConsentRequired, RegistrationError, ToolConflict
from hermes_build.runtime.registry import ToolRegistry
from tests.registry.programs import offer, says


def test_a_declared_tool_keeps_its_name_and_the_error_names_both_sides(
    registry: ToolRegistry,
) -> None:
    before = registry.generation
    plugin = registry.plugin("p")
    with pytest.raises(ToolConflict) as caught:
        plugin.register(**offer("read_file"))
    error = caught.value
    assert (error.tool, error.kind) == ("read_file", "taken")
    assert (error.toolset, error.present_toolset) == ("extra", "file")
    assert (error.origin, error.present_origin) == ("plugin 'p'", "the program")
    assert error.present_place == ("tool_specs/read_file.yaml", 1)
    assert error.place is not None and error.place[0].endswith("programs.py")
    for part in ("'extra'", "'file'", "tool_specs/read_file.yaml:1", "programs.py:", "override"):
        assert part in str(error)
    assert registry.call("read_file", {}) == "read"
    assert registry.get_toolset_for_tool("read_file") == "file"
    assert registry.get_entry("read_file").origin.startswith("tool_specs")  # type: ignore[union-attr]
    assert plugin.names == [] and before < registry.generation


def test_the_first_of_two_plugins_keeps_its_tool(registry: ToolRegistry) -> None:
    registry.plugin("first").register(**offer("zoom", handler=says("first")))
    with pytest.raises(ToolConflict) as caught:
        registry.plugin("second").register(**offer("zoom", toolset="other"))
    assert caught.value.present_origin == "the plugin 'first'"
    assert caught.value.present_toolset == "extra"
    assert registry.call("zoom", {}) == "first"


@pytest.mark.parametrize("name", ["read_file", "zoom"])
def test_the_refusal_of_a_taken_name_says_the_whole_way_to_take_it(
    registry: ToolRegistry, name: str
) -> None:
    registry.plugin("first").register(**offer("zoom"))
    plugin = registry.plugin("second")
    with pytest.raises(ToolConflict) as caught:
        plugin.register(**offer(name))
    assert "pass override=True" in str(caught.value)
    allow = "registry.plugin('second', allow_override=True)"
    assert f"`{allow}`" in str(caught.value)
    plugin.close()
    plugin = eval(allow)
    with pytest.raises(ToolConflict) as caught:
        plugin.register(**offer(name))
    assert "allow_override" not in str(caught.value)
    plugin.register(**offer(name, handler=says("second")), override=True)
    assert registry.call(name, {}) == "second"


@pytest.mark.parametrize("toolset", ["extra", "other"])
def test_a_name_of_ones_own_is_refused_too_unless_replacing_is_asked_for(
    registry: ToolRegistry, toolset: str
) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom", handler=says("first")))
    assert registry.call("zoom", {}) == "first"
    with pytest.raises(ToolConflict, match="replace=True") as caught:
        plugin.register(**offer("zoom", toolset=toolset, handler=says("second")))
    assert caught.value.kind == "duplicate"
    assert registry.call("zoom", {}) == "first"
    plugin.register(**offer("zoom", toolset=toolset, handler=says("second")), replace=True)
    assert registry.call("zoom", {}) == "second"
    assert registry.get_toolset_for_tool("zoom") == toolset


def test_replacing_is_for_the_owner_alone(registry: ToolRegistry) -> None:
    registry.plugin("first").register(**offer("zoom", handler=says("first")))
    second = registry.plugin("second", allow_override=True)
    with pytest.raises(ToolConflict):
        second.register(**offer("zoom"), replace=True)
    with pytest.raises(ToolConflict):
        second.register(**offer("read_file"), replace=True)
    assert registry.call("zoom", {}) == "first"


def test_an_alias_of_a_tool_is_nobodys_name(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p", allow_override=True)
    with pytest.raises(RegistrationError, match="alias of the tool 'read_file'"):
        plugin.register(**offer("cat"), override=True)
    assert registry.call("cat", {}) == "read"


# Overriding.


def test_an_allowed_override_replaces_handler_and_toolset_and_is_logged(
    registry: ToolRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    assert registry.call("web_search", {}) == "found"
    plugin = registry.plugin("p", allow_override=True)
    with caplog.at_level(logging.WARNING):
        plugin.register(**offer("web_search", handler=says("better")), override=True)
    assert registry.call("web_search", {}) == "better"
    assert registry.get_toolset_for_tool("web_search") == "extra"
    assert registry.get_tool_names_for_toolset("web") == ["web_fetch"]
    (message,) = [one for one in caplog.messages if "replaced" in one]
    for part in ("web_search", "'p'", "toolset web ", "toolset extra ", "web_search.yaml:1"):
        assert part in message


def test_an_override_by_its_alias_is_the_override(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p", allow_override=True)
    plugin.register(**offer("read_file", handler=says("better")), override=True)
    assert registry.call("cat", {}) == "better"


def test_consent_alone_replaces_nothing(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p", allow_override=True)
    with pytest.raises(ToolConflict):
        plugin.register(**offer("web_search"))
    assert registry.call("web_search", {}) == "found"


def test_without_consent_nothing_is_overridden_and_the_error_names_the_option(
    registry: ToolRegistry,
) -> None:
    registry.plugin("first").register(**offer("zoom"))
    plugin = registry.plugin("p")
    for name in ("web_search", "zoom"):
        with pytest.raises(ConsentRequired, match="allow_override=True") as caught:
            plugin.register(**offer(name), override=True)
        assert isinstance(caught.value, PermissionError)
        assert caught.value.tool == name
    assert registry.call("web_search", {}) == "found"
    assert registry.call("zoom", {}) == "zoom ran"


def test_remove_then_register_is_the_same_gate(registry: ToolRegistry) -> None:
    registry.plugin("first").register(**offer("zoom"))
    plugin = registry.plugin("p")
    for name in ("web_search", "zoom"):
        with pytest.raises(ConsentRequired, match="allow_override=True"):
            plugin.deregister(name)
    registry.deregister("web_search")
    with pytest.raises(ConsentRequired):  # a declared name stays the program's
        plugin.register(**offer("web_search"))
    trusted = registry.plugin("trusted", allow_override=True)
    trusted.deregister("zoom")
    trusted.register(**offer("zoom", handler=says("new")))
    trusted.register(**offer("web_search", handler=says("new")))
    assert registry.call("zoom", {}) == registry.call("web_search", {}) == "new"


def test_when_an_override_is_removed_the_declared_tool_is_there_again(
    registry: ToolRegistry,
) -> None:
    plugin = registry.plugin("p", allow_override=True)
    plugin.register(**offer("web_search", handler=says("better")), override=True)
    plugin.deregister("web_search")
    assert registry.call("web_search", {}) == "found"
    assert registry.get_toolset_for_tool("web_search") == "web"


def test_what_the_host_takes_out_is_gone_whoever_stood_in_for_it(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p", allow_override=True)
    plugin.register(**offer("web_search"), override=True)
    registry.deregister("web_search")
    assert registry.find("web_search") is None


# Ownership is the handle: nothing that a plugin chooses makes it somebody else.


def _function_of(module: str) -> Any:
    space: dict[str, Any] = {"__name__": module}
    exec("def handler(args, **context): return 'evil'", space)
    return space["handler"]


class Callable:
    def __call__(self, args: dict[str, Any], **context: Any) -> str:
        return "evil"


@pytest.mark.parametrize(
    "handler",
    [_function_of("handlers.files"), Callable(), functools.partial(Callable().__call__)],
    ids=["a faked module name", "an object with __call__", "a partial"],
)
def test_no_kind_of_handler_passes_for_the_program(registry: ToolRegistry, handler: Any) -> None:
    plugin = registry.plugin("p")
    with pytest.raises(ConsentRequired):
        plugin.register(**offer("web_search", handler=handler), override=True)
    with pytest.raises(ToolConflict):
        plugin.register(**offer("web_search", toolset="web", handler=handler))
    assert registry.call("web_search", {}) == "found"


def test_the_owners_toolset_gives_nobody_its_rights(registry: ToolRegistry) -> None:
    registry.plugin("core").register(**offer("core", toolset="core", handler=says("core")))
    with pytest.raises(ToolConflict):
        registry.plugin("evil").register(**offer("core", toolset="core", handler=says("evil")))
    assert registry.call("core", {}) == "core"


def test_consent_cannot_be_taken(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    with pytest.raises(AttributeError):
        plugin.allow_override = True  # type: ignore[misc]
    with pytest.raises(ValueError, match="already"):
        registry.plugin("p", allow_override=True)
    assert not plugin.allow_override


def test_definitions_hold_no_name_twice(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p", allow_override=True)
    plugin.register(**offer("web_search"), override=True)
    names = [one["function"]["name"] for one in registry.get_definitions(["web_search"] * 2)]
    assert names == ["web_search"]
    everything = registry.get_all_tool_names()
    assert len(everything) == len(set(everything))
    assert json.loads(json.dumps(registry.get_definitions(everything)))
