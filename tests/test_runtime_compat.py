"""The stand-in for hermes-agent's ``tools.registry``: modules written for it run on ours."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

from hermes_build.runtime import compat
from hermes_build.runtime.errors import ConsentRequired, SchemaDriftError, ToolConflict
from hermes_build.runtime.registry import ToolRegistry
from hermes_build.runtime.stand_in import PLUGINS, StandIn
from tests.runtime_program import READ_FILE, tool, toolset, write_program

_numbers = itertools.count()

READER = """
from {package}.registry import registry, tool_error, tool_result

def read(args, **context):
    if args["path"] == "nowhere":
        return tool_error("not found", path=args["path"])
    return tool_result(path=args["path"], limit=args["limit"], task=context.get("task_id"))

registry.register(
    name="read_file", toolset="file", handler=read, requires_env=["A_KEY"],
    schema={"name": "read_file", "description": "The tool read_file.", "parameters": PARAMETERS},
    description="Reads.", max_result_size_chars=50,
)
"""
WRITER = """
from {package}.registry import registry

registry.register("write_file", "file", SCHEMA, lambda args, **context: "written")
"""
PLUGIN = """
from {package}.registry import registry

SCHEMA = {"name": NAME, "description": "Measures.", "parameters": {"type": "object"}}

def handle(args, **context):
    return "from the plugin"

def register(name=NAME, toolset="measuring", override=False):
    registry.register(name, toolset, {**SCHEMA, "name": name}, handle, override=override)

def deregister(name):
    registry.deregister(name)
"""


@dataclass
class Host:
    """A package of tool modules in hermes-agent's form, with the stand-in for its registry."""

    root: Path
    package: str
    registry: ToolRegistry
    module: ModuleType

    @property
    def stand_in(self) -> StandIn:
        found: StandIn = self.module.registry
        return found

    def write(self, name: str, source: str) -> None:
        """Write a module of the package; names that only a test knows are filled in."""
        record = self.registry.find("write_file")
        assert record is not None
        source = source.replace("{package}", self.package).replace("PARAMETERS", repr(READ_FILE))
        source = source.replace("SCHEMA, lambda", f"{record['schema']!r}, lambda")
        (self.root / self.package / f"{name}.py").write_text(source)
        importlib.invalidate_caches()

    def plugin(self, name: str = "measure") -> Any:
        """A plugin's module, imported."""
        plugin = f"plugin_{next(_numbers)}"
        source = PLUGIN.replace("{package}", self.package).replace("NAME", repr(name))
        (self.root / f"{plugin}.py").write_text(source)
        importlib.invalidate_caches()
        return importlib.import_module(plugin)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    tools = [
        tool("read_file", max_result_chars=50, handler="external"),
        tool("write_file", handler="external"),
    ]
    sets = [toolset("file", ["read_file", "write_file"], description="Files.")]
    registry = write_program(tmp_path, tools, toolsets=sets).registry
    package = f"host_{next(_numbers)}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("")
    # What the stand-in stands in for: it must never run.
    (tmp_path / package / "registry.py").write_text("raise AssertionError\n")
    importlib.invalidate_caches()
    module = compat.install(registry, f"{package}.registry")
    yield Host(tmp_path, package, registry, module)
    for name in [one for one in sys.modules if one.partition(".")[0] == package]:
        del sys.modules[name]


def test_a_tool_module_registers_and_runs_unchanged(host: Host) -> None:
    host.write("reader", READER)
    importlib.import_module(f"{host.package}.reader")
    answer = host.stand_in.dispatch("read_file", {"path": "a"}, task_id="t")
    assert json.loads(answer) == {"path": "a", "limit": 500, "task": "t"}
    answer = host.stand_in.dispatch("read_file", {"path": "nowhere"})
    assert json.loads(answer) == {"error": "not found", "path": "nowhere"}
    # One registry by two names.
    assert host.registry.call("read_file", {"path": "a"}, task_id="t").startswith('{"path": "a"')


