"""A web server for tests, which says exactly the bytes that a test wants said."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any

import pytest

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBmDCCAT6gAwIBAgIULuphUJTbXbAUntek8G+KZ35GFqQwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKcGFnZXMudGVzdDAgFw0yNjEyMDExMTExNTFaGA8yMTI2MTEw
NzExMTE1MVowFTETMBEGA1UEAwwKcGFnZXMudGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABOi+2Vahbo1J8DhybEyg9ShlnrQ/DA4kyXgFcR4jy9PJcL4dg1MM
ZbDjiEJnigdU9xekDb2T7GqCP6TQhY8xwkKjajBoMB0GA1UdDgQWBBTu3ldmN3cX
BdkG7PyagC9hQWK7vjAfBgNVHSMEGDAWgBTu3ldmN3cXBdkG7PyagC9hQWK7vjAP
BgNVHRMBAf8EBTADAQH/MBUGA1UdEQQOMAyCCnBhZ2VzLnRlc3QwCgYIKoZIzj0E
AwIDSAAwRQIgTx6C1fZZ1egXModVppHtPkT6oy8QZtqhDI9C1AWjHx4CIQDM9QAQ
9ClbvcJZ6nd5CyJ1zMqA3WOaEyhJG/+ZHh8y9Q==
-----END CERTIFICATE-----
"""
"""Its own authority, for the name pages.test alone."""

_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBepQ86XH+GrgvMV0
aCoSthOR47pQpacUqK1I+p1Bc7ChRANCAATovtlWoW6NSfA4cmxMoPUoZZ60PwwO
JMl4BXEeI8vTyXC+HYNTDGWw44hCZ4oHVPcXpA29k+xqgj+k0IWPMcJC
-----END PRIVATE KEY-----
"""


@dataclass(frozen=True)
class Request:
    """What a client asked; ``hang_up`` waits until the client closes the connection."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    hang_up: Callable[[], None]


Answer = bytes | Callable[[Request], Iterable[bytes]]
"""What is said on the wire: at once, or piece by piece; the connection is closed after it."""


def response(
    body: bytes | str = b"",
    content_type: str = "text/html; charset=utf-8",
    status: str = "200 OK",
    **headers: str,
) -> bytes:
    """A whole answer; of the headers, `_` becomes `-`, and those given win over the usual ones."""
    data = body.encode() if isinstance(body, str) else body
    lines = {"content-type": content_type, "content-length": str(len(data))}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("latin-1") + data


def redirect(location: str, status: str = "302 Found") -> bytes:
    return response(status=status, location=location)


@dataclass
class Server:
    """Listens on a free port of 127.0.0.1 while its block runs; ``*`` answers every other path."""

    answers: dict[str, Answer] = field(default_factory=dict)
    tls: bool = False
    requests: list[Request] = field(default_factory=list)
    asked: Event = field(default_factory=Event)
    hung_up: Event = field(default_factory=Event)
    names: list[str | None] = field(default_factory=list)
    """The names that clients asked for when they set up TLS."""

    def __enter__(self) -> Server:
        self._ended = Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError), connection:
            if self.tls:
                connection = self._secured(connection)
            with connection, connection.makefile("rb") as stream:
                request = self._read(connection, stream)
                self.requests.append(request)
                self.asked.set()
                path = request.target.split("?")[0]
                other = self.answers.get("*", response(status="404 Not Found"))
                answer = self.answers.get(path, other)
                pieces: Iterable[bytes] = [answer] if isinstance(answer, bytes) else answer(request)
                try:
                    for piece in pieces:
                        connection.sendall(piece)
                        if self._ended.is_set():
                            return
                except OSError:
                    self.hung_up.set()

    def _read(self, connection: socket.socket, stream: Iterable[bytes]) -> Request:
        lines: Iterator[bytes] = iter(stream)
        method, target, _ = next(lines).decode("latin-1").split(" ", 2)
        headers = {}
        for line in lines:
            if line in (b"\r\n", b"\n"):
                break
            name, value = line.decode("latin-1").split(":", 1)
            headers[name.strip().lower()] = value.strip()
        body = stream.read(int(headers.get("content-length", 0)))  # type: ignore[attr-defined]

        def hang_up() -> None:
            with suppress(OSError):
                while connection.recv(1_000):
                    pass
            self.hung_up.set()

        return Request(method, target, headers, body, hang_up)

    def _secured(self, connection: socket.socket) -> socket.socket:
        import tempfile

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            chain = Path(folder, "chain.pem")
            chain.write_text(_KEY + CERTIFICATE)
            context.load_cert_chain(chain)

        def named(_: object, name: str | None, __: object) -> None:
            self.names.append(name)

        context.sni_callback = named
        return context.wrap_socket(connection, server_side=True)


def trickle(request: Request) -> Iterator[bytes]:
    """A page that never ends, a byte at a time; the client has to hang up."""
    import time

    yield b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"
    while True:
        yield b"x"
        time.sleep(0.02)


def silence(request: Request) -> Iterator[bytes]:
    """No answer at all until the client hangs up."""
    request.hang_up()
    yield b""


async def cancelled(call: Coroutine[Any, Any, object], server: Server) -> None:
    """Cancel a call once a server was asked, and see to it that the client hangs up."""
    task = asyncio.create_task(call)
    assert await asyncio.to_thread(server.asked.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(server.hung_up.wait, 60)
