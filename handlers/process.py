"""The handler of `process`."""

from __future__ import annotations

from typing import Any

from generated.tools import process
from handlers.refusal import Refusal
from handlers.shells import actions
from handlers.shells.processes import PROCESSES, Process, scope_of
from hermes_build.runtime.result import tool_result


@process.implements
def handler(args: process.Args, *, session_id: str = "", task_id: str = "", **context: Any) -> str:
    scope = scope_of(session_id, task_id)
    if args["action"] == "list":
        return tool_result(processes=[actions.describe(one) for one in PROCESSES.of(scope)])
    if "process_id" not in args:
        raise Refusal(
            f"{args['action']} needs a process_id.",
            processes=[one.name for one in PROCESSES.of(scope)],
        )
    return tool_result(_act(PROCESSES.find(scope, args["process_id"]), args))


def _act(one: Process, args: process.Args) -> dict[str, Any]:
    match args["action"]:
        case "poll":
            return actions.poll(one)
        case "wait":
            return actions.wait(one, args["timeout"])
        case "log":
            return actions.log(one, args.get("offset"), args["limit"])
        case "kill":
            return actions.kill(one)
        case "close":
            return actions.close(one)
        case "write" if "data" not in args:
            raise Refusal("write needs data, the text to write.")
        case action:
            return actions.write(one, args.get("data", ""), submit=action == "submit")
