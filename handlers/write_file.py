"""The handler of `write_file`."""

from __future__ import annotations

from typing import Any

from generated.tools import write_file
from handlers.files import writing
from handlers.files.workspace import Workspace
from hermes_build.runtime.result import tool_result


@write_file.implements
def handler(args: write_file.Args, **context: Any) -> str:
    workspace = Workspace.from_environment()
    return tool_result(
        writing.write_file(workspace, args["path"], args["content"], args["create_parents"])
    )
