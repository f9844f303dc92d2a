"""The handler of `terminal`.

``HERMES_TERMINAL_ENV`` names the variables, separated by commas, that commands get although they
look like credentials; ``*`` stands for all.
"""

from __future__ import annotations

from typing import Any

from generated.tools import terminal
from handlers.files.workspace import Workspace
from handlers.shells import foreground, surroundings
from handlers.shells.processes import PROCESSES, scope_of
from hermes_build.runtime.result import tool_result


@terminal.implements
def handler(args: terminal.Args, *, session_id: str = "", task_id: str = "", **context: Any) -> str:
    workspace = Workspace.from_environment()
    folder = surroundings.folder(workspace, args["workdir"])
    if not args["background"]:
        return tool_result(foreground.run(args["command"], folder, args["timeout"], args["pty"]))
    scope = scope_of(session_id, task_id)
    process = PROCESSES.start(scope, args["command"], folder, args["pty"])
    return tool_result(process_id=process.name, pid=process.running.pid, status="running")
