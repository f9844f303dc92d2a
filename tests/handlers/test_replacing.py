"""A passage is found as strictly as it can be, and never in a place that is not sure."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from handlers.files.diffs import aligned, apply_edits, split_lines
from handlers.files.passages import KEYS
from handlers.files.patching import replace
from handlers.files.replacing import SIMILAR, find_replacement
from handlers.files.workspace import Workspace
from handlers.refusal import Refusal


def replaced(text: str, old: str, new: str, replace_all: bool = False) -> tuple[str, str]:
    found = find_replacement(text, old, new, replace_all)
    return "".join(apply_edits(split_lines(text), found.edits)), found.strategy


TEXTS = st.text(st.sampled_from("ab \t\n"), max_size=30)


@given(before=TEXTS, old=TEXTS.filter(bool), after=TEXTS, new=TEXTS)
def test_an_exact_passage_is_replaced_and_nothing_else(
    before: str, old: str, after: str, new: str
) -> None:
    text = before + old + after
    overlapping = sum(text.startswith(old, at) for at in range(len(text)))
    assume(old != new)
    if overlapping == 1:
        assert replaced(text, old, new) == (before + new + after, "exact")
    else:
        with pytest.raises(Refusal, match="more than one place") as caught:
            find_replacement(text, old, new)
        lines = caught.value.fields["lines"]
        assert lines[0] == text.count("\n", 0, text.index(old)) + 1
    assert replaced(text, old, new, replace_all=True) == (text.replace(old, new), "exact")


@given(text=TEXTS, old=TEXTS.filter(bool), new=TEXTS, everywhere=st.booleans())
def test_any_arguments_end_in_a_replacement_or_a_refusal(
    text: str, old: str, new: str, everywhere: bool
) -> None:
    try:
        after, _ = replaced(text, old, new, everywhere)
    except Refusal:
        return
    # Whatever was found, lines outside of it are as they were.
    for edit in find_replacement(text, old, new, everywhere).edits:
        assert 0 <= edit.start <= edit.end <= len(split_lines(text))
    assert isinstance(after, str)


@given(before=st.lists(TEXTS, max_size=8), after=st.lists(TEXTS, max_size=8))
def test_aligned_blocks_cover_both_sides_in_order(before: list[str], after: list[str]) -> None:
    a = c = 0
    for equal, start, end, new_start, new_end in aligned(before, after):
        assert (start, new_start) == (a, c)
        assert equal == (before[start:end] == after[new_start:new_end]) or not equal
        a, c = end, new_end
    assert (a, c) == (len(before), len(after))


@pytest.mark.parametrize(
    ("strategy", "text", "old", "new", "after"),
    [
        ("line ends", "a\r\nb\r\nc\r\n", "a\nb", "a\nB\nB2", "a\r\nB\r\nB2\r\nc\r\n"),
        ("exact", "a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
        ("line ends", "a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n"),
        ("trailing whitespace", "a  \nb\nc\n", "a\nb", "a\nB", "a  \nB\nc\n"),
        ("trailing whitespace", "a\nb\nc\n", "a \nb \n", "x\n", "x\nc\n"),
        (
            "indentation",
            "class A:\n    def f(self):\n        return 1\n",
            "def f(self):\n    return 1\n",
            "def f(self):\n    if True:\n        return 2\n",
            "class A:\n    def f(self):\n        if True:\n            return 2\n",
        ),
        (
            "indentation",
            "if x:\n\ty()\n\tz()\n",
            "    y()\n    z()\n",
            "    y()\n    if w:\n        z()\n",
            "if x:\n\ty()\n\tif w:\n\t\tz()\n",
        ),
        (
            "indentation",
            "if x:\n    y()\n",
            "\ty()\n",
            "\twhile y():\n\t\tpass\n",
            "if x:\n    while y():\n        pass\n",
        ),
        (
            "indentation",
            "    deep()\n",
            "        deep()\n",
            "    outer()\n        deep()\n",
            "outer()\n    deep()\n",
        ),
        ("whitespace", "f( a,  b )\nnext\n", "f( a, b )\nnext", "g()\nnext", "g()\nnext\n"),
        (
            "typography",
            "say “hi” – it’s me…\n",
            'say "hi" - it\'s me...\n',
            'say "bye"\n',
            'say "bye"\n',
        ),
        (
            SIMILAR,
            "def total(items):\n    # Adds up all the prices of the items\n    return 0\n",
            "def total(items):\n    # Adds up all prices of the items.\n    return 0\n",
            "def total(items):\n    # Adds up all prices of the items.\n    return sum(items)\n",
            "def total(items):\n    # Adds up all the prices of the items\n    return sum(items)\n",
        ),
    ],
)
def test_what_differs_only_a_little_is_found_and_named(
    strategy: str, text: str, old: str, new: str, after: str
) -> None:
    assert replaced(text, old, new) == (after, strategy)


def test_lines_that_stay_keep_what_the_file_has() -> None:
    text = "start  \n\tkeep   me\n\tchange me\nend\n"
    after, strategy = replaced(
        text, "start\n    keep me\n    change me\nend", "start\n    keep me\n    changed\nend"
    )
    assert strategy == "whitespace"
    assert after == "start  \n\tkeep   me\n\tchanged\nend\n"


def test_a_file_without_a_last_line_end_keeps_none() -> None:
    assert replaced("a\n  b", "a\nb", "a\nc\nd")[0] == "a\n  c\n  d"
    assert replaced("a \nb", "a\nb", "a\nb\n")[0] == "a \nb\n"  # Unless it is asked for.


def test_deleting_whole_lines_leaves_no_empty_line() -> None:
    assert replaced("a\n  b\nc\n", "b\n", "") == ("a\n  c\n", "exact")
    assert replaced("x\n  a\n  b\ny\n", "a\nb\n", "")[0] == "x\ny\n"


@pytest.mark.parametrize("strategy_text", [" a\n  b\n---\n    a\n     b\n", "x \ny\nx  \ny\n"])
def test_an_inexact_passage_in_two_places_is_refused(strategy_text: str) -> None:
    old = "a\n b\n" if "a" in strategy_text else "x\ny\n"
    with pytest.raises(Refusal, match="more than one place") as caught:
        find_replacement(strategy_text, old, "new\n")
    assert len(caught.value.fields["lines"]) == 2
    after, _ = replaced(strategy_text, old, "new\n", replace_all=True)
    assert after.count("new\n") == 2


def test_what_is_removed_must_stand_there_as_given() -> None:
    """Being merely alike is good enough for what stays, never for what goes."""
    text = "def f():\n    value = compute_all()\n    return value\n"
    with pytest.raises(Refusal, match="not found"):
        find_replacement(
            text,
            "def f():\n    value = compute_one()\n    return value\n",
            "def f():\n    return value\n",
        )


def test_a_passage_of_white_space_is_taken_literally() -> None:
    with pytest.raises(Refusal, match="not found"):
        find_replacement("a\nb\n", "\n\n\n", "x")


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        ("abc\n", "abc", "abc", "equal"),
        ("    x = 1\n", "    1|    x = 1", "y", "line numbers"),
        ("timeout = 30\n", "timeout = 5", "timeout = 30  # s", "The nearest line is 1"),
        ("def later():\n    pass\n", "def now():\n", "def later():\n    pass\n", "already stands"),
        ("", "x", "y", "not found"),
    ],
)
def test_a_passage_that_is_not_there_gets_a_helpful_answer(
    text: str, old: str, new: str, message: str
) -> None:
    with pytest.raises(Refusal, match=message):
        find_replacement(text, old, new)


def test_the_nearest_lines_are_shown() -> None:
    text = "one\ntwo\nreturn compute(a, b)\nfour\n"
    with pytest.raises(Refusal) as caught:
        find_replacement(text, "return compute(a, c)", "x")
    assert "    3|return compute(a, b)" in caught.value.fields["nearest"]


def test_every_strategy_has_a_name_of_its_own() -> None:
    names = [name for name, _ in KEYS] + ["exact", "line ends", SIMILAR]
    assert len(set(names)) == len(names)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(
        st.text(st.sampled_from("ab "), max_size=4), min_size=3, max_size=12, unique=True
    ),
    at=st.integers(0, 10),
    indent=st.sampled_from(["", "  ", "    ", "\t"]),
)
def test_an_indented_block_found_without_its_indentation_stays_indented(
    lines: list[str], at: int, indent: str
) -> None:
    block = ["if check():", "    act()"]
    at = min(at, len(lines))
    text = "".join(
        f"{line}\n" for line in [*lines[:at], *(indent + one for one in block), *lines[at:]]
    )
    after, strategy = replaced(text, "\n".join(block), "if check():\n    wait()\n    act()")
    assert after == text.replace(f"{indent}    act()", f"{indent}    wait()\n{indent}    act()")
    assert strategy == ("indentation" if indent else "exact")


def test_a_large_file_is_patched_in_no_time(workspace: Workspace, root: Path) -> None:
    text = "".join(f"  value_{n} = {n}\n" for n in range(50_000))
    (root / "big.py").write_text(text)
    answer = replace(workspace, "big.py", "value_1234 = 1234\nvalue_1235 = 1235", "value_x = 0")
    assert answer["strategy"] == "indentation" and answer["lines"] == [1235]
    answer = replace(workspace, "big.py", "value", "v", replace_all=True)
    assert answer["replacements"] == 49_999 and len(answer["diff"]) < 30_000


def test_the_answer_shows_what_was_changed(workspace: Workspace, root: Path) -> None:
    (root / "a.py").write_text("one\ntwo\nthree\nfour\nfive\n")
    assert replace(workspace, "a.py", "three", "3") == {
        "path": "a.py",
        "strategy": "exact",
        "replacements": 1,
        "lines": [3],
        "diff": "--- a/a.py\n+++ b/a.py\n@@ -1,5 +1,5 @@\n one\n two\n-three\n+3\n four\n five\n",
    }


@pytest.mark.parametrize(
    ("data", "old", "new", "after"),
    [
        ("Grüße\n".encode("latin-1"), "Grüße", "Größe", "Größe\n".encode("latin-1")),
        (
            b"\xff\xfe" + "é\r\n".encode("utf-16-le"),
            "é",
            "ü",
            b"\xff\xfe" + "ü\r\n".encode("utf-16-le"),
        ),
        (b"\xef\xbb\xbfa\n", "a", "ä", b"\xef\xbb\xbf\xc3\xa4\n"),
        ("ä\n".encode() + b"\xe4\nx\n", "x", "ü", "ä\n".encode() + b"\xe4\n" + "ü\n".encode()),
    ],
)
def test_a_file_keeps_its_encoding(
    workspace: Workspace, root: Path, data: bytes, old: str, new: str, after: bytes
) -> None:
    (root / "a").write_bytes(data)
    replace(workspace, "a", old, new)
    assert (root / "a").read_bytes() == after


def test_a_character_that_the_encoding_lacks_is_refused(workspace: Workspace, root: Path) -> None:
    data = "Grüße\n".encode("latin-1")
    (root / "a").write_bytes(data)
    with pytest.raises(Refusal, match=r"U\+20AC on line 1 cannot be written as Latin-1"):
        replace(workspace, "a", "Grüße", "5 €")
    assert (root / "a").read_bytes() == data
