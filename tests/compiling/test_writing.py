"""``hermes-build compile`` writes what comes from the specs, and touches nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import (
    LOCK,
    ages,
    contents,
    edit,
    hermes,
    process,
    project,
    write,
)

GENERATED = [
    "generated/__init__.py",
    "generated/catalogue.jsonl",
    "generated/registry.py",
    "generated/tools/__init__.py",
    "generated/tools/read_file.py",
    "generated/tools/write_file.py",
]


def test_a_first_compile_writes_the_package_and_the_lock(tmp_path: Path) -> None:
    root = project(tmp_path, "read_file", "write_file")
    before = set(contents(root))
    done = hermes(root, "compile")
    assert (done.code, done.out) == (0, "")
    assert done.err == "compiled 2 tools and 1 toolset: wrote 6 files and the lock, 0 unchanged\n"
    assert sorted(set(contents(root)) - before) == [*GENERATED, LOCK]


def test_an_unchanged_project_is_not_written_again(root: Path) -> None:
    before = ages(root)
    done = hermes(root, "compile")
    assert (done.code, done.out) == (0, "")
    assert done.err == "compiled 2 tools and 1 toolset: wrote 0 files, 6 unchanged\n"
    assert ages(root) == before


def test_an_edit_touches_only_what_comes_from_it(root: Path) -> None:
    before = ages(root)
    edit(root, "tool_specs/read_file.yaml", "limit: {", "lines: {")
    done = hermes(root, "compile")
    assert done.err == "compiled 2 tools and 1 toolset: wrote 3 files and the lock, 3 unchanged\n"
    changed = {path for path, age in ages(root).items() if age != before[path]}
    assert changed == {
        "tool_specs/read_file.yaml",
        "generated/tools/read_file.py",
        "generated/catalogue.jsonl",
        "generated/registry.py",
        LOCK,
    }


def test_the_module_of_a_deleted_spec_is_deleted(root: Path) -> None:
    (root / "tool_specs/write_file.yaml").unlink()
    done = hermes(root, "compile")
    wrote = "wrote 2 files and the lock, removed 1, 3 unchanged"
    assert done.err == f"compiled 1 tool and 1 toolset: {wrote}\n"
    assert not (root / "generated/tools/write_file.py").exists()
    assert "write_file" not in (root / LOCK).read_text()


def test_another_output_package_leaves_nothing_of_the_old_one(root: Path) -> None:
    write(root, {"pyproject.toml": '[tool.hermes-build]\noutput = "agent.made"\n'})
    assert hermes(root, "compile").code == 0
    assert (root / "agent/made/tools/read_file.py").is_file()
    assert not list((root / "generated").rglob("*.py"))
    assert hermes(root, "check", "--no-import").code == 0


def test_nothing_is_written_while_there_are_errors(root: Path) -> None:
    before = contents(root)
    edit(root, "tool_specs/read_file.yaml", "type: integer", "type: whole")
    edit(root, "tool_specs/write_file.yaml", "a file", "any file")
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB1114"])
    assert done.err == "more checks follow once these are mended\nnothing was written\n"
    after = contents(root)
    assert all(after[path] == before[path] for path in [*GENERATED, LOCK])


def test_a_project_without_specs_is_an_error(root: Path) -> None:
    for path in root.glob("tool_specs/*"):
        path.unlink()
    before = contents(root)
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB1007"])
    assert contents(root) == before


def test_warnings_are_printed_and_fail_only_when_strict(root: Path) -> None:
    edit(root, "tool_specs/read_file.yaml", ", default: 10", ", default: ten")
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (0, ["HB1103"])
    assert "wrote 3 files" in done.err
    strict = hermes(root, "compile", "--strict")
    assert (strict.code, strict.codes) == (1, ["HB1103"])
    report = json.loads(hermes(root, "compile", "--format", "json").out)
    assert [one["code"] for one in report["findings"]] == ["HB1103"]


def test_the_json_report_is_printed_even_when_it_is_empty(root: Path) -> None:
    done = hermes(root, "compile", "--format", "json")
    assert done.code == 0
    assert json.loads(done.out)["findings"] == []


def test_the_project_is_found_from_below_and_by_option(root: Path, tmp_path: Path) -> None:
    inside = root / "deep/inside"
    inside.mkdir(parents=True)
    assert "6 unchanged" in hermes(inside, "compile").err
    assert "6 unchanged" in hermes(tmp_path, "compile", "-C", "project").err
    assert "6 unchanged" in hermes(tmp_path, "compile", "--project", str(inside)).err


@pytest.mark.parametrize(
    "arguments",
    [["--jobs", "0"], ["--watch", "--check"], ["--watch", "--diff"], ["--nonsense"], ["surplus"]],
)
def test_wrong_usage_decides_nothing(root: Path, arguments: list[str]) -> None:
    before = ages(root)
    done = hermes(root, "compile", *arguments)
    assert (done.code, done.out) == (2, "")
    assert "Error: " in done.err
    assert ages(root) == before


def test_a_real_process_compiles_like_this_one(tmp_path: Path, compiled: Path) -> None:
    root = project(tmp_path, "read_file", "write_file")
    done = process(root, "compile")
    assert (done.code, done.out) == (0, "")
    assert contents(root) == contents(compiled)
