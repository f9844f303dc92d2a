"""The handler of `todo`.

A list belongs to the session that a call names by ``session_id``; where it has no name, to the
session that the call was made in; without one, to the ``task_id``; and where there is nothing of
all that, all calls share one list.
"""

from __future__ import annotations

from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from generated.tools import todo
from handlers.planning.tasks import TaskLists, described
from hermes_build.runtime.result import tool_result

_lists = TaskLists()
_nameless: WeakKeyDictionary[object, str] = WeakKeyDictionary()
_numbers = count(1)


@todo.implements
def handler(
    args: todo.Args,
    *,
    session: object = None,
    session_id: str = "",
    task_id: str = "",
    **context: Any,
) -> str:
    key = _key(session, session_id, task_id)
    if "todos" in args:
        items: list[Any] = [dict(item) for item in args["todos"]]
        tasks = _lists.write(key, items, args["merge"])
    else:
        tasks = _lists.read(key)
    return tool_result(described(tasks))


def _key(session: object, session_id: str, task_id: str) -> str:
    if session_id:
        return f"session {session_id}"
    if session is not None:
        # The number of an object may come again once the object is gone; these never do.
        return _nameless.setdefault(session, f"nameless session {next(_numbers)}")
    return f"task {task_id}"
