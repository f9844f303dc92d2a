"""A model's endpoint without a model: real sockets, real HTTP, and answers from a script.

Tests and demonstrations of agents run on it, offline and the same each time.

It speaks the parts of OpenAI's protocol that programs here use:

- ``POST /v1/chat/completions``, at once or, where the request says ``stream``, as server-sent
  events, with text and tool calls in pieces as real endpoints send them;
- ``POST /v1/images/generations``;
- ``GET /files/NAME``, what `ModelServer.files` holds, without asking for a key.

Each request takes the next reply of the script. What is wrong with a request (no key, a tool's
result that answers no call, ...) is answered with an error as the real endpoint has it, and takes
no reply::

    with ModelServer([tool_calls(Call("read_file", {"path": "a"})), Text("It says x.")]) as server:
        client = OpenAI(api_key=server.key, base_url=server.url)
        ...
    assert server.requests[1].body["messages"][-1]["role"] == "tool"

Replies are data: `Text`, `ToolCalls`, `Images`, `Failure`, `Raw`, `Silence` and `Broken`. Instead
of one, a script may hold a function that gets the `Request` and returns a reply.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

KEY = "sk-test-0123456789abcdefghijklmnop"
"""The key that a server accepts."""

_MODEL = "scripted"
_PIECE = 7


@dataclass(frozen=True, slots=True)
class Text:
    """A message of text; ``finish_reason`` may be ``length`` or ``content_filter`` too."""

    content: str
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call; ``arguments`` that are text are sent as they are, be they JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """A message that calls tools, all at once, with text beside it where ``content`` has any."""

    calls: tuple[Call, ...]
    content: str | None = None


@dataclass(frozen=True, slots=True)
class Images:
    """Images: bytes are sent as base64, text as the address where the image is."""

    images: tuple[bytes | str, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """An error with a status, in the form that OpenAI's endpoint gives it."""

    status: int
    message: str = "the script says so"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Raw:
    """Any bytes at all, as the body of an answer."""

    body: bytes
    status: int = 200
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing: the connection stays open, and no answer comes until the server ends."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The beginning of another reply: the connection ends after so many bytes of its body.

    Of a reply that is streamed, so many events are sent instead.
    """

    reply: Text | ToolCalls | Images | Raw
    after: int = 1


Reply: TypeAlias = Text | ToolCalls | Images | Failure | Raw | Silence | Broken


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came; ``body`` is None where it is no JSON, header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


Scripted: TypeAlias = "Reply | Callable[[Request], Reply]"


def tool_calls(*calls: Call, content: str | None = None) -> ToolCalls:
    """A message that calls these tools."""
    return ToolCalls(calls, content)


class ModelServer:
    """A server on 127.0.0.1 that works through a script while its ``with`` block runs.

    Args:
        script: the replies, in the order in which requests take them. A request for which none is
            left is answered with status 500, and noted in ``surplus``.
        key: the key that requests must bring.
    """

    def __init__(self, script: Sequence[Scripted] = (), key: str = KEY) -> None:
        self.key = key
        self.files: dict[str, bytes] = {}
        self.requests: list[Request] = []
        self.surplus = 0
        self._script = list(script)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler_for(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """What a client takes as its base URL."""
        return f"{self.origin}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead a program here, and past any proxy."""
        here = "127.0.0.1"
        return {
            "OPENAI_API_KEY": self.key,
            "OPENAI_BASE_URL": self.url,
            "NO_PROXY": here,
            "no_proxy": here,
        }

    @property
    def bodies(self) -> list[Any]:
        """The bodies of all requests that were posted."""
        return [request.body for request in self.requests if request.method == "POST"]

    @property
    def left(self) -> int:
        """How many replies no request has taken."""
        return len(self._script)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _note(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)

    def _reply(self, request: Request) -> Reply:
        with self._lock:
            if not self._script:
                self.surplus += 1
                return Failure(500, "the script has no reply left", {"x-should-retry": "false"})
            reply = self._script.pop(0)
        return reply(request) if callable(reply) else reply


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Closing the server waits for no answer that will never come.
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a client may leave at any time
            super().handle_error(request, client_address)


