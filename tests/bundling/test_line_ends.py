"""The line ends of data are those that were committed, and code is no data."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hermes_build.compiler.bundling.line_ends import Attributes, ends_in_crlf
from tests.bundling.programs import codes, made, program
from tests.command_line import write

SETTINGS = {"pyproject.toml": '[tool.hermes-build]\nbundle-data = ["handlers/data/*"]\n'}
PREFIX = "program/handlers/data/"
LARGE = b"a line of a large file\r\n" * 100_000


def content(root: Path, name: str) -> bytes:
    """A data file as the bundle has it."""
    bundle = made(root)
    assert bundle.manifest is not None, [one.message for one in bundle.findings]
    file = bundle.contents.files[PREFIX + name]
    data = file if isinstance(file, bytes) else b"".join(file())
    assert bundle.contents.listed[PREFIX + name].size == len(data)
    return data


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b'{"a": 1}\r\n', b'{"a": 1}\n'),
        ("Größe\r\n\r\n".encode(), "Größe\n\n".encode()),
        (LARGE, LARGE.replace(b"\r\n", b"\n")),
        # What no checkout can have made of LF.
        (b"a\r\nb\n", b"a\r\nb\n"),
        (b"a\r\nb\rc\r\n", b"a\r\nb\rc\r\n"),
        (b"a\r\n\0", b"a\r\n\0"),
        (b"\1\2\3\4\r\n", b"\1\2\3\4\r\n"),
        (LARGE + b"\n", LARGE + b"\n"),
        (b"a\nb\n", b"a\nb\n"),
        (b"", b""),
    ],
)
def test_a_text_whose_lines_all_end_in_crlf_is_taken_in_with_lf(
    tmp_path: Path, given: bytes, expected: bytes
) -> None:
    root = program(tmp_path, {**SETTINGS, "handlers/data/a.txt": given})
    assert content(root, "a.txt") == expected


def test_a_line_end_may_lie_across_two_pieces() -> None:
    data = b"ab\r\ncd\r\n"
    for size in range(1, len(data) + 1):
        assert ends_in_crlf(data[at : at + size] for at in range(0, len(data), size))


@pytest.mark.parametrize("given", [b"a\r\n", LARGE])
def test_a_file_of_which_the_project_says_that_crlf_is_meant_stays_as_it_is(
    tmp_path: Path, given: bytes
) -> None:
    more: dict[str, str | bytes] = {".gitattributes": "*.bat eol=crlf\n"}
    more["handlers/data/a.bat"] = given
    root = program(tmp_path, {**SETTINGS, **more, "handlers/data/a.txt": given})
    assert content(root, "a.bat") == given
    assert content(root, "a.txt") == given.replace(b"\r\n", b"\n")


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ("*.txt -text", True),
        ("a.txt binary", True),
        ("a.txt text eol=crlf", True),
        ("deep/data/a.txt -text", True),
        ("/deep/data/*.txt -text", True),
        ("deep/** -text", True),
        ("**/data/*.txt -text", True),
        ("deep/**/a.txt -text", True),
        ("* -text", True),
        ("", False),
        ("# *.txt -text", False),
        ("*.txt text", False),
        ("*.txt text=auto eol=lf", False),
        ("/a.txt -text", False),
        ("data/a.txt -text", False),
        ("deep/ -text", False),
        ("*.txt -text\n*.txt text=auto", False),
        ("*.txt eol=crlf\n*.txt !eol", False),
        ("[attr]a.txt -text", False),
        ("*.txt -diff", False),
    ],
)
def test_attributes_are_read_as_git_reads_them(tmp_path: Path, rows: str, kept: bool) -> None:
    write(tmp_path, {".gitattributes": rows + "\n", "deep/data/a.txt": "a\r\n"})
    assert Attributes(tmp_path).keep_crlf("deep/data/a.txt") is kept
    if shutil.which("git"):
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        done = subprocess.run(
            ["git", "check-attr", "-z", "text", "eol", "--", "deep/data/a.txt"],
            cwd=tmp_path,
            env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
            check=True,
            capture_output=True,
            text=True,
        )
        words = done.stdout.split("\0")
        assert (words[2] == "unset" or words[5] == "crlf") is kept


def test_a_folder_nearer_to_the_file_has_the_last_word(tmp_path: Path) -> None:
    write(tmp_path, {".gitattributes": "*.txt -text\n", "deep/.gitattributes": "a.txt text\n"})
    attributes = Attributes(tmp_path)
    assert attributes.keep_crlf("b.txt") and attributes.keep_crlf("deep/b.txt")
    assert not attributes.keep_crlf("deep/a.txt")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_checkout_with_crlf_gives_the_same_bundle(tmp_path: Path) -> None:
    def git(folder: Path, *arguments: str) -> None:
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        named = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
        subprocess.run(
            ["git", *named, *arguments], cwd=folder, env={**os.environ, **alone}, check=True
        )

    data = {
        "a.json": b'{"a": [\n1]}\n',
        "b.txt": "Größe\n".encode() * 100_000,
        "c.csv": b"a,b\r\nc\n",
        "d.bat": b"echo\r\n",
        "e.bin": b"\n\0\n",
        "f.crlf": b"committed\r\nso\r\n",
    }
    files = {f"handlers/data/{name}": given for name, given in data.items()}
    more = {".gitattributes": "*.bat eol=crlf\n*.crlf -text\n", ".gitignore": ".hermes-build\n"}
    one = program(tmp_path / "one", {**SETTINGS, **files, **more})
    git(one, "init", "-q")
    git(one, "add", "-A")
    git(one, "commit", "-q", "-m", "one")
    git(tmp_path, "clone", "-q", "-c", "core.autocrlf=true", "one", "other")
    other = tmp_path / "other"
    assert (other / "handlers/data/a.json").read_bytes() == b'{"a": [\r\n1]}\r\n'
    first, second = made(one).manifest, made(other).manifest
    assert first is not None and second is not None
    assert first.digest == second.digest
    assert content(other, "d.bat") == data["d.bat"]
    assert content(other, "f.crlf") == data["f.crlf"]


@pytest.mark.parametrize("name", ["a.py", "A.PY", "a.pyc", "a.abi3.so", "a.pyd", "a.pyw"])
def test_code_is_no_data(tmp_path: Path, name: str) -> None:
    more = {"handlers/data/b.json": "{}", f"handlers/data/{name}": ""}
    (one,) = made(program(tmp_path, {**SETTINGS, **more})).findings
    assert (one.code, one.span and one.span.path) == ("HB8117", f"handlers/data/{name}")


def test_modules_that_are_taken_in_may_be_met_by_a_glob_and_others_can_be_left_out(
    tmp_path: Path,
) -> None:
    settings = {"pyproject.toml": '[tool.hermes-build]\nbundle-data = ["handlers/**"]\n'}
    more = {"handlers/data/b.json": "{}", "handlers/data/main.py-tpl": "# {{ name }}\n"}
    root = program(tmp_path, {**settings, **more})
    assert codes(root) == []
    (root / "handlers/data/more.py").write_text("")
    assert codes(root) == ["HB8117"]
    write(
        root,
        {
            "pyproject.toml": settings["pyproject.toml"]
            + '[[tool.hermes-build.lint.ignore]]\ncode = "HB8117"\n'
            'files = "handlers/data/*"\nreason = "tools of those who write the data"\n'
        },
    )
    bundle = made(root)
    assert bundle.findings == ()
    assert PREFIX + "more.py" not in bundle.contents.files
    assert PREFIX + "main.py-tpl" in bundle.contents.files
