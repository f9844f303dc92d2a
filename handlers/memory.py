"""The handler of `memory`.

``HERMES_MEMORY`` names the file of the entries; without it, it is `.hermes/memory.sqlite3` in the
workspace.
"""

from __future__ import annotations

from typing import Any

from generated.tools import memory
from handlers.planning import remembering
from handlers.planning.store import has_full_text_search
from hermes_build.runtime.result import tool_result


@memory.implements(check_fn=has_full_text_search)
def handler(args: memory.Args, **context: Any) -> str:
    return tool_result(remembering.act(remembering.store_from(), args))
