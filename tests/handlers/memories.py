"""Looking into a memory's file from beside the tool."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from handlers.planning.store import Store


def check(path: str) -> None:
    """Hold a file to SQLite's own checks, and its index to its entries."""
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")


def ids(store: Store, query: str, target: str | None = None) -> list[int]:
    return [one.id for one in store.search(query, target, 50, 0).entries]
