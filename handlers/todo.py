"""The handler of `todo`.

A list belongs to the session that the program names by ``session_id``; where it names none, to its
``task_id``; and where there is neither, all calls share one list.
"""

from __future__ import annotations

from typing import Any

from generated.tools import todo
from handlers.files.refusal import Refusal
from handlers.planning.tasks import TaskLists, described
from hermes_build.runtime.result import tool_error, tool_result

_lists = TaskLists()


@todo.implements
def handler(args: todo.Args, *, session_id: str = "", task_id: str = "", **context: Any) -> str:
    key = f"session {session_id}" if session_id else f"task {task_id}"
    try:
        if "todos" in args:
            items: list[Any] = [dict(item) for item in args["todos"]]
            tasks = _lists.write(key, items, args["merge"])
        else:
            tasks = _lists.read(key)
        return tool_result(described(tasks))
    except Refusal as refusal:
        return tool_error(refusal, **refusal.details)