def _handler_for(model: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version = "ModelServer"

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            model._note(self._request(None))
            name = self.path.removeprefix("/files/")
            if self.path.startswith("/files/") and name in model.files:
                self._send(200, model.files[name], "application/octet-stream")
            else:
                self._fail(Failure(404, f"there is nothing at {self.path}"))

        def do_POST(self) -> None:
            request = self._request(self._body())
            model._note(request)
            problem = _problem(request, model.key)
            reply: Reply = problem or model._reply(request)
            broken = reply.after if isinstance(reply, Broken) else None
            if isinstance(reply, Broken):
                reply = reply.reply
            match reply:
                case Silence():
                    model._ended.wait()
                    self.close_connection = True
                case Failure():
                    self._fail(reply)
                case Raw():
                    self._send(reply.status, reply.body, reply.content_type, cut=broken)
                case Images():
                    self._json(
                        {"created": 1, "data": [_image(one) for one in reply.images]}, broken
                    )
                case Text() | ToolCalls() if request.body.get("stream"):
                    self._stream(_events(reply, request.body), broken)
                case Text() | ToolCalls():
                    self._json(_completion(reply, request.body), broken)

        def _request(self, body: Any) -> Request:
            headers = {name.lower(): value for name, value in self.headers.items()}
            return Request(self.command, self.path, headers, body)

        def _body(self) -> Any:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            try:
                return json.loads(raw)
            except ValueError:
                return None

        def _fail(self, failure: Failure) -> None:
            error = {"message": failure.message, "type": "error", "param": None, "code": None}
            body = json.dumps({"error": error}).encode()
            self._send(failure.status, body, "application/json", failure.headers)

        def _json(self, value: Any, cut: int | None) -> None:
            self._send(200, json.dumps(value).encode(), "application/json", cut=cut)

        def _send(
            self,
            status: int,
            body: bytes,
            content_type: str,
            headers: Mapping[str, str] | None = None,
            cut: int | None = None,
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self._write(body if cut is None else body[:cut])
            self.close_connection = self.close_connection or cut is not None

        def _stream(self, events: Iterator[dict[str, Any] | None], cut: int | None) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for number, event in enumerate(events):
                if number == cut:
                    self.close_connection = True  # without the last chunk, so that it is noticed
                    return
                data = "[DONE]" if event is None else json.dumps(event)
                line = f"data: {data}\n\n".encode()
                self._write(b"%x\r\n%s\r\n" % (len(line), line))
            self._write(b"0\r\n\r\n")

        def _write(self, data: bytes) -> None:
            try:
                self.wfile.write(data)
                self.wfile.flush()
            except OSError:
                self.close_connection = True  # a client may leave at any time

    return Handler


def _problem(request: Request, key: str) -> Failure | None:
    """What is wrong with a request, as an error; None when nothing is."""
    given = request.headers.get("authorization", "")
    if given != f"Bearer {key}":
        # The real endpoint shows a part of the key; a careless one shows all of it.
        return Failure(401, f"Incorrect API key provided: {given.removeprefix('Bearer ')}.")
    if not isinstance(request.body, dict):
        return Failure(400, "the body is not a JSON object")
    if not isinstance(request.body.get("model"), str):
        return Failure(400, "you must provide a model")
    if request.path == "/v1/chat/completions":
        if "tool_choice" in request.body and not request.body.get("tools"):
            return Failure(400, "'tool_choice' is only allowed when 'tools' are specified")
        return _problem_of_messages(request.body.get("messages"))
    if request.path == "/v1/images/generations":
        prompt = request.body.get("prompt")
        return None if isinstance(prompt, str) and prompt else Failure(400, "there is no prompt")
    return Failure(404, f"there is nothing at {request.path}")


def _problem_of_messages(messages: Any) -> Failure | None:
    if not isinstance(messages, list) or not messages:
        return Failure(400, "`messages` must be a list that is not empty")
    waiting: set[str] = set()
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("system", "developer", "user", "assistant", "tool"):
            return Failure(400, f"{role!r} is no role of a message")
        if role == "tool":
            id = message.get("tool_call_id")
            if id not in waiting:
                return Failure(400, f"a message of role 'tool' answers {id!r}, which nobody called")
            waiting.discard(id)
            content = message.get("content")
            if not isinstance(content, str) and any(one["type"] != "text" for one in content):
                return Failure(400, "a message of role 'tool' may hold text alone")
        elif waiting:
            return Failure(400, f"no message answers the tool calls {', '.join(sorted(waiting))}")
        elif role == "assistant":
            waiting = {call.get("id", "") for call in message.get("tool_calls") or ()}
    if waiting:
        return Failure(400, f"no message answers the tool calls {', '.join(sorted(waiting))}")
    return None


def _image(image: bytes | str) -> dict[str, str]:
    if isinstance(image, bytes):
        return {"b64_json": base64.b64encode(image).decode()}
    return {"url": image}


def _completion(reply: Text | ToolCalls, body: Mapping[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content}
    if isinstance(reply, ToolCalls):
        message["tool_calls"] = _calls(reply, body)
    return {
        **_frame("chat.completion", body),
        "choices": [{"index": 0, "message": message, "finish_reason": _reason(reply)}],
        "usage": _usage(reply),
    }


def _events(reply: Text | ToolCalls, body: Mapping[str, Any]) -> Iterator[dict[str, Any] | None]:
    """The chunks of a streamed completion, and None for the mark at its end."""
    usage = bool((body.get("stream_options") or {}).get("include_usage"))

    def chunk(delta: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        # Where usage was asked for, every chunk has the field, and the last one alone a value.
        more = {"usage": None} if usage else {}
        return {**_frame("chat.completion.chunk", body), "choices": [choice], **more}

    yield chunk({"role": "assistant", "content": "" if reply.content is not None else None})
    for piece in _pieces(reply.content or ""):
        yield chunk({"content": piece})
    if isinstance(reply, ToolCalls):
        yield from map(chunk, _call_deltas(_calls(reply, body)))
    yield chunk({}, _reason(reply))
    if usage:
        frame = _frame("chat.completion.chunk", body)
        yield {**frame, "choices": [], "usage": _usage(reply)}
    yield None


def _call_deltas(calls: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each call's id and name, and then the arguments of all calls in turns, piece by piece.

    That is harder to put together than one call after the other, and the protocol allows it.
    """
    for index, call in enumerate(calls):
        function = {"name": call["function"]["name"], "arguments": ""}
        head = {"index": index, "id": call["id"], "type": "function", "function": function}
        yield {"tool_calls": [head]}
    pieces = [_pieces(call["function"]["arguments"]) for call in calls]
    for turn in range(max(map(len, pieces), default=0)):
        for index, own in enumerate(pieces):
            if turn < len(own):
                delta = {"index": index, "function": {"arguments": own[turn]}}
                yield {"tool_calls": [delta]}


def _calls(reply: ToolCalls, body: Mapping[str, Any]) -> list[dict[str, Any]]:
    # Made from how far the conversation is, so that no id comes twice in it.
    turn = len(body.get("messages") or ())
    return [
        {
            "id": call.id or f"call_{turn}_{number}",
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": call.arguments
                if isinstance(call.arguments, str)
                else json.dumps(call.arguments),
            },
        }
        for number, call in enumerate(reply.calls)
    ]


def _frame(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": body.get("model", _MODEL)}


def _reason(reply: Text | ToolCalls) -> str:
    return "tool_calls" if isinstance(reply, ToolCalls) else reply.finish_reason


def _usage(reply: Text | ToolCalls) -> dict[str, int]:
    words = len((reply.content or "").split())
    return {"prompt_tokens": 1, "completion_tokens": words, "total_tokens": 1 + words}


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
