"""A program cut down to some toolsets."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_build.compiler.bundling.narrow import narrow
from hermes_build.ir import Catalog, Place, Server, Tool, Toolset
from tests.bundling.programs import made, program
from tests.command_line import spec

HERE = Place("a.yaml", 1)


def tool(name: str, toolset: str) -> Tool:
    return Tool(name, HERE, "What it does.", {"type": "object"}, toolset)


CATALOG = Catalog(
    tools=(tool("ping", "net"), tool("read", "file"), tool("write", "file")),
    toolsets=(
        Toolset("all_in", HERE, tools=(), includes=("*",), resolved=("ping", "read", "write")),
        Toolset("both", HERE, tools=(), includes=("safe", "net"), resolved=("ping", "read")),
        Toolset("file", HERE, tools=("read", "write"), aliases=("fs",), resolved=("read", "write")),
        Toolset("net", HERE, tools=("ping",), resolved=("ping",)),
        Toolset(
            "safe", HERE, tools=(), includes=("file",), excludes=("write",), resolved=("read",)
        ),
    ),
    servers=(Server("s", HERE),),
)


@pytest.mark.parametrize(
    ("named", "tools", "toolsets"),
    [
        ((), "ping read write", "all_in both file net safe"),
        (("*",), "ping read write", "all_in both file net safe"),
        (("net",), "ping", "net"),
        (("fs",), "read write", "file"),
        (("safe",), "read", "file safe"),
        (("both",), "ping read", "both file net safe"),
        (("net", "safe"), "ping read", "file net safe"),
        (("all_in",), "ping read write", "all_in file net"),
    ],
)
def test_the_tools_of_the_named_toolsets_are_kept(
    named: tuple[str, ...], tools: str, toolsets: str
) -> None:
    left = narrow(CATALOG, named)
    assert [one.name for one in left.tools] == tools.split()
    assert [one.name for one in left.toolsets] == toolsets.split()
    assert left.servers == ()


def test_every_toolset_is_cut_to_tools_that_are_there() -> None:
    by_name = {one.name: one for one in narrow(CATALOG, ["safe"]).toolsets}
    assert (by_name["file"].tools, by_name["file"].resolved) == (("read",), ("read",))
    assert (by_name["safe"].includes, by_name["safe"].excludes) == (("file",), ())


def test_a_toolset_that_there_is_not_is_refused() -> None:
    with pytest.raises(KeyError):
        narrow(CATALOG, ["nope"])


def test_what_is_generated_of_a_tool_is_what_the_project_has(tmp_path: Path) -> None:
    root = program(tmp_path)
    files = made(root, "talk").contents.files
    module = "generated/tools/tell.py"
    assert files[f"program/{module}"] == (root / module).read_bytes()
    assert "program/generated/tools/count.py" not in files
    whole = made(root).contents.files
    for name in ("registry.py", "catalogue.jsonl", "__init__.py"):
        assert whole[f"program/generated/{name}"] == (root / "generated" / name).read_bytes()
    assert whole["hermes-build.lock"] == (root / "hermes-build.lock").read_bytes()


def test_a_composition_is_bundled_with_what_it_includes(tmp_path: Path) -> None:
    more = {
        "toolsets/safe.yaml": "name: safe\ndescription: What harms nobody.\nincludes: [file]\n"
        "excludes: [erase]\n",
        "tool_specs/erase.yaml": spec("erase"),
    }
    manifest = made(program(tmp_path, more), "safe").manifest
    assert manifest is not None
    assert (manifest.tools, manifest.toolsets) == (("count",), ("file", "safe"))
