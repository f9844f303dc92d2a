"""Faults with names that somebody reported: here no two tools ever meet, and none is displaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes_build.ir import TOOL_NAME
from hermes_build.runtime.errors import SchemaDriftError
from tests.faults.world import World, compiled, documents, spec, thing, yaml

MEETINGS: dict[str, tuple[list[str], str]] = {
    "hermes-agent#72032 a hyphen and an underscore": (["read-file", "read_file"], "HB1006"),
    "hermes-agent#72032 hyphens at other places": (["a-b_c", "a_b-c"], "HB1006"),
    "hermes-agent#72032 a dot": (["read.file", "read_file"], "HB1004"),
    "hermes-agent#72032 case": (["Read_File", "read_file"], "HB1006"),
    "hermes-agent#72032 case and a hyphen": (["Read-File", "read_file"], "HB1006"),
    "hermes-agent#52750 server and tool": (["my_server-query", "my-server_query"], "HB1006"),
    "langchain-mcp-adapters#605 one name twice": (["send_email", "send_email"], "HB1005"),
    "letters that look alike": (["read_file", "reаd_file"], "HB1004"),
    "the generated package": (["__init__", "read_file"], "HB1006"),
    "the generated package, as a hyphen": (["__init_-", "read_file"], "HB1006"),
    "what Python keeps": (["__main__", "read_file"], "HB1006"),
    "openai-agents-python#1167 65 letters": (["a" * 65, "read_file"], "HB1004"),
    "openai-agents-python#1167 alike up to 64": (["a" * 64 + "b", "a" * 64 + "c"], "HB1004"),
}


@pytest.mark.parametrize("apart", [True, False], ids=["two files", "one file"])
@pytest.mark.parametrize(("names", "code"), MEETINGS.values(), ids=MEETINGS)
def test_names_that_meet_are_refused_and_both_are_named(
    tmp_path: Path, names: list[str], code: str, apart: bool
) -> None:
    texts = [spec(name=name) for name in names]
    files = {f"{nth}.yaml": text for nth, text in enumerate(texts)} if apart else documents(*texts)
    world = compiled(tmp_path, files)
    assert world.made.tree is None
    assert set(world.errors) == {code}
    if code == "HB1005" or len({one.replace("-", "_").lower() for one in names}) == 1:
        (one,) = world.made.findings
        (label,) = one.labels
        assert one.span is not None
        assert (
            {one.span.path, label.span.path} == {f"tool_specs/{name}" for name in files}
            if (apart)
            else {"tool_specs/a.yaml"}
        )


@pytest.mark.parametrize(
    "name",
    ["a", "_", "__", "a-", "A1", "a" * 64, "class", "None", "import", "registry", "tools",
     "conn", "self", "implements", "get", "call"],
)  # fmt: skip
def test_a_name_that_every_provider_accepts_is_kept(tmp_path: Path, name: str) -> None:
    """After openai-agents-python#1167: names are neither shortened nor mangled."""
    world = compiled(tmp_path, spec(name=name))
    assert not world.found
    assert world.registry.get_all_tool_names() == [name]
    assert world.module(name).implements.tool == name
    (definition,) = world.registry.get_definitions([name])
    assert definition["function"]["name"] == name


@pytest.mark.parametrize("name", ["con", "NUL", "aux", "com1", "LPT9"])
def test_a_name_that_one_platform_cannot_write_is_a_warning(tmp_path: Path, name: str) -> None:
    assert compiled(tmp_path, spec(name=name)).found == [("HB1006", "warning")]


def test_what_is_a_name_is_said_once() -> None:
    assert TOOL_NAME == "^[A-Za-z_][A-Za-z0-9_-]{0,63}$"


ALIASES: dict[str, list[tuple[str, list[str]]]] = {
    "another's name": [("a", ["b"]), ("b", [])],
    "another's alias": [("a", ["c"]), ("b", ["c"])],
    "its own name": [("a", ["a"])],
    "pydantic-ai#6461 names exchanged": [("a", ["b"]), ("b", ["a"])],
}


