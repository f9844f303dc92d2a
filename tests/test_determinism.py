"""The same specs give the same bytes in any folder, process, locale, order, after any history."""

from __future__ import annotations

import os
import platform
import random
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.command_line import (
    LOCK,
    PROGRAM,
    ages,
    contents,
    handler,
    hermes,
    process,
    spec,
    write,
)

SHARED = """\
$defs:
  Path: {type: string, description: Where the file is, minLength: 1}
  Mode: {enum: [read, write, "add"], description: What for, default: read}
"""
STREAM = """\
name: look-up
toolset: net
title: Look up 👀
description: >-
  Look a word up, in any of the languages
  that we know: Ελληνικά, 日本語, עברית.
parameters:
  type: object
  properties:
    word: {type: string, description: "Which word: \\u00e9 or \\U0001F600"}
    where:
      description: One place or several
      anyOf: [{type: string}, {type: array, items: {type: string}}]
  required: [word]
  additionalProperties: false
output_schema: {type: object, properties: {found: {type: boolean}, text: {type: string}}}
tags: [z, a, m]
---
name: open
toolset: file
description: |
  Open a file.
  A second line.
parameters:
  type: object
  properties:
    path: {$ref: "shared.yaml#/$defs/Path"}
    mode: {$ref: "shared.yaml#/$defs/Mode"}
  required: [path]
  additionalProperties: false
aliases: [load, fetch_file]
requires: {env: [HOME], commands: [sh]}
"""
SETS = """\
name: everything
includes: ["*"]
---
name: careful
description: Without the net, mind you.
includes: [everything]
excludes: [look-up]
aliases: [safe, offline]
"""

FILES = {
    "pyproject.toml": "[tool.hermes-build]\n",
    "tool_specs/shared.yaml": SHARED,
    "tool_specs/deep/er/stream.yaml": STREAM.replace('"shared.yaml', '"../../shared.yaml'),
    "tool_specs/b.yaml": spec("bee", handler="self"),
    "tool_specs/a.yaml": spec("zebra"),
    "tool_specs/Z.yml": spec("ant"),
    "toolsets/sets.yaml": SETS,
    "handlers/__init__.py": "",
    "handlers/open.py": handler("open", 'return args["path"]'),
    "handlers/look_up.py": handler("look_up", 'return {"found": True}  # type: ignore'),
    "handlers/bee.py": handler("bee"),
    "templates/package.py.jinja": "# Ours.\n{{ docstring | docstring }}\n",
}


def made(root: Path) -> dict[str, bytes]:
    """What a compile wrote."""
    found = contents(root)
    return {path: found[path] for path in found if path.startswith("generated/") or path == LOCK}


