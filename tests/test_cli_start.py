"""``hermes-build init`` and ``new``: what they write works at once, and replaces nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import contents, hermes, project, write

HELLO = '{"name": "Ada", "style": "cheerful"}'


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh project, with new tools of every kind."""
    folder = tmp_path_factory.mktemp("started")
    assert hermes(folder, "init", "x").code == 0
    root = folder / "x"
    for arguments in (
        ["count_words"],
        ["fetch-page", "--async", "--toolset", "web"],
        ["class", "-t", "basics"],
        ["no", "-t", "on"],
        ["bound_elsewhere", "--no-handler", "-t", "web"],
    ):
        done = hermes(root, "new", *arguments)
        assert (done.code, done.out) == (0, ""), done
    return root


def test_a_fresh_project_compiles_checks_and_runs(tmp_path: Path) -> None:
    done = hermes(tmp_path, "init", "deep/x")
    assert (done.code, done.out) == (0, "")
    assert "next: cd deep/x && hermes-build compile && hermes-build call greet" in done.err
    root = tmp_path / "deep/x"
    for command in (["compile", "--strict"], ["check", "--strict"], ["compile", "--locked"]):
        assert hermes(root, *command).code == 0
    assert hermes(root, "call", "greet", HELLO).out == "Hello, Ada! How good to see you!\n"
    assert hermes(root, "doctor").code == 0
    assert hermes(root, "lint", "--strict").code == 0


def test_init_without_a_folder_works_here(tmp_path: Path) -> None:
    done = hermes(tmp_path, "init")
    assert done.code == 0
    assert "next: hermes-build compile && " in done.err
    assert (tmp_path / "tool_specs/greet.yaml").is_file()
    assert all(b"\r" not in data for data in contents(tmp_path).values())


def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    mine = {"README.md": b"mine\n", "handlers/greet.py": b"mine = 1\n", ".gitignore": b"secret"}
    write(tmp_path, mine)
    done = hermes(tmp_path, "init")
    assert done.code == 0
    assert "  README.md was there, and stays as it is" in done.err
    assert "  handlers/greet.py was there, and stays as it is" in done.err
    after = contents(tmp_path)
    assert after["README.md"] == b"mine\n"
    assert after["handlers/greet.py"] == b"mine = 1\n"
    assert after[".gitignore"].startswith(b"secret\n")
    assert hermes(tmp_path, "init").code == 0
    assert contents(tmp_path) == after


def test_a_project_with_a_pyproject_gets_settings_beside_it(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": '[project]\nname = "mine"\n'})
    assert hermes(tmp_path, "init").code == 0
    assert (tmp_path / "pyproject.toml").read_text() == '[project]\nname = "mine"\n'
    assert (tmp_path / "hermes-build.toml").is_file()
    assert hermes(tmp_path, "compile").code == 0
    assert hermes(tmp_path, "check").code == 0


def test_settings_that_are_there_are_used(tmp_path: Path) -> None:
    text = "[tool.hermes-build]\nhandlers = ['handlers']\n"
    write(tmp_path, {"pyproject.toml": text})
    assert hermes(tmp_path, "init").code == 0
    assert not (tmp_path / "hermes-build.toml").exists()
    assert hermes(tmp_path, "compile").code == 0


@pytest.mark.parametrize(("path", "at"), [("x", "x"), ("x/handlers", "x")])
def test_a_file_in_the_way_is_said(tmp_path: Path, path: str, at: str) -> None:
    write(tmp_path, {path: "a file\n"})
    done = hermes(tmp_path, "init", at)
    assert (done.code, done.out) == (2, "")
    assert "handlers" in done.err or "'x'" in done.err
    assert (tmp_path / path).read_text() == "a file\n"
    assert "Traceback" not in done.err


def test_new_tools_compile_and_check_with_a_note_that_they_are_to_be_filled_in(
    started: Path,
) -> None:
    for command in ("compile", "check"):
        done = hermes(started, command, "--strict")
        assert (done.code, set(done.codes)) == (0, {"HB1212"})
        assert "is still the one that `hermes-build new` wrote" in done.out
    assert (started / "handlers/fetch_page.py").is_file()
    assert not (started / "handlers/bound_elsewhere.py").exists()
    shown = hermes(started, "explain", "fetch-page").out
    assert "`fetch-page` is in `web`" in shown
    for name in ("count_words", "fetch-page", "class", "no"):
        called = hermes(started, "call", name, '{"text": "x"}')
        assert called.code == 1
        assert "has no body yet" in called.out


def test_what_was_written_passes_strict_types(started: Path) -> None:
    assert hermes(started, "compile").code == 0
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-incremental",
        "handlers",
        "generated",
    ]
    done = subprocess.run(command, cwd=started, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Success: no issues found in "), done.stdout + done.stderr


def test_an_existing_spec_or_handler_is_never_replaced(started: Path) -> None:
    before = contents(started)
    done = hermes(started, "new", "greet")
    assert (done.code, done.codes) == (1, ["HB5003", "HB5003"])
    assert "tool_specs/greet.yaml" in done.out
    assert "handlers/greet.py" in done.out
    assert hermes(started, "new", "fetch_page").codes == ["HB5003"]
    assert contents(started) == before


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["two words"], "HB1004"),
        (["1st"], "HB1004"),
        (["x" * 65], "HB1004"),
        (["../up"], "HB1004"),
        (["ünï"], "HB1004"),
        (["fine", "-t", "not fine"], "HB1004"),
        (["fine", "-t", "all"], "HB2007"),
    ],
)
def test_a_name_that_providers_refuse_is_refused(
    tmp_path: Path, arguments: list[str], code: str
) -> None:
    root = project(tmp_path / "project")
    done = hermes(root, "new", *arguments)
    assert (done.code, done.codes) == (1, [code])
    assert set(contents(tmp_path)) == {"project/pyproject.toml"}


@pytest.mark.parametrize("name", ["registry", "tools", "async", "annotations", "Any"])
def test_odd_names_give_a_program_that_works(tmp_path: Path, name: str) -> None:
    root = project(tmp_path)
    assert hermes(root, "new", name, "-t", "odd").code == 0
    assert hermes(root, "compile").code == 0
    assert hermes(root, "check").code == 0
    assert "has no body yet" in hermes(root, "call", name, '{"text": "x"}').out


@pytest.mark.parametrize("name", ["__init__", "__init-_", "__INIT__", "__main__"])
def test_a_tool_cannot_be_what_python_keeps_under_its_name(tmp_path: Path, name: str) -> None:
    root = project(tmp_path, name)
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB1006"])
