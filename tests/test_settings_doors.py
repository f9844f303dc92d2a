"""Settings that name what is not there, or are not the ones that are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.command_line import hermes, process, project, spec, write


@pytest.mark.parametrize("key", ["toolsets", "templates"])
@pytest.mark.parametrize("command", ["compile", "check", "lint"])
def test_a_folder_that_the_settings_name_must_be_there(
    tmp_path: Path, key: str, command: str
) -> None:
    root = project(tmp_path, "a", settings=f'models = "typed-dict"\n{key} = "mine"\n')
    done = hermes(root, command, "--format", "concise")
    assert (done.code, done.codes) == (1, ["HB1402"])
    assert f"pyproject.toml:3:1: error[HB1402] `{key}` names a folder that is not there" in done.out
    (root / "mine").mkdir()
    assert "HB1402" not in hermes(root, command, "--format", "concise").codes


def test_folders_of_the_default_names_may_be_absent(tmp_path: Path) -> None:
    assert hermes(project(tmp_path, "a"), "compile").code == 0


def test_a_misspelt_template_is_a_warning_with_the_nearest_name(tmp_path: Path) -> None:
    root = project(tmp_path, "a")
    write(
        root,
        {
            "templates/toll.py.jinja": "{{ docstring | docstring }}\n",
            "templates/base.html": "<html>",
            "templates/mail.jinja": "{{ name }}",
            "templates/README.md": "Ours.",
        },
    )
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (0, ["HB5010"])
    assert "did you mean `tool.py.jinja`?" in done.out


def test_settings_in_two_files_are_a_warning(tmp_path: Path) -> None:
    root = write(project(tmp_path, "a"), {"hermes-build.toml": "", "pyproject.toml": ""})
    assert hermes(root, "compile", "--format", "concise").codes == []
    write(root, {"pyproject.toml": '[tool.hermes-build]\noutput = "x"\n'})
    done = hermes(root, "compile", "--format", "concise")
    assert (done.code, done.codes) == (0, ["HB1404"])
    write(root, {"pyproject.toml": "[tool.hermes-build"})
    assert hermes(root, "compile", "--format", "concise").codes == []


def test_a_package_that_comes_or_goes_is_judged_again(tmp_path: Path) -> None:
    site = write(tmp_path / "site-packages", {"helper.py": "word = 'yes'\n"})
    root = project(tmp_path / "project")
    write(
        root,
        {
            "tool_specs/a.yaml": spec("a", handler="self"),
            "handlers/__init__.py": "",
            "handlers/a.py": (
                "import helper\n\nfrom generated.registry import registry\n\n\n"
                '@registry.handler("a")\ndef handler(args, **context):\n    return helper.word\n'
            ),
        },
    )
    env = {"PYTHONPATH": os.fspath(site)}
    assert process(root, "compile", env=env).code == 0
    assert process(root, "check", env=env).code == 0
    assert process(root, "check", env=env).code == 0
    (site / "helper.py").rename(site / "other.py")
    done = process(root, "check", "--format", "concise", env=env)
    assert (done.code, done.codes) == (1, ["HB3008"])
    (site / "other.py").rename(site / "helper.py")
    assert process(root, "check", env=env).code == 0


@pytest.mark.parametrize("command", ["compile", "check", "lint"])
def test_settings_that_cannot_be_read_are_one_finding(tmp_path: Path, command: str) -> None:
    root = write(tmp_path, {"specs/a.yaml": spec("a"), "hermes-build.toml": "specs = ["})
    assert hermes(root, command, "--format", "concise").codes == ["HB1403"]


def test_a_comment_above_a_spec_changes_its_record_alone(tmp_path: Path) -> None:
    root = project(tmp_path, "a")
    assert hermes(root, "compile").code == 0
    module = root / "generated/tools/a.py"
    before = module.read_bytes()
    write(root, {"tool_specs/a.yaml": "# What a is for.\n" + spec("a")})
    assert "wrote 2 files and the lock" in hermes(root, "compile").err
    assert module.read_bytes() == before