@pytest.mark.parametrize("rows", ALIASES.values(), ids=ALIASES)
@pytest.mark.parametrize("what", ["tool", "toolset"])
def test_an_alias_never_takes_a_name(
    tmp_path: Path, rows: list[tuple[str, list[str]]], what: str
) -> None:
    if what == "tool":
        texts = [spec(name=name, aliases=aliases) for name, aliases in rows]
        world = compiled(tmp_path, documents(*texts))
        assert set(world.errors) == {"HB1005"}
    else:
        sets = [yaml({"name": n, "tools": ["tool_x"], "aliases": a}) for n, a in rows]
        world = compiled(tmp_path, spec(), documents(*sets))
        assert set(world.errors) == {"HB2006"}


def test_one_name_may_be_a_tool_and_a_toolset_and_each_is_found(tmp_path: Path) -> None:
    """After hermes-agent#30563: what shares a name is not hidden by it."""
    world = compiled(
        tmp_path,
        documents(spec(name="web", toolset="web"), spec(name="fetch", toolset="web")),
        yaml({"name": "fetch", "tools": ["web"]}),
    )
    assert not world.errors
    registry = world.registry
    assert registry.resolve_toolset("web") == ["fetch", "web"]
    assert registry.resolve_toolset("fetch") == ["web"]
    assert registry.get_all_tool_names() == ["fetch", "web"]


SERVERS = yaml({"mcp_servers": {"web": {"command": "x"}}})


def test_two_servers_of_one_name_are_refused(tmp_path: Path) -> None:
    """After hermes-agent#72032: also where they stand in two documents, or differ by a hyphen."""
    other = yaml({"mcp_servers": {"web": {"url": "https://example.org"}}})
    world = compiled(tmp_path, {"a.yaml": spec(), "b.yaml": SERVERS, "c.yaml": other})
    assert world.made.tree is None
    (one,) = world.made.findings
    assert one.span is not None and one.span.path == "tool_specs/c.yaml"
    assert [label.span.path for label in one.labels] == ["tool_specs/b.yaml"]


@pytest.mark.parametrize("names", [("foo-bar", "foo_bar"), ("web", "Web")])
def test_servers_whose_tools_would_meet_are_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    """After hermes-agent#72032."""
    rows = {name: {"command": "x"} for name in names}
    world = compiled(tmp_path, documents(spec(), yaml({"mcp_servers": rows})))
    assert world.made.tree is None
    assert len(world.errors) == 1


def two_handlers(first: str, second: str) -> dict[str, str]:
    return {
        "h": (
            "from {generated}.registry import registry\n\n\n"
            f"{first}\ndef one(args, **context):\n    return 'one'\n\n\n"
            f"{second}\ndef two(args, **context):\n    return 'two'\n"
        )
    }


def bound(world: World) -> Any:
    return world.registry.call("tool_x", {})


HOOK = '@registry.handler("tool_x")'


def test_a_second_handler_in_source_is_found_while_compiling(tmp_path: Path) -> None:
    """After hermes-agent#84690."""
    world = compiled(tmp_path, spec(handler=None), handlers=two_handlers(HOOK, HOOK))
    assert world.errors == ["HB3003"]


@pytest.mark.parametrize(
    "second",
    [
        "registry.register(name='tool_x', toolset='x', handler=two)",
        "registry.register(name='tool_x', handler=two)",
        "registry.register('tool_x', 'x', None, two)",
        "registry.handler('tool_x')(two)",
        "registry.bind('tool_x', two)",
    ],
)
def test_a_second_handler_at_run_time_is_refused_and_the_first_stays(
    tmp_path: Path, second: str
) -> None:
    """After hermes-agent#84690: in its own toolset too, by whichever way."""
    handler = (
        "from {generated}.registry import registry\n\n\n"
        f"{HOOK}\ndef one(args, **context):\n    return 'one'\n"
    )
    world = compiled(tmp_path, spec(handler=None, toolset="x"), handlers={"h": handler})
    assert not world.errors
    assert bound(world) == "one"

    def two(args: Any, **context: Any) -> str:
        return "two"

    with pytest.raises(SchemaDriftError) as refused:
        eval(second, {"registry": world.registry, "two": two})
    (mismatch,) = refused.value.mismatches
    assert (mismatch.kind, mismatch.code) == ("duplicate", "HB3003")
    assert bound(world) == "one"


