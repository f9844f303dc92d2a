"""The handler of `execute_code`.

``HERMES_CODE_CALLS`` says how many tool calls a program may make (50). Which of the user's
variables reach it is as for `terminal`: see ``HERMES_TERMINAL_ENV``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from generated.tools import execute_code
from handlers.agents import programs
from handlers.agents.granting import session_of_call
from hermes_build.runtime.result import tool_result

if TYPE_CHECKING:
    from hermes_build.runtime.session import Session


@execute_code.implements
async def handler(
    args: execute_code.Args, *, session: Session | None = None, **context: Any
) -> str:
    granted = session_of_call(session)
    return tool_result(await programs.run(args["code"], args["timeout"], granted, context))
