"""`compile --check` and `--diff` only tell what would change; `--locked` never changes the lock."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.command_line import (
    LOCK,
    ages,
    contents,
    edit,
    hermes,
    spec,
    write,
)


def test_check_is_clean_on_a_fresh_project(root: Path) -> None:
    before = ages(root)
    done = hermes(root, "compile", "--check")
    assert (done.code, done.err) == (0, "")
    assert done.out == "Found nothing to report in 2 files.\n"
    assert ages(root) == before


def test_check_names_each_source_that_was_changed_and_the_command_that_mends_it(root: Path) -> None:
    edit(root, "tool_specs/read_file.yaml", "limit: {", "lines: {")
    write(root, {"tool_specs/patch.yaml": spec("patch")})
    (root / "tool_specs/write_file.yaml").unlink()
    before = contents(root)
    done = hermes(root, "compile", "--check", "--format", "concise")
    assert done.code == 1
    found = {tuple(line.split(" ")[:2]) for line in done.out.splitlines()}
    assert {(place.split(":")[0], code) for place, code in found} == {
        ("generated/tools/write_file.py", "error[HB5009]"),
        (LOCK, "error[HB5004]"),
    }
    full = hermes(root, "compile", "--check").out
    assert full.count("run `hermes-build compile`") == len(found)
    assert "3 sources were changed since the last compile" in full
    for said in (
        "`tool_specs/read_file.yaml` was changed: tool read_file: source, args",
        "`tool_specs/patch.yaml` was added",
        "the tool `write_file` was removed",
    ):
        assert said in full
    assert contents(root) == before


def test_one_changed_source_is_one_finding_that_names_it(root: Path) -> None:
    edit(root, "tool_specs/read_file.yaml", "limit: {", "lines: {")
    for command in (["compile", "--check"], ["compile", "--locked"], ["check"]):
        done = hermes(root, *command)
        assert (done.code, done.codes) == (1, ["HB5004"])
        assert "]: `tool_specs/read_file.yaml` was changed since the last compile\n" in done.out


def test_what_a_changed_source_does_not_explain_is_told_beside_it(root: Path) -> None:
    edit(root, "tool_specs/read_file.yaml", "limit: {", "lines: {")
    edit(root, "generated/tools/read_file.py", "TypedDict", "Dict")
    (root / "generated/tools/write_file.py").unlink()
    done = hermes(root, "compile", "--check", "--format", "concise")
    assert [(line.split(":")[0], line.split()[1]) for line in done.out.splitlines()] == [
        ("generated/tools/read_file.py", "error[HB5001]"),
        ("generated/tools/write_file.py", "error[HB5002]"),
        (LOCK, "error[HB5004]"),
    ]


@pytest.mark.parametrize("change", ["edit", "add", "delete", "none"])
def test_a_diff_applied_is_a_compile(root: Path, tmp_path: Path, change: str) -> None:
    if change == "edit":
        edit(root, "tool_specs/read_file.yaml", "limit: {", "lines: {")
        edit(root, "generated/tools/write_file.py", "TypedDict", "Dict")
    elif change == "add":
        write(root, {"tool_specs/patch.yaml": spec("patch")})
    elif change == "delete":
        (root / "tool_specs/write_file.yaml").unlink()
    before = contents(root)
    done = hermes(root, "compile", "--diff")
    assert (done.code, done.err) == (int(change != "none"), "")
    assert contents(root) == before
    if change == "none":
        assert done.out == ""
        return
    other = shutil.copytree(root, tmp_path / "other")
    apply = ["git", "apply", "--unsafe-paths", "--whitespace=nowarn", "-"]
    subprocess.run(apply, cwd=other, input=done.out.encode(), check=True)
    assert hermes(root, "compile").code == 0
    assert contents(other) == contents(root)


def test_a_diff_is_followed_by_what_it_cannot_show(root: Path) -> None:
    write(root, {"tool_specs/patch.yaml": spec("patch"), "generated/tools/patch.py": "mine\n"})
    edit(root, "tool_specs/read_file.yaml", ", default: 10", ", default: ten")
    done = hermes(root, "compile", "--diff")
    assert done.code == 1
    assert "+++ b/generated/catalogue.jsonl" in done.out
    assert done.codes == ["HB1103", "HB5003"]
    clash = hermes(root, "compile", "--diff", "--format", "json")
    assert (clash.code, clash.out) == (2, "")


def test_locked_writes_what_leaves_the_lock_as_it_is(root: Path) -> None:
    good = contents(root)
    assert hermes(root, "compile", "--locked").code == 0
    (root / "generated/tools/read_file.py").unlink()
    edit(root, "generated/registry.py", "frozen", "thawed")
    assert hermes(root, "compile", "--locked").code == 0
    assert contents(root) == good


def test_locked_takes_a_lock_with_other_line_ends(root: Path) -> None:
    text = (root / LOCK).read_bytes().replace(b"\n", b"\r\n")
    write(root, {LOCK: text})
    assert hermes(root, "compile", "--locked").code == 0
    assert (root / LOCK).read_bytes() == text


@pytest.mark.parametrize("state", ["stale", "missing", "damaged", "of another tool"])
def test_locked_refuses_to_change_the_lock(root: Path, state: str) -> None:
    text = (root / LOCK).read_text()
    if state == "stale":
        edit(root, "tool_specs/read_file.yaml", "a file", "any file")
    elif state == "missing":
        (root / LOCK).unlink()
    elif state == "damaged":
        write(root, {LOCK: text[:-40]})
    else:
        write(root, {LOCK: "[[package]]\n"})
    before = contents(root)
    done = hermes(root, "compile", "--locked")
    assert done.code == 1
    assert done.codes == ["HB5004" if state in ("stale", "missing") else "HB5005"]
    assert contents(root) == before
    assert "wrote" not in done.err
    if state == "stale":
        assert "read_file" in done.out