def test_an_override_is_said_and_changes_the_handler_alone(tmp_path: Path) -> None:
    """After hermes-agent#84690: the name and the schema are the spec's."""
    handler = (
        "from {generated}.registry import registry\n\n\n"
        f"{HOOK}\ndef one(args, **context):\n    return 'one'\n"
    )
    world = compiled(
        tmp_path, spec(handler=None, dynamic=["/description"]), handlers={"h": handler}
    )
    before = world.registry.get_definitions(["tool_x"])
    assert bound(world) == "one"

    def two(args: Any, **context: Any) -> str:
        return "two"

    world.registry.register(
        "tool_x",
        handler=two,
        override=True,
        dynamic_schema_overrides=lambda: {"name": "EVIL", "parameters": "oops"},
    )
    assert bound(world) == "two"
    assert [one["function"]["name"] for one in world.registry.get_definitions(["tool_x"])] == [
        one["function"]["name"] for one in before
    ]
    assert world.registry.get_definition("EVIL") is None


@pytest.mark.parametrize(
    "schema",
    [
        {"name": "other", "description": "x", "parameters": {"type": "object"}},
        {"name": "tool_x", "description": "x", "parameters": thing()},
        {"type": "object", "properties": {"q": {}}, "required": ["q"]},
        {"type": "function", "function": {"name": "tool_x"}},
        "schema",
        [],
    ],
    ids=str,
)
def test_a_passed_schema_that_is_not_the_specs_is_refused(tmp_path: Path, schema: Any) -> None:
    """After agency-agents#717, hermes-agent#84690: a bare schema, or one of another name."""
    world = compiled(tmp_path, spec())
    with pytest.raises(SchemaDriftError) as refused:
        world.registry.register("tool_x", schema=schema, handler=lambda args, **context: "x")
    assert {one.code for one in refused.value.mismatches} == {"HB3007"}
    assert "handler: external" in world.call("tool_x")["error"]


@pytest.mark.parametrize("name", ["", " ", "nope", "tool_x ", "TOOL_X", "tool-x", "cat"])
def test_a_handler_for_no_declared_name_is_refused(tmp_path: Path, name: str) -> None:
    world = compiled(tmp_path, spec(aliases=["cat"]))
    with pytest.raises(SchemaDriftError) as refused:
        world.registry.register(name, handler=lambda args, **context: "x")
    assert [one.code for one in refused.value.mismatches] == ["HB3002"]


@pytest.mark.parametrize(
    "name", ["", " ", "\n", "\t", "tool_x\t", "tool_x\n", "a/b", "\ud800", "é", "!", "tool/"]
)
def test_a_call_by_any_text_says_that_there_is_no_such_tool(tmp_path: Path, name: str) -> None:
    world = compiled(tmp_path, spec())
    assert world.call(name)["error"].startswith("Unknown tool")


def test_a_definition_comes_once_by_whatever_names_it_is_asked_for(tmp_path: Path) -> None:
    """After hermes-agent#10511, hermes-agent#18478."""
    world = compiled(
        tmp_path,
        documents(spec(name="a", aliases=["b", "c"], toolset="x"), spec(name="d", toolset="x")),
        yaml({"name": "y", "includes": ["x"], "tools": ["a"]}),
    )
    asked = [*world.registry.resolve_toolset("x"), *world.registry.resolve_toolset("y"), "a"]
    names = [one["function"]["name"] for one in world.registry.get_definitions(asked)]
    assert names == ["a", "d"]
