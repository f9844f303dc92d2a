"""The guess at a misspelt name is the one that Python's own library for differences makes."""

from __future__ import annotations

from difflib import get_close_matches

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_build.nearest import nearest

LETTERS = st.text("ab_", min_size=1, max_size=12) | st.text("abcdefg", min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("wrod", ["word", "text"], "word"),
        ("ignoreCase", ["ignore_case", "word"], "ignore_case"),
        ("LIMIT", ["limit"], "limit"),
        ("max-size", ["max_size"], "max_size"),
        ("encoding", ["path", "limit"], None),
        ("anything", [], None),
        ("", ["path"], None),
        ("path" * 10_000, ["path"], None),
    ],
)
def test_a_misspelt_name_is_told_and_another_word_is_not(
    name: str, known: list[str], meant: str | None
) -> None:
    assert nearest(name, known) == meant


@given(name=LETTERS, known=st.lists(LETTERS, max_size=8, unique=True))
def test_the_nearest_name_is_the_closest_match_of_the_standard_library(
    name: str, known: list[str]
) -> None:
    assert nearest(name, known) == next(iter(get_close_matches(name, known, n=1)), None)


def test_among_many_names_the_misspelt_one_is_found() -> None:
    known = [f"{first}_{second}" for first in ("read", "write") for second in range(500)]
    assert nearest("get_wether", [*known, "get_weather"]) == "get_weather"
