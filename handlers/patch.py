"""The handler of `patch`: which way a file is changed shows in the arguments that are given."""

from __future__ import annotations

from typing import Any

from generated.tools import patch
from handlers.files import patching
from handlers.files.workspace import Workspace
from hermes_build.runtime.result import tool_result


@patch.implements
def handler(args: patch.Args, **context: Any) -> str:
    workspace = Workspace.from_environment()
    # The spec lets a call through with all three of these, or with `patch` alone.
    if "path" in args and "old_string" in args and "new_string" in args:
        return tool_result(
            patching.replace(
                workspace,
                args["path"],
                args["old_string"],
                args["new_string"],
                args.get("replace_all", False),
            )
        )
    return tool_result(patching.apply_patch(workspace, args.get("patch", "")))
