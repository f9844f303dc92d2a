"""No answer of a tool that cuts its answers itself is cut again by the runtime."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generated.registry import registry
from handlers.agents import delegation
from handlers.files import pages, reading
from handlers.planning import remembering, tasks
from handlers.room import fitting, room_of
from handlers.shells import excerpts
from handlers.web import extract

# What takes one, two and six characters in JSON for each of its own.
KINDS = {"plain": "x", "quotes": '"', "unseen": "\x01"}


@given(text=st.text(), room=st.integers(0, 200))
def test_the_room_of_a_text_is_what_it_takes_in_json(text: str, room: int) -> None:
    assert room_of(text) == len(json.dumps(text, ensure_ascii=False)) - 2
    shown = fitting(text, room)
    assert room_of(text[:shown]) <= room
    assert shown == len(text) or room_of(text[: shown + 1]) > room


@pytest.fixture(params=KINDS, name="sign")
def fixture_sign(
    request: pytest.FixtureRequest, root: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setenv("HERMES_WORKSPACE", str(root))
    monkeypatch.setenv("HERMES_MEMORY", str(root / "memory.sqlite3"))
    sign = KINDS[request.param]
    (root / "long.txt").write_text(f"{sign * 390}\n" * 1_500)
    (root / "wide.txt").write_text(f"{sign * 1_990}\n" * 150)
    return sign


def fields_of(tool: str, args: dict[str, Any]) -> dict[str, Any]:
    """The object that a tool answers, which the runtime has left whole."""
    answer = asyncio.run(registry.session().acall(tool, args))
    assert len(answer) <= registry.get_max_result_size(tool)
    fields = json.loads(answer)
    assert isinstance(fields, dict)
    return fields


@pytest.mark.parametrize("tool", ["terminal", "execute_code"])
def test_output_is_cut_once(sign: str, tool: str) -> None:
    command = {"command": "cat long.txt"}
    code = {"code": "print(open('long.txt').read())"}
    fields = fields_of(tool, command if tool == "terminal" else code)
    assert f"[... {fields['omitted_bytes']:,} bytes of output left out ...]" in fields["output"]


@pytest.mark.parametrize("context", [0, 5])
def test_a_page_of_matches_ends_where_its_next_offset_says(sign: str, context: int) -> None:
    args = {"pattern": "^", "target": "content", "limit": 1_000, "context": context}
    fields = fields_of("search_files", args)
    shown = sum(":" in line[:6] for one in fields["results"] for line in one["lines"])
    assert 0 < fields["next_offset"] == shown < fields["total"]


def test_a_page_of_a_file_ends_where_it_says(sign: str) -> None:
    answer = registry.call("read_file", {"path": "wide.txt", "limit": 2_000})
    assert len(answer) <= registry.get_max_result_size("read_file")
    assert "only its beginning and its end" not in answer
    if sign != "\x01":  # which makes it binary data
        assert "offset" in answer[-300:]


def test_a_page_of_memories_ends_where_its_next_offset_says(sign: str) -> None:
    for number in range(50):
        fields_of("memory", {"action": "add", "content": f"{sign * 3_900} {number}"})
    found: list[int] = []
    offset: int | None = 0
    while offset is not None:
        page = fields_of("memory", {"action": "list", "limit": 50, "offset": offset})
        assert page["total"] == 50
        found += [entry["id"] for entry in page["entries"]]
        offset = page.get("next_offset")
    assert len(found) == len(set(found)) == 50


def test_a_list_of_tasks_is_whole_or_refused(sign: str) -> None:
    todos = [{"id": str(n), "content": f"{sign * 990}{n}"} for n in range(100)]
    fields = fields_of("todo", {"todos": todos})
    if sign == "x":
        assert len(fields["todos"]) == 100
    else:
        assert "at most 130,000" in fields["error"]
        assert fields_of("todo", {})["todos"] == []


def test_what_a_tool_gives_at_most_is_less_than_its_spec_allows() -> None:
    """After hermes-agent#86401: of two limits, the inner one must be the one that is met."""
    most = {
        "read_file": reading.PAGE_CHARS + reading.LINE_CHARS,
        "search_files": pages.PAGE_CHARS + 6 * pages.LINE_CHARS,
        "terminal": 2 * excerpts.MOST,
        "execute_code": 2 * excerpts.MOST,
        "process": 2 * excerpts.MOST,
        "memory": remembering.MOST_ROOM,
        "todo": tasks.MOST_ROOM,
        "delegate_task": delegation.MOST_ROOM,
        "web_extract": extract.MOST_ROOM,
    }
    for tool, room in most.items():
        rest = registry.get_max_result_size(tool) - room
        assert rest >= 5_000, tool  # for what stands around it
