"""The names in a bundle: each is one plain file on every system, and no two could meet."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_build.bundle.format import BundleError
from hermes_build.bundle.names import check_names, is_plain
from tests.bundle.forging import forged
from tests.bundle.refusing import archive_refuses, opens, written

UNSAFE = {
    "empty": "",
    "up": "../x",
    "up inside": "a/../../x",
    "here": "./x",
    "absolute": "/etc/passwd",
    "a folder": "a/",
    "an empty part": "a//b",
    "a backslash": "a\\b",
    "up, with backslashes": "..\\x",
    "a drive": "C:x",
    "a share": "\\\\host\\share",
    "a stream": "a.txt:hidden",
    "NUL": "a\0b",
    "a line end": "a\nb",
    "an escape": "a\x1bb",
    "delete": "a\x7fb",
    "the other direction": "a\u202etxt.py",
    "no width": "a\u200bb",
    "decomposed": "e\u0301",
    "a device": "aux",
    "a device with an ending": "a/NUL.txt",
    "a numbered device": "com1.py",
    "a device with a small number": "COM\u00b9",
    "a device with a space": "con .txt",
    "the console": "conin$",
    "ends with a dot": "a./b",
    "ends with a space": "a /b",
    "begins with a space": "a/ b",
    "three dots": "...",
    "a star": "a*b",
    "a question": "a?",
    "too long a part": "x" * 241,
    "too long a part in bytes": "é" * 121,
    "too long": "/".join(["x" * 100] * 10),
}


@pytest.mark.parametrize("what", UNSAFE)
def test_an_unsafe_name_is_refused(tmp_path: Path, what: str) -> None:
    name = UNSAFE[what]
    assert not is_plain(name)
    error = archive_refuses(written(tmp_path, forged([(name, b"")])), "HB8003")
    assert error.path == name
    with pytest.raises(BundleError):
        check_names([".a", "b", name])


@pytest.mark.parametrize(
    "name",
    [
        "a",
        ".hidden",
        "a.b.c",
        "-",
        "~",
        "a b",
        "con1",
        "console",
        "aux_/x",
        "nulls.py",
        "é/日本",
        "a+b@c,=#!(1)",
    ],
)
def test_a_plain_name_is_accepted(tmp_path: Path, name: str) -> None:
    assert is_plain(name)
    assert opens(written(tmp_path, forged([(name, b"x")])))


@pytest.mark.parametrize(
    "names",
    [
        ["a", "a"],
        ["A", "a"],
        ["a/B", "a/b"],
        ["A/x", "a/y"],
        ["a", "a/b"],
        ["A", "a/b"],
        ["a/b/C/d", "a/b/c/e"],
        ["STRASSE", "straße"],
        ["fi", "ﬁ"],
        ["Å", "å"],
        ["K", "\u212a"],
    ],
    ids=lambda names: "-".join(names).encode("unicode_escape").decode(),
)
def test_names_that_could_meet_are_refused(tmp_path: Path, names: list[str]) -> None:
    names = sorted(names)
    assert all(map(is_plain, names)) or "\u212a" in names
    archive_refuses(written(tmp_path, forged([(name, b"") for name in names])), "HB8003")


@pytest.mark.parametrize("raw", [b"\xff", b"\xc0\xae\xc0\xae/x", b"\xed\xa0\x80", b"a\xe9"])
def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path, raw: bytes) -> None:
    archive_refuses(written(tmp_path, forged([(raw, b"")])), "HB8002")


def test_a_bad_name_is_found_among_ten_thousand() -> None:
    names = [f"program/tools/tool_{number}.py" for number in range(10_000)]
    check_names(names)
    for bad in ("program/tools/TOOL_7.py", "program/tools", "a/../b", "program/tools/tool_9.py"):
        with pytest.raises(BundleError) as caught:
            check_names([*names, bad])
        assert caught.value.code == "HB8003"
