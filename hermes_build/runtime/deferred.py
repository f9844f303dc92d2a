"""Tools that are found rather than listed: three tools stand for as many as there are.

A model searches them with ``tool_search``, reads one with ``tool_describe``, and calls it with
``tool_call``. The three belong to a session and see its granted tools alone. A ``tool_call`` is the
call of the tool that it names: hooks, spans and errors are that tool's.

Ranking is BM25, by the full-text search of SQLite.
"""

from __future__ import annotations

import os
import re
import sqlite3
from _thread import RLock
from contextvars import copy_context
from functools import partial
from json import dumps
from typing import TYPE_CHECKING, Any

from hermes_build.runtime.bridge import on_thread
from hermes_build.runtime.call import named
from hermes_build.runtime.errors import Refusal, describe
from hermes_build.runtime.grants import OWN_TOOLS
from hermes_build.runtime.result import tool_error, tool_result
from hermes_build.runtime.validation import Arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_build.runtime.session import Session

NAMES = SEARCH, DESCRIBE, CALL = OWN_TOOLS

_WORD = re.compile(r"\w+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST_WORDS = 50
_SUMMARY_CHARS = 200

_PARAMETERS: dict[str, dict[str, Any]] = {
    SEARCH: {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "What the tool should do, in a few words",
                "minLength": 1,
                "maxLength": 1000,
            },
            "limit": {
                "type": "integer",
                "description": "How many tools to return at most",
                "minimum": 1,
                "maximum": 20,
                "default": 5,
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
    DESCRIBE: {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The tool's name, as tool_search gives it"}
        },
        "required": ["name"],
        "additionalProperties": False,
    },
    CALL: {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The tool's name, as tool_search gives it"},
            "arguments": {
                "type": "object",
                "description": "Its arguments, as tool_describe says",
                "default": {},
            },
        },
        "required": ["name"],
        "additionalProperties": False,
    },
}
_DESCRIPTIONS = {
    SEARCH: (
        "Find tools that are not listed here, by what they do. There are {count} of them. Returns "
        "the names and summaries of the best matches; read one with tool_describe before you call "
        "it with tool_call."
    ),
    DESCRIBE: "Read the description and the parameters of a tool that tool_search found.",
    CALL: "Call a tool that tool_search found, with arguments that fit its parameters.",
}


