"""Faults of toolset resolution that somebody reported: here it is proved while compiling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.errors import UnknownToolset
from tests.faults.world import compiled, documents, spec, yaml

TOOLS = documents(
    spec(name="read_file", toolset="file"),
    spec(name="write_file", toolset="file"),
    spec(name="web_search", toolset="web"),
    spec(name="terminal", toolset="terminal"),
)


def toolsets(**sets: dict[str, Any]) -> str:
    return documents(*(yaml({"name": name, **fields}) for name, fields in sets.items()))


RESOLVED: dict[str, tuple[dict[str, dict[str, Any]], dict[str, list[str]]]] = {
    "hermes-agent#17309 an exclude wins over every include": (
        {
            "full": {"includes": ["web", "file", "inner"], "excludes": ["web_search"]},
            "inner": {"tools": ["web_search", "terminal"]},
        },
        {"full": ["read_file", "terminal", "write_file"]},
    ),
    "hermes-agent#17309 an exclude wins over its own list": (
        {"s": {"tools": ["web_search", "terminal"], "excludes": ["terminal"]}},
        {"s": ["web_search"]},
    ),
    "hermes-agent#17309 an exclude below does not reach above": (
        {
            "inner": {"includes": ["file"], "excludes": ["write_file"]},
            "outer": {"includes": ["inner", "file"]},
        },
        {"inner": ["read_file"], "outer": ["read_file", "write_file"]},
    ),
    "hermes-agent#57315 a composition owns nothing": (
        {"coding": {"tools": ["read_file", "terminal"]}},
        {"coding": ["read_file", "terminal"], "file": ["read_file", "write_file"]},
    ),
    "a diamond": (
        {"a": {"includes": ["b", "c"]}, "b": {"includes": ["file"]}, "c": {"includes": ["file"]}},
        {"a": ["read_file", "write_file"]},
    ),
    "hermes-agent#91757 the order of documents means nothing": (
        {"a": {"includes": ["z"]}, "z": {"includes": ["y"]}, "y": {"includes": ["file"]}},
        {"a": ["read_file", "write_file"], "z": ["read_file", "write_file"]},
    ),
    "every tool, less one": (
        {"most": {"includes": ["*"], "excludes": ["terminal"]}},
        {"most": ["read_file", "web_search", "write_file"]},
    ),
    "one that may be empty, and one that includes it": (
        {
            "engine": {"tools": [], "may_be_empty": True},
            "all_of_it": {"includes": ["engine", "web"]},
        },
        {"engine": [], "all_of_it": ["web_search"]},
    ),
}


@pytest.mark.parametrize(("sets", "wanted"), RESOLVED.values(), ids=RESOLVED)
@pytest.mark.parametrize("backwards", [False, True])
def test_a_toolset_is_the_same_for_the_compiler_and_the_runtime(
    tmp_path: Path,
    sets: dict[str, dict[str, Any]],
    wanted: dict[str, list[str]],
    backwards: bool,
) -> None:
    """After hermes-agent#73692: there is one resolver."""
    rows = dict(reversed(sets.items())) if backwards else sets
    world = compiled(tmp_path, TOOLS, toolsets(**rows))
    assert not world.errors
    for name, tools in wanted.items():
        assert list(world.toolsets[name].resolved) == tools
        assert world.registry.resolve_toolset(name) == tools
        # What is handed out is the caller's own.
        world.registry.resolve_toolset(name).clear()
        found = world.registry.get_toolset(name)
        assert found is not None
        found["resolved"].append("x")
        found.setdefault("includes", []).append("y")
        assert world.registry.resolve_toolset(name) == tools


