"""The handler of `read_file`."""

from __future__ import annotations

from typing import Any

from generated.tools import read_file
from handlers.files import reading
from handlers.files.workspace import Workspace


@read_file.implements
def handler(args: read_file.Args, **context: Any) -> str:
    workspace = Workspace.from_environment()
    return reading.read_file(workspace, args["path"], args["offset"], args["limit"])
