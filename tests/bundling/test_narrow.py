"""A program cut down to some toolsets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes_build.compiler.bundling.narrow import Compiled, Narrowed, narrow
from hermes_build.compiler.emit.registry import catalogue
from hermes_build.compiler.project import Project
from hermes_build.ir import Catalog, Place, Server, Tool, Toolset
from hermes_build.lock import Lock
from tests.bundling.programs import made, program, whole
from tests.command_line import hermes, spec

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


def narrowed(*named: str) -> Narrowed:
    """Narrow the program that is compiled of `CATALOG`."""
    records, mark = catalogue(CATALOG, {}, {one.name: "" for one in CATALOG.tools})
    registry = f'registry = frozen(digest="{mark}")\n'.encode()
    program = Compiled(Lock(1), lambda: (records,), lambda: (registry,))
    return narrow(Project(Path(), "pyproject.toml"), program, named)


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
    left = narrowed(*named)
    assert left.tools == tuple(tools.split())
    assert left.toolsets == tuple(toolsets.split())


def test_every_toolset_is_cut_to_tools_that_are_there() -> None:
    lines = b"".join(narrowed("safe").replaced["generated/catalogue.jsonl"]()).splitlines()
    by_key: dict[str, Any] = {}
    for line in lines:
        key, _, text = line.decode().partition("\t")
        by_key[key] = json.loads(text)
    assert list(by_key) == ["!", "alias/toolset/fs", "tool/read", "toolset/file", "toolset/safe"]
    file, safe = by_key["toolset/file"], by_key["toolset/safe"]
    assert (file["tools"], file["resolved"]) == (["read"], ["read"])
    assert (safe["includes"], safe["resolved"], "excludes" in safe) == (["file"], ["read"], False)


def test_a_toolset_that_there_is_not_is_refused() -> None:
    with pytest.raises(KeyError):
        narrowed("nope")


def test_a_part_of_a_program_is_what_that_part_alone_compiles_to(tmp_path: Path) -> None:
    root = program(tmp_path / "whole")
    part = program(
        tmp_path / "part",
        {"handlers/count.py": "", "tool_specs/count.yaml": spec("count")},
    )
    (part / "tool_specs/count.yaml").unlink()
    assert hermes(part, "compile").code == 0
    files = made(root, "talk").contents.files
    names = ("generated/catalogue.jsonl", "generated/registry.py", "hermes-build.lock")
    for name in names:
        path = name if name in files else f"program/{name}"
        assert whole(files[path]) == (part / name).read_bytes()


def test_what_is_generated_of_a_tool_is_what_the_project_has(tmp_path: Path) -> None:
    root = program(tmp_path)
    files = made(root, "talk").contents.files
    module = "generated/tools/tell.py"
    assert whole(files[f"program/{module}"]) == (root / module).read_bytes()
    assert "program/generated/tools/count.py" not in files
    files = made(root).contents.files
    for name in ("registry.py", "catalogue.jsonl", "__init__.py"):
        standing = (root / "generated" / name).read_bytes()
        assert whole(files[f"program/generated/{name}"]) == standing
    assert whole(files["hermes-build.lock"]) == (root / "hermes-build.lock").read_bytes()


def test_a_composition_is_bundled_with_what_it_includes(tmp_path: Path) -> None:
    more = {
        "toolsets/safe.yaml": "name: safe\ndescription: What harms nobody.\nincludes: [file]\n"
        "excludes: [erase]\n",
        "tool_specs/erase.yaml": spec("erase"),
    }
    manifest = made(program(tmp_path, more), "safe").manifest
    assert manifest is not None
    assert (manifest.tools, manifest.toolsets) == (("count",), ("file", "safe"))
