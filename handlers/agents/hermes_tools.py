"""The tools of the agent that runs this program, as functions.

    from hermes_tools import read_file

    print(read_file(path="README.md"))

Arguments are those of the tool, best by keyword; without, they are taken in the order in which the
tool's schema has them. A result that is a JSON object or list comes as dict or list, any other as
text. ``call("name", argument=...)`` calls a tool whose name Python does not take. Up to 64 threads
and processes may call tools; 16 calls run at once, and others wait.

A copy of this file stands beside the program, with ``tools.json`` and the socket on which the tools
answer. It needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from typing import Any

# hermes-build: ignore[HB8114] it is written to a folder of its own before it runs
_HERE = os.path.dirname(os.path.abspath(__file__))
_local = threading.local()


class ToolError(Exception):
    """A tool that failed or was refused; ``details`` is all that it answered."""

    def __init__(self, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.details = details or {}


def call(tool: str, /, **arguments: Any) -> Any:
    """Call a tool by its name.

    Raises:
        ToolError: when the tool fails, is refused, or cannot be reached any more.
    """
    request = json.dumps({"tool": tool, "arguments": arguments}).encode()
    try:
        answer = json.loads(_exchange(request))
    except BaseException as error:
        _local.socket = None  # half an answer may be on its way
        if isinstance(error, OSError):
            raise ToolError("The tools cannot be reached any more.") from error
        raise
    if answer.get("closed"):
        _local.socket = None
    if "refused" in answer:
        raise ToolError(answer["refused"])
    result = answer["result"]
    if isinstance(result, str):
        try:
            data = json.loads(result)
        except ValueError:
            return result
        if isinstance(data, dict) and isinstance(data.get("error"), str):
            raise ToolError(data["error"], data)
        return data if isinstance(data, dict | list) else result
    return result


def _exchange(request: bytes) -> bytes:
    connection = _connected()
    try:
        connection.sendall(len(request).to_bytes(4) + request)
    except ConnectionError:
        pass  # a request that is refused is not read to its end, and has its answer all the same
    return _read(connection, int.from_bytes(_read(connection, 4)))


def _connected() -> socket.socket:
    """This thread's own connection, so that threads and forks do not read each other's answers."""
    connection: socket.socket | None = getattr(_local, "socket", None)
    if connection is None or _local.process != os.getpid():
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(os.path.join(_HERE, "socket"))
        _local.socket, _local.process = connection, os.getpid()
    return connection


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        block = connection.recv(min(size - len(data), 1 << 16))
        if not block:
            raise ConnectionError
        data += block
    return bytes(data)


def _function(tool: str, parameters: list[str], description: str) -> Callable[..., Any]:
    def function(*values: Any, **arguments: Any) -> Any:
        if len(values) > len(parameters):
            raise TypeError(f"{tool}() takes {len(parameters)} arguments at most")
        for parameter, value in zip(parameters, values, strict=False):
            if parameter in arguments:
                raise TypeError(f"{tool}() got two values for {parameter!r}")
            arguments[parameter] = value
        return call(tool, **arguments)

    function.__name__ = function.__qualname__ = tool
    function.__doc__ = f"{description}\n\nArguments: {', '.join(parameters) or 'none'}"
    return function


with open(os.path.join(_HERE, "tools.json"), encoding="utf-8") as _file:
    _tools: dict[str, tuple[list[str], str]] = json.load(_file)
for _name, (_parameters, _description) in _tools.items():
    # The names of this module itself are not a tool's to take.
    if _name not in globals():
        globals()[_name] = _function(_name, _parameters, _description)

__all__ = ["ToolError", "call", *_tools]
