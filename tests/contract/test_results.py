"""Point 38 of the contract: results that are longer than a model gets."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.registry import ToolRegistry
from hermes_build.runtime.store import FolderStore, Stored, StoreError
from tests.contract.programs import Make, Recorder, one_tool

LIMIT = 1_000


def text_of(length: int) -> str:
    """Text of so many characters, whose beginning, middle and end can be told apart."""
    lines = "".join(f"line {number}\n" for number in range(length))
    return f"BEGINNING\n{lines}"[: length - 4] + "\nEND"


def sized(make: Make, length: int, **fields: Any) -> ToolRegistry:
    return make(lambda args: text_of(length), **{"max_result_chars": LIMIT, **fields})


@pytest.mark.parametrize("length", [LIMIT - 1, LIMIT])
def test_38_up_to_the_limit_a_result_is_unchanged_the_limit_included(
    make: Make, tmp_path: Path, length: int
) -> None:
    registry = sized(make, length)
    registry.store = FolderStore(tmp_path / "kept")
    assert registry.call("t", {}) == text_of(length)
    assert not (tmp_path / "kept").exists()


def test_38_one_character_more_is_stored_whole_and_replaced_by_a_preview(
    make: Make, tmp_path: Path
) -> None:
    registry = sized(make, LIMIT + 1)
    registry.store = FolderStore(tmp_path / "kept", reader="read_it")
    shown = registry.call("t", {}, tool_call_id="c1")
    assert len(shown) <= LIMIT
    (kept,) = (tmp_path / "kept").iterdir()
    assert kept.read_text(encoding="utf-8") == text_of(LIMIT + 1)
    assert "BEGINNING" in shown and "END" in shown
    assert f"{LIMIT + 1:,} characters" in shown
    assert str(kept) in shown and "read_it" in shown


def test_38_a_preview_says_how_much_it_leaves_out(make: Make) -> None:
    shown = sized(make, 50_000).call("t", {})
    head, tail = shown.index("BEGINNING"), shown.rindex("END")
    assert head < tail and len(shown) <= LIMIT
    assert "50,000 characters" in shown


@pytest.mark.parametrize("way", ["call", "acall", "session", "hooked"])
def test_38_every_way_of_calling_is_held_to_it(make: Make, tmp_path: Path, way: str) -> None:
    registry = sized(make, 5 * LIMIT)
    registry.store = FolderStore(tmp_path / "kept")
    recorder = Recorder(registry) if way == "hooked" else None
    if way == "acall":
        shown = asyncio.run(registry.acall("t", {}, tool_call_id="c1"))
    else:
        caller: Any = registry.session() if way == "session" else registry
        shown = caller.call("t", {}, tool_call_id="c1")
    assert len(shown) <= LIMIT and len(list((tmp_path / "kept").iterdir())) == 1
    if recorder is not None:
        assert recorder.last("post_tool_call")["result"] == shown


@pytest.mark.parametrize("identity", [7, None, "", "ö" * 500])
def test_38_any_id_of_a_call_will_do(make: Make, tmp_path: Path, identity: Any) -> None:
    registry = sized(make, 5 * LIMIT)
    registry.store = FolderStore(tmp_path / "kept")
    for _ in range(2):  # the first call goes the whole way, the second the short one
        assert "not kept" not in registry.call("t", {}, tool_call_id=identity)
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_38_the_registrys_limit_is_for_tools_without_one_of_their_own(make: Make) -> None:
    registry = make(lambda args: text_of(600))
    assert registry.default_max_result_chars == 100_000
    registry.default_max_result_chars = 500
    assert len(registry.call("t", {})) <= 500


def test_38_an_envelope_has_no_length(make: Make) -> None:
    envelope = {"_multimodal": True, "content": [{"type": "text", "text": "x" * 5_000}]}
    assert make(lambda args: envelope, max_result_chars=LIMIT).call("t", {}) is envelope


class Failing:
    """A store that keeps nothing."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def save(self, tool: str, call_id: str, text: str) -> Stored:
        raise self.error("disk full")


@pytest.mark.parametrize("store", [None, StoreError, OSError, RuntimeError])
def test_38_without_a_store_or_with_one_that_fails_there_is_a_preview_and_no_exception(
    make: Make, store: Any
) -> None:
    registry = sized(make, 5 * LIMIT)
    registry.store = store and Failing(store)
    shown = registry.call("t", {})
    assert "BEGINNING" in shown and "END" in shown and len(shown) <= LIMIT
    assert "not kept" in shown


def test_38_a_folder_that_cannot_be_made_is_a_store_that_fails(make: Make, tmp_path: Path) -> None:
    (tmp_path / "in_the_way").write_text("a file")
    registry = sized(make, 5 * LIMIT)
    registry.store = FolderStore(tmp_path / "in_the_way")
    shown = registry.call("t", {})
    assert "BEGINNING" in shown and "not kept" in shown
    assert (tmp_path / "in_the_way").read_text() == "a file"


HOSTILE = (
    *("../../escaped", "/etc/escaped", "..", ".", "a/b", "a\\b", "nul\0byte", "", "c:x"),
    *("x" * 5_000, "\ud800", "~root", "-rf", "line\nbreak"),
)


@pytest.mark.parametrize("name", HOSTILE, ids=[str(number) for number in range(len(HOSTILE))])
def test_38_a_file_of_results_cannot_leave_its_folder(tmp_path: Path, name: str) -> None:
    registry = one_tool(tmp_path / "program", lambda args: text_of(5_000), max_result_chars=LIMIT)
    folder = tmp_path / "outer" / "kept"
    registry.store = FolderStore(folder)
    registry.call("t", {}, tool_call_id=name)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    stored = registry.store.save(name, name, "text")
    (new,) = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert new.parent == folder and Path(stored.place) == new
    assert len(list(folder.iterdir())) == 2
    assert all(len(path.name) < 200 and path.name.isascii() for path in folder.iterdir())


def test_38_a_folder_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "kept").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        FolderStore(tmp_path / "kept").save("t", "c", "text")
    assert not list((tmp_path / "elsewhere").iterdir())
