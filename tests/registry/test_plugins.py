"""What a registration at run time must be, and what plugins and servers may do."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
from typing import Any

import pytest

from hermes_build.runtime import ConsentRequired, Plugin, RegistrationError, ToolConflict
from hermes_build.runtime.registry import ToolRegistry
from tests.registry.programs import TEXT, offer, says, schema
from tests.runtime_program import tool, write_program


async def coroutine(args: dict[str, Any]) -> str:
    return "awaited"


async def generator(args: dict[str, Any]) -> Any:
    yield "never"


async def async_check() -> bool:
    return True


def surplus(args: dict[str, Any], wanted: int) -> str:
    return ""


def wrapped(args: dict[str, Any]) -> Any:
    return coroutine(args)


functools.update_wrapper(wrapped, coroutine)

HOLDS_ITSELF: dict[str, Any] = {"type": "object"}
HOLDS_ITSELF["properties"] = {"a": HOLDS_ITSELF}


def deep(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        made = {"type": "object", "properties": {"a": made}}
    return made


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "an empty name": ({"name": ""}, "name", "letters"),
    "a name with a space": ({"name": "has space"}, "name", "letters"),
    "a name that is too long": ({"name": "a" * 65}, "name", "64"),
    "a name beyond ASCII": ({"name": "naïve"}, "name", "letters"),
    "a name that begins with a digit": ({"name": "1a"}, "name", "begins with"),
    "a name that ends in a line break": ({"name": "zoom\n"}, "name", "letters"),
    "no name": ({"name": None}, "name", "letters"),
    "no toolset": ({"toolset": None}, "toolset", "letters"),
    "a toolset that means all": ({"toolset": "all"}, "toolset", "every tool"),
    "a toolset that means all by a star": ({"toolset": "*"}, "toolset", "every tool"),
    "a toolset that is no name": ({"toolset": "a b"}, "toolset", "letters"),
    "a server's toolset": ({"toolset": "mcp-evil"}, "toolset", "MCP servers"),
    "an alias of a toolset": ({"toolset": "files"}, "toolset", "alias of the toolset 'file'"),
    "no schema": ({"schema": None}, "schema", "parameters"),
    "a schema that is text": ({"schema": "{}"}, "schema", "dict"),
    "a bare schema": ({"schema": TEXT}, "bare-schema", "put it under `parameters`"),
    "a whole definition": (
        {"schema": {"type": "function", "function": schema("zoom")}},
        "schema",
        'under its "function"',
    ),
    "a schema without parameters": ({"schema": {"name": "zoom"}}, "parameters", "no `parameters`"),
    "another name in the schema": ({"schema": schema("other")}, "schema-name", "'other'"),
    "a description that is no text": (
        {"schema": {**schema("zoom"), "description": 3}},
        "description",
        "text",
    ),
    "parameters that are text": ({"schema": schema("zoom", "oops")}, "parameters", "not str"),
    "a type that is none": ({"schema": schema("zoom", {"type": "obj"})}, "parameters", "/type"),
    "a root that is no object": (
        {"schema": schema("zoom", {"type": "string"})},
        "parameters",
        '"type": "object"',
    ),
    "a root that does not say": ({"schema": schema("zoom", {})}, "parameters", '"type": "object"'),
    "a pattern that is none": (
        {"schema": schema("zoom", {"type": "object", "properties": {"a": {"pattern": "("}}})},
        "parameters",
        "/properties/a/pattern",
    ),
    "a reference to nothing": (
        {"schema": schema("zoom", {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}})},
        "parameters",
        "$defs/b",
    ),
    "a reference to the web": (
        {"schema": schema("zoom", {"type": "object", "allOf": [{"$ref": "https://a.test/b"}]})},
        "parameters",
        "https://a.test/b",
    ),
    "a number that JSON lacks": (
        {"schema": schema("zoom", {**TEXT, "default": float("nan")})},
        "schema",
        "nan",
    ),
    "a value that JSON lacks": ({"schema": schema("zoom", {**TEXT, "a": {1}})}, "schema", "set"),
    "a key that is no text": ({"schema": schema("zoom", {**TEXT, 1: 2})}, "schema", "the key 1"),
    "half a character": (
        {"schema": {**schema("zoom"), "description": "\ud800"}},
        "schema",
        "surrogate",
    ),
    "a schema that holds itself": ({"schema": schema("zoom", HOLDS_ITSELF)}, "schema", "itself"),
    "a schema without an end": ({"schema": schema("zoom", deep(5000))}, "schema", "levels"),
    "an output schema that is none": ({"output_schema": {"type": 1}}, "output-schema", "/type"),
    "an output schema that is text": ({"output_schema": "x"}, "output-schema", "dict"),
    "no handler": ({"handler": None}, "handler", "callable"),
    "a generator": ({"handler": generator}, "async", "generator"),
    "a sync handler that is said to be async": ({"is_async": True, "handler": surplus}, "", ""),
    "a parameter that nobody passes": ({"handler": surplus}, "surplus-parameter", "wanted"),
    "a keyword that the schema lacks": (
        {"handler": lambda *, other: other},
        "missing-parameter",
        "text",
    ),
    "an async check": ({"check_fn": async_check}, "check-fn", "plain function"),
    "a check that is no function": ({"check_fn": True}, "check-fn", "callable"),
    "a check that wants arguments": ({"check_fn": lambda a: True}, "check-fn", "demands some"),
    "requires_env as text": ({"requires_env": "KEY"}, "requires-env", "list of names"),
    "requires_env of numbers": ({"requires_env": [1]}, "requires-env", "list of names"),
    "requires_env of no name": ({"requires_env": ["A=1"]}, "requires-env", "list of names"),
    "overrides that are no function": (
        {"dynamic_schema_overrides": {}},
        "dynamic-schema-overrides",
        "callable",
    ),
    "a size that is text": ({"max_result_size_chars": "9"}, "max-result-size", "number"),
    "a size that is no number": ({"max_result_size_chars": float("nan")}, "max-result-size", ""),
    "a time-out of nothing": ({"timeout_seconds": 0}, "timeout", "above 0"),
    "an endless time-out": ({"timeout_seconds": float("inf")}, "timeout", "above 0"),
    "tags as text": ({"tags": "exec"}, "tags", "list of words"),
    "a hint that is none": ({"annotations": {"readonly": True}}, "annotations", "'read_only'"),
    "a hint that says maybe": ({"annotations": {"read_only": "yes"}}, "annotations", "True or"),
    "an emoji that is none": ({"emoji": 3}, "emoji", "text"),
}


@pytest.mark.parametrize(("fields", "kind", "part"), REFUSED.values(), ids=REFUSED)
def test_a_registration_is_refused_with_what_is_wrong(
    registry: ToolRegistry, fields: dict[str, Any], kind: str, part: str
) -> None:
    plugin = registry.plugin("p")
    before, names = registry.generation, registry.get_all_tool_names()
    with pytest.raises(RegistrationError) as caught:
        plugin.register(**{**offer("zoom"), **fields})
    assert kind in [one for one, _ in caught.value.problems] or not kind
    assert part in str(caught.value)
    assert (registry.generation, registry.get_all_tool_names()) == (before, names)


def test_everything_that_is_wrong_is_told_at_once(registry: ToolRegistry) -> None:
    given = offer("zoom", toolset="*", schema=None, tags="exec")
    with pytest.raises(RegistrationError) as caught:
        registry.plugin("p").register(**given)
    assert [kind for kind, _ in caught.value.problems] == ["toolset", "schema", "tags"]


@pytest.mark.parametrize(
    ("handler", "says_async", "answer"),
    [
        (coroutine, False, "awaited"),
        (coroutine, True, "awaited"),
        (lambda args, **context: coroutine(args), True, "awaited"),
        (functools.partial(coroutine), False, "awaited"),
        (wrapped, True, "awaited"),
        (says("plain"), False, "plain"),
    ],
    ids=["seen", "seen and said", "a lambda", "a partial", "a wrapper", "sync"],
)
def test_async_is_seen_from_the_handler_or_said_where_it_cannot_be_seen(
    registry: ToolRegistry, handler: Any, says_async: bool, answer: str
) -> None:
    registry.plugin("p").register(**offer("zoom", handler=handler, is_async=says_async))
    assert registry.call("zoom", {}) == answer
    assert asyncio.run(registry.acall("zoom", {})) == answer


def test_a_handler_that_is_plainly_sync_cannot_be_said_to_be_async(registry: ToolRegistry) -> None:
    with pytest.raises(RegistrationError, match="async def") as caught:
        registry.plugin("p").register(**offer("zoom", handler=says("x"), is_async=True))
    assert caught.value.kind == "async"


def test_a_root_that_says_object_by_reference_is_fine(registry: ToolRegistry) -> None:
    parameters = {"$ref": "#/$defs/all", "$defs": {"all": {"type": "object", "required": ["a"]}}}
    registry.plugin("p").register(**offer("zoom", schema=schema("zoom", parameters)))
    assert "Invalid arguments" in registry.call("zoom", {})
    assert registry.call("zoom", {"a": 1}) == "zoom ran"


def test_a_schema_without_name_and_description_gets_those_of_the_registration(
    registry: ToolRegistry,
) -> None:
    bare = {"parameters": TEXT}
    registry.plugin("p").register(**offer("zoom", schema=bare, description="Look closely."))
    expected = {"name": "zoom", "description": "Look closely.", "parameters": TEXT}
    assert registry.get_schema("zoom") == expected
    assert list(registry.get_schema("zoom") or ()) == list(expected)


def test_an_output_schema_holds_results(registry: ToolRegistry) -> None:
    def handler(args: dict[str, Any]) -> Any:
        return {"n": args.get("text")}

    output = {"type": "object", "properties": {"n": {"const": "1"}}}
    registry.plugin("p").register(**offer("zoom", handler=handler, output_schema=output))
    assert json.loads(registry.call("zoom", {"text": "1"})) == {"n": "1"}
    assert json.loads(registry.call("zoom", {"text": "2"}))["error_type"] == "tool_result_contract"


# Handles.


def test_one_name_has_one_handle_until_it_is_closed(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom"))
    with pytest.raises(ValueError, match="already"):
        registry.plugin("p")
    registry.server("p")  # a server may have the name of a plugin
    plugin.close()
    plugin.close()
    assert registry.find("zoom") is None
    with pytest.raises(RegistrationError) as caught:
        plugin.register(**offer("zoom"))
    assert caught.value.kind == "closed"
    again = registry.plugin("p")
    plugin.close()  # the old handle has no say over the new one
    again.register(**offer("zoom"))
    assert again.names == ["zoom"]
    with pytest.raises(ValueError, match="empty"):
        registry.plugin("  ")


def test_a_plugin_removes_its_own_tools_and_no_others(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    plugin.register(**offer("zoom"))
    registry.plugin("q").register(**offer("aim"))
    plugin.deregister("zoom")
    with pytest.raises(ConsentRequired):
        plugin.deregister("aim")
    with pytest.raises(ConsentRequired):
        plugin.deregister("read_file")
    assert plugin.names == []
    assert registry.call("aim", {}) == "aim ran"


# Servers.


def test_a_servers_tools_are_found_by_its_name_and_its_toolset(registry: ToolRegistry) -> None:
    server = registry.server("github")
    server.register(name="list_issues", schema=schema("list_issues"), handler=says("issues"))
    assert server.toolset == registry.get_toolset_for_tool("list_issues") == "mcp-github"
    assert registry.resolve_toolset("github") == ["list_issues"]
    assert registry.resolve_toolset("mcp-github") == ["list_issues"]
    assert registry.get_toolset_alias_target("github") == "mcp-github"
    assert registry.call("list_issues", {}) == "issues"
    assert registry.get_entry("list_issues").origin == "server 'github'"  # type: ignore[union-attr]
    server.deregister("list_issues")
    assert registry.get_registered_toolset_aliases() == {"files": "file"}
    assert not registry.validate_toolset("github")


def test_a_server_registers_into_its_own_toolset_alone(registry: ToolRegistry) -> None:
    with pytest.raises(RegistrationError, match="'mcp-github' alone"):
        registry.server("github").register(**offer("a", toolset="web"))


def test_nobody_else_replaces_or_removes_a_servers_tools(registry: ToolRegistry) -> None:
    server = registry.server("github")
    server.register(name="a", schema=schema("a"), handler=says("server"))
    plugin = registry.plugin("p", allow_override=True)
    with pytest.raises(ToolConflict, match="server's"):
        plugin.register(**offer("a"), override=True)
    for handle in (plugin, registry, registry.server("other")):
        with pytest.raises(PermissionError):
            handle.deregister("a")
    assert registry.call("a", {}) == "server"
    server.deregister("a")
    assert registry.find("a") is None


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("web", "There is a toolset 'web'"),
        ("files", "alias of the toolset 'file'"),
        ("debugging", "There is a toolset"),
        ("extra", "There is a toolset 'extra'"),
        ("mine", "There is a toolset 'mine'"),
        ("all", "every tool"),
        ("a b", "letters"),
        ("", "letters"),
        ("a" * 61, "1 to 60"),
    ],
)
def test_a_server_is_refused_whose_tools_could_not_be_asked_for(
    registry: ToolRegistry, name: str, part: str
) -> None:
    registry.plugin("p").register(**offer("zoom"))
    registry.create_custom_toolset("mine", "Mine.", ["zoom"])
    if name == "":
        assert registry.server("_") is not None  # one character will do
        name, part = "é", "letters"
    with pytest.raises(ValueError, match=part):
        registry.server(name)


def test_a_plugin_cannot_have_the_toolset_of_a_servers_name(registry: ToolRegistry) -> None:
    registry.server("github")
    with pytest.raises(RegistrationError, match="name of a server"):
        registry.plugin("p").register(**offer("zoom", toolset="github"))


def test_many_tools_are_registered_as_one_change_and_the_rest_is_reported(
    registry: ToolRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    registry.server("other").register(name="b", schema=schema("b"), handler=says("other"))
    server = registry.server("srv")

    def remote(name: Any, **fields: Any) -> dict[str, Any]:
        made = {"description": f"Remote {name}.", "parameters": TEXT}
        return {"name": name, "schema": made, "handler": says(f"remote {name}"), **fields}

    before = registry.generation
    with caplog.at_level(logging.WARNING):
        report = server.register_many(
            [
                remote("good.one"),
                remote("read-x y"),
                remote("read-x.y"),
                remote("read_file"),
                remote("cat"),
                remote("b"),
                remote(""),
                remote(None),
                remote("1st"),
                remote("日本"),
                remote("bad", schema={"parameters": {"type": "nope"}}),
                remote("odd", colour="red"),
                remote("last"),
            ]
        )
    assert registry.generation == before + 1
    assert report.registered == {"good.one": "good_one", "last": "last"}
    assert server.names == ["good_one", "last"]
    assert registry.call("good_one", {}) == "remote good.one"
    assert registry.call("read_file", {}) == "read"
    assert registry.call("b", {}) == "other"
    by_names = {one.names: one for one in report.skipped}
    assert set(by_names) == {
        ("read-x y", "read-x.y"),
        ("read_file",),
        ("cat",),
        ("b",),
        ("",),
        ("None",),
        ("1st",),
        ("日本",),
        ("bad",),
        ("odd",),
    }
    both = by_names["read-x y", "read-x.y"]
    assert (both.kind, both.tool) == ("ambiguous", "read-x_y")
    assert "'read-x y', 'read-x.y'" in both.reason
    local = by_names[("read_file",)]
    assert (local.kind, local.origin, local.present_origin) == (
        "taken",
        "server 'srv'",
        "the program",
    )
    assert by_names[("b",)].present_origin == "the server 'other'"
    assert by_names[("cat",)].kind == "alias"
    assert {by_names[one].kind for one in [("",), ("None",), ("1st",), ("日本",)]} == {"name"}
    assert by_names[("bad",)].kind == "parameters"
    assert by_names[("odd",)].kind == "arguments"
    for one in report.skipped:
        assert one.reason in caplog.text


def test_a_prefix_keeps_names_apart(registry: ToolRegistry) -> None:
    tools = [{"name": "read_file", "schema": {"parameters": TEXT}, "handler": says("remote")}]
    report = registry.server("srv").register_many(tools, prefix="srv__")
    assert report.registered == {"read_file": "srv__read_file"}
    assert registry.call("srv__read_file", {}) == "remote"
    assert registry.call("read_file", {}) == "read"


def test_a_new_list_replaces_the_old_one_as_one_change(registry: ToolRegistry) -> None:
    server = registry.server("srv")

    def listed(*names: str, text: str) -> list[dict[str, Any]]:
        made = {"parameters": TEXT}
        return [{"name": one, "schema": made, "handler": says(text)} for one in names]

    server.register_many(listed("a", "b", text="old"))
    assert registry.call("b", {}) == "old"
    skipped = server.register_many(listed("b", text="new")).skipped
    assert [one.kind for one in skipped] == ["duplicate"]
    before = registry.generation
    report = server.register_many(listed("b", "c", text="new"), replace=True)
    assert (registry.generation, report.skipped) == (before + 1, ())
    assert server.names == ["b", "c"]
    assert registry.call("b", {}) == "new"
    assert server.register_many([], replace=True).registered == {}
    assert server.names == []
    assert not registry.validate_toolset("srv")


def test_a_server_handles_the_tools_that_were_pinned_from_it(tmp_path: Any) -> None:
    pinned = tool("issues", TEXT, toolset="mcp-github", handler="server", timeout_seconds=5)
    foreign = tool("other", TEXT, toolset="mcp-gitlab", handler="server")
    registry = write_program(tmp_path, [pinned, foreign]).registry
    assert "error" in json.loads(registry.call("issues", {}))
    server = registry.server("github")
    changed = {"type": "object", "properties": {"page": {"type": "integer"}}}
    with pytest.raises(ToolConflict, match="pin it again"):
        server.register(name="issues", schema=schema("issues", changed), handler=says("x"))
    with pytest.raises(ToolConflict):
        server.register(name="other", schema=schema("other"), handler=says("x"))
    given = {"name": "issues", "description": "Not what the spec says.", "parameters": TEXT}
    server.register(name="issues", schema=given, handler=says("pinned"))
    assert registry.call("issues", {}) == "pinned"
    assert registry.get_schema("issues") == pinned["schema"]
    assert registry.get_entry("issues").spec["timeout_seconds"] == 5  # type: ignore[union-attr]
    server.close()
    assert registry.get_schema("issues") == pinned["schema"]
    assert "error" in json.loads(registry.call("issues", {}))


def test_a_plugin_registers_by_the_parameters_that_a_program_registers_by() -> None:
    ours = [*inspect.signature(ToolRegistry.register).parameters.values()]
    theirs = [*inspect.signature(Plugin.register).parameters.values()]
    assert len(ours) == 13 and theirs[: len(ours)] == ours
    assert all(one.kind is one.KEYWORD_ONLY for one in theirs[len(ours) :])
