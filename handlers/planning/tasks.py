"""What `todo` does: one task list a session, in the memory of the program."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from handlers.refusal import Refusal
from handlers.room import room_of

STATUSES = ("pending", "in_progress", "completed", "cancelled")

MOST_TASKS = 100
"""How many tasks one list may hold."""

MOST_ROOM = 130_000
"""How many characters a list may have as it is shown; below the tool's `max_result_chars`."""

MOST_LISTS = 1000
"""How many lists are kept; past that, the one that was unused for longest is forgotten."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task; ``status`` is one of `STATUSES`."""

    id: str
    content: str
    status: str


class TaskLists:
    """The lists of all sessions, by a key; safe to use from several threads."""

    def __init__(self, most: int = MOST_LISTS) -> None:
        self._most = most
        self._lists: OrderedDict[str, tuple[Task, ...]] = OrderedDict()
        self._lock = Lock()

    def read(self, key: str) -> tuple[Task, ...]:
        """The tasks of one list, in their order; none for a list that nobody wrote."""
        with self._lock:
            if key in self._lists:
                self._lists.move_to_end(key)
            return self._lists.get(key, ())

    def write(self, key: str, items: Sequence[Mapping[str, str]], merge: bool) -> tuple[Task, ...]:
        """Replace a list, or merge tasks into it, and return what it is then.

        Args:
            key: which list.
            items: each with ``id``, and ``content`` and ``status`` as far as they are given.
            merge: whether tasks with a known id are changed and the others appended; without it,
                the items are the new list.

        Raises:
            Refusal: when the list would hold two tasks of one id, one without content, two in
                progress, or more than `MOST_TASKS` or `MOST_ROOM`; it is then as it was.
        """
        with self._lock:
            tasks = _merged(self._lists.get(key, ()) if merge else (), items)
            if tasks:
                self._lists[key] = tasks
                self._lists.move_to_end(key)
            else:
                self._lists.pop(key, None)
            while len(self._lists) > self._most:
                self._lists.popitem(last=False)
            return tasks


def described(tasks: Sequence[Task]) -> dict[str, Any]:
    """A list as the model reads it: ``todos``, and in ``summary`` how many have which status."""
    counts = Counter(task.status for task in tasks)
    return {
        "todos": [
            {"id": task.id, "content": task.content, "status": task.status} for task in tasks
        ],
        "summary": {"total": len(tasks), **{status: counts[status] for status in STATUSES}},
    }


def _merged(old: Sequence[Task], items: Sequence[Mapping[str, str]]) -> tuple[Task, ...]:
    tasks = {task.id: task for task in old}
    seen: set[str] = set()
    for item in items:
        id = item["id"].strip()
        content, status = item.get("content", "").strip(), item.get("status", "")
        if not id:
            raise Refusal("A task has a blank id; give each a short name of its own.")
        if id in seen:
            raise Refusal(f"Two of the tasks have the id {id!r}; give each one of its own.", id=id)
        seen.add(id)
        known = tasks.get(id)
        if known is not None:
            tasks[id] = replace(
                known, content=content or known.content, status=status or known.status
            )
        elif content:
            tasks[id] = Task(id, content, status or "pending")
        else:
            raise Refusal(f"The task {id!r} is new and needs content.", id=id)
    if len(tasks) > MOST_TASKS:
        raise Refusal(
            f"The list would hold {len(tasks)} tasks; at most {MOST_TASKS} are kept. Write it anew "
            "without those that are done."
        )
    room = sum(room_of(task.id) + room_of(task.content) for task in tasks.values())
    if room > MOST_ROOM:
        raise Refusal(
            f"The list would have {room:,} characters; at most {MOST_ROOM:,} are kept. Say the "
            "tasks in fewer words, or leave out those that are done. Nothing was changed."
        )
    current = [task.id for task in tasks.values() if task.status == "in_progress"]
    if len(current) > 1:
        raise Refusal(
            f"Only one task may be in progress, and these would be: {', '.join(current)}. Give all "
            "but one of them another status in the same call. Nothing was changed.",
            in_progress=current,
        )
    return tuple(tasks.values())
