"""The ways of calling the tool ``t`` of a program, which all have to answer alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hermes_build.runtime import ToolRegistry

Ask = Callable[[ToolRegistry, dict[str, Any]], Any]

WAYS: dict[str, Ask] = {
    "call": lambda registry, args: registry.call("t", args),
    "acall": lambda registry, args: asyncio.run(registry.acall("t", args)),
    "session": lambda registry, args: registry.session().call("t", args),
}


def raises(error: BaseException) -> Callable[..., str]:
    def handler(args: dict[str, Any], **context: Any) -> str:
        raise error

    return handler
