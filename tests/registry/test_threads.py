"""Reading while the registry changes: each reader sees one state, and no half of a change."""

from __future__ import annotations

import json
import threading
from typing import Any

from hermes_build.runtime.registry import ToolRegistry
from tests.registry.programs import offer, says

READERS = 62
ROUNDS = 40
PAIR = ["left", "right"]
DECLARED = ["read_file", "web_fetch", "web_search", "write_file"]


def test_readers_see_whole_states_while_tools_come_and_go(registry: ToolRegistry) -> None:
    plugin, other = registry.plugin("p"), registry.plugin("q")
    wrong: list[object] = []
    done = threading.Event()
    ready = threading.Barrier(READERS + 2)

    def expect(holds: bool, *seen: object) -> None:
        if not holds:
            wrong.append(seen)

    def read() -> None:
        names = registry.get_all_tool_names()
        expect([one for one in PAIR if one in names] in ([], PAIR), names)
        expect(set(DECLARED) <= set(names), names)
        owners = registry.get_tool_to_toolset_map()
        pair = {owners.get(one) for one in PAIR}
        expect(pair in ({None}, {"pair"}, {"web"}), owners)
        listed = [one["function"]["name"] for one in registry.get_definitions(PAIR)]
        expect(listed in ([], PAIR), listed)
        web = registry.resolve_toolset("web")
        expect([one for one in PAIR if one in web] in ([], PAIR), web)
        entry = registry.get_entry("left")
        if entry is not None:
            # Handler and record are of one registration.
            expect(entry.handler({}) == entry.toolset == entry.spec["toolset"], entry)
        answer: Any = registry.call("right", {})
        expect(answer in ("pair", "web") or "Unknown tool" in answer, answer)
        expect(registry.call("read_file", {}) == "read", "read_file")

    def reading() -> None:
        try:
            ready.wait()
            while not done.is_set():
                read()
            read()
        except Exception as error:
            wrong.append(error)

    def changing() -> None:
        try:
            ready.wait()
            for number in range(ROUNDS):
                toolset = ("pair", "web")[number % 2]
                with registry.batch():
                    for name in PAIR:
                        plugin.register(**offer(name, toolset=toolset, handler=says(toolset)))
                with registry.batch():
                    for name in PAIR:
                        plugin.deregister(name)
        except Exception as error:
            wrong.append(error)
        finally:
            done.set()

    def changing_too() -> None:
        try:
            ready.wait()
            for number in range(ROUNDS):
                other.register(**offer(f"own_{number}"))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=reading) for _ in range(READERS)]
    threads += [threading.Thread(target=one) for one in (changing, changing_too)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []
    assert (plugin.names, len(other.names)) == ([], ROUNDS)
    assert registry.generation >= 3 * ROUNDS


def test_of_many_who_want_one_name_one_gets_it(registry: ToolRegistry) -> None:
    plugins = [registry.plugin(f"p{number}") for number in range(64)]
    ready = threading.Barrier(64)
    refused: list[Exception] = []

    def register(number: int) -> None:
        ready.wait()
        try:
            plugins[number].register(**offer("zoom", handler=says(str(number))))
        except Exception as error:
            refused.append(error)

    threads = [threading.Thread(target=register, args=(number,)) for number in range(64)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    (winner,) = [one for one in plugins if one.names]
    assert len(refused) == 63
    assert {type(one).__name__ for one in refused} == {"ToolConflict"}
    assert registry.call("zoom", {}) == winner.name[1:]


def test_registering_goes_on_while_a_check_blocks(registry: ToolRegistry) -> None:
    asked, answered = threading.Event(), threading.Event()

    def slow() -> bool:
        asked.set()
        return answered.wait(60)

    plugin = registry.plugin("p")
    plugin.register(**offer("slow", check_fn=slow))
    found: list[Any] = []
    listing = threading.Thread(target=lambda: found.extend(registry.get_definitions(["slow"])))
    listing.start()
    assert asked.wait(60)
    plugin.register(**offer("quick"))
    assert registry.call("quick", {}) == "quick ran"
    assert listing.is_alive()
    answered.set()
    listing.join()
    assert json.loads(json.dumps(found))[0]["function"]["name"] == "slow"
