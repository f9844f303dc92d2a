"""The differences from hermes-agent that are meant, in toolsets: what a name may stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_build.runtime import ToolsetError, UnknownToolset
from hermes_build.runtime.registry import ToolRegistry
from tests.command_line import hermes
from tests.contract.programs import ANY, offer
from tests.runtime_program import tool, toolset, write_program


def test_difference_an_unknown_toolset_raises(registry: ToolRegistry) -> None:
    for look in (
        lambda: registry.resolve_toolset("flie"),
        lambda: registry.resolve_multiple_toolsets(["web", "flie"]),
        lambda: registry.session(["flie"]),
        lambda: registry.session(disabled=["flie"]),
    ):
        with pytest.raises(UnknownToolset, match="'file'"):
            look()


def test_difference_one_text_is_no_list_of_names(registry: ToolRegistry) -> None:
    for look in (
        lambda: registry.session("file"),
        lambda: registry.session(disabled="file"),
        lambda: registry.resolve_multiple_toolsets("file"),  # type: ignore[arg-type]
        lambda: registry.get_definitions("read"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            look()


def test_difference_unknown_members_and_include_cycles_are_errors(
    registry: ToolRegistry, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    (project / "toolsets").mkdir(parents=True)
    (project / "tool_specs").mkdir()
    (project / "hermes-build.toml").write_text("")
    (project / "tool_specs" / "read.yaml").write_text(
        "name: read\ntoolset: file\ndescription: Read a file.\nhandler: external\n"
        "parameters: {type: object, properties: {}}\n"
    )
    (project / "toolsets" / "sets.yaml").write_text(
        "name: one\ndescription: One.\ntools: [reed]\n---\n"
        "name: two\ndescription: Two.\nincludes: [three, file]\n---\n"
        "name: three\ndescription: Three.\nincludes: [two, flie]\n"
    )
    done = hermes(project, "compile", "--format", "concise")
    assert done.code == 1
    for part in ("`reed`", "`flie`", "three -> two -> three"):
        assert part in done.out
    assert not (project / "generated").exists()
    for members in ({"tools": ["reed"]}, {"includes": ["flie"]}, {"includes": ["mine"]}):
        with pytest.raises(ToolsetError):
            registry.create_custom_toolset("mine", "Mine.", **members)


def test_difference_a_custom_toolset_takes_no_name_that_is_taken(registry: ToolRegistry) -> None:
    registry.create_custom_toolset("mine", "Mine.", ["run"])
    for name in ("file", "net", "mine"):
        with pytest.raises(ToolsetError, match=r"already|alias"):
            registry.create_custom_toolset(name, "Other.", ["run"])
    assert registry.resolve_toolset("file") == ["read", "write"]


def test_difference_denying_a_composition_removes_all_of_it(tmp_path: Path) -> None:
    tools = [tool(name, ANY, handler="external") for name in ("core", "extra")]
    sets = [
        toolset("file", ["core", "extra"]),
        {"name": "hermes-cli", "tools": ["core", "extra"], "resolved": ["core", "extra"]},
    ]
    registry = write_program(tmp_path, tools, toolsets=sets).registry
    assert registry.session(["file"], ["hermes-cli"]).names == ()


def test_difference_guards_hold_at_run_time(tmp_path: Path) -> None:
    record = tool("read", ANY, handler="external", annotations={"read_only": True})
    guarded = toolset("quiet", ["read"], includes=["file"])
    guarded["guards"] = {"forbid_tags": ["network"], "require": {"read_only": True}}
    sets = [toolset("file", ["read"]), guarded]
    registry = write_program(tmp_path, [record], toolsets=sets).registry
    plugin = registry.plugin("p")
    plugin.register(**offer("look", "file"), annotations={"read_only": True})
    plugin.register(**offer("call_home", "file"), annotations={"read_only": True}, tags=["network"])
    plugin.register(**offer("wipe", "file"))
    assert registry.resolve_toolset("quiet") == ["look", "read"]
    assert registry.resolve_toolset("file") == ["call_home", "look", "read", "wipe"]
    assert "network" in registry.why("call_home", "quiet")
