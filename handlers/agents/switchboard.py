"""The socket on which a program's tool calls are answered.

The program is a model's work, and may do anything with its end: send what is no request, open many
connections, or never read. Each connection has one request under way and no more; a request has a
largest size; and the number of connections and calls is bounded. Calls beyond those that run at
once wait for their turn.

A message is its length in four bytes, the most significant first, and a JSON object. A request is
``{"tool": name, "arguments": {...}}``, an answer ``{"result": ...}`` or ``{"refused": sentence}``.
After one with ``"closed": true``, the connection is over.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

    from hermes_build.runtime.session import Session

LARGEST = 4 * 1024 * 1024
"""How many bytes a request may have."""

MOST_AT_ONCE = 16
"""How many calls of a program run at once."""

MOST_CONNECTIONS = 64
"""How many threads and processes of a program may be connected; each has one of its own."""

CLOSE_SECONDS = 2.0
"""How long calls that are cancelled have to clean up."""


class Switchboard:
    """Answers tool calls by one session.

    Args:
        session: the tools that may be called; the session itself refuses every other.
        context: what each call is told.
        most: how many calls are answered before further ones are refused.
    """

    def __init__(self, session: Session, context: Mapping[str, Any], most: int) -> None:
        self.calls = 0
        """How many calls were made, refused ones too."""
        self._session = session
        self._context = dict(context)
        self._most = most
        self._connections: set[asyncio.Task[None]] = set()
        self._free = asyncio.Semaphore(MOST_AT_ONCE)
        self._server: asyncio.Server | None = None

    async def open(self, path: str) -> None:
        """Listen on a Unix domain socket, which must not exist yet."""
        self._server = await asyncio.start_unix_server(self._connected, path)

    async def close(self) -> None:
        """Answer nothing any more, and cancel the calls that are under way."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        if self._connections:
            await asyncio.wait(self._connections, timeout=CLOSE_SECONDS)

    def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        if len(self._connections) >= MOST_CONNECTIONS:
            why = (
                f"A program may call tools from {MOST_CONNECTIONS} threads and processes at once, "
                "and does: let one of them end."
            )
            writer.write(_framed({"refused": why, "closed": True}))
            writer.close()
            return
        connection = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _converse(self, reader: StreamReader, writer: StreamWriter) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4))
                if size > LARGEST:
                    why = f"A request may have {LARGEST:,} bytes."
                    await _send(writer, {"refused": why, "closed": True})
                    return  # what follows is no request any more
                await _send(writer, await self._answer(await reader.readexactly(size)))
        except (OSError, asyncio.IncompleteReadError):
            pass  # the program went away
        finally:
            writer.transport.abort()

    async def _answer(self, request: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(request)
            tool, arguments = asked["tool"], asked["arguments"]
        except (ValueError, TypeError, KeyError, RecursionError):
            tool = arguments = None
        if not isinstance(tool, str) or not isinstance(arguments, dict):
            return {"refused": "This is no request for a tool."}
        self.calls += 1
        if self.calls > self._most:
            return {"refused": f"A program may make {self._most} tool calls, and made them all."}
        number = f"{self._context.get('tool_call_id') or 'code'}.{self.calls}"
        async with self._free:
            result = await self._session.acall(
                tool, arguments, **{**self._context, "tool_call_id": number}
            )
        return {"result": result}


async def _send(writer: StreamWriter, answer: dict[str, Any]) -> None:
    writer.write(_framed(answer))
    await writer.drain()


def _framed(answer: dict[str, Any]) -> bytes:
    data = json.dumps(answer).encode()
    return len(data).to_bytes(4) + data
