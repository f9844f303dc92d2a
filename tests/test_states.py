"""Findings on states that no page of `explain` can show as text: odd bytes, stale output."""

from __future__ import annotations

from pathlib import Path

from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.files import MAX_BYTES
from hermes_build.compiler.judge import judge
from hermes_build.compiler.memory import forgetful
from hermes_build.compiler.pipeline import build
from hermes_build.compiler.project import read_project
from hermes_build.compiler.root import LOCK
from hermes_build.compiler.tree import read_lock
from hermes_build.compiler.write import write
from hermes_build.lock import render

SPEC = """\
name: {name}
toolset: file
description: Read a text file with line numbers.
parameters: {{type: object, additionalProperties: false}}
handler: external
"""


def _project(root: Path, *names: str) -> None:
    (root / "pyproject.toml").write_text("[tool.hermes-build]\n")
    (root / "tool_specs").mkdir()
    for name in names:
        (root / f"tool_specs/{name}.yaml").write_text(SPEC.format(name=name))


def _compile(root: Path) -> list[str]:
    findings = Findings()
    project = read_project(root, findings)
    made = build(project, forgetful(), findings)
    writing = Findings()
    if made.tree is not None and made.lock is not None:
        _, owned = read_lock(root, LOCK, writing)
        write(root, made.tree, owned, LOCK, render(made.lock), writing, project.output_folder)
    return [one.code for one in (*made.findings, *writing)]


def _check(root: Path) -> list[str]:
    return [one.code for one in judge(root, forgetful(), imports=False).findings]


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    _project(tmp_path, "read_file")
    spec = tmp_path / "tool_specs/read_file.yaml"
    spec.write_bytes(spec.read_bytes().replace(b"text", b"t\xe9xt"))
    assert _check(tmp_path) == ["HB0001"]
    spec.write_bytes(spec.read_bytes().replace(b"\xe9", "é".encode()))
    assert _compile(tmp_path) == []


def test_a_very_large_file_is_refused(tmp_path: Path) -> None:
    _project(tmp_path, "read_file")
    large = tmp_path / "tool_specs/large.yaml"
    large.write_bytes(b"#" * (MAX_BYTES + 1))
    assert _check(tmp_path) == ["HB0011"]
    large.write_bytes(SPEC.format(name="large").encode())
    assert _compile(tmp_path) == []


def test_an_edited_file_is_stale_until_the_next_compile(tmp_path: Path) -> None:
    _project(tmp_path, "read_file")
    assert _compile(tmp_path) == []
    module = tmp_path / "generated/tools/read_file.py"
    module.write_text(module.read_text() + "# mine\n")
    assert _check(tmp_path) == ["HB5001"]
    assert _compile(tmp_path) == []
    assert _check(tmp_path) == []


def test_a_deleted_file_is_missing_until_the_next_compile(tmp_path: Path) -> None:
    _project(tmp_path, "read_file")
    assert _compile(tmp_path) == []
    (tmp_path / "generated/tools/read_file.py").unlink()
    assert _check(tmp_path) == ["HB5002"]
    assert _compile(tmp_path) == []
    assert _check(tmp_path) == []


def test_a_changed_spec_makes_the_lock_stale_until_the_next_compile(tmp_path: Path) -> None:
    _project(tmp_path, "read_file")
    assert _compile(tmp_path) == []
    spec = tmp_path / "tool_specs/read_file.yaml"
    spec.write_text(spec.read_text().replace("line numbers", "numbered lines"))
    assert "HB5004" in _check(tmp_path)
    assert _compile(tmp_path) == []
    assert _check(tmp_path) == []


def test_a_lock_in_conflict_is_unreadable_until_it_is_deleted(tmp_path: Path) -> None:
    _project(tmp_path, "read_file")
    assert _compile(tmp_path) == []
    lock = tmp_path / LOCK
    lock.write_text("<<<<<<< ours\nthis is not a lock\n")
    assert "HB5005" in _check(tmp_path)
    lock.unlink()
    assert "HB5005" not in _check(tmp_path)


def test_the_module_of_a_deleted_spec_is_left_over_until_the_next_compile(tmp_path: Path) -> None:
    _project(tmp_path, "read_file", "write_file")
    assert _compile(tmp_path) == []
    (tmp_path / "tool_specs/write_file.yaml").unlink()
    assert "HB5009" in _check(tmp_path)
    assert _compile(tmp_path) == []
    assert not (tmp_path / "generated/tools/write_file.py").exists()
    assert _check(tmp_path) == []
