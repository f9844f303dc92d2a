"""A file of entries that can be searched: SQLite with FTS5, safe for several processes at once.

Every change is one transaction, which another process waits for and a crash undoes. The rollback
journal is kept, not the write-ahead log: what there is then is one file, on network drives too, and
calls are far too short for readers to be in a writer's way. A file that is damaged, that a newer
version wrote, or that is another program's is refused and never touched.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from handlers.planning.finding import Entry, Page, find
from handlers.refusal import Refusal, refusing
from hermes_build.runtime.result import utf8

MOST_ENTRIES = 2000
MOST_CHARACTERS = 4000
"""How long one entry may be."""

APPLICATION = 0x48524D53
"""What SQLite's ``application_id`` says in a file of ours."""

VERSION = 1
"""The schema that this code reads and writes, as ``user_version``."""

WAIT_SECONDS = 15.0
"""How long a call waits for another process to finish its own."""

_SCHEMA = (
    # AUTOINCREMENT keeps the number of a removed entry from ever naming another one.
    """CREATE TABLE entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        target TEXT NOT NULL,
        content TEXT NOT NULL,
        created TEXT NOT NULL,
        updated TEXT NOT NULL
    )""",
    """CREATE VIRTUAL TABLE words USING fts5 (
        content, content='entries', content_rowid='id',
        tokenize='porter unicode61 remove_diacritics 2'
    )""",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


@dataclass(frozen=True, slots=True)
class Store:
    """The entries in the file at ``path``, which is made when the first entry is added.

    Every method raises a `Refusal` when the file cannot be used; it then is as it was.
    """

    path: str
    unversioned: bool = False
    """Whether a folder that is made for the file is kept out of version control."""

    def add(self, target: str, content: str) -> tuple[Entry, bool]:
        """Save an entry; the answer says whether it is new, since none is saved twice.

        Raises:
            Refusal: when the content is blank or too long, or the store is full.
        """
        content = _checked(content)
        with self._writing(create=True) as database:
            if same := _same(database, target, content):
                return same, False
            [count] = database.execute("SELECT count(*) FROM entries").fetchone()
            if count >= MOST_ENTRIES:
                raise Refusal(
                    f"The memory is full: it holds {count:,} entries. Remove or combine some first."
                )
            now = _now()
            [id] = database.execute(
                "INSERT INTO entries (target, content, created, updated) VALUES (?, ?, ?, ?) "
                "RETURNING id",
                (target, content, now, now),
            ).fetchone()
            _index(database, id, content)
            return Entry(id, target, content, now, now), True

    def replace(self, id: int, content: str) -> Entry:
        """Give an entry new content.

        Raises:
            Refusal: when there is no such entry, another one says the same, or the content is
                blank or too long.
        """
        content = _checked(content)
        with self._writing() as database:
            old = _entry(database, id)
            same = _same(database, old.target, content)
            if same and same.id != id:
                raise Refusal(
                    f"Entry {same.id} says exactly this already; remove entry {id} instead.",
                    id=same.id,
                )
            now = _now()
            database.execute(
                "UPDATE entries SET content = ?, updated = ? WHERE id = ?", (content, now, id)
            )
            _unindex(database, old)
            _index(database, id, content)
            return Entry(id, old.target, content, old.created, now)

    def remove(self, id: int) -> Entry:
        """Delete an entry, and return what it was.

        Raises:
            Refusal: when there is no such entry.
        """
        with self._writing() as database:
            old = _entry(database, id)
            database.execute("DELETE FROM entries WHERE id = ?", (id,))
            _unindex(database, old)
            return old

    def get(self, id: int) -> Entry:
        """One entry.

        Raises:
            Refusal: when there is no such entry.
        """
        with self._reading() as database:
            return _entry(database, id)

    def list(self, target: str | None, limit: int, offset: int) -> Page:
        """Entries of one target, or of all for None; the latest change first."""
        with self._reading() as database:
            [total] = database.execute(
                "SELECT count(*) FROM entries WHERE ?1 IS NULL OR target = ?1", (target,)
            ).fetchone()
            rows = database.execute(
                "SELECT id, target, content, created, updated FROM entries "
                "WHERE ?1 IS NULL OR target = ?1 ORDER BY updated DESC, id DESC LIMIT ?2 OFFSET ?3",
                (target, limit, offset),
            )
            return Page(tuple(Entry(*row) for row in rows), total)

    def search(self, query: str, target: str | None, limit: int, offset: int) -> Page:
        """Entries that hold a word of ``query``, the best fit first; ``content`` is a passage.

        Words fit by their beginning and in their English forms; the more of them an entry holds,
        and the rarer they are, the better it fits (BM25). Where no word is found, as in writing
        without spaces between words, entries that hold the query as it stands are given.
        """
        with self._reading() as database:
            return find(database, utf8(query), target, limit, offset)

    @contextmanager
    def _writing(self, create: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction that has the write lock from its beginning, so that it never deadlocks."""
        with self._opened("rwc" if create else "rw") as database:
            database.execute("BEGIN IMMEDIATE")
            with database:
                if not _known(database, self.path):
                    for statement in _SCHEMA:
                        database.execute(statement)
                yield database

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._opened("rw") as database:
            database.execute("BEGIN")
            if _known(database, self.path):
                yield database
            else:
                with _nothing() as empty:
                    yield empty

    @contextmanager
    def _opened(self, mode: str) -> Iterator[sqlite3.Connection]:
        shown = os.path.basename(self.path)
        if mode == "rwc":
            with refusing(shown):
                _make_folder(os.path.dirname(self.path), self.unversioned)
        elif not os.path.lexists(self.path):
            with _nothing() as empty:
                yield empty
            return
        try:
            # Reading, too, must be able to undo what a killed writer left half done.
            uri = f"file:{_quoted(self.path)}?mode={mode}"
            connection = sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS, isolation_level=None)
            with closing(connection) as database:
                # A file may come from anywhere, and its schema can hold triggers.
                database.execute("PRAGMA trusted_schema = OFF")
                yield database
        except sqlite3.Error as error:
            raise _refusal(error, shown) from error


def has_full_text_search() -> bool:
    """Whether this Python's SQLite was built with FTS5."""
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute("CREATE VIRTUAL TABLE probe USING fts5 (content)")
    except sqlite3.Error:
        return False
    return True


@contextmanager
def _nothing() -> Iterator[sqlite3.Connection]:
    """A store without entries, for a file that is not there yet."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        for statement in _SCHEMA:
            database.execute(statement)
        yield database


def _known(database: sqlite3.Connection, path: str) -> bool:
    """Whether a database is one of ours; false for an empty one, which may become one.

    Raises:
        Refusal: when it is another program's, or a newer version's.
    """
    shown = os.path.basename(path)
    [application] = database.execute("PRAGMA application_id").fetchone()
    [version] = database.execute("PRAGMA user_version").fetchone()
    [objects] = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not (application or version or objects):
        return False
    if application != APPLICATION:
        raise Refusal(
            f"{shown} is a database of another program, so nothing was done to it. HERMES_MEMORY "
            "must name a file of its own."
        )
    if version > VERSION:
        raise Refusal(
            f"{shown} was written by a newer version of this program (schema {version}; this one "
            f"knows {VERSION}), so nothing was done to it. Update the program, or give "
            "HERMES_MEMORY another file."
        )
    return True


def _entry(database: sqlite3.Connection, id: int) -> Entry:
    row = database.execute(
        "SELECT id, target, content, created, updated FROM entries WHERE id = ?", (id,)
    ).fetchone()
    if row is None:
        raise Refusal(f"There is no entry {id}; search or list gives the numbers.", id=id)
    return Entry(*row)


def _same(database: sqlite3.Connection, target: str, content: str) -> Entry | None:
    row = database.execute(
        "SELECT id, target, content, created, updated FROM entries "
        "WHERE target = ? AND content = ?",
        (target, content),
    ).fetchone()
    return Entry(*row) if row else None


def _index(database: sqlite3.Connection, id: int, content: str) -> None:
    database.execute("INSERT INTO words (rowid, content) VALUES (?, ?)", (id, content))


def _unindex(database: sqlite3.Connection, old: Entry) -> None:
    # The index holds no text of its own, and is told what it had been given.
    database.execute(
        "INSERT INTO words (words, rowid, content) VALUES ('delete', ?, ?)", (old.id, old.content)
    )


def _checked(content: str) -> str:
    content = utf8(content).strip()
    if not content:
        raise Refusal("The content is blank; give the fact to remember.")
    if "\0" in content:
        raise Refusal("The content cannot hold a NUL character.")
    if len(content) > MOST_CHARACTERS:
        raise Refusal(
            f"The content has {len(content):,} characters; an entry has at most "
            f"{MOST_CHARACTERS:,}. Shorten it, or make several entries of it."
        )
    return content


def _make_folder(folder: str, unversioned: bool) -> None:
    """Make the folder of a store, where it is missing, for its owner alone."""
    if os.path.isdir(folder):
        return
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if unversioned:
        with suppress(FileExistsError), open(os.path.join(folder, ".gitignore"), "x") as file:
            file.write("*\n")


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(os.fsencode(os.path.abspath(path)))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _refusal(error: sqlite3.Error, shown: str) -> Refusal:
    """What SQLite says, in words; the code without its finer distinctions decides."""
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Refusal(
            f"{shown} is damaged, or no SQLite database; it was left as it is. Whoever runs this "
            "program must put back a copy, or move the file away to begin anew."
        )
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Refusal(f"{shown} is in use by another process and did not become free; try again.")
    if kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return Refusal(f"{shown} may not be written to: permission is denied.")
    if kind == sqlite3.SQLITE_FULL:
        return Refusal(f"{shown} cannot grow: the disk is full.")
    if kind == sqlite3.SQLITE_CANTOPEN:
        return Refusal(f"{shown} cannot be opened: it is no file, or permission is denied.")
    return Refusal(f"{shown} cannot be used: {error}.")
