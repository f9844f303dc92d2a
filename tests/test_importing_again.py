"""Importing what is there already, and what an import says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_build.compiler.adopt.definitions import read_definitions
from hermes_build.compiler.diagnostics import Findings
from tests.command_line import ages, contents, hermes, project, write

TOOLS = [
    {
        "name": name,
        "description": f"Do what {name} does, as others do.",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    }
    for name in ("lookup", "search")
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = write(project(tmp_path), {"tools.json": json.dumps(TOOLS)})
    done = hermes(root, "import", "json", "tools.json", "-t", "web")
    assert done.err == "imported 2 tools and 0 toolsets: wrote 2 files\n"
    return root


def test_importing_the_same_again_changes_nothing(root: Path) -> None:
    before = ages(root)
    done = hermes(root, "import", "json", "tools.json", "-t", "web")
    assert (done.code, done.err) == (0, "imported 2 tools and 0 toolsets: wrote 0 files\n")
    write(root, {"tools.json": json.dumps([*TOOLS, {**TOOLS[0], "name": "other"}])})
    assert "wrote 1 file\n" in hermes(root, "import", "json", "tools.json", "-t", "web").err
    assert {path: ages(root)[path] for path in before if path != "tools.json"} == {
        path: age for path, age in before.items() if path != "tools.json"
    }


def test_a_file_with_other_content_is_refused(root: Path) -> None:
    changed = [{**TOOLS[0], "description": "Do something else than before."}, TOOLS[1]]
    write(root, {"tools.json": json.dumps(changed)})
    before = contents(root)
    done = hermes(root, "import", "json", "tools.json", "-t", "web")
    assert (done.code, done.codes) == (1, ["HB1304"])
    assert "`tool_specs/web/lookup.yaml` declares `lookup` already" in done.out
    assert "say `--force` to replace" in done.out
    assert contents(root) == before
    done = hermes(root, "import", "json", "tools.json", "-t", "web", "--force")
    assert done.err.endswith("wrote 1 file\n")


def test_a_tool_that_the_project_has_elsewhere_is_refused_and_the_rest_goes_on(root: Path) -> None:
    other = {**TOOLS[0], "name": "other"}
    write(root, {"tools.json": json.dumps([*TOOLS, other])})
    before = contents(root)
    done = hermes(root, "import", "json", "tools.json", "-t", "net")
    assert (done.code, done.codes) == (1, ["HB1304", "HB1304"])
    assert "`tool_specs/web/lookup.yaml` declares `lookup` already" in done.out
    assert "help: or give one of the two another name" in done.out
    assert done.err.endswith("imported 1 tool and 0 toolsets: wrote 1 file\n")
    assert contents(root).keys() - before.keys() == {"tool_specs/net/other.yaml"}
    assert hermes(root, "compile").code == 0


def test_force_replaces_a_spec_where_it_stands(root: Path) -> None:
    before = contents(root)
    changed = {**TOOLS[0], "description": "Do something else than before."}
    write(root, {"tools.json": json.dumps([changed])})
    done = hermes(root, "import", "json", "tools.json", "--force")
    assert (done.code, done.err) == (0, "imported 1 tool and 0 toolsets: wrote 1 file\n")
    after = contents(root)
    assert after.keys() == before.keys()
    assert b"something else" in after["tool_specs/web/lookup.yaml"]
    assert b"toolset: web" in after["tool_specs/web/lookup.yaml"]
    assert hermes(root, "compile").code == 0


def test_force_leaves_a_file_alone_that_declares_others_too(root: Path) -> None:
    both = "".join(
        f"---\n{(root / path).read_text()}"
        for path in ("tool_specs/web/lookup.yaml", "tool_specs/web/search.yaml")
    )
    (root / "tool_specs/web/search.yaml").unlink()
    write(root, {"tool_specs/web/lookup.yaml": both})
    before = contents(root)
    for toolset in ("web", "net"):
        done = hermes(root, "import", "json", "tools.json", "-t", toolset, "--force")
        assert (done.code, done.codes) == (1, ["HB1304", "HB1304"])
        assert "move it out of `tool_specs/web/lookup.yaml`" in done.out
        assert contents(root) == before


def test_a_registry_that_cannot_be_imported_is_told_in_the_first_line(root: Path) -> None:
    out = hermes(root, "import", "python", "nomod:registry").out
    said = "importing `nomod:registry` failed: ModuleNotFoundError: No module named 'nomod'"
    assert out.splitlines()[0] == f"error[HB1304]: {said}"
    assert "ended with status 1" in out


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ('{"tools": [', "]}"),
        ('{"object": "list",\n "more": {"tools": [1,\n2]}, "tools": [', '], "x": [\n]}'),
        ('{"jsonrpc": "2.0", "result": {"x": [\n],\n "tools": [', "]}}"),
        ('[{"functionDeclarations": [', "]}]"),
        ("[[", "]]"),
        ("[", "]"),
    ],
)
def test_each_item_of_a_list_has_its_own_line(head: str, tail: str) -> None:
    rows = '\n{"name": "a"},\n\n{"name": "b", "parameters": {\n}},\n3, {"name": "c"}\n'
    findings = Findings()
    found = read_definitions(head + rows + tail, "tools.json", findings)
    start = head.count("\n") + 2
    lines = [(one.name, one.span.line) for one in found if one.span]
    assert lines == [("a", start), ("b", start + 2), ("c", start + 4)]
    assert [one.span and one.span.line for one in findings] == [start + 4]
    assert [one.label for one in found] == ["item 1 (`a`)", "item 2 (`b`)", "item 4 (`c`)"]


def test_a_second_title_is_not_dropped_in_silence() -> None:
    one = {"name": "a", "title": "One", "annotations": {"title": "Other"}}
    (found,) = read_definitions(json.dumps(one), None, Findings())
    assert found.title == "One"
    assert found.dropped == ("the annotation 'title' ('Other'), since it has a `title` too",)
    one["annotations"] = {"title": "One"}
    (found,) = read_definitions(json.dumps(one), None, Findings())
    assert found.dropped == ()