def test_every_way_to_import_the_module_finds_the_stand_in(host: Host) -> None:
    namespace: dict[str, Any] = {}
    exec(
        f"import {host.package}.registry as by_name\n"
        f"from {host.package} import registry as by_package\n"
        f"from {host.package}.registry import registry as singleton\n",
        namespace,
    )
    assert namespace["by_name"] is namespace["by_package"] is host.module
    assert namespace["singleton"] is host.stand_in
    assert importlib.util.find_spec(f"{host.package}.registry") is host.module.__spec__


def test_installing_again_gives_the_same_module_and_never_takes_over_a_used_one(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compat.install(host.registry, host.module.__name__) is host.module
    other = ModuleType("other_registry")
    monkeypatch.setitem(sys.modules, "other_registry", other)
    with pytest.raises(RuntimeError, match="before anything that imports it"):
        compat.install(host.registry, "other_registry")
    assert sys.modules["other_registry"] is other


def test_discovery_imports_the_modules_that_register_and_names_them(host: Host) -> None:
    host.write("reader", READER)
    host.write("writer", WRITER)
    host.write("other", "raise AssertionError('registers nothing, and is not imported')\n")
    found = host.module.discover_builtin_tools()
    assert found == [f"{host.package}.reader", f"{host.package}.writer"]
    assert host.stand_in.dispatch("write_file", {"path": "a"}) == "written"
    assert host.module.discover_builtin_tools(host.root / host.package) == found


def test_discovery_raises_the_differences_of_all_modules_at_once(host: Host) -> None:
    host.write("reader", READER.replace('"The tool read_file."', '"Another."'))
    host.write("writer", WRITER.replace('"file"', '"disk"'))
    with pytest.raises(SchemaDriftError) as caught:
        host.module.discover_builtin_tools()
    assert {one.tool for one in caught.value.mismatches} == {"read_file", "write_file"}
    assert "/description" in str(caught.value) and "'disk'" in str(caught.value)


def test_a_module_that_fails_to_import_is_logged_and_costs_its_own_tools_alone(
    host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    host.write("reader", "import a_package_that_is_not_here\n" + READER)
    host.write("writer", WRITER)
    with caplog.at_level(logging.WARNING):
        assert host.module.discover_builtin_tools() == [f"{host.package}.writer"]
    assert f"{host.package}.reader cannot be imported" in caplog.text
    assert "a_package_that_is_not_here" in caplog.text
    assert host.stand_in.dispatch("write_file", {"path": "a"}) == "written"
    assert "error" in json.loads(host.stand_in.dispatch("read_file", {"path": "a"}))


def test_a_tool_that_no_spec_declares_is_refused_aloud(host: Host) -> None:
    schema = {"name": "new", "description": "", "parameters": {"type": "object"}}
    with pytest.raises(SchemaDriftError, match="no spec declares this tool"):
        host.stand_in.register("new", "file", schema, lambda args, **context: "")
    assert host.stand_in.get_entry("new") is None


def test_what_a_registration_says_beside_its_spec_is_shown_and_decides_nothing(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    host.write("reader", READER)
    host.module.discover_builtin_tools()
    entry = host.stand_in.get_entry("read_file")
    assert entry is not None
    assert (entry.requires_env, entry.description) == (["A_KEY"], "Reads.")
    assert host.stand_in.get_available_toolsets()["file"]["requirements"] == ["A_KEY"]
    assert host.stand_in.get_toolset_requirements()["file"]["env_vars"] == ["A_KEY"]
    assert [one["function"]["name"] for one in host.stand_in.get_definitions({"read_file"})] == [
        "read_file"
    ]
    assert host.stand_in.check_tool_availability() == (["file"], [])
    # The specs are what they were.
    assert host.registry.get_available_toolsets()["file"]["requirements"] == []


def test_variables_are_named_where_a_toolset_is_unavailable(tmp_path: Path) -> None:
    record = tool("ask", toolset="web", requires={"check": True}, handler="external")
    registry = write_program(tmp_path, [record], toolsets=[toolset("web", ["ask"])]).registry
    stand_in = StandIn(registry)
    stand_in.register(
        "ask", "web", None, lambda args, **context: "", lambda: False, requires_env=["A_KEY"]
    )
    _, unavailable = stand_in.check_tool_availability(quiet=True)
    assert unavailable == [{"name": "web", "env_vars": ["A_KEY"], "tools": ["ask"]}]


def test_long_results_come_back_whole(host: Host) -> None:
    host.stand_in.register("read_file", "file", None, lambda args, **context: "x" * 200_000)
    host.stand_in.register("write_file", "file", None, lambda args, **context: "x" * 200_000)
    assert host.stand_in.get_max_result_size("read_file") == 50
    assert host.stand_in.dispatch("read_file", {"path": "a"}) == "x" * 200_000
    assert host.stand_in.dispatch("write_file", {"path": "a"}) == "x" * 200_000


def test_a_tool_that_was_called_before_has_no_limit_either(tmp_path: Path) -> None:
    record = tool("read_file", max_result_chars=50, handler="external")
    registry = write_program(tmp_path, [record]).registry
    registry.register("read_file", handler=lambda args, **context: "x" * 200_000)
    assert len(registry.call("read_file", {"path": "a"})) < 200_000
    name = f"late_{next(_numbers)}"
    module = compat.install(registry, name)
    assert module.registry.dispatch("read_file", {"path": "a"}) == "x" * 200_000
    del sys.modules[name]


def test_a_schema_is_one_object_until_something_changes(host: Host) -> None:
    host.stand_in.register("read_file", "file", None, lambda args, **context: "")
    first = host.stand_in.get_schema("read_file")
    assert first == host.registry.get_schema("read_file")
    assert host.stand_in.get_schema("read_file") is first
    host.stand_in.deregister("read_file")
    assert host.stand_in.get_schema("read_file") is None


def test_the_generation_and_the_table_follow_every_change(host: Host) -> None:
    before = host.stand_in._generation
    assert list(host.stand_in._tools) == ["read_file", "write_file"]
    host.stand_in.deregister("write_file")
    assert host.stand_in._generation > before
    assert [one.toolset for one in host.stand_in._tools.values()] == ["file"]


def test_invalidating_asks_the_checks_again(tmp_path: Path) -> None:
    record = tool("ask", toolset="web", requires={"check": True}, handler="external")
    registry = write_program(tmp_path, [record], toolsets=[toolset("web", ["ask"])]).registry
    name = f"alone_{next(_numbers)}"
    module = compat.install(registry, name)
    answers = iter([False, True])
    module.registry.register("ask", "web", None, lambda args, **context: "", lambda: next(answers))
    assert not module.registry.is_toolset_available("web")
    module.invalidate_check_fn_cache()
    assert module.registry.is_toolset_available("web")
    del sys.modules[name]


class TestPlugins:
    """Tools of plugins, which hermes-agent tells apart by the modules of their handlers."""

    def test_a_known_plugin_registers_and_removes_its_own_tools(self, host: Host) -> None:
        plugin = host.plugin()
        host.stand_in.register_plugin_override_policy(plugin.__name__, False)
        plugin.register()
        assert host.stand_in.dispatch("measure", {}) == "from the plugin"
        assert host.stand_in.get_tool_names_for_toolset("measuring") == ["measure"]
        plugin.register()  # a plugin that is loaded again replaces its own
        plugin.deregister("measure")
        assert host.stand_in.get_entry("measure") is None

    def test_a_plugin_replaces_a_tool_of_the_program_with_consent_alone(self, host: Host) -> None:
        host.write("reader", READER)
        host.module.discover_builtin_tools()
        plugin = host.plugin()
        host.stand_in.register_plugin_override_policy(plugin.__name__, False)
        with pytest.raises(ToolConflict, match="pass override=True"):
            plugin.register("read_file")
        with pytest.raises(ConsentRequired, match="allow_override=True"):
            plugin.register("read_file", override=True)
        with pytest.raises(ConsentRequired):
            plugin.deregister("read_file")
        assert "limit" in host.stand_in.dispatch("read_file", {"path": "a"})
        host.stand_in.register_plugin_override_policy(plugin.__name__, True)
        plugin.register("read_file", override=True)
        assert host.stand_in.dispatch("read_file", {}) == "from the plugin"
        assert host.stand_in.get_toolset_for_tool("read_file") == "measuring"

    def test_the_same_toolset_is_no_way_around_consent(self, host: Host) -> None:
        host.write("reader", READER)
        host.module.discover_builtin_tools()
        plugin = host.plugin()
        host.stand_in.register_plugin_override_policy(plugin.__name__, False)
        with pytest.raises(ConsentRequired):
            plugin.register("read_file", "file", override=True)
        assert "limit" in host.stand_in.dispatch("read_file", {"path": "a"})

    def test_a_plugin_may_bring_the_handler_of_a_declared_tool(self, host: Host) -> None:
        record = host.registry.find("write_file")
        assert record is not None
        plugin = host.plugin("write_file")
        plugin.SCHEMA = record["schema"]
        host.stand_in.register_plugin_override_policy(plugin.__name__, False)
        plugin.register(toolset="file")
        assert host.stand_in.dispatch("write_file", {"path": "a"}) == "from the plugin"
        # It is declared, and so arguments are held against the spec.
        assert "Invalid arguments" in host.stand_in.dispatch("write_file", {"path": ""})

    def test_a_module_of_the_plugins_package_is_a_plugin_that_may_override_nothing(
        self, host: Host
    ) -> None:
        source = PLUGIN.replace("{package}", host.package).replace("NAME", "'measure'")
        namespace: dict[str, Any] = {"__name__": f"{PLUGINS}.unannounced.tools"}
        exec(source, namespace)
        namespace["register"]()
        assert host.stand_in.dispatch("measure", {}) == "from the plugin"
        with pytest.raises(ConsentRequired):
            namespace["register"]("read_file", override=True)
        namespace["deregister"]("measure")
        assert host.stand_in.get_entry("measure") is None


class TestServers:
    """Tools of MCP servers, which hermes-agent tells apart by their toolset."""

    SCHEMA: ClassVar[dict[str, Any]] = {
        "name": "mcp_notes_find",
        "description": "Find.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    }

    def register(self, host: Host, answer: str = "found") -> None:
        host.stand_in.register(
            name="mcp_notes_find",
            toolset="mcp-notes",
            schema=self.SCHEMA,
            handler=lambda args, **context: answer,
            check_fn=lambda: True,
            description="Find.",
        )
        host.stand_in.register_toolset_alias("notes", "mcp-notes")

    def test_they_are_registered_with_their_alias_and_replaced_in_place(self, host: Host) -> None:
        self.register(host)
        self.register(host, "found again")
        assert host.stand_in.dispatch("mcp_notes_find", {"text": "a"}) == "found again"
        assert host.stand_in.get_toolset_alias_target("notes") == "mcp-notes"
        assert host.registry.resolve_toolset("notes") == ["mcp_notes_find"]

    def test_removing_the_last_one_removes_the_alias_and_they_may_come_back(
        self, host: Host
    ) -> None:
        self.register(host)
        host.stand_in.deregister("mcp_notes_find")
        assert host.stand_in.get_registered_toolset_aliases() == {}
        assert host.stand_in.get_registered_toolset_names() == ["file"]
        self.register(host)
        assert host.stand_in.dispatch("mcp_notes_find", {"text": "a"}) == "found"

    def test_a_plugin_takes_none_of_them_out(self, host: Host) -> None:
        self.register(host)
        plugin = host.plugin()
        host.stand_in.register_plugin_override_policy(plugin.__name__, True)
        with pytest.raises(PermissionError, match="server 'notes'"):
            plugin.deregister("mcp_notes_find")
        assert host.stand_in.get_entry("mcp_notes_find") is not None