class Deferred:
    """The three tools of one session, and the index that they search.

    Raises:
        ValueError: when a granted tool has the name of one of the three.
    """

    def __init__(self, session: Session) -> None:
        taken = sorted(set(NAMES).intersection(session.names))
        if taken:
            raise ValueError(
                f"A session with deferred tools has a {taken[0]!r} of its own: disable that tool."
            )
        self._session = session
        self._gates = {name: Arguments(name, schema) for name, schema in _PARAMETERS.items()}
        self._index: tuple[int, float, _Index] | None = None

    def definitions(self) -> Iterator[dict[str, Any]]:
        """The definitions of the three, in the order in which they are used."""
        count = len(self._session.deferred_names)
        for name, parameters in _PARAMETERS.items():
            description = _DESCRIPTIONS[name].format(count=count)
            function = {"name": name, "description": description, "parameters": parameters}
            yield {"type": "function", "function": function}

    def unwrap(self, name: str, args: Any) -> tuple[str, Any, str | None]:
        """What a call really calls.

        Returns:
            The tool's name, its arguments, and None; or the answer as the third, where the call is
            answered here.
        """
        name = named(name)
        gate = self._gates.get(name)
        if gate is None:
            return name, args, None
        try:
            accepted = gate.accept(args)
            if name == SEARCH:
                return name, args, self._search(accepted["query"], accepted["limit"])
            if name == DESCRIBE:
                return name, args, self._describe(accepted["name"])
            return accepted["name"], accepted["arguments"], None
        except Refusal as refusal:
            return name, args, tool_error(refusal.message, **refusal.fields)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # hostile arguments, or an SQLite without full-text search
            return name, args, tool_error(f"{name} failed: {describe(error)}")

    async def aunwrap(self, name: str, args: Any) -> tuple[str, Any, str | None]:
        """The same for a caller that is async: its loop goes on while tools are looked for."""
        if named(name) not in NAMES:
            return name, args, None
        done = await on_thread(partial(self.unwrap, name, args), copy_context())
        unwrapped: tuple[str, Any, str | None] = done.take()
        return unwrapped

    def _search(self, query: str, limit: int) -> str:
        words = list(dict.fromkeys(_words(query)))[:_MOST_WORDS]
        # Each word is quoted, so that none of them is an operator of the search language.
        wanted = " OR ".join(f'"{word}"' for word in words)
        found = []
        if wanted:
            rows = self._indexed().best(wanted, limit)
            found = [{"name": name, "description": summary} for name, summary in rows]
        total = len(self._session.deferred_names)
        if not found:
            return tool_result(tools=[], total=total, note="Nothing matches; try other words.")
        return tool_result(tools=found, total=total)

    def _describe(self, name: str) -> str:
        session = self._session
        record = session.registry.find(name)
        if record is None or not session.grants(record["name"]):
            from hermes_build.runtime.nearest import did_you_mean

            hint = did_you_mean(name, session.names)
            return tool_error(f"There is no tool {name!r} in this session.{hint}")
        schema = record["schema"]
        if record.get("dynamic"):
            from hermes_build.runtime.dynamic import effective_schema

            schema = effective_schema(session.registry, record)
        return dumps(schema, ensure_ascii=False)

    def _indexed(self) -> _Index:
        """The index of the deferred tools that are available, made again when they change."""
        registry = self._session.registry
        availability = registry.availability
        if self._index is not None:
            generation, expires, index = self._index
            if generation == registry.generation and availability.clock() < expires:
                return index
        generation = registry.generation
        expires = availability.clock() + availability.ttl
        rows = []
        looks = availability.listing()
        for name in self._session.deferred_names:
            record = registry.find(name)
            if record is None:
                continue
            if record.get("requires") and looks.missing(record, registry.check_of(record)):
                continue
            rows.append(_row(record))
        index = _Index(rows)
        self._index = (generation, expires, index)
        return index


_in_use = RLock()
"""Held by who is inside of SQLite. What it locks within is locked for ever in a process that is
forked meanwhile, so that a fork waits; nothing of others runs under this lock."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_in_use.acquire,
        after_in_parent=_in_use.release,
        after_in_child=_in_use.release,
    )


class _Index:
    """A full-text index of tools, by the rows that `_row` makes."""

    def __init__(self, rows: list[tuple[str, str, str, str, str]]) -> None:
        with _in_use:
            self._database = sqlite3.connect(":memory:", check_same_thread=False)
            self._database.execute(
                "CREATE VIRTUAL TABLE tools USING fts5(name, summary UNINDEXED, description, tags, "
                "parameters, tokenize = 'porter unicode61 remove_diacritics 2')"
            )
            self._database.executemany("INSERT INTO tools VALUES (?, ?, ?, ?, ?)", rows)

    def best(self, wanted: str, limit: int) -> list[tuple[str, str]]:
        """Name and summary of the tools that match best."""
        with _in_use:
            rows = self._database.execute(
                "SELECT name, summary FROM tools WHERE tools MATCH ? "
                "ORDER BY bm25(tools, 10.0, 0.0, 4.0, 2.0, 1.0), name LIMIT ?",
                (wanted, limit),
            )
            return rows.fetchall()

    def __del__(self) -> None:
        with _in_use:
            self._database.close()


def _row(record: dict[str, Any]) -> tuple[str, str, str, str, str]:
    schema = record["schema"]
    description = schema.get("description", "")
    summary = " ".join(description.split())
    if len(summary) > _SUMMARY_CHARS:
        summary = f"{summary[: _SUMMARY_CHARS - 1]}…"
    tags = [record.get("toolset") or "", record.get("title") or "", *record.get("tags", ())]
    properties = schema["parameters"].get("properties", {})
    texts = [
        f"{name} {part.get('description', '') if isinstance(part, dict) else ''}"
        for name, part in properties.items()
    ]
    # The name itself is returned; apart in words it is found by each of them.
    return (
        record["name"],
        summary,
        f"{' '.join(_words(record['name']))} {description}",
        " ".join(tags),
        " ".join(texts),
    )


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(_HUMP.sub(" ", text.replace("_", " ").replace("-", " "))):
        yield word.lower()