def test_a_toolset_that_may_be_empty_holds_what_a_plugin_registers_into_it(tmp_path: Path) -> None:
    sets = toolsets(
        engine={"description": "Waits.", "may_be_empty": True},
        outer={"includes": ["engine", "web"]},
    )
    registry = compiled(tmp_path, TOOLS, sets).registry
    assert registry.session(["engine"]).names == ()
    plugin = registry.plugin("motor")
    schema = {"description": "Turn.", "parameters": {"type": "object"}}
    plugin.register("turn", "engine", schema, lambda args, **context: "turned")
    assert registry.resolve_toolset("outer") == ["turn", "web_search"]
    session = registry.session(["engine"])
    assert session.names == ("turn",)
    assert session.call("turn", {}) == "turned"


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "hermes-agent#35618 a misspelt tool": ({"tools": ["read_fil"]}, "HB2001", "`read_file`"),
    "hermes-agent#35618 a misspelt toolset": ({"includes": ["fiel"]}, "HB2002", "`file`"),
    "hermes-agent#38798 a shortened name": ({"includes": ["termina"]}, "HB2002", "`terminal`"),
    "hermes-agent#97111 a misspelt exclude": (
        {"includes": ["file"], "excludes": ["writefile"]},
        "HB2001",
        "`write_file`",
    ),
    "hermes-agent#97111 an exclude of a toolset": (
        {"includes": ["file"], "excludes": ["web"]},
        "HB2001",
        "toolset",
    ),
    "hermes-agent#97111 an exclude of what is not there": (
        {"includes": ["file"], "excludes": ["web_search"]},
        "HB2005",
        "",
    ),
    "hermes-agent#97111 a key that another program has": (
        {"includes": ["file"], "disabled_toolsets": ["web"]},
        "HB1001",
        "",
    ),
    "hermes-agent#97111 a misspelt key": ({"inlcudes": ["file"], "tools": ["terminal"]}, "HB1001",
                                    "`includes`"),
    "hermes-agent#58679 names below another": ({"includes": [{"file": ["web"]}]}, "HB1002", ""),
    "hermes-agent#58679 a mapping for a list": ({"includes": {"file": None}}, "HB1002", ""),
    "hermes-agent#58679 text for a list": ({"tools": "read_file"}, "HB1002", ""),
    "a number among names": ({"tools": [1]}, "HB1002", ""),
    "nothing among names": ({"tools": [None]}, "HB1002", ""),
    "null for a list": ({"tools": None}, "HB1002", ""),
    "hermes-agent#35618 an empty list": ({"tools": []}, "HB2004", ""),
    "hermes-agent#35618 nothing at all": ({}, "HB2004", ""),
    "one that says that it may not be empty": ({"may_be_empty": False}, "HB2004", ""),
    "one that says it in other words": ({"may_be_empty": "yes"}, "HB1002", ""),
    "hermes-agent#35618 everything excluded": (
        {"tools": ["terminal"], "excludes": ["terminal"]},
        "HB2004",
        "",
    ),
    "a tool among toolsets": ({"includes": ["read_file"]}, "HB2002", "`tools`"),
    "a toolset among tools": ({"tools": ["file"]}, "HB2001", "`includes`"),
    "itself": ({"includes": ["s"]}, "HB2003", ""),
    "a name twice": ({"tools": ["terminal", "terminal"]}, "HB2012", ""),
    "a guard that fails": ({"includes": ["file"], "guards": {"max_tools": 1}}, "HB2010", ""),
    "a guard that is misspelt": ({"includes": ["file"], "guards": {"max_tool": 9}}, "HB1001",
                                 "`max_tools`"),
    "hermes-agent#35358 a guard against a capability": (
        {"tools": ["terminal", "pty"], "guards": {"forbid_tags": ["exec"]}},
        "HB2008",
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "code", "hint"), REFUSED.values(), ids=REFUSED)
def test_what_a_toolset_cannot_mean_is_said_at_its_line(
    tmp_path: Path, fields: dict[str, Any], code: str, hint: str
) -> None:
    tools = documents(TOOLS, spec(name="pty", toolset="terminal", tags=["exec"]))
    world = compiled(tmp_path, tools, yaml({"name": "s", **fields}))
    one = world.finding(code)
    assert one.span is not None and one.span.path == "toolsets/a.yaml"
    assert hint in " ".join(one.help)
    if code != "HB2012":
        assert world.made.tree is None
    assert {other for other, _ in world.found} == {code}


@pytest.mark.parametrize("name", ["all", "*"])
def test_names_that_mean_every_tool_are_nobodys(tmp_path: Path, name: str) -> None:
    for number, (specs, sets) in enumerate(
        (
            (TOOLS, yaml({"name": name, "tools": ["terminal"]})),
            (TOOLS, yaml({"name": "s", "aliases": [name], "tools": ["terminal"]})),
            (documents(TOOLS, spec(name="x", toolset=name)), ""),
        )
    ):
        world = compiled(tmp_path / str(number), specs, sets)
        assert set(world.errors) <= {"HB2007", "HB1004"} and world.errors


@pytest.mark.parametrize("length", [3, 3000])
@pytest.mark.parametrize("closed", [False, True])
def test_a_chain_of_includes_may_be_long(tmp_path: Path, length: int, closed: bool) -> None:
    """A walk with Python's own stack ends at a thousand."""
    rows = [
        {"name": f"d{nth}", "includes": [f"d{nth + 1}" if nth < length - 1 else "file"]}
        for nth in range(length)
    ]
    if closed:
        rows[-1]["includes"] = ["d0"]
    world = compiled(tmp_path, TOOLS, documents(*map(yaml, rows)))
    if closed:
        assert world.errors == ["HB2003"]
    else:
        assert not world.errors
        assert world.toolsets["d0"].resolved == ("read_file", "write_file")


def test_a_toolset_that_nobody_declares_is_an_error_in_a_call(tmp_path: Path) -> None:
    """After hermes-agent#35618: unknown, empty and everything are three different answers."""
    registry = compiled(tmp_path, TOOLS).registry
    assert registry.resolve_toolset("all") == sorted(registry.get_all_tool_names())
    assert registry.get_definitions([]) == []
    for name in ("fiel", "", "read_file", "File"):
        with pytest.raises(UnknownToolset):
            registry.resolve_toolset(name)


def test_tools_without_a_toolset_stay_out_of_all_but_the_whole(tmp_path: Path) -> None:
    """After hermes-agent#46171: nothing is appended to a set behind its back."""
    tools = documents(TOOLS, spec(name="loose"))
    world = compiled(tmp_path, tools, yaml({"name": "s", "includes": ["file", "web"]}))
    assert "loose" not in world.registry.resolve_toolset("s")
    assert "loose" in world.registry.resolve_toolset("*")
    assert world.registry.get_toolset_for_tool("loose") is None
