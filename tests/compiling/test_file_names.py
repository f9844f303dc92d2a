"""File names that are not ASCII or no text at all, and those of the standard library's modules."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.command_line import Done, handler, hermes, process, project, spec

ASCII = {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
"""A machine whose locale knows no other characters than those of ASCII."""

posix = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are Unicode there")


def program(root: Path) -> Path:
    files = {
        "tool_specs/read_file.yaml": spec("read_file", handler="self"),
        "handlers/__init__.py": "",
        "handlers/read_file.py": "import words\n" + handler("read_file", "return words.W"),
        "words.py": "W = 'ä'\n",
    }
    made = project(root, **files)
    assert hermes(made, "compile").code == 0
    return made


def check(root: Path, **env: str) -> Done:
    return process(root, "check", "--format", "concise", env=env)


@posix
@pytest.mark.parametrize(("name", "env"), [("zürich".encode(), ASCII), (b"z\xffrich", {})])
def test_a_project_in_a_folder_of_any_name_is_judged_and_every_import_remembered(
    tmp_path: Path, name: bytes, env: dict[str, str]
) -> None:
    root = program(Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))))
    done = check(root, **env)
    assert (done.code, done.out, done.err) == (0, "", ""), done
    # A module that a handler imports is part of what was judged.
    (root / "words.py").write_text("raise ValueError('ä')\n")
    done = check(root, **env)
    assert (done.code, done.codes) == (1, ["HB3008"])


@posix
def test_a_handler_module_whose_name_is_no_text_is_a_finding(tmp_path: Path) -> None:
    root = program(tmp_path)
    for name in (b"handlers/z\xffrich.py", "handlers/zürich.py".encode()):
        os.rename(
            os.path.join(os.fsencode(root), b"handlers/read_file.py"),
            os.path.join(os.fsencode(root), name),
        )
        env = {} if b"\xff" in name else ASCII
        done = check(root, **env)
        assert (done.code, done.err.count("Traceback")) == (1, 0), done
        assert "HB3004" in done.codes
        os.rename(
            os.path.join(os.fsencode(root), name),
            os.path.join(os.fsencode(root), b"handlers/read_file.py"),
        )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("json.py", "import nothing_here\n"),
        ("json.py", "raise SystemExit(0)\n"),
        ("functools/__init__.py", "value = 1\n"),
    ],
)
def test_a_module_that_is_called_like_the_standard_librarys_is_told_to_be_renamed(
    tmp_path: Path, path: str, text: str
) -> None:
    root = program(tmp_path)
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text(text)
    (root / "calendar.py").write_text("mine = 1\n")  # which nothing asks for
    done = process(root, "check")
    assert (done.code, done.codes) == (1, ["HB3008"]), done
    assert f"= help: rename `{path}`: what imports the standard library's `" in done.out
    assert "must not end the process" not in done.out


def test_what_a_module_says_of_its_own_file_harms_nobody(tmp_path: Path) -> None:
    root = program(tmp_path)
    (root / "words.py").write_text("__file__ = 'a\\0b'\nW = 'a'\n")
    assert check(root).code == 0
