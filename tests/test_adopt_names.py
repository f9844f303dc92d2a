"""Every imported tool gets a name of its own that providers accept."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from hermes_build.compiler.adopt.names import assign_names, is_valid
from hermes_build.ir import TOOL_NAME


def names(*wanted: str) -> list[str]:
    return [one.name for one in assign_names(wanted)]


def test_a_name_that_is_fine_stays() -> None:
    assert names("read_file", "hermes-cli", "_x", "A1") == ["read_file", "hermes-cli", "_x", "A1"]


def test_dots_and_other_signs_become_underscores() -> None:
    assert names("math.factorial", "a b", "x/y.z", "3d", "Über") == [
        "math_factorial", "a_b", "x_y_z", "_3d", "Uber",
    ]  # fmt: skip


def test_a_name_that_is_fine_wins_over_one_that_is_cleaned_to_it() -> None:
    assert names("math.gcd", "math_gcd", "math.gcd") == ["math_gcd_2", "math_gcd", "math_gcd_3"]


def test_names_that_differ_in_case_or_hyphens_alone_are_told_apart() -> None:
    assert names("bmi", "BMI", "b-c", "b_c") == ["bmi", "BMI_2", "b-c", "b_c_2"]
    assert assign_names(["bmi", "BMI"])[1].rival == "bmi"


def test_a_count_never_takes_a_name_that_another_tool_has() -> None:
    assert names("a", "a", "a_2", "a") == ["a", "a_3", "a_2", "a_4"]


def test_names_of_no_letters_get_a_hash_and_differ() -> None:
    one, two = names("天气", "新闻")
    assert one != two
    assert one.startswith("tool_") and two.startswith("tool_")


def test_reserved_toolset_names_are_not_given() -> None:
    assert names("all", "*") == ["all_tools", names("*")[0]]


@given(st.lists(st.text(max_size=80) | st.sampled_from(["a", "A", "a.b", "a-b", "x" * 70, "a_2"])))
def test_every_name_is_valid_and_no_two_meet(wanted: list[str]) -> None:
    given_names = names(*wanted)
    assert len(given_names) == len(wanted)
    assert all(re.fullmatch(TOOL_NAME, one) and is_valid(one) for one in given_names)
    folded = [one.replace("-", "_").casefold() for one in given_names]
    assert len(set(folded)) == len(folded)


@given(st.text(st.sampled_from("ab."), min_size=65, max_size=90))
def test_a_long_name_is_shortened_the_same_way_every_time(name: str) -> None:
    assert names(name) == names(name)
    assert len(names(name)[0]) <= 64
