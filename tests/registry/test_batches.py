"""Several changes as one: all of them, or none."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from hermes_build.runtime import SchemaDriftError, ToolConflict, ToolsetError
from hermes_build.runtime.registry import ToolRegistry
from tests.registry.programs import offer, says


def state(registry: ToolRegistry) -> object:
    """All that a batch may change."""
    return (
        registry.get_all_tool_names(),
        registry.get_tool_to_toolset_map(),
        registry.get_all_toolsets(),
        registry.get_registered_toolset_aliases(),
        registry.generation,
        {name: one.function for name, one in registry._bindings.items()},
    )


def test_a_batch_takes_effect_at_its_end_as_one_generation(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    before = state(registry)
    generation = registry.generation
    with plugin.batch():
        plugin.register(**offer("zoom"))
        plugin.register(**offer("aim"))
        registry.deregister("read_file")
        registry.create_custom_toolset("mine", "Mine.", ["zoom"])
        registry.create_custom_toolset("more", "More.", includes=["mine", "extra"])
        registry.register_toolset_alias("stars", "extra")
        assert state(registry) == before
        assert "Unknown tool" in registry.call("zoom", {})
    assert registry.generation == generation + 1
    assert plugin.names == ["aim", "zoom"]
    assert registry.find("read_file") is None
    assert registry.resolve_toolset("more") == registry.resolve_toolset("stars") == ["aim", "zoom"]


def test_a_batch_that_fails_leaves_everything_as_it_was(
    registry: ToolRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    trusted = registry.plugin("trusted", allow_override=True)
    trusted.register(**offer("zoom", handler=says("first")))
    assert registry.call("zoom", {}) == "first"
    before = state(registry)
    with caplog.at_level(logging.WARNING), pytest.raises(ToolConflict), registry.batch():
        trusted.register(**offer("aim"))
        trusted.register(**offer("zoom", handler=says("second")), replace=True)
        trusted.register(**offer("web_search"), override=True)
        trusted.deregister("write_file")
        registry.register("web_fetch", handler=says("third"), override=True)
        registry.create_custom_toolset("mine", "Mine.", ["aim"])
        registry.plugin("late", allow_override=True)
        trusted.register(**offer("read_file"))
    assert state(registry) == before
    assert caplog.messages == []
    assert registry.call("zoom", {}) == "first"
    assert registry.call("web_search", {}) == "found"
    assert registry.call("web_fetch", {}) == "fetched"
    late = registry.plugin("late")
    assert not late.allow_override
    with pytest.raises(ToolConflict):
        late.register(**offer("zoom"))


def test_a_mistake_that_is_caught_inside_takes_back_itself_alone(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    with registry.batch():
        plugin.register(**offer("zoom"))
        with pytest.raises(ToolConflict):
            plugin.register(**offer("read_file"))
        with pytest.raises(ToolConflict):  # a batch sees what it did itself
            plugin.register(**offer("zoom"))
        with pytest.raises(ToolsetError):
            registry.create_custom_toolset("mine", "Mine.", ["nope"])
        registry.create_custom_toolset("mine", "Mine.", ["zoom"])
    assert plugin.names == ["zoom"]
    assert registry.resolve_toolset("mine") == ["zoom"]


def test_a_batch_within_a_batch_is_a_part_of_it(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    generation = registry.generation
    with registry.batch():
        plugin.register(**offer("a"))
        with pytest.raises(RuntimeError), registry.batch():
            plugin.register(**offer("b"))
            raise RuntimeError
        with registry.batch():
            plugin.register(**offer("c"))
        assert plugin.names == []
    assert plugin.names == ["a", "c"]
    assert registry.generation == generation + 1


def test_an_empty_batch_changes_nothing(registry: ToolRegistry) -> None:
    before = state(registry)
    with registry.batch():
        registry.deregister("nope")
    assert state(registry) == before


def test_handlers_of_declared_tools_are_bound_in_a_batch_too(registry: ToolRegistry) -> None:
    with registry.batch():
        registry.register("web_search", handler=says("new"), override=True)
        assert registry.call("web_search", {}) == "found"
        with pytest.raises(SchemaDriftError):
            registry.register("web_search", handler=says("newer"))
    assert registry.call("web_search", {}) == "new"


def test_a_handler_module_that_is_imported_meanwhile_binds_its_tools_at_once(
    registry: ToolRegistry,
) -> None:
    with pytest.raises(RuntimeError), registry.batch():
        assert registry.call("read_file", {}) == "read"
        raise RuntimeError
    assert registry.call("write_file", {}) == "written"


def in_a_thread(function: object) -> None:
    thread = threading.Thread(target=function)  # type: ignore[arg-type]
    thread.start()
    thread.join()


def test_what_others_changed_meanwhile_is_kept(registry: ToolRegistry) -> None:
    mine, theirs = registry.plugin("mine"), registry.plugin("theirs")
    with registry.batch():
        mine.register(**offer("a"))
        in_a_thread(lambda: theirs.register(**offer("b")))
        assert theirs.names == ["b"]
    assert (mine.names, theirs.names) == (["a"], ["b"])


def test_a_name_that_somebody_took_meanwhile_fails_the_whole_batch(
    registry: ToolRegistry,
) -> None:
    mine, theirs = registry.plugin("mine"), registry.plugin("theirs")
    with pytest.raises(ToolConflict), registry.batch():
        mine.register(**offer("a"))
        mine.register(**offer("b"))
        in_a_thread(lambda: theirs.register(**offer("b", handler=says("theirs"))))
        generation = registry.generation
    assert mine.names == []
    assert registry.generation == generation
    assert registry.call("b", {}) == "theirs"


def test_tasks_side_by_side_have_batches_of_their_own(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")

    async def one(name: str, fails: bool) -> None:
        with registry.batch():
            plugin.register(**offer(name))
            await asyncio.sleep(0)
            if fails:
                raise RuntimeError

    async def both() -> None:
        await asyncio.gather(one("a", False), one("b", True), return_exceptions=True)

    asyncio.run(both())
    assert plugin.names == ["a"]


def test_many_tools_may_replace_each_others_names_in_one_batch(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("a", handler=says("a")))
    plugin.register(**offer("b", handler=says("b")))
    with plugin.batch():
        plugin.register(**offer("a", handler=says("b")), replace=True)
        plugin.register(**offer("b", handler=says("a")), replace=True)
    assert (registry.call("a", {}), registry.call("b", {})) == ("b", "a")
