"""What was saved is found again by any words, and only where it may be kept."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handlers.memory import handler
from handlers.planning import store as storing
from handlers.planning.store import Store
from handlers.refusal import Refusal
from tests.handlers.calling import answered
from tests.handlers.calling import call as call_tool
from tests.handlers.memories import check, ids


@pytest.fixture
def call(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HERMES_WORKSPACE", str(root))
    monkeypatch.delenv("HERMES_MEMORY", raising=False)

    def act(action: str, **args: Any) -> dict[str, Any]:
        whole: Any = {"action": action, "limit": 10, "offset": 0, **args}
        answer: dict[str, Any] = json.loads(answered(lambda: handler(whole)))
        return answer

    return act


def test_an_entry_lives_through_all_actions(call: Any, root: Path) -> None:
    added = call("add", content=" Deploys run on Fridays. ", target="memory")
    assert added["action"] == "added" and added["content"] == "Deploys run on Fridays."
    id = added["id"]
    [found] = call("search", query="deploy day")["entries"]
    assert (found["id"], found["snippet"]) == (id, "**Deploys** run on Fridays.")
    replaced = call("replace", id=id, content="Deploys run on Mondays.")
    assert replaced["created"] == added["created"] <= replaced["updated"]
    assert call("search", query="fridays") == {"entries": [], "total": 0}
    assert call("list")["entries"] == [
        {key: replaced[key] for key in ("id", "target", "content", "created", "updated")}
    ]
    assert call("list", id=id)["entries"][0]["content"] == "Deploys run on Mondays."
    assert call("remove", id=id)["content"] == "Deploys run on Mondays."
    assert call("list") == {"entries": [], "total": 0}
    check(str(root / ".hermes" / "memory.sqlite3"))


def test_the_tool_works_from_the_command_line(root: Path) -> None:
    environ = {"HERMES_WORKSPACE": str(root), "HERMES_MEMORY": ""}
    call_tool("memory", '{"action": "add", "content": "The key is under the mat."}', environ)
    answer = call_tool("memory", '{"action": "search", "query": "keys?"}', environ)
    assert json.loads(answer)["entries"][0]["snippet"] == "The **key** is under the mat."


def test_the_folder_is_private_and_out_of_version_control(call: Any, root: Path) -> None:
    assert call("search", query="x") == {"entries": [], "total": 0} == call("list")
    assert "no entry 3" in call("remove", id=3)["error"]
    assert os.listdir(root) == []  # only what is saved needs a file
    call("add", content="a")
    assert stat.S_IMODE((root / ".hermes").stat().st_mode) == 0o700
    assert (root / ".hermes" / ".gitignore").read_text() == "*\n"


def test_the_file_is_a_setting(
    call: Any, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new folder" / "100%?#.sqlite3"
    monkeypatch.setenv("HERMES_MEMORY", str(path))
    call("add", content="a")
    assert path.is_file() and os.listdir(root) == []
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    ("args", "missing"),
    [
        ({"action": "add"}, ["content"]),
        ({"action": "search"}, ["query"]),
        ({"action": "replace", "content": "x"}, ["id"]),
        ({"action": "replace"}, ["id", "content"]),
        ({"action": "remove"}, ["id"]),
    ],
)
def test_what_an_action_needs_and_lacks_is_named(
    call: Any, args: dict[str, Any], missing: list[str]
) -> None:
    answer = call(**args)
    assert answer["missing"] == missing
    assert f"needs {' and '.join(missing)}" in answer["error"]


def test_more_and_rarer_words_make_a_better_fit(store: Store) -> None:
    store.add("memory", "The billing service is written in Go and has a queue.")
    store.add("memory", "The database of the billing service is PostgreSQL 16.")
    store.add("memory", "The search service has no database.")
    store.add("memory", "Lunch is at noon.")
    found = ids(store, "Which database does the billing service use?")
    assert found[0] == 2 and 4 not in found


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("She prefers tabs.", "preference: PREFER"),
        ("Uses editors other than vi", "edit"),
        ("Das Büro ist in Zürich", "zurich"),
        ("Das Büro ist in Zu\u0308rich", "Zürich"),
        ("Call get_user_name() first", "get_user_name"),
        ("Call get_user_name() first", "user"),
        ("The token is in C++ code", "C++"),
        ("用户喜欢简短的回答", "喜欢"),
        ("Path is /srv/app-2", "/srv/app-2"),
        ("costs 100%_ more", "%_"),
        ("say !!!", "!!!"),
        ("Привет, мир", "привет"),
    ],
)
def test_an_entry_is_found_by(store: Store, content: str, query: str) -> None:
    store.add("memory", "something else entirely, with nothing in common")
    store.add("memory", content)
    assert ids(store, query) == [2]


@pytest.mark.parametrize(
    "query",
    [
        '"', "'", "a AND", "NOT", "OR OR", "NEAR(", "a NEAR/2 b", "content:x", "{a b}:c", "-x",
        "^a", "a*", "*", "(", ")", "a + b", "'; DROP TABLE entries; --", "\0", "a\0b", "\ud800",
        "%", "_", "\\", "½ ² ㊀", "x" * 1000, "a " * 500, "   ", "🙂", "\u0301",
    ],
)  # fmt: skip
def test_no_query_is_an_error_and_none_is_run_as_sql(store: Store, query: str) -> None:
    store.add("memory", "kept")
    store.search(query, None, 10, 0)
    assert store.list(None, 10, 0).total == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_can_be_saved_or_refused_and_searched(
    store: Store, content: str, query: str
) -> None:
    try:
        entry, _ = store.add("memory", content)
    except Refusal as refusal:
        assert "blank" in str(refusal) or "NUL" in str(refusal)
    else:
        assert store.get(entry.id).content == entry.content
        assert entry.id in ids(store, entry.content)
        store.remove(entry.id)
    store.search(query, None, 10, 0)


def test_a_target_narrows_search_and_list(store: Store) -> None:
    store.add("memory", "tea is in the kitchen")
    store.add("user", "likes tea")
    assert ids(store, "tea", "user") == [2]
    assert ids(store, "tea", "memory") == [1]
    assert sorted(ids(store, "tea")) == [1, 2]
    assert [one.id for one in store.list("user", 10, 0).entries] == [2]


def test_pages_lead_on_to_the_end(call: Any) -> None:
    for number in range(7):
        call("add", content=f"note number {number}")
    for action, more in (("list", {}), ("search", {"query": "note"}), ("search", {"query": "e n"})):
        seen, offset = [], 0
        while offset is not None:
            page = call(action, limit=3, offset=offset, **more)
            assert page["total"] == 7
            seen += [one["id"] for one in page["entries"]]
            offset = page.get("next_offset")
        assert sorted(seen) == list(range(1, 8)), action
    assert call("list", offset=100) == {"entries": [], "total": 7}


def test_a_long_entry_is_shown_by_the_passage_that_fits(store: Store) -> None:
    store.add("memory", "word " * 300 + "needle " + "word " * 300)
    [found] = store.search("needles", None, 10, 0).entries
    assert "**needle**" in found.content and len(found.content) < 400
    store.add("memory", "说" * 300 + "针" + "话" * 300)
    [found] = store.search("针", None, 10, 0).entries
    assert found.content == "…" + "说" * 120 + "**针**" + "话" * 120 + "…"


def test_the_same_entry_is_not_saved_twice(call: Any) -> None:
    first = call("add", content="a fact")
    assert call("add", content=" a fact ")["action"] == "known already"
    other = call("add", content="another")
    refused = call("replace", id=other["id"], content="a fact")
    assert f"Entry {first['id']} says exactly this" in refused["error"]
    assert call("replace", id=first["id"], content="a fact")["id"] == first["id"]
    assert call("add", content="a fact", target="user")["action"] == "added"


def test_a_number_is_never_given_to_another_entry(store: Store) -> None:
    for content in "abc":
        store.add("memory", content)
    store.remove(3)
    entry, _ = store.add("memory", "d")
    assert entry.id == 4
    with pytest.raises(Refusal, match="no entry 3"):
        store.get(3)


def test_entries_and_their_number_have_bounds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, _ = store.add("memory", "x" * storing.MOST_CHARACTERS)
    assert len(store.get(entry.id).content) == storing.MOST_CHARACTERS
    for content, message in [
        ("x" * (storing.MOST_CHARACTERS + 1), "4,001 characters"),
        (" \n", "blank"),
        ("a\0b", "NUL"),
    ]:
        with pytest.raises(Refusal, match=message):
            store.add("memory", content)
        with pytest.raises(Refusal, match=message):
            store.replace(entry.id, content)
    monkeypatch.setattr(storing, "MOST_ENTRIES", 2)
    store.add("memory", "second")
    with pytest.raises(Refusal, match="is full: it holds 2 entries"):
        store.add("memory", "third")
    assert store.add("memory", "second") == (store.get(2), False)


def test_a_link_that_leads_the_file_out_of_the_workspace_is_refused(
    call: Any, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / ".hermes").symlink_to(tmp_path / "elsewhere")
    assert "leads out of the workspace" in call("add", content="a")["error"]
    assert os.listdir(tmp_path / "elsewhere") == []
