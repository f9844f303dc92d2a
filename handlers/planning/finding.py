"""Entries by any words: free text, none of which FTS5 takes for an expression of its own."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from dataclasses import dataclass

_TERMS = 32
_SNIPPET_WORDS = 32
_SNIPPET_CHARACTERS = 240


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; ``created`` and ``updated`` are times in UTC, such as 2026-03-01T12:00:00Z."""

    id: int
    target: str
    content: str
    created: str
    updated: str


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the entries that were asked for, and how many there are in all."""

    entries: tuple[Entry, ...]
    total: int


def find(
    database: sqlite3.Connection, query: str, target: str | None, limit: int, offset: int
) -> Page:
    """The entries that fit ``query``, of one target or of all for None, the best fit first.

    Words are looked up in the index. Where none of them is found, as in writing without spaces
    between words, entries that hold the query as it stands are given. ``content`` is a passage.
    """
    query = query.replace("\0", " ").strip()
    page = _by_words(database, query, target, limit, offset)
    return page if page.total else _by_text(database, query, target, limit, offset)


def _by_words(
    database: sqlite3.Connection, query: str, target: str | None, limit: int, offset: int
) -> Page:
    expression = _expression(query)
    if not expression:
        return Page((), 0)
    [total] = database.execute(
        "SELECT count(*) FROM words JOIN entries ON entries.id = words.rowid "
        "WHERE words MATCH ?1 AND (?2 IS NULL OR target = ?2)",
        (expression, target),
    ).fetchone()
    rows = database.execute(
        "SELECT entries.id, target, snippet(words, 0, '**', '**', '…', ?5), created, updated "
        "FROM words JOIN entries ON entries.id = words.rowid "
        "WHERE words MATCH ?1 AND (?2 IS NULL OR target = ?2) "
        "ORDER BY bm25(words), entries.updated DESC, entries.id DESC LIMIT ?3 OFFSET ?4",
        (expression, target, limit, offset, _SNIPPET_WORDS),
    )
    return Page(tuple(Entry(*row) for row in rows), total)


def _expression(query: str) -> str:
    """Free text as an FTS5 expression: its words, each a quoted string, any of which may fit.

    A word is letters and digits alone, so that none can hold what FTS5 gives a meaning.
    """
    text = unicodedata.normalize("NFC", query).lower()
    words = dict.fromkeys(re.findall(r"[^\W_]+", text))
    # One or two letters begin too many words to say anything by it.
    terms = [f'"{word}"' + ("*" if len(word) > 2 else "") for word in list(words)[:_TERMS]]
    return " OR ".join(terms)


def _by_text(
    database: sqlite3.Connection, query: str, target: str | None, limit: int, offset: int
) -> Page:
    pattern = "%" + re.sub(r"([\\%_])", r"\\\1", query) + "%" if query else ""
    [total] = database.execute(
        "SELECT count(*) FROM entries WHERE content LIKE ?1 ESCAPE '\\' "
        "AND (?2 IS NULL OR target = ?2)",
        (pattern, target),
    ).fetchone()
    rows = database.execute(
        "SELECT id, target, content, created, updated FROM entries WHERE content LIKE ?1 "
        "ESCAPE '\\' AND (?2 IS NULL OR target = ?2) ORDER BY updated DESC, id DESC "
        "LIMIT ?3 OFFSET ?4",
        (pattern, target, limit, offset),
    )
    return Page(
        tuple(
            Entry(id, kind, _passage(content, query), created, updated)
            for id, kind, content, created, updated in rows
        ),
        total,
    )


def _passage(content: str, query: str) -> str:
    """The part of a content around where the query stands, marked as FTS5 marks words."""
    at = max(content.lower().find(query.lower()), 0)
    end = at + len(query)
    before = content[max(at - _SNIPPET_CHARACTERS // 2, 0) : at]
    after = content[end : end + _SNIPPET_CHARACTERS // 2]
    head = "…" if len(before) < at else ""
    tail = "…" if end + len(after) < len(content) else ""
    return f"{head}{before}**{content[at:end]}**{after}{tail}"
