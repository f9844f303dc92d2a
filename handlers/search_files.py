"""The handler of `search_files`."""

from __future__ import annotations

from typing import Any

from generated.tools import search_files
from handlers.files import searching
from handlers.files.backends import ripgrep
from handlers.files.workspace import Workspace
from hermes_build.runtime.result import tool_result


@search_files.implements
def handler(args: search_files.Args, **context: Any) -> str:
    workspace = Workspace.from_environment()
    query = searching.Query(**args)
    return tool_result(searching.search_files(workspace, query, ripgrep(workspace)))
