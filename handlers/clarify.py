"""The handler of `clarify`.

A host reaches the person in its own way: ``registry.call("clarify", {...}, ask=function)``, where
``function(question, choices)`` gives the answer as text and may be async. Without it, the question
is put on the terminal, where standard input and standard error are one.
"""

from __future__ import annotations

from typing import Any

from generated.tools import clarify
from handlers.planning import asking
from hermes_build.runtime.result import tool_result


@clarify.implements
async def handler(args: clarify.Args, *, ask: asking.Ask | None = None, **context: Any) -> str:
    return tool_result(await asking.clarify(args["question"], args.get("choices"), ask))
