"""A page of a text file, whatever the file is."""

from __future__ import annotations

import gzip
import os
import re
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handlers.files import reading
from handlers.files.reading import read_file
from handlers.files.workspace import Workspace
from handlers.refusal import Refusal


def body_and_notes(answer: str) -> tuple[list[str], str]:
    *lines, notes = answer.split("\n")
    return lines, notes


def test_lines_are_numbered_and_the_last_line_says_how_to_read_on(
    workspace: Workspace, root: Path
) -> None:
    (root / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 1001)))
    lines, notes = body_and_notes(read_file(workspace, "a.txt", 12, 2))
    assert lines == ["   12|line 12", "   13|line 13"]
    assert notes == "[lines 12 to 13 of 1,000; read on with offset=14]"
    lines, notes = body_and_notes(read_file(workspace, "a.txt", 999, 500))
    assert notes == "[lines 999 to 1,000 of 1,000; the end of the file]"


def test_a_missing_last_line_end_is_told(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("x\ny")
    assert read_file(workspace, "a").endswith("no line end after the last line]")
    assert "no line end" not in read_file(workspace, "a", 1, 1)


def test_an_empty_file_is_no_error(workspace: Workspace, root: Path) -> None:
    (root / "a").touch()
    assert read_file(workspace, "a") == "[a is empty]"
    (root / "bom").write_bytes(b"\xef\xbb\xbf")
    assert read_file(workspace, "bom") == "[bom is empty]"


def test_an_offset_past_the_end_says_where_the_end_is(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("x\ny\n")
    with pytest.raises(Refusal, match=r"a has 2 lines; there is no line 3") as caught:
        read_file(workspace, "a", 3)
    assert caught.value.fields["total_lines"] == 2


def test_a_folder_is_refused_with_what_it_holds(workspace: Workspace, root: Path) -> None:
    (root / "folder" / "inner").mkdir(parents=True)
    (root / "folder" / "b.txt").touch()
    with pytest.raises(Refusal, match=r"folder is a folder.*b\.txt, inner/\.") as caught:
        read_file(workspace, "folder")
    assert caught.value.fields["entries"] == ["b.txt", "inner/"]
    with pytest.raises(Refusal, match="is a folder"):
        read_file(workspace, ".")


@pytest.mark.parametrize(
    ("data", "line", "note"),
    [
        ("Grüße".encode(), "Grüße", ""),
        (b"\xef\xbb\xbf" + "Grüße".encode(), "Grüße", "UTF-8 with a byte order mark"),
        (b"\xff\xfe" + "Grüße 𝄞".encode("utf-16-le"), "Grüße 𝄞", "UTF-16 LE"),
        (b"\xfe\xff" + "Grüße".encode("utf-16-be"), "Grüße", "UTF-16 BE"),
        (b"\xff\xfe\0\0" + "Grüße".encode("utf-32-le"), "Grüße", "UTF-32 LE"),
        ("Grüße".encode("latin-1"), "Grüße", "shown as Latin-1: 1 of these lines"),
        (b"ok\r", "ok", "lines end in CRLF"),
    ],
)
def test_encodings_are_read_and_named(
    workspace: Workspace, root: Path, data: bytes, line: str, note: str
) -> None:
    nl = b"\n"
    for mark, codec in (
        (b"\xff\xfe\0\0", "utf-32-le"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
    ):
        if data.startswith(mark):
            nl = "\n".encode(codec)
            break
    (root / "a").write_bytes(data + nl)
    lines, notes = body_and_notes(read_file(workspace, "a"))
    assert lines == [f"    1|{line}"]
    assert note in notes


def test_one_stray_byte_does_not_spoil_the_other_lines(workspace: Workspace, root: Path) -> None:
    (root / "a").write_bytes("Grüße\n".encode() + b"\xe4\n")
    assert body_and_notes(read_file(workspace, "a"))[0] == ["    1|Grüße", "    2|ä"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (gzip.compress(b"text", mtime=0), "gzip data"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"PK\x03\x04\x14\0", "a ZIP archive"),
        (b"SQLite format 3\0" + bytes(84), "an SQLite database"),
        (b"text\0more", "binary data"),
        (bytes(range(1, 32)) * 3, "binary data"),
    ],
)
def test_binary_files_are_refused_with_kind_and_size(
    workspace: Workspace, root: Path, data: bytes, kind: str
) -> None:
    (root / "a.bin").write_bytes(data)
    with pytest.raises(Refusal, match=re.escape(kind)) as caught:
        read_file(workspace, "a.bin")
    assert caught.value.fields["size"] == len(data)


@pytest.mark.parametrize(
    "data", [b"BM is short for benchmark\n", b"MZ\n", b"BZh\n", b"\x1b[1mbold\n"]
)
def test_text_that_begins_like_a_binary_file_is_text(
    workspace: Workspace, root: Path, data: bytes
) -> None:
    (root / "a").write_bytes(data)
    assert read_file(workspace, "a").startswith("    1|")


def test_a_long_line_is_cut_with_a_note_and_the_next_is_whole(
    workspace: Workspace, root: Path
) -> None:
    (root / "a").write_text("é" * 1_000_000 + "\nshort\n")
    lines, notes = body_and_notes(read_file(workspace, "a"))
    assert lines[0].startswith("    1|" + "é" * reading.LINE_CHARS + "… [line cut here: about ")
    assert "1,996,000 more bytes" in lines[0]
    assert lines[1] == "    2|short"
    assert "cut after 2,000 characters: 1 of these lines" in notes


def test_a_page_ends_early_when_its_lines_are_long(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text(("x" * 1_999 + "\n") * 500)
    answer = read_file(workspace, "a")
    assert len(answer) < 100_000
    match = re.search(r"lines 1 to (\d+) of 500; read on with offset=(\d+)", answer)
    assert match and int(match[2]) == int(match[1]) + 1 < 100
    assert read_file(workspace, "a", int(match[2])).startswith(f"{match[2]:>5}|xxx")


def test_a_large_file_costs_no_memory(workspace: Workspace, root: Path) -> None:
    with (root / "big").open("wb") as file:
        file.write(b"first\n")
        for _ in range(64):
            file.write(b"y" * 999_999 + b"\n")
        file.seek(300_000_000)
        file.write(b"\nlast\n")
    tracemalloc.start()
    lines, notes = body_and_notes(read_file(workspace, "big", 1, 2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lines[0] == "    1|first" and "of 67;" in notes
    assert peak < 4_000_000


def test_counting_stops_at_a_bound_and_says_so(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "COUNT_BYTES", 1_000)
    (root / "a").write_text("x\n" * 1_000_000)
    notes = body_and_notes(read_file(workspace, "a", 1, 1))[1]
    assert re.match(r"\[lines 1 to 1 of more than \d[\d,]*; read on with offset=2\]", notes)
    assert read_file(workspace, "a", 1_000_000).startswith("1000000|x\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("x")
    (root / "a").chmod(0)
    with pytest.raises(Refusal, match="permission is denied"):
        read_file(workspace, "a")


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    text=st.text(
        st.characters(exclude_characters="\r\0", exclude_categories=["Cs", "Cc"]) | st.just("\n"),
        max_size=300,
    ),
    codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"]),
    limit=st.integers(1, 7),
    chunk=st.integers(1, 40),
)
def test_the_pages_of_a_file_put_together_are_the_file(
    workspace: Workspace, root: Path, text: str, codec: str, limit: int, chunk: int
) -> None:
    data = text.encode(codec)
    if codec == "utf-16-le":
        data = b"\xff\xfe" + data
    (root / "a").write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_CHUNK", chunk)
        lines: list[str] = []
        notes = "[x is empty]"
        while "the end of the file" not in notes and (text or not lines):
            page, notes = body_and_notes(read_file(workspace, "a", len(lines) + 1, limit))
            if notes == "[a is empty]":
                break
            for line in page:
                number, _, rest = line.partition("|")
                assert int(number) == len(lines) + 1
                lines.append(rest)
    ended = "no line end" not in notes
    assert "".join(f"{line}\n" for line in lines)[: None if ended else -1] == text


def test_a_file_of_the_system_is_read_like_any(workspace: Workspace, root: Path) -> None:
    (root / "copy.py").write_bytes(Path(os.__file__).read_bytes())
    lines = body_and_notes(read_file(workspace, "copy.py", 1, 2000))[0]
    expected = Path(os.__file__).read_text().split("\n")
    assert [line.split("|", 1)[1] for line in lines] == expected[: len(lines)]
    assert sys.version_info >= (3, 11)
