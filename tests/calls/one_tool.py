"""What the tests of calls share: a handler that echoes its input, and the error of an answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hermes_build.runtime.registry import ToolRegistry

Make = Callable[..., ToolRegistry]

ANY = {"type": "object"}


def echo(args: dict[str, Any], **context: Any) -> str:
    return json.dumps({"args": args, "context": context})


def error_of(text: Any) -> str:
    assert isinstance(text, str)
    text.encode()
    value = json.loads(text)
    assert isinstance(value["error"], str)
    return str(value["error"])
