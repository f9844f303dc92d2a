"""A file of entries loses nothing by a crash, a rival or a foreign hand."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from handlers.planning import store as storing
from handlers.planning.store import APPLICATION, VERSION, Store
from handlers.refusal import Refusal
from tests.handlers.calling import HERE
from tests.handlers.memories import check, ids


def damaged(path: Path) -> None:
    Store(str(path)).add("memory", "a")
    data = bytearray(path.read_bytes())
    data[100:4000] = b"\xff" * 3900
    path.write_bytes(data)


def newer(path: Path) -> None:
    Store(str(path)).add("memory", "a")
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA user_version = {VERSION + 1}")


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE entries (id, content)")


def misnamed(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE other (x)")
        database.execute(f"PRAGMA application_id = {APPLICATION}")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (damaged, "is damaged, or no SQLite database; it was left as it is"),
        (lambda path: path.write_text("Dear diary, " * 500), "is damaged, or no SQLite database"),
        (newer, r"newer version of this program \(schema 2; this one knows 1\)"),
        (foreign, "is a database of another program"),
        (misnamed, "cannot be used: no such table"),
        (lambda path: path.mkdir(), "cannot be opened: it is no file"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_left_as_it_is(
    tmp_path: Path, prepare: Any, message: str
) -> None:
    path = tmp_path / "memory.sqlite3"
    prepare(path)
    before = path.read_bytes() if path.is_file() else None
    store = Store(str(path))
    for act in (
        lambda: store.add("memory", "x"),
        lambda: store.search("x", None, 10, 0),
        lambda: store.list(None, 10, 0),
        lambda: store.get(1),
        lambda: store.replace(1, "x"),
        lambda: store.remove(1),
    ):
        with pytest.raises(Refusal, match=message) as caught:
            act()
        assert str(tmp_path) not in str(caught.value)
    assert before == (path.read_bytes() if path.is_file() else None)
    assert os.listdir(tmp_path) == [path.name]


def test_an_empty_file_becomes_a_memory(store: Store) -> None:
    Path(store.path).touch()
    assert store.list(None, 10, 0).total == 0 and Path(store.path).stat().st_size == 0
    store.add("memory", "a")
    assert store.list(None, 10, 0).total == 1


def test_a_folder_that_cannot_be_made_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refusal, match=r"memory\.sqlite3: "):
        Store(str(tmp_path / "file" / "memory.sqlite3")).add("memory", "a")


def test_a_file_that_somebody_else_holds_is_waited_for_and_then_reported(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add("memory", "a")
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(storing, "WAIT_SECONDS", 0.05)
        with pytest.raises(Refusal, match="in use by another process"):
            store.add("memory", "b")
        assert store.list(None, 10, 0).total == 1  # reading goes on
        monkeypatch.setattr(storing, "WAIT_SECONDS", 60.0)
        thread = threading.Thread(target=store.add, args=("memory", "b"))
        thread.start()
        other.execute("COMMIT")
        thread.join()
    assert store.list(None, 10, 0).total == 2


WRITER = """
import sys
from handlers.planning import store as storing

storing.WAIT_SECONDS = 120.0
store, name, count = storing.Store(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
for number in range(count):
    entry, _ = store.add("memory", f"{name} entry {number}")
    if number % 3 == 1:
        store.replace(entry.id, f"{name} changed {number}")
    elif number % 3 == 2:
        store.remove(entry.id)
    else:
        store.search("entry", None, 5, 0)
    print(number, flush=True)
"""


@contextmanager
def writer(store: Store, name: str, count: int) -> Iterator[subprocess.Popen[str]]:
    """A process that writes as soon as it is given a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, store.path, name, str(count)], cwd=HERE, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_processes_that_write_at_once_lose_nothing(store: Store) -> None:
    with (
        writer(store, "a", 30) as one,
        writer(store, "b", 30) as two,
        writer(store, "c", 30) as tre,
    ):
        processes = (one, two, tre)
        for process in processes:
            assert process.stdin
            process.stdin.write("\n")
            process.stdin.flush()
        errors = [process.communicate(timeout=120)[1] for process in processes]
        assert errors == ["", "", ""]
    page = store.list(None, 100, 0)
    assert page.total == 60  # of three entries, one is left, one is changed and one is removed
    assert len(ids(store, "changed")) == 30 and len(ids(store, "entry")) == 30
    assert len({entry.content for entry in page.entries}) == 60
    check(store.path)


def test_a_writer_that_is_killed_at_any_moment_loses_nothing_it_has_said(store: Store) -> None:
    for round in range(4):
        name = f"round{round}"
        with writer(store, name, 100_000) as process:
            assert process.stdin and process.stdout
            process.stdin.write("\n")
            process.stdin.flush()
            said = [process.stdout.readline() for _ in range(7 + round)]
            process.send_signal(signal.SIGKILL)
            said += process.stdout.readlines()
        whole = [line for line in said if line.endswith("\n")]
        kept = [number for number in range(len(whole)) if number % 3 != 2]
        expected = {f"{name} {'changed' if n % 3 else 'entry'} {n}" for n in kept}
        found = {one.content for one in store.list(None, 100_000, 0).entries}
        assert expected <= found
        # What was under way when it was killed is there whole or not at all.
        assert len({one for one in found if one.startswith(f"{name} ")} - expected) <= 1
        store.add("memory", f"after {name}")
        check(store.path)


def test_a_transaction_that_was_cut_off_is_undone_by_the_next_reader(
    store: Store, tmp_path: Path
) -> None:
    store.add("memory", "before")
    crashed = tmp_path / "crashed.sqlite3"
    with closing(sqlite3.connect(store.path, isolation_level=None)) as database:
        # A small cache makes SQLite write into the file before the transaction ends.
        database.execute("PRAGMA cache_size = 1")
        database.execute("BEGIN IMMEDIATE")
        row = ("memory", "x" * 4000, "", "")
        for _ in range(200):
            database.execute(
                "INSERT INTO entries (target, content, created, updated) VALUES (?, ?, ?, ?)", row
            )
        # What a power cut leaves: the file half written, and its journal beside it.
        shutil.copy(store.path, crashed)
        shutil.copy(f"{store.path}-journal", f"{crashed}-journal")
        database.execute("ROLLBACK")
    assert crashed.stat().st_size > Path(store.path).stat().st_size
    page = Store(str(crashed)).list(None, 10, 0)
    assert [one.content for one in page.entries] == ["before"]
    check(str(crashed))


def test_what_a_schema_brings_along_cannot_reach_beyond_plain_tables(store: Store) -> None:
    store.add("memory", "a")
    with closing(sqlite3.connect(store.path)) as database, database:
        database.execute(
            "CREATE TRIGGER spy AFTER INSERT ON entries BEGIN "
            "INSERT INTO words (rowid, content) VALUES (7, 'planted'); END"
        )
    with pytest.raises(Refusal, match="unsafe use of virtual table"):
        store.add("memory", "b")
    assert store.list(None, 10, 0).total == 1
