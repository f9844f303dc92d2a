"""The lock's text: one form, read strictly."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_build.canonical import canonical, digest, value_digest
from hermes_build.compiler.lock_differences import differences
from hermes_build.lock import (
    Lock,
    LockedFile,
    LockedTool,
    LockedToolset,
    LockError,
    _read_quickly,
    _Reader,
    is_plain,
    read,
    render,
    salvage,
)

A, B, C = (digest(one) for one in (b"a", b"b", b"c"))

TEXT = f"""\
# Written by `hermes-build compile`; do not edit.
format 1
runtime 1
version datamodel-code-generator 0.89.0
template tool.py.jinja {A}

tool read_file
  source {A}
  args {B}
  result {C}
  prompt {A}
  runtime {B}
  handler handlers.file_tools
  module generated/tools/read_file.py {C}

tool remote
  source {A}
  args {B}
  prompt {A}
  runtime {B}

toolset file
  source {A}
  tool read_file
  tool remote

toolset implied
  tool remote

file generated/__init__.py {A}
file generated/registry.py {B}
"""
LOCK = Lock(
    runtime=1,
    versions={"datamodel-code-generator": "0.89.0"},
    templates={"tool.py.jinja": A},
    tools=(
        LockedTool(
            "read_file",
            source=A,
            args=B,
            prompt=A,
            runtime=B,
            result=C,
            handler="handlers.file_tools",
            module=LockedFile("generated/tools/read_file.py", C),
        ),
        LockedTool("remote", source=A, args=B, prompt=A, runtime=B),
    ),
    toolsets=(
        LockedToolset("file", ("read_file", "remote"), A),
        LockedToolset("implied", ("remote",)),
    ),
    files=(LockedFile("generated/__init__.py", A), LockedFile("generated/registry.py", B)),
)


def test_the_text_is_as_it_is_documented() -> None:
    assert render(LOCK).decode() == TEXT


def test_reading_undoes_rendering() -> None:
    assert read(TEXT) == LOCK
    assert read(TEXT.replace("\n", "\r\n")) == LOCK


def test_the_text_does_not_depend_on_the_order_of_the_parts() -> None:
    def shuffled(some: tuple[LockedTool, ...]) -> tuple[LockedTool, ...]:
        return tuple(random.Random(1).sample(some, len(some)))

    turned = dataclasses.replace(
        LOCK,
        tools=LOCK.tools[::-1],
        toolsets=(LockedToolset("implied", ("remote",)), LOCK.toolsets[0]),
        files=LOCK.files[::-1],
    )
    assert render(turned) == render(LOCK)
    assert render(dataclasses.replace(LOCK, tools=shuffled(LOCK.tools))) == render(LOCK)


def test_the_lock_names_every_generated_file() -> None:
    assert LOCK.owned() == salvage(TEXT)
    assert LOCK.owned() == {
        "generated/__init__.py": A,
        "generated/registry.py": B,
        "generated/tools/read_file.py": C,
    }


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("format 1\n", "", 2, "`format` must come first"),
        (TEXT, "", 1, "the lock is empty"),
        ("format 1", "format 2", 2, "the lock is of format 2; this hermes-build reads 1"),
        ("format 1", "format one", 2, "`format` must be a number, not `one`"),
        ("runtime 1\nversion", "version", 31, "`runtime` is missing"),
        ("runtime 1\nversion", "runtime 1\nruntime 1\nversion", 4, "`runtime` stands twice"),
        (f"  args {B}\n  result", "  result", 7, "tool `read_file` lacks `args`"),
        (f"  args {B}\n  result", f"  args {B[:-1]}\n  result", 9, f"`{B[:-1]}` is not a digest"),
        (f"  args {B}\n  result", "  args\n  result", 9, "`` is not a digest"),
        (f"  result {C}", f"  result {C.upper()}", 10, f"`{C.upper()}` is not a digest"),
        (f"  result {C}", f"  args {C}", 10, "`args` stands twice in tool `read_file`"),
        ("  result ", "  outcome ", 10, "unknown entry `outcome` in tool `read_file`"),
        ("tool remote\n  source", "tool read_file\n  source", 16, "tool `read_file` stands twice"),
        ("toolset implied", "toolset file", 27, "toolset `file` stands twice"),
        ("toolset implied", "toolset", 27, "`toolset` must be followed by one name"),
        (
            "  tool remote\n\nfile",
            "  tool remote\n  tool remote\n\nfile",
            29,
            "in toolset `implied`, tool `remote` stands twice",
        ),
        ("registry.py", "__init__.py", 31, "file `generated/__init__.py` stands twice"),
        (
            "generated/registry.py",
            "../registry.py",
            31,
            "`../registry.py` is not a path inside the project",
        ),
        (f"file generated/registry.py {B}", "fill x", 31, "unknown entry `fill`"),
        (
            "\nfile generated/__init__.py",
            "\n  source x\nfile x",
            30,
            "an indented line stands outside a block",
        ),
        ("tool remote\n", "<<<<<<< HEAD\ntool remote\n", 16, "a merge conflict stands here"),
        ("  prompt", "=======\n  prompt", 11, "a merge conflict stands here"),
        ("generator 0.89.0", "generator", 4, "a version must be a name and a version"),
    ],
)
def test_a_damaged_lock_is_an_error_with_its_line(
    old: str, new: str, line: int, message: str
) -> None:
    assert old in TEXT
    with pytest.raises(LockError) as caught:
        read(TEXT.replace(old, new, 1))
    assert caught.value.message.startswith(message)
    assert caught.value.line == line


def test_a_conflict_says_what_to_do() -> None:
    with pytest.raises(LockError) as caught:
        read(TEXT + "<<<<<<< ours\n")
    assert caught.value.help == "run `hermes-build compile`, which writes it anew from the specs"


@settings(deadline=None)
@st.composite
def _edited(draw: st.DrawFn) -> str:
    """The text of a lock after some of its lines were cut, doubled, changed or swapped."""
    lines = TEXT.split("\n")
    for _ in range(draw(st.integers(0, 3))):
        one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        how = draw(st.sampled_from(["cut", "double", "swap", "change"]))
        if how == "cut":
            del lines[one : one + 1 + draw(st.integers(0, 7))]
            lines = lines or [""]
        elif how == "double":
            lines[other:other] = lines[one : one + 1 + draw(st.integers(0, 7))]
        elif how == "swap":
            lines[one], lines[other] = lines[other], lines[one]
        else:
            words = ["", " ", "  ", "\r", "x", "tool", "module", "\t", "\u2028", "=======", "..", A]
            old, new = (draw(st.sampled_from(words)) for _ in range(2))
            lines[one] = lines[one].replace(old, new) if old else lines[one] + new
    return "\n".join(lines)


@settings(deadline=None, max_examples=500)
@given(_edited())
def test_the_quick_reader_reads_as_the_strict_one_or_leaves_it_to_that(text: str) -> None:
    quick = _read_quickly(text)
    if quick is not None:
        assert quick == _Reader(text).lock()
        assert list(quick.tools) == list(_Reader(text).lock().tools)


def test_the_quick_reader_reads_what_is_written() -> None:
    assert _read_quickly(TEXT) == read(TEXT)
    assert _read_quickly(TEXT.replace("\n", "\r\n")) is None


@given(st.text())
def test_any_text_is_a_lock_or_an_error(text: str) -> None:
    for one in (text, "format 1\n" + text):
        salvage(one)
        try:
            read(one)
        except LockError as error:
            assert 1 <= error.line <= one.count("\n") + 1


_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,20}", fullmatch=True)
_digests = st.binary(max_size=4).map(digest)


@settings(deadline=None)
@given(
    st.builds(
        Lock,
        runtime=st.integers(1, 99),
        versions=st.dictionaries(_names, _names, max_size=2),
        templates=st.dictionaries(_names, _digests, max_size=2),
        tools=st.lists(
            st.builds(
                LockedTool,
                _names,
                _digests,
                _digests,
                _digests,
                _digests,
                result=st.none() | _digests,
                handler=st.none() | _names,
            ),
            max_size=4,
            unique_by=lambda one: one.name,
        ).map(lambda some: tuple(sorted(some, key=lambda one: one.name))),
        toolsets=st.lists(
            st.builds(
                LockedToolset,
                _names,
                st.sets(_names, max_size=3).map(lambda some: tuple(sorted(some))),
                st.none() | _digests,
            ),
            max_size=3,
            unique_by=lambda one: one.name,
        ).map(lambda some: tuple(sorted(some, key=lambda one: one.name))),
    )
)
def test_every_lock_is_read_back_equal(lock: Lock) -> None:
    assert read(render(lock).decode()) == lock
    assert differences(lock, lock) == []


@pytest.mark.parametrize("path", ["a.py", "a/b c.py", "a/..b", "päth/ü.py"])
def test_paths_inside_the_project_are_plain(path: str) -> None:
    assert is_plain(path)


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", "./a", "a/..", "..", "a\\b", "C:/a", "a\nb", "a\0b"]
)
def test_other_paths_are_not(path: str) -> None:
    assert not is_plain(path)


def test_differences_name_the_part_that_changed() -> None:
    read_file = dataclasses.replace(LOCK.tools[0], prompt=C, handler=None)
    new = dataclasses.replace(
        LOCK,
        runtime=2,
        versions={"datamodel-code-generator": "0.90.0"},
        templates={},
        tools=(read_file, dataclasses.replace(LOCK.tools[1], name="other")),
        toolsets=(dataclasses.replace(LOCK.toolsets[0], tools=("read_file",)), LOCK.toolsets[1]),
        files=(*LOCK.files[:1], LockedFile("generated/registry.py", C)),
    )
    assert [str(one) for one in differences(LOCK, new)] == [
        "runtime changed",
        "version datamodel-code-generator changed",
        "template tool.py.jinja removed",
        "file generated/registry.py changed",
        "tool other added",
        "tool read_file: prompt changed",
        "tool read_file: handler changed",
        "tool remote removed",
        "toolset file: tools changed",
    ]


def test_equal_values_have_one_canonical_form() -> None:
    assert canonical({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'.encode()
    assert (
        value_digest({"b": 1, "a": 2}) == value_digest({"a": 2, "b": 1}) == digest(b'{"a":2,"b":1}')
    )
    assert canonical("\ud800") == b'"\xed\xa0\x80"'
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical(float("nan"))
