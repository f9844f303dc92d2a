"""Output is kept in bounded memory, and shown as a person would see it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.shells.buffer import Ends, Ring
from handlers.shells.cleaning import clean, complete
from handlers.shells.excerpts import MOST, excerpt, excerpt_of_ends

CHUNKS = st.lists(st.binary(max_size=30), max_size=12)


@given(chunks=CHUNKS, capacity=st.integers(0, 40))
def test_a_ring_keeps_the_end_and_counts_the_rest(chunks: list[bytes], capacity: int) -> None:
    ring = Ring(capacity)
    for chunk in chunks:
        ring.add(chunk)
    stream = b"".join(chunks)
    start = max(0, len(stream) - capacity)
    assert (ring.total, ring.start) == (len(stream), start)
    assert ring.dropped_lines == stream[:start].count(b"\n")
    for position in range(len(stream) + 1):
        assert ring.since(position) == stream[max(position, start) :]


@given(chunks=CHUNKS, head=st.integers(0, 20), tail=st.integers(0, 20))
def test_both_ends_of_a_stream_are_kept(chunks: list[bytes], head: int, tail: int) -> None:
    ends = Ends(head, tail)
    for chunk in chunks:
        ends.add(chunk)
    stream = b"".join(chunks)
    assert ends.head == stream[:head] and ends.total == len(stream)
    assert ends.tail == stream[max(head, len(stream) - tail) :]
    assert len(ends.head) + ends.dropped + len(ends.tail) == len(stream)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m and \x1b[38;5;196mmore\x1b[m", "red and more"),
        (b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink"),
        (b"\x1bP1$r0m\x1b\\a\x1b(Bb\x1b=c\x1b7d\x1bMe", "abcde"),
        (b"\x1b[?25l\x1b[2J\x1b[Hx\x1b[?25h", "x"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"a\r\r\nb", "a\nb"),
        (b" 10%\r 55%\r100%\n", "100%\n"),
        (b"abcdef\rxy\n", "xycdef\n"),
        (b"loading\r\x1b[Kok\n", "ok\n"),
        (b"loading\x1b[2K\rok\n", "ok\n"),
        (b"|\b/\b-\bdone\n", "done\n"),
        (b"a\n\b\bb", "a\nb"),
        (b"bell\x07 nul\x00 del\x7f tab\t", "bell nul del tab\t"),
        (b"\xff\xfe caf\xc3\xa9 \xe2\x82", "�� café �"),
        (b"unfinished \x1b]0;title\nnext", "unfinished 0;title\nnext"),
        (b"at the end \x1b[", "at the end "),
        ("\u2028 \x85 \u4f60\U0001f600".encode(), "\u2028  \u4f60\U0001f600"),
    ],
)
def test_output_becomes_what_a_person_sees(data: bytes, text: str) -> None:
    assert clean(data) == text


PIECES = st.sampled_from(
    [b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b", b"0;1", b"m", b"K", b"\x07", b"\\", b"\r", b"\n", b"\b",
     b"a", b"bc", b"\xc3", b"\xa9", b"\xf0\x9f\x98\x80", b"\xff", b"\x00", b"\x9b"]
)  # fmt: skip


@given(st.one_of(st.binary(), st.lists(PIECES, max_size=30).map(b"".join)))
def test_whatever_is_written_its_lines_are_kept_and_no_control_characters(data: bytes) -> None:
    text = clean(data)
    assert text.count("\n") == data.count(b"\n")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    assert 0 <= complete(data) <= len(data)


@pytest.mark.parametrize(
    "piece", [b"\x1b]", b"\x1b[0", b"\x1bP", b"a\r", b"a\b", b"\b", b"\x1b[0;", b"x\x1b[2K\r"]
)
def test_hostile_output_is_cleaned_in_one_pass(piece: bytes) -> None:
    # Looking back from each piece to the first would take minutes.
    for data in (piece * 50_000, b"x" * 100_000 + piece * 50_000):
        assert len(clean(data)) <= len(data)


@given(
    parts=st.lists(
        st.sampled_from(["a", "\n", "é", "你", "\U0001f600", "\x1b[31m", "\x1b]0;t\x07", "\x1b(B"])
    ),
    cut=st.integers(0, 60),
)
def test_what_is_looked_at_in_two_parts_reads_as_in_one(parts: list[str], cut: int) -> None:
    data = "".join(parts).encode()
    whole = complete(data[:cut])
    assert clean(data[:whole]) + clean(data[whole:]) == clean(data)


def test_an_unfinished_sequence_is_not_waited_for_without_end() -> None:
    assert complete(b"a\x1b]0;" + b"x" * 20) == 1
    endless = b"a\x1b]0;" + b"x" * 1000
    assert complete(endless) == len(endless)


@given(lines=st.integers(0, 30_000), width=st.integers(1, 40), kept=st.integers(30_000, 200_000))
def test_what_is_shown_and_what_is_left_out_are_all_of_it(
    lines: int, width: int, kept: int
) -> None:
    data = b"".join(b"%0*d\n" % (width, number) for number in range(lines))
    ends = Ends(kept, kept)
    ends.add(data)
    shown = excerpt_of_ends(ends)
    mark = f"[... {shown.omitted:,} bytes of output left out ...]\n"
    text = shown.text.replace(mark, "") if shown.omitted else shown.text
    assert len(text) <= MOST
    assert len(text) + shown.omitted == len(data)
    assert set(text.splitlines()) <= set(data.decode().splitlines())


def test_a_character_that_was_cut_in_two_is_not_shown_in_halves() -> None:
    for shift in range(4):
        ends = Ends(1001, 1002)
        ends.add(b"x" * shift + "\U0001f600".encode() * 10_000)
        shown = excerpt_of_ends(ends)
        assert shown.omitted and "�" not in shown.text
        assert "�" not in excerpt("\U0001f600".encode()[shift:] + b"x", before=shift or 4).text
