"""Findings and messages that say the very thing, for mistakes that people make every day."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.write import write as write_tree
from tests.command_line import hermes, project, spec, write


def _lint(root: Path, text: str) -> str:
    return hermes(write(root, {"tool_specs/a.yaml": text}), "lint").out


def test_a_suppression_without_a_code_is_told_to_name_one(tmp_path: Path) -> None:
    root = project(tmp_path)
    for comment in (
        "# hermes-build: ignore",
        "# hermes-build: ignore[] why",
        "#hermes-build:ignore x",
    ):
        out = _lint(root, spec("a", f"title: A {comment}"))
        assert "error[HB1292]: the suppression names no code" in out
        assert "HB1290" not in out
        assert "  gives" not in out


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("parameter-undescribed", "did you mean `HB1205` (parameter-undescribed)?"),
        ("parameter-undescribd", "did you mean `HB1205` (parameter-undescribed)?"),
        ("HB125", "did you mean `HB1205`?"),
    ],
)
def test_a_suppression_by_name_is_shown_its_code(tmp_path: Path, written: str, meant: str) -> None:
    root = project(tmp_path)
    out = _lint(root, spec("a", f"title: A # hermes-build: ignore[{written}] as agreed"))
    assert meant in out
    write(root, {"pyproject.toml": f'[tool.hermes-build.lint]\nselect = ["{written}"]\n'})
    assert meant in _lint(root, spec("a"))


@pytest.mark.parametrize(("word", "value"), [("no", "false"), ("Yes", "true"), ("off", "false")])
def test_a_word_that_is_text_in_yaml_is_shown_as_a_boolean(
    tmp_path: Path, word: str, value: str
) -> None:
    text = spec("a").replace("default: 10", f"default: {word}").replace("integer", "boolean")
    out = _lint(project(tmp_path), text)
    assert "[HB1103]" in out
    assert f"`{word}` is text in YAML 1.2: write `{value}`" in out


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ('[[], {"name": "a", "parameters": []}]', "has a list for `parameters`"),
        ('[{"name": "a", "description": {}}]', "has an object for its description"),
        ("[1]", "but a number"),
        ("[null]", "but null"),
        ('["x"]', "but text"),
    ],
)
def test_kinds_of_values_have_their_article(tmp_path: Path, definition: str, said: str) -> None:
    root = write(project(tmp_path), {"tools.json": definition})
    assert said in hermes(root, "import", "json", "tools.json").out


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write all")
def test_a_write_that_fails_names_the_file_and_no_temporary_one(tmp_path: Path) -> None:
    folder = tmp_path / "generated"
    folder.mkdir()
    folder.chmod(0o500)
    findings = Findings()
    assert write_tree(tmp_path, {"generated/a.py": b""}, {}, "x.lock", b"", findings) is None
    assert [one.span and one.span.path for one in findings] == ["generated/a.py"]


def test_one_renamed_property_is_told_as_its_spec_and_what_it_changes(tmp_path: Path) -> None:
    root = project(tmp_path, "read_file")
    assert hermes(root, "compile").code == 0
    write(root, {"tool_specs/read_file.yaml": spec("read_file").replace("limit", "lines")})
    out = hermes(root, "check").out
    assert "`tool_specs/read_file.yaml` was changed since the last compile" in out
    assert "tool read_file: source, args, prompt, module changed" in out


def test_errors_that_stop_a_stage_say_that_more_follows(tmp_path: Path) -> None:
    root = write(project(tmp_path, "a"), {"tool_specs/b.yaml": "name: b\n"})
    note = "more checks follow once these are mended\n"
    for arguments in (["check"], ["check"], ["compile", "--check"], ["compile", "--diff"]):
        assert hermes(root, *arguments).err == note
    assert hermes(root, "compile").err == note + "nothing was written\n"
    (root / "tool_specs/b.yaml").unlink()
    assert hermes(root, "check").err == note  # stale: the handlers were not imported
    assert hermes(root, "check", "--no-import").err == ""
    assert hermes(root, "compile").code == 0
    assert hermes(root, "check").err == ""


def test_a_new_tool_belongs_to_the_toolset_that_owns_the_others(tmp_path: Path) -> None:
    root = project(tmp_path)
    done = hermes(root, "new", "first", "--no-handler")
    assert "its toolset is `tools`: --toolset names another" in done.err
    done = hermes(root, "new", "second", "--no-handler")
    assert "toolset: tools\n" in (root / "tool_specs/second.yaml").read_text()
    assert hermes(root, "new", "third", "--no-handler", "-t", "other").code == 0
    done = hermes(root, "new", "fourth")
    assert (done.code, done.err) == (
        2,
        "Error: say with --toolset which toolset owns it: other, tools, or a new one\n",
    )
    assert not (root / "tool_specs/fourth.yaml").exists()
    assert "HB1209" not in hermes(root, "lint", "--format", "concise").codes


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write all")
def test_the_doctor_says_that_a_project_cannot_be_written(tmp_path: Path) -> None:
    root = project(tmp_path / "project", "a")
    assert hermes(root, "compile").code == 0
    root.chmod(0o500)
    try:
        assert "! the project cannot be written" in hermes(root, "doctor").out
    finally:
        root.chmod(0o700)