def crlf(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write(tmp_path_factory.mktemp("compiled"), FILES)
    done = hermes(root, "compile", "--strict")
    assert done.code == 0, done
    assert len(made(root)) == 10
    return root


@pytest.mark.parametrize(
    ("name", "options", "env"),
    [
        ("plain", [], {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Tokyo"}),
        ("with spaces, ünd more", [], {"PYTHONHASHSEED": "2", "LC_ALL": "POSIX"}),
        (
            "ascii",
            ["--jobs", "1"],
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "HOME": "/nonexistent"},
        ),
        ("two jobs", ["--jobs", "2"], {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "3"}),
    ],
    ids=["C", "POSIX", "ASCII", "two jobs"],
)
def test_other_folders_seeds_locales_and_jobs_give_the_same_bytes(
    compiled: Path, tmp_path: Path, name: str, options: list[str], env: Mapping[str, str]
) -> None:
    root = write(tmp_path / name, FILES)
    umask = "077" if name == "plain" else "022"
    shell = ["sh", "-c", f'umask {umask} && exec "$@"', "sh", *PROGRAM]
    done = process(root, "compile", *options, env=env, program=shell)
    assert (done.code, done.out) == (0, ""), done
    assert made(root) == made(compiled)


def test_the_output_names_no_machine_no_time_and_no_interpreter(compiled: Path) -> None:
    text = b"\n".join(made(compiled).values())
    for secret in (str(compiled), str(Path.home()), platform.node(), platform.python_version()):
        assert secret.encode() not in text, secret
    assert sys.prefix.encode() not in text


def test_the_order_in_which_files_came_to_be_does_not_count(compiled: Path, tmp_path: Path) -> None:
    for number, order in enumerate((reversed(FILES), sorted(FILES), sorted(FILES)[::-1])):
        root = tmp_path / str(number)
        for path in order:
            write(root, {path: FILES[path]})
        assert hermes(root, "compile").code == 0
        assert made(root) == made(compiled)


OPTIONS = """\
[tool.isort]
known_first_party = ["typing", "hermes_build"]
[tool.black]
line-length = 40
skip-string-normalization = true
[tool.ruff]
line-length = 40
[tool.datamodel-codegen]
builtin-format-line-length = 40
"""


def test_options_of_other_tools_do_not_reach_the_output(compiled: Path, tmp_path: Path) -> None:
    root = write(tmp_path / "one/project", {**FILES, "pyproject.toml": OPTIONS})
    write(root, {"hermes-build.toml": ""})
    write(tmp_path, {"one/pyproject.toml": OPTIONS, "elsewhere/pyproject.toml": "no [toml\n"})
    assert hermes(root, "compile").code == 0
    assert made(root) == made(compiled)
    done = hermes(tmp_path / "elsewhere", "compile", "--no-cache", "-C", str(root))
    assert (done.code, done.out) == (0, "")
    assert made(root) == made(compiled)


def test_a_project_behind_a_link_gives_the_same_bytes(compiled: Path, tmp_path: Path) -> None:
    write(tmp_path / "real/inside", FILES)
    (tmp_path / "link").symlink_to("real/inside")
    assert hermes(tmp_path / "link", "compile").code == 0
    assert made(tmp_path / "real/inside") == made(compiled)


@pytest.mark.parametrize("with_mark", [False, True], ids=["CRLF", "CRLF and a byte order mark"])
def test_sources_with_other_line_ends_give_the_same_bytes(
    compiled: Path, tmp_path: Path, with_mark: bool
) -> None:
    mark = b"\xef\xbb\xbf" if with_mark else b""
    marked = (".yaml", ".yml", ".toml")
    root = write(
        tmp_path,
        {path: (mark if path.endswith(marked) else b"") + crlf(FILES[path]) for path in FILES},
    )
    done = hermes(root, "compile", "--strict")
    assert (done.code, done.out) == (0, "")
    assert made(root) == made(compiled)
    assert hermes(root, "check", "--strict").code == 0


def test_a_checkout_with_other_line_ends_is_fresh(compiled: Path, tmp_path: Path) -> None:
    root = write(tmp_path, {path: crlf(data) for path, data in contents(compiled).items()})
    before = ages(root)
    for command in (["check"], ["compile"], ["compile", "--check"], ["compile", "--locked"]):
        done = hermes(root, *command, "--strict")
        assert done.code == 0, done
    assert hermes(root, "compile", "--diff").out == ""
    assert ages(root) == before
    called = hermes(root, "call", "open", '{"path": "x"}')
    assert (called.code, called.out) == (0, "x\n")


def test_an_edit_in_such_a_checkout_writes_what_it_would_elsewhere(
    compiled: Path, tmp_path: Path
) -> None:
    edited = FILES["tool_specs/a.yaml"].replace("limit:", "lines:")
    plain = write(shutil.copytree(compiled, tmp_path / "plain"), {"tool_specs/a.yaml": edited})
    other = write(
        tmp_path / "other", {path: crlf(data) for path, data in contents(compiled).items()}
    )
    write(other, {"tool_specs/a.yaml": crlf(edited)})
    for root in (plain, other):
        assert hermes(root, "compile").code == 0
    assert {path: data.replace(b"\r\n", b"\n") for path, data in made(other).items()} == made(plain)
    assert hermes(other, "check").code == 0


def test_no_history_shows_in_the_output(tmp_path: Path) -> None:
    """A project with a memory and a past against one that was just written, edit by edit."""
    dice = random.Random(20_240_601)
    old = write(tmp_path / "old", FILES)
    now: dict[str, str] = dict(FILES)
    names = ["ant", "bee", "cat", "dog", "elk"]
    for step in range(7):
        path = f"tool_specs/more/{dice.choice(names)}_{dice.randrange(2)}.yaml"
        if path in now and dice.random() < 0.4:
            del now[path]
            (old / path).unlink()
        else:
            limit = f"limit_{dice.randrange(3)}:"
            now[path] = spec(Path(path).stem).replace("limit:", limit)
            write(old, {path: now[path]})
        if dice.random() < 0.3:
            text = SHARED.replace("What for", f"What for ({step})")
            now["tool_specs/shared.yaml"] = text
            write(old, {"tool_specs/shared.yaml": text})
        if dice.random() < 0.2:
            models = dice.choice(["pydantic", "typed-dict"])
            now["pyproject.toml"] = f'[tool.hermes-build]\nmodels = "{models}"\n'
            write(old, {"pyproject.toml": now["pyproject.toml"]})
        fresh = write(tmp_path / f"fresh_{step}", now)
        assert hermes(old, "compile").code == 0
        assert hermes(fresh, "compile", "--no-cache").code == 0
        assert made(old) == made(fresh)


def test_modes_follow_the_umask_and_nothing_else(compiled: Path, tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    before = os.umask(0o027)
    try:
        assert hermes(root, "compile").code == 0
    finally:
        os.umask(before)
    modes = {oct((root / path).stat().st_mode & 0o777) for path in made(root)}
    assert modes == {"0o640"}
