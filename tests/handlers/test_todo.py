"""A task list is one session's own, whole in every answer, and never half written."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generated.registry import registry
from handlers.planning.tasks import MOST_TASKS, STATUSES, Task, TaskLists, described
from handlers.refusal import Refusal
from handlers.todo import handler
from tests.handlers.calling import call


def task(id: str, content: str = "work", status: str = "pending") -> dict[str, str]:
    return {"id": id, "content": content, "status": status}


@pytest.fixture
def lists() -> TaskLists:
    return TaskLists()


def test_a_list_is_written_and_read_whole_with_counts() -> None:
    todos = [task("a", "read", "completed"), task("b", "fix", "in_progress"), task("c", "test")]
    written = handler({"todos": todos, "merge": False}, session_id="whole")
    assert json.loads(written) == {
        "todos": todos,
        "summary": {
            "total": 3,
            "pending": 1,
            "in_progress": 1,
            "completed": 1,
            "cancelled": 0,
        },
    }
    assert handler({"merge": False}, session_id="whole") == written


def test_the_tool_works_from_the_command_line() -> None:
    assert json.loads(call("todo", "{}", {}))["todos"] == []
    answer = json.loads(call("todo", '{"todos": [{"id": "1", "content": "read"}]}', {}))
    assert answer["todos"] == [task("1", "read")]


def test_writing_without_merge_replaces_the_list_and_an_empty_one_clears_it(
    lists: TaskLists,
) -> None:
    lists.write("s", [task("a"), task("b")], merge=False)
    assert [one.id for one in lists.write("s", [task("c")], merge=False)] == ["c"]
    assert lists.write("s", [], merge=False) == () == lists.read("s")


def test_merging_changes_what_is_given_keeps_the_order_and_adds_at_the_end(
    lists: TaskLists,
) -> None:
    lists.write("s", [task("a", "read"), task("b", "fix", "in_progress")], merge=False)
    changes = [{"id": "b", "status": "completed"}, {"id": "a", "content": "skim"}]
    merged = lists.write("s", [task("c", "test"), *changes], merge=True)
    assert merged == (
        Task("a", "skim", "pending"),
        Task("b", "fix", "completed"),
        Task("c", "test", "pending"),
    )
    assert lists.write("s", [], merge=True) == merged


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([task("a"), task("a", "other")], "Two of the tasks have the id 'a'"),
        ([task("x"), {"id": "new", "status": "pending"}], "'new' is new and needs content"),
        ([{"id": "new", "content": "  "}], "needs content"),
        ([task(" ")], "blank id"),
        (
            [task("x", status="in_progress"), task("y", status="in_progress")],
            "these would be: x, y",
        ),
        ([task(str(n)) for n in range(MOST_TASKS + 1)], "at most 100 are kept"),
    ],
)
@pytest.mark.parametrize("merge", [False, True])
def test_a_write_that_is_refused_changes_nothing(
    lists: TaskLists, items: list[dict[str, str]], message: str, merge: bool
) -> None:
    before = lists.write("s", [task("old")], merge=False)
    with pytest.raises(Refusal, match=message):
        lists.write("s", items, merge=merge)
    assert lists.read("s") == before


def test_starting_a_task_while_another_is_in_progress_says_which(lists: TaskLists) -> None:
    lists.write("s", [task("a", status="in_progress"), task("b")], merge=False)
    with pytest.raises(Refusal) as caught:
        lists.write("s", [{"id": "b", "status": "in_progress"}], merge=True)
    assert caught.value.fields == {"in_progress": ["a", "b"]}
    both = [{"id": "b", "status": "in_progress"}, {"id": "a", "status": "completed"}]
    assert [one.status for one in lists.write("s", both, merge=True)] == [
        "completed",
        "in_progress",
    ]


def test_a_refusal_reaches_the_model_as_an_error_with_details() -> None:
    answer = registry.call("todo", {"todos": [task("a"), task("a")]}, session_id="refused")
    fields = json.loads(answer)
    assert "Two of the tasks" in fields["error"] and fields["id"] == "a"


def test_sessions_do_not_see_each_other_and_a_session_outlives_its_tasks() -> None:
    def read(**context: Any) -> list[str]:
        answer = json.loads(handler({"merge": False}, **context))
        return [one["id"] for one in answer["todos"]]

    handler({"todos": [task("1")], "merge": False}, session_id="one", task_id="t")
    handler({"todos": [task("2")], "merge": False}, session_id="two", task_id="t")
    handler({"todos": [task("3")], "merge": False}, task_id="one")
    assert read(session_id="one", task_id="other") == ["1"]
    assert read(session_id="two") == ["2"]
    assert read(task_id="one") == ["3"]
    assert read(session_id="nobody") == []


def test_sessions_without_a_name_have_lists_of_their_own() -> None:
    class Session:
        pass

    one, two = Session(), Session()
    handler({"todos": [task("1")], "merge": False}, session=one, task_id="t")
    assert json.loads(handler({"merge": False}, session=one, task_id="u"))["summary"]["total"] == 1
    assert json.loads(handler({"merge": False}, session=two))["summary"]["total"] == 0
    assert json.loads(handler({"merge": False}, task_id="t"))["summary"]["total"] == 0


def test_the_session_of_a_call_chooses_the_list() -> None:
    todos = {"todos": [{"id": "1", "content": "read"}]}
    registry.call("todo", todos, session_id="called")
    assert json.loads(registry.call("todo", {}, session_id="called"))["summary"]["total"] == 1
    assert json.loads(registry.call("todo", {}, session_id="other"))["summary"]["total"] == 0


def test_the_list_that_was_unused_for_longest_is_forgotten_first() -> None:
    lists = TaskLists(most=2)
    lists.write("a", [task("1")], merge=False)
    lists.write("b", [task("2")], merge=False)
    lists.read("a")
    lists.write("c", [task("3")], merge=False)
    assert [bool(lists.read(key)) for key in "abc"] == [True, False, True]


def test_threads_that_merge_at_once_lose_nothing(lists: TaskLists) -> None:
    def work(name: str) -> None:
        for number in range(20):
            lists.write("s", [task(f"{name}{number}")], merge=True)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(lists.read("s")) == 80


ITEMS = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from("abcdef")},
        optional={"content": st.text(min_size=1, max_size=5), "status": st.sampled_from(STATUSES)},
    ),
    max_size=6,
)


@given(st.lists(st.tuples(ITEMS, st.booleans()), max_size=8))
def test_any_row_of_writes_leaves_a_list_that_keeps_the_rules(
    writes: list[tuple[list[dict[str, str]], bool]],
) -> None:
    lists = TaskLists()
    for items, merge in writes:
        before = lists.read("s")
        try:
            lists.write("s", items, merge)
        except Refusal:
            assert lists.read("s") == before
        tasks = lists.read("s")
        assert len({one.id for one in tasks}) == len(tasks)
        assert all(one.content.strip() and one.status in STATUSES for one in tasks)
        summary = described(tasks)["summary"]
        assert summary["in_progress"] <= 1
        assert summary["total"] == len(tasks) == sum(summary[status] for status in STATUSES)
