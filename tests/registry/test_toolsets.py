"""From toolsets to tools: declared ones, custom ones, and what is registered into them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import ToolsetError, UnknownToolset
from hermes_build.runtime.registry import ToolRegistry
from tests.registry.programs import TEXT, offer, says, schema
from tests.runtime_program import tool, toolset, write_program


def test_a_leaf_is_its_tools_and_a_composite_their_union_minus_its_excludes(
    registry: ToolRegistry,
) -> None:
    def resolved() -> list[list[str]]:
        return [registry.resolve_toolset(one) for one in ("file", "files", "debugging")]

    compiled = resolved()
    assert compiled == [
        ["read_file", "write_file"],
        ["read_file", "write_file"],
        ["read_file", "web_fetch", "web_search"],
    ]
    registry.plugin("p").register(**offer("zoom"))  # from here on they are resolved anew
    assert resolved() == compiled


@pytest.mark.parametrize("name", ["all", "*", "everything"])
def test_all_means_every_tool_those_of_run_time_included(registry: ToolRegistry, name: str) -> None:
    registry.plugin("p").register(**offer("zoom"))
    registry.deregister("web_fetch")
    assert registry.resolve_toolset(name) == registry.get_all_tool_names()
    assert "zoom" in registry.resolve_toolset(name)
    assert "web_fetch" not in registry.resolve_toolset(name)


def test_several_toolsets_are_their_union_without_duplicates(registry: ToolRegistry) -> None:
    found = registry.resolve_multiple_toolsets(["debugging", "file", "files"])
    assert found == ["read_file", "web_fetch", "web_search", "write_file"]
    assert registry.resolve_multiple_toolsets([]) == []
    with pytest.raises(TypeError, match="one text"):
        registry.resolve_multiple_toolsets("file")
    with pytest.raises(UnknownToolset, match="'file'"):
        registry.resolve_multiple_toolsets(["web", "fiel"])


def test_a_run_time_tool_joins_its_toolset_and_every_composition_of_it(
    registry: ToolRegistry,
) -> None:
    registry.plugin("p").register(**offer("zoom", toolset="web"))
    registry.plugin("q").register(**offer("wipe", toolset="file"))
    assert registry.resolve_toolset("web") == ["web_fetch", "web_search", "zoom"]
    assert "zoom" in registry.resolve_toolset("debugging")
    assert "wipe" in registry.resolve_toolset("files")
    assert "wipe" not in registry.resolve_toolset("debugging")  # which excludes it
    assert "zoom" in registry.get_toolset("web")["tools"]  # type: ignore[index]
    assert "zoom" not in registry.get_toolset("debugging")["tools"]  # type: ignore[index]


def test_a_static_view_shows_what_was_compiled(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom", toolset="web"))
    plugin.register(**offer("aim"))
    registry.create_custom_toolset("mine", "Mine.", ["aim"])
    registry.deregister("web_fetch")
    static = registry.get_toolset("web", include_registry=False)
    assert static is not None
    assert static["tools"] == static["resolved"] == ["web_fetch", "web_search"]
    for name in ("web", "debugging", "all"):
        found = registry.resolve_toolset(name, include_registry=False)
        assert "web_fetch" in found and "zoom" not in found
    for name in ("extra", "mine"):
        assert registry.get_toolset(name, include_registry=False) is None
        with pytest.raises(UnknownToolset):
            registry.resolve_toolset(name, include_registry=False)


def test_a_toolset_that_only_run_time_tools_name_resolves_to_them(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom"))
    plugin.register(**offer("aim"))
    assert registry.resolve_toolset("extra") == ["aim", "zoom"]
    assert registry.validate_toolset("extra")
    assert "extra" in registry.get_toolset_names()
    plugin.close()
    assert not registry.validate_toolset("extra")
    with pytest.raises(UnknownToolset):
        registry.resolve_toolset("extra")


def test_toolsets_have_the_shapes_of_hermes_agents(registry: ToolRegistry) -> None:
    registry.plugin("p").register(**offer("zoom", toolset="web"))
    assert registry.get_toolset_info("debugging") == {
        "name": "debugging",
        "description": "",
        "direct_tools": [],
        "includes": ["file", "web"],
        "resolved_tools": ["read_file", "web_fetch", "web_search", "zoom"],
        "tool_count": 4,
        "is_composite": True,
    }
    info = registry.get_toolset_info("files")
    assert info is not None
    assert (info["description"], info["is_composite"]) == ("Files.", False)
    assert registry.get_toolset_info("nope") is None
    everything = registry.get_all_toolsets()
    assert list(everything) == registry.get_toolset_names()
    for one in everything.values():
        assert {"description", "tools", "includes"} <= one.keys()
    assert [registry.validate_toolset(one) for one in ("all", "*", "files", "nope", "")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_an_unknown_toolset_is_an_error_with_the_nearest_name(registry: ToolRegistry) -> None:
    registry.plugin("p").register(**offer("zoom", toolset="telescope"))
    with pytest.raises(UnknownToolset) as caught:
        registry.resolve_toolset("telescop")
    assert caught.value.nearest == "telescope"
    with pytest.raises(UnknownToolset):
        registry.why("zoom", "telescop")


# Guards.


def test_a_guard_keeps_out_what_would_break_its_promise_and_says_so_once(
    registry: ToolRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("fine", toolset="web", annotations={"read_only": True}))
    plugin.register(**offer("silent", toolset="web"))
    plugin.register(**offer("pty", toolset="web", annotations={"read_only": True}, tags=["exec"]))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            found = registry.resolve_toolset("safe")
            assert found == ["fine", "read_file", "web_fetch", "web_search"]
            registry.plugin(f"p{registry.generation}")  # a new state each time
    assert len(caplog.messages) == 2
    assert any("pty" in one and "safe" in one and "`exec`" in one for one in caplog.messages)
    assert any("silent" in one and "read_only: true" in one for one in caplog.messages)
    assert {"pty", "silent"} <= set(registry.resolve_toolset("web"))
    assert registry.why("pty", "safe") == "`safe` forbids the tag `exec`, which it has"
    assert registry.why("silent", "safe").startswith("`safe` requires `read_only: true`")


def test_an_override_that_breaks_a_promise_loses_the_place_of_what_it_replaced(
    registry: ToolRegistry,
) -> None:
    plugin = registry.plugin("p", allow_override=True)
    plugin.register(**offer("read_file", toolset="file"), override=True)
    assert "read_file" not in registry.resolve_toolset("safe")
    assert "read_file" in registry.resolve_toolset("file")


def test_what_a_composition_is_made_of_keeps_its_guards(registry: ToolRegistry) -> None:
    registry.plugin("p").register(**offer("silent", toolset="web"))
    registry.create_custom_toolset("mine", "Mine.", includes=["safe"])
    assert "silent" not in registry.resolve_toolset("mine")


# Reasons.


@pytest.mark.parametrize(
    ("tool_name", "name", "reason"),
    [
        ("read_file", "file", "`file` lists it"),
        ("read_file", "files", "`file` lists it"),
        ("zoom", "web", "`web` owns it"),
        ("zoom", "debugging", "it comes through `debugging` -> `web`, which owns it"),
        ("web_fetch", "debugging", "it comes through `debugging` -> `web`, which lists it"),
        ("write_file", "debugging", "`debugging` excludes it (excludes are applied last)"),
        ("zoom", "everything", "`everything` includes every tool"),
        ("zoom", "all", "`all` means every tool"),
        ("zoom", "file", "nothing in `file` names it"),
        ("nope", "file", "there is no tool `nope`"),
    ],
)
def test_the_rule_that_decided_is_told(
    registry: ToolRegistry, tool_name: str, name: str, reason: str
) -> None:
    registry.plugin("p").register(**offer("zoom", toolset="web"))
    assert registry.why(tool_name, name) == reason


# Custom toolsets.


def test_a_custom_toolset_resolves_like_a_declared_one(registry: ToolRegistry) -> None:
    registry.plugin("p").register(**offer("zoom"))
    registry.create_custom_toolset("mine", "Mine.", ["zoom"], ["files"], excludes=["write_file"])
    registry.create_custom_toolset("more", "More.", includes=["mine", "web", "extra"])
    assert registry.resolve_toolset("mine") == ["read_file", "zoom"]
    assert registry.resolve_toolset("more") == ["read_file", "web_fetch", "web_search", "zoom"]
    assert registry.get_toolset("mine") == {
        "name": "mine",
        "description": "Mine.",
        "tools": ["zoom"],
        "includes": ["file"],
        "excludes": ["write_file"],
        "resolved": ["read_file", "zoom"],
    }
    assert registry.validate_toolset("mine")
    assert registry.why("read_file", "more").startswith("it comes through `more` -> `mine` ->")


def test_a_custom_toolset_follows_the_tools_that_come_and_go(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom"))
    registry.create_custom_toolset("mine", "Mine.", ["zoom", "read_file"], ["web"])
    plugin.deregister("zoom")
    assert registry.resolve_toolset("mine") == ["read_file", "web_fetch", "web_search"]
    plugin.register(**offer("aim", toolset="web"))
    assert "aim" in registry.resolve_toolset("mine")
    plugin.register(**offer("own", toolset="mine"))
    assert "own" in registry.resolve_toolset("mine")


MISTAKES: dict[str, tuple[tuple[Any, ...], dict[str, Any], str, str]] = {
    "an unknown tool": (("mine", "", ["read_fil"]), {}, "unknown-tool", "'read_file'"),
    "a toolset among tools": (("mine", "", ["web"]), {}, "unknown-tool", "`includes`"),
    "an alias among tools": (("mine", "", ["cat"]), {}, "unknown-tool", "alias of the tool"),
    "an unknown toolset": (("mine", "", [], ["fiel"]), {}, "unknown-toolset", "'file'"),
    "a tool among toolsets": (("mine", "", [], ["read_file"]), {}, "unknown-toolset", "`tools`"),
    "an unknown exclude": (
        ("mine", "", ["read_file"]),
        {"excludes": ["nope"]},
        "unknown-tool",
        "`excludes`",
    ),
    "an exclude of a toolset": (
        ("mine", "", [], ["web"]),
        {"excludes": ["file"]},
        "unknown-tool",
        "toolset",
    ),
    "an exclude of nothing": (
        ("mine", "", ["read_file"]),
        {"excludes": ["write_file"]},
        "vain-exclude",
        "'write_file'",
    ),
    "nothing in it": (("mine", ""), {}, "empty", "nothing is in it"),
    "everything excluded": (
        ("mine", "", ["read_file"]),
        {"excludes": ["read_file"]},
        "empty",
        "excluded",
    ),
    "itself": (("mine", "", ["read_file"], ["mine"]), {}, "cycle", "mine -> mine"),
    "all": (("all", "", ["read_file"]), {}, "reserved", "every tool"),
    "a star": (("*", "", ["read_file"]), {}, "reserved", "every tool"),
    "a server's": (("mcp-x", "", ["read_file"]), {}, "reserved", "`mcp-`"),
    "a declared one's name": (("web", "", ["read_file"]), {}, "taken", "already"),
    "an alias": (("files", "", ["read_file"]), {}, "taken", "alias of the toolset 'file'"),
    "no name": (("a b", "", ["read_file"]), {}, "name", "letters"),
    "a name that is no text": ((3, "", ["read_file"]), {}, "name", "letters"),
    "tools as text": (("mine", "", "abc"), {}, "type", "not str"),
    "includes as a mapping": (("mine", "", [], {"base": ["web"]}), {}, "type", "not dict"),
    "a mapping among includes": (("mine", "", [], [{"base": ["web"]}]), {}, "type", "dict"),
    "a description that is none": (("mine", None, ["read_file"]), {}, "type", "`description`"),
}


@pytest.mark.parametrize(("given", "more", "kind", "part"), MISTAKES.values(), ids=MISTAKES)
def test_a_custom_toolset_is_held_to_what_declared_ones_are(
    registry: ToolRegistry, given: tuple[Any, ...], more: dict[str, Any], kind: str, part: str
) -> None:
    before = registry.generation, registry.get_toolset_names()
    with pytest.raises(ToolsetError) as caught:
        registry.create_custom_toolset(*given, **more)
    assert caught.value.kind == kind
    assert part in str(caught.value)
    assert (registry.generation, registry.get_toolset_names()) == before


def test_names_are_taken_by_run_time_toolsets_too(registry: ToolRegistry) -> None:
    registry.plugin("p").register(**offer("zoom"))
    registry.create_custom_toolset("mine", "Mine.", ["zoom"])
    for name in ("extra", "mine"):
        with pytest.raises(ToolsetError, match="already"):
            registry.create_custom_toolset(name, "Again.", ["zoom"])


def test_a_circle_that_closes_over_a_name_that_became_free_is_refused_with_its_path(
    registry: ToolRegistry,
) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom"))
    registry.create_custom_toolset("a", "A.", ["read_file"], ["extra"])
    registry.create_custom_toolset("b", "B.", includes=["a"])
    plugin.close()
    with pytest.raises(ToolsetError, match="extra -> b -> a -> extra") as caught:
        registry.create_custom_toolset("extra", "Extra.", ["read_file"], ["b"])
    assert caught.value.kind == "cycle"
    registry.create_custom_toolset("extra", "Extra.", ["web_fetch"])
    assert registry.resolve_toolset("b") == ["read_file", "web_fetch"]


def test_a_custom_toolset_is_taken_back_unless_another_includes_it(registry: ToolRegistry) -> None:
    registry.create_custom_toolset("a", "A.", ["read_file"])
    registry.create_custom_toolset("b", "B.", includes=["a"])
    registry.register_toolset_alias("bee", "b")
    with pytest.raises(ToolsetError, match="'b' includes it"):
        registry.remove_custom_toolset("a")
    registry.remove_custom_toolset("b")
    registry.remove_custom_toolset("b")
    assert registry.get_toolset_alias_target("bee") is None
    registry.remove_custom_toolset("a")
    registry.create_custom_toolset("a", "A.", ["web_fetch"])
    assert registry.resolve_toolset("a") == ["web_fetch"]


# Depth and sharing.


@pytest.mark.parametrize("in_a_batch", [False, True])
def test_a_chain_of_includes_may_be_longer_than_pythons_stack(
    registry: ToolRegistry, in_a_batch: bool
) -> None:
    def build() -> None:
        registry.create_custom_toolset("d0", "", ["web_fetch"])
        for number in range(1, 1500):
            registry.create_custom_toolset(f"d{number}", "", None, [f"d{number - 1}"])

    if in_a_batch:
        with registry.batch():
            build()
    else:
        build()
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom", toolset="d0"))
    assert registry.resolve_toolset("d1499") == ["web_fetch", "zoom"]
    assert registry.why("zoom", "d1499").endswith("`d0`, which owns it")


def test_a_declared_chain_may_be_longer_than_pythons_stack(tmp_path: Path) -> None:
    chain = [toolset("d0", ["t"])]
    chain += [
        {"name": f"d{n}", "includes": [f"d{n - 1}"], "resolved": ["t"]} for n in range(1, 1500)
    ]
    record = tool("t", TEXT, handler="external")
    registry = write_program(tmp_path, [record], toolsets=chain).registry
    registry.plugin("p").register(**offer("zoom", toolset="d0"))
    assert registry.resolve_toolset("d1499") == ["t", "zoom"]


def test_diamonds_are_walked_once_a_side(tmp_path: Path) -> None:
    layers = [toolset("a0", ["t"]), toolset("b0", ["t"])]
    for n in range(1, 60):  # 2 ** 60 ways lead down
        layers += [
            {"name": f"{side}{n}", "includes": [f"a{n - 1}", f"b{n - 1}"], "resolved": ["t"]}
            for side in "ab"
        ]
    record = tool("t", TEXT, handler="external")
    registry = write_program(tmp_path, [record], toolsets=layers).registry
    registry.plugin("p").register(**offer("zoom", toolset="b0"))
    assert registry.resolve_toolset("a59") == ["t", "zoom"]
    assert registry.why("zoom", "a59").endswith("`b0`, which owns it")


def test_lists_that_are_handed_out_are_the_callers_own(registry: ToolRegistry) -> None:
    registry.plugin("p").register(**offer("zoom"))
    registry.create_custom_toolset("mine", "Mine.", ["zoom"], ["file"], excludes=["write_file"])
    for name in ("debugging", "mine", "extra"):
        expected = registry.get_toolset(name)
        for found in (registry.get_toolset(name), registry.get_all_toolsets()[name]):
            assert found is not None
            for value in found.values():
                if isinstance(value, list):
                    value.append("changed")
        registry.resolve_toolset(name).clear()
        registry.get_toolset_info(name)["includes"].append("changed")  # type: ignore[index]
        assert registry.get_toolset(name) == expected
    static = registry.get_toolset("debugging", include_registry=False)
    assert static is not None
    static["includes"].clear()
    assert registry.get_toolset("debugging", include_registry=False)["includes"]  # type: ignore[index]


def test_a_list_that_was_passed_in_stays_the_callers_own(registry: ToolRegistry) -> None:
    tools = ["read_file"]
    registry.create_custom_toolset("mine", "Mine.", tools)
    tools.append("write_file")
    assert registry.resolve_toolset("mine") == ["read_file"]
    given = schema("zoom")
    registry.plugin("p").register(**offer("zoom", schema=given, handler=says("x")))
    given["description"] = "changed"
    assert registry.get_schema("zoom") == schema("zoom")
