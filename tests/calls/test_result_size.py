"""A result that is too long is kept whole, and shown in part with the way to the rest."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.files.reading import read_file
from handlers.files.workspace import Workspace
from hermes_build.runtime.previews import fold
from hermes_build.runtime.store import FolderStore, Stored, StoreError, within_limit

LINES = "".join(f"line {number} of a long text\n" for number in range(20_000))


class Kept:
    """A store that only remembers."""

    reader = "read_file"

    def __init__(self, place: str = "results/a.txt") -> None:
        self.place = place
        self.saved: list[tuple[str, str, str]] = []

    def save(self, tool: str, call_id: str, text: str) -> Stored:
        self.saved.append((tool, call_id, text))
        return Stored(self.place, self.reader)


class Broken:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def save(self, tool: str, call_id: str, text: str) -> Stored:
        raise self.error


def files(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def read_all(workspace: Workspace, path: str) -> str:
    """A whole file through `read_file`, page by page, as a model reads it."""
    lines: list[str] = []
    while True:
        *page, notes = read_file(workspace, path, len(lines) + 1).split("\n")
        assert "cut after" not in notes
        lines += [line.partition("|")[2] for line in page]
        if "the end of the file" in notes:
            return "\n".join(lines) + ("" if "no line end" in notes else "\n")


# Previews.


def test_up_to_the_limit_a_result_is_the_very_same_object() -> None:
    text, store = "x" * 1000, Kept()
    assert within_limit("t", text, 1000, store, "c") is text
    assert within_limit("t", text, 1001, None, "") is text
    assert store.saved == []


def test_above_the_limit_the_whole_text_is_kept_and_the_preview_says_how_to_read_it() -> None:
    store = Kept()
    shown = within_limit("search_files", LINES, 1000, store, "call_1")
    assert store.saved == [("search_files", "call_1", LINES)]
    assert len(shown) <= 1000
    first, *middle, last = shown.split("\n")
    assert f"has {len(LINES):,} characters" in first
    assert '`read_file` with {"path": "results/a.txt"}' in first
    assert middle[0] == "line 0 of a long text"
    assert middle[-1] == "line 19999 of a long text"
    assert last == ""
    # Both are cut at the ends of lines.
    gap = next(index for index, line in enumerate(middle) if line.startswith("[…"))
    assert all(line.endswith("of a long text") for line in middle[:gap] + middle[gap + 1 :])


def test_a_preview_of_json_says_that_it_is_none() -> None:
    text = json.dumps([{"name": "x" * 50}] * 1000)
    assert "no longer valid JSON" in within_limit("t", text, 1000, Kept(), "")
    assert "JSON" not in within_limit("t", LINES, 1000, Kept(), "")


@pytest.mark.parametrize(
    "store", [None, Broken(StoreError("full")), Broken(RuntimeError("odd")), Broken(SystemError())]
)
def test_without_a_store_that_works_the_preview_says_that_the_rest_was_not_kept(store: Any) -> None:
    shown = within_limit("t", LINES, 1000, store, "c")
    assert len(shown) <= 1000
    assert "the rest was not kept: call the tool again for less at a time" in shown
    assert "read_file" not in shown
    assert "line 0 of" in shown
    assert "line 19999 of" in shown


def test_a_store_that_gives_back_rubbish_is_one_that_fails() -> None:
    class Odd:
        def save(self, tool: str, call_id: str, text: str) -> Any:
            return None

    assert "was not kept" in within_limit("t", LINES, 1000, Odd(), "c")


def test_what_the_reading_tool_returns_is_never_kept_again() -> None:
    store = Kept()
    shown = within_limit("read_file", LINES, 1000, store, "c")
    assert store.saved == []
    assert len(shown) <= 1000
    assert "ask for a smaller page" in shown


@pytest.mark.parametrize("store", [None, Kept(), Kept("x" * 300)])
def test_a_preview_never_exceeds_its_limit_however_small(store: Any) -> None:
    for limit in [*range(-1, 420), 1000]:
        shown = within_limit("t", LINES, limit, store, "c")
        assert len(shown) <= max(limit, 0)
        assert limit <= 0 or shown


def test_a_small_preview_says_first_of_all_how_to_read_the_text() -> None:
    pointer = f'[{len(LINES):,} characters; read them with `read_file` with {{"path": "a"}}]\n'
    for limit in range(len(pointer) + 1, 400):
        assert '`read_file` with {"path": "a"}' in within_limit("t", LINES, limit, Kept("a"), "c")
    assert within_limit("t", LINES, len(pointer) + 7, Kept("a"), "c") == f"{pointer}line 0…"
    assert within_limit("t", LINES, len(pointer), Kept("a"), "c").startswith("line 0 of")


def test_the_smallest_preview_is_a_sign_that_something_was_left_out() -> None:
    assert within_limit("t", "abc", 1, None, "") == "…"
    assert within_limit("t", "abc", 2, None, "") == "a…"


SHOWN = re.compile(r"\A\[[^\]]*\]\n(.*)\n\[… ([\d,]+) characters left out …\]\n(.*)\Z", re.DOTALL)
SIGNS = ["e\u0301", "👩\u200d🔬", "🇩🇪", "👍🏽", "❤\ufe0f", "\r\n"]
PIECES = st.sampled_from([*SIGNS, "a", "\n", "é", " ", "word"])
TEXTS = st.tuples(st.lists(PIECES, max_size=30), st.integers(1, 200)).map(
    lambda drawn: "".join(drawn[0]) * drawn[1]
)


@given(TEXTS, st.integers(1, 2000), st.sampled_from([None, Kept()]))
def test_beginning_and_end_are_parts_of_the_text_and_the_number_between_is_right(
    text: str, limit: int, store: Any
) -> None:
    shown = within_limit("t", text, limit, store, "c")
    assert len(shown) <= limit
    if len(text) <= limit:
        assert shown is text
    elif found := SHOWN.match(shown):
        head, left, tail = found.groups()
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + int(left.replace(",", "")) + len(tail) == len(text)


@pytest.mark.parametrize("sign", SIGNS[:-1])
@pytest.mark.parametrize("limit", range(400, 412))
def test_what_is_seen_as_one_character_is_not_cut(sign: str, limit: int) -> None:
    found = SHOWN.match(within_limit("t", (sign * 5 + ".") * 300, limit, None, ""))
    assert found
    for part in (found[1], found[3]):
        assert part
        assert part.replace(sign, "").strip(".") == ""


def test_lone_surrogates_are_replaced_in_a_preview() -> None:
    text = "a\ud800b" * 1000
    store = Kept()
    within_limit("t", text, 500, store, "c").encode()
    assert store.saved[0][2] == "a\ufffdb" * 1000
    # Halves that belong together become one character, which may be all that was too much.
    assert within_limit("t", "\ud83d\ude00" * 10, 10, None, "") == "\U0001f600" * 10


# Folded lines.


@given(TEXTS, st.integers(1, 60))
def test_folding_adds_line_ends_and_nothing_else(text: str, width: int) -> None:
    folded, changed = fold(text, width)
    assert all(len(line) <= width for line in folded.split("\n"))
    assert changed == any(len(line) > width for line in text.split("\n"))
    assert folded.replace("\n", "") == text.replace("\n", "")
    assert changed or folded is text


def test_a_line_is_folded_behind_a_space_where_one_is_near() -> None:
    assert fold("aaaaaaaaa bbbbbbbbb", 11) == ("aaaaaaaaa \nbbbbbbbbb", True)
    assert fold("e\u0301" * 4, 3)[0].split("\n") == ["e\u0301"] * 4


# The folder.


def test_a_kept_result_is_read_back_by_the_real_tool(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / ".hermes" / "results", base=tmp_path)
    shown = within_limit("search_files", LINES, 2000, store, "call_1")
    argument = re.search(r"`read_file` with (\{.*?\})", shown)
    assert argument
    path = json.loads(argument[1])["path"]
    assert path.startswith(".hermes/results/search_files-call_1-")
    assert read_all(Workspace.at(str(tmp_path)), path) == LINES


def test_a_result_of_one_line_is_read_back_as_well(tmp_path: Path) -> None:
    text = json.dumps([{"name": f"é{number}", "value": "x" * 20} for number in range(20_000)])
    store = FolderStore(tmp_path / "results", base=tmp_path)
    shown = within_limit("t", text, 2000, store, "c")
    assert "Lines are folded there after 2,000 characters." in shown
    path = store.save("t", "c", text).place
    assert read_all(Workspace.at(str(tmp_path)), path).replace("\n", "") == text


def test_a_large_result_is_kept_byte_for_byte(tmp_path: Path) -> None:
    text = "Grüße 𝄞\r\n\t" * 100_000 + "\0"
    stored = FolderStore(tmp_path / "results").save("t", "c", text)
    assert Path(stored.place).read_bytes() == text.encode()
    assert stored.note == ""


def test_places_outside_the_base_are_absolute(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    for base in (None, tmp_path / "base"):
        store = FolderStore(tmp_path / "baseless", base=base)
        assert os.path.isabs(store.save("t", "c", "x").place)


def test_a_relative_folder_stays_where_it_was_when_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = FolderStore("results", base=".")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert store.save("t", "c", "x").place.startswith("results/t-c-")
    assert len(files(tmp_path / "results")) == 1


HOSTILE = [
    *("", ".", "..", "../../x", "/etc/passwd", "a/b\\c", "nul\0byte", "\n", "~", "-rf", ".hidden"),
    *("x" * 5000, "é" * 300, "\ud800", "CON", "a:b", "%2e%2e%2f", "ID", "id", "Id", "𝄞", "*?<>|"),
]


def test_no_name_leaves_the_folder_or_takes_the_place_of_another(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "results"
    store = FolderStore(folder)
    name = re.compile(r"[A-Za-z0-9_]+-[A-Za-z0-9_]+-[0-9a-f]{16}\.result\.txt")
    pairs = [(tool, call_id) for tool in HOSTILE for call_id in HOSTILE]
    places = [Path(store.save(*pair, f"text of {pair!a}"[-2000:]).place) for pair in pairs]
    for pair, place in zip(pairs, places, strict=True):
        assert place.parent == folder.resolve()
        assert name.fullmatch(place.name)
        assert len(place.name) < 120
        if place in places[-200:]:
            assert place.read_text() == f"text of {pair!a}"[-2000:]
    assert len(set(places)) == len(pairs)
    assert files(tmp_path) == ["deep"]
    assert files(tmp_path / "deep") == ["results"]


@given(st.text(), st.text(), st.text())
def test_any_name_and_any_text_can_be_kept(tmp_path_factory: Any, a: str, b: str, c: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "any" / "results"
    place = FolderStore(folder, keep=5).save(a, b, c).place
    assert os.path.dirname(place) == os.path.realpath(folder)
    assert Path(place).read_bytes() == fold(c, 2000)[0].encode()


def test_names_that_differ_in_case_alone_are_kept_apart_where_case_counts_for_nothing(
    tmp_path: Path,
) -> None:
    store = FolderStore(tmp_path / "results")
    for call_id in ("call", "CALL", "Call"):
        store.save("t", call_id, "x")
    assert len({name.lower() for name in files(tmp_path / "results")}) == 3


def test_the_same_call_twice_keeps_both_texts_and_one_text_once(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "results")
    first, second, again = (store.save("t", "c", text) for text in ("one", "two", "one"))
    assert first == again != second
    assert Path(first.place).read_text() == "one"
    assert Path(second.place).read_text() == "two"
    assert len(files(tmp_path / "results")) == 2


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_files_and_a_folder_that_is_made_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        place = Path(FolderStore(tmp_path / "results").save("t", "c", "x").place)
        (tmp_path / "mine").mkdir(0o755)
        FolderStore(tmp_path / "mine").save("t", "c", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o755


def test_the_oldest_are_removed_and_nothing_else_is(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "notes.txt").write_text("of somebody else")
    (folder / "x.result.txt").mkdir()
    store = FolderStore(folder, keep=3)
    places = []
    for number in range(6):
        places.append(Path(store.save("t", str(number), "x").place))
        os.utime(places[-1], (number, number))
    assert files(folder) == sorted(["notes.txt", "x.result.txt", *(p.name for p in places[3:])])


def test_the_oldest_make_room_for_the_newest(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "results", max_bytes=250)
    places = []
    for number in range(4):
        places.append(Path(store.save("t", str(number), "x" * 100).place))
        os.utime(places[-1], (number, number))
    assert files(tmp_path / "results") == sorted(one.name for one in places[2:])
    with pytest.raises(StoreError, match="251 bytes"):
        store.save("t", "c", "x" * 251)


def test_no_clock_makes_what_was_just_kept_the_oldest(tmp_path: Path) -> None:
    """After a clock was set back, files are there of a time to come, and are older all the same."""
    store = FolderStore(tmp_path, keep=3)
    ahead = time.time() + 100_000
    for number in range(3):
        kept = store.save("t", str(number), f"before {number}").place
        os.utime(kept, (ahead + number, ahead + number))
    for number in range(6):
        kept = store.save("t", str(number), f"after {number}").place
        texts = {one.read_text() for one in tmp_path.iterdir()}
        lately = {f"after {one}" for one in range(max(0, number - 2), number + 1)}
        assert lately <= texts
        assert len(texts) == 3


def test_results_that_come_within_one_tick_of_the_clock_keep_their_order(tmp_path: Path) -> None:
    store = FolderStore(tmp_path, keep=2)
    for number in range(20):
        store.save("t", str(number), f"text {number}")
        wanted = {f"text {one}" for one in range(max(0, number - 1), number + 1)}
        assert {one.read_text() for one in tmp_path.iterdir()} == wanted


def test_an_unfinished_file_goes_when_its_writer_is_long_gone(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    for name in ("old.result.part", "new.result.part"):
        (folder / name).touch()
    os.utime(folder / "old.result.part", (0, 0))
    FolderStore(folder).save("t", "c", "x")
    assert "old.result.part" not in files(folder)
    assert "new.result.part" in files(folder)


def test_a_folder_that_is_a_link_or_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").touch()
    for name in ("link", "dangling", "file", "file/below"):
        with pytest.raises(StoreError):
            FolderStore(tmp_path / name).save("t", "c", "x")
        assert "was not kept" in within_limit("t", LINES, 1000, FolderStore(tmp_path / name), "c")
    assert files(tmp_path / "target") == []
    assert files(tmp_path) == ["dangling", "file", "link", "target"]


def test_a_folder_on_the_way_that_becomes_a_link_later_is_refused(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "a" / "results", base=tmp_path)
    store.save("t", "c", "x")
    (tmp_path / "a").rename(tmp_path / "b")
    (tmp_path / "a").symlink_to("b")
    with pytest.raises(StoreError, match="link"):
        store.save("t", "c", "y")


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "results")
    place = Path(store.save("t", "c", "x").place)
    (tmp_path / "victim").write_text("untouched")
    place.unlink()
    place.symlink_to(tmp_path / "victim")
    assert Path(store.save("t", "c", "x").place) == place
    assert (tmp_path / "victim").read_text() == "untouched"
    assert not place.is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="the limit is one of POSIX")
def test_a_full_disk_leaves_nothing_behind_and_is_a_store_error(tmp_path: Path) -> None:
    code = (
        "import resource, sys\n"
        "from hermes_build.runtime.store import FolderStore, StoreError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: FolderStore(sys.argv[1]).save('t', 'c', 'x\\n' * 100_000)\n"
        "except StoreError as error: print(type(error.__cause__).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "results")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "OSError\n"
    assert files(tmp_path / "results") == []


def test_threads_that_keep_results_at_once_lose_none(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "results", keep=1000)

    def work(name: str) -> None:
        for number in range(30):
            store.save("t", str(number % 10), f"{name} {number}")

    threads = [Thread(target=work, args=(str(name),)) for name in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    names = files(tmp_path / "results")
    texts = {(tmp_path / "results" / name).read_text() for name in names}
    assert texts == {f"{name} {number}" for name in range(4) for number in range(30)}
