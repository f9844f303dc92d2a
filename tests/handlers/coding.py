"""Programs that call tools, run in a session as a model would have them run."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from generated.registry import registry

PATIENCE = 120.0  # only what hangs ever takes so long


def run(code: str, granted: tuple[str, ...] = ("file", "code_execution"), **args: Any) -> Any:
    """The answer of a program in a session of these toolsets."""
    session = registry.session(granted, session_id="s1")
    called = session.acall("execute_code", {"code": code, **args}, tool_call_id="call_1")
    return json.loads(asyncio.run(asyncio.wait_for(called, PATIENCE)))


def output(code: str, **args: Any) -> str:
    """What a program prints that ends well."""
    answer = run(code, **args)
    assert answer.get("exit_code") == 0, answer
    text: str = answer["output"]
    return text
