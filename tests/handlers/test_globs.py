"""Globs mean the same for every program that lists files."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.files.globs import compile_glob


@pytest.mark.parametrize(
    ("pattern", "fits", "misses"),
    [
        ("*.py", ["a.py", "src/a.py", "a/b/c.py"], ["a.pyc", "py", "a.py/b"]),
        ("test_?.py", ["test_1.py", "x/test_a.py"], ["test_12.py", "test_.py"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/b/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/b/a.py", "src/b/c/a.py"], ["a.py", "src/a.txt"]),
        ("**/test/**", ["test/a", "x/test/a", "x/test/y/z", "test"], ["tests/a"]),
        ("src/", ["src/a", "src/b/c"], ["a", "lib/src/a"]),
        ("/top.txt", ["top.txt"], ["sub/top.txt"]),
        ("./top.txt", ["top.txt"], ["sub/top.txt"]),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.t", "a.js"]),
        ("{src,lib}/**/{a,b}.py", ["src/a.py", "lib/x/b.py"], ["src/c.py", "x/src/a.py"]),
        ("{a,{b,c}}.x", ["a.x", "b.x", "c.x"], ["d.x"]),
        ("[a-c].txt", ["b.txt"], ["d.txt", "B.txt"]),
        ("[!a-c].txt", ["d.txt"], ["a.txt"]),
        ("[[]x]", ["[x]"], ["x"]),
        ("**", ["a", "a/b"], []),
        ("Makefile", ["Makefile", "a/Makefile"], ["makefile"]),
    ],
)
def test_a_glob_fits_what_it_should(pattern: str, fits: list[str], misses: list[str]) -> None:
    glob = compile_glob(pattern)
    assert [path for path in fits if not glob.matches(path)] == []
    assert [path for path in misses if glob.matches(path)] == []


@pytest.mark.parametrize("pattern", ["{a", "a}", "{a,b}}", "{" * 400, "{a,b}" * 20])
def test_braces_that_do_not_pair_or_explode_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="brace"):
        compile_glob(pattern)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 60 + "*b", "a" * 255),
        ("**/" * 300 + "x", "a/" * 2000 + "y"),
        ("?*" * 100, "b" * 255),
    ],
)
def test_no_glob_takes_long(pattern: str, path: str) -> None:
    started = time.process_time()
    compile_glob(pattern).matches(path)
    assert time.process_time() - started < 0.5


@given(
    st.text(st.sampled_from("ab*?[]{},/!-."), max_size=20),
    st.text(st.sampled_from("ab/.-"), max_size=20),
)
def test_any_pattern_is_a_glob_or_refused(pattern: str, path: str) -> None:
    try:
        glob = compile_glob(pattern)
    except ValueError:
        return
    assert glob.matches(path) in (True, False)
