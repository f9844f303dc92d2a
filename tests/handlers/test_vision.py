"""An image and a question reach the endpoint, and its answer or a plain sentence comes back."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples.scripted_model import (
    KEY,
    Broken,
    Call,
    Failure,
    ModelServer,
    Raw,
    Reply,
    Silence,
    Text,
    tool_calls,
)
from handlers.models import pictures, seeing
from handlers.models.endpoint import Endpoint
from handlers.refusal import Refusal
from handlers.vision_analyze import MODEL, handler
from tests.handlers import images
from tests.handlers.calling import HERE, answered, call

KINDS = {
    "png": images.PNG,
    "jpeg": images.JPEG,
    "gif": images.GIF,
    "webp": images.WEBP,
}


@pytest.fixture
def see(root: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[..., ModelServer]) -> Any:
    """Calls the handler with a server that answers as told; gives the answer and the server."""
    (root / "a.png").write_bytes(images.PNG)
    monkeypatch.setenv("HERMES_WORKSPACE", str(root))
    for name in ("HERMES_VISION_MODEL", "HERMES_VISION_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)

    def call(*script: Reply, image: str = "a.png", **environ: str) -> tuple[str, ModelServer]:
        server = serve(*script, **environ)
        asked: Any = {"image": image, "question": "What is it?"}
        answer = answered(lambda: asyncio.run(handler(asked)))
        assert server.surplus == 0
        return answer, server

    return call


def error(answer: str) -> dict[str, Any]:
    """An answer that is an error, which never holds the key."""
    assert KEY not in answer
    fields: dict[str, Any] = json.loads(answer)
    assert "error" in fields
    return fields


def test_a_file_goes_out_as_a_data_url_and_the_text_comes_back(see: Any) -> None:
    answer, server = see(Text("A red bar."))
    assert answer == "A red bar."
    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": MODEL,
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is it?"},
                    {
                        "type": "image_url",
                        "image_url": {
                            "url": "data:image/png;base64," + base64.b64encode(images.PNG).decode()
                        },
                    },
                ],
            }
        ],
    }


def test_the_tool_works_from_the_command_line(root: Path) -> None:
    (root / "a.png").write_bytes(images.PNG)
    arguments = json.dumps({"image": "a.png", "question": "What is it?"})
    with ModelServer([Text("A red bär.")]) as server:
        environ = {**server.environment, "HERMES_WORKSPACE": str(root)}
        assert call("vision_analyze", arguments, environ) == "A red bär."


def test_the_handlers_are_imported_without_the_packages_that_they_call() -> None:
    script = "import sys; sys.modules.update(openai=None, httpx=None); import handlers.{}"
    for name in ("vision_analyze", "image_generate"):
        subprocess.run([sys.executable, "-c", script.format(name)], cwd=HERE, check=True)


def sent(server: ModelServer) -> str:
    url: str = server.bodies[0]["messages"][0]["content"][1]["image_url"]["url"]
    return url


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_is_told_by_the_bytes_whatever_the_name_says(
    see: Any, root: Path, kind: str
) -> None:
    (root / "picture.bmp").write_bytes(KINDS[kind])
    _, server = see(Text("x"), image="picture.bmp")
    assert sent(server).startswith(f"data:image/{kind};base64,")
    claimed = "data:image/bmp;base64," + base64.b64encode(KINDS[kind]).decode()
    _, server = see(Text("x"), image=claimed)
    assert sent(server) == claimed.replace("bmp", kind)


@pytest.mark.parametrize(
    "address",
    ["https://example.org/a%20b.png?x=1&y=2", "HTTP://example.org:8080/a", "http://[::1]/"],
)
def test_a_web_address_is_handed_on_as_it_is_and_never_fetched_here(see: Any, address: str) -> None:
    _, server = see(Text("x"), image=address)
    assert sent(server) == address
    assert len(server.requests) == 1


def test_the_model_is_a_setting(see: Any) -> None:
    _, server = see(Text("x"), HERMES_VISION_MODEL="eagle-2")
    assert server.bodies[0]["model"] == "eagle-2"


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ("file:///etc/passwd", "http:// or https://, not file://"),
        ("ftp://example.org/a.png", "not ftp://"),
        ("https://", "not a complete"),
        ("https://exa mple.org/a.png", "not a complete"),
        ("https://example.org:x/", "not a complete"),
        ("http://[::1/", "not a complete"),
        ("data:image/png,abc", "must have the form"),
        ("data:image/png;base64", "must have the form"),
        ("data:image/png;base64,a", "not valid base64"),
        ("data:image/png;base64,é", "not valid base64"),
        ("data:image/png;base64,", "it is empty"),
        ("data:image/png;base64,aGVsbG8=", "begins with the bytes 68 65 6c 6c 6f"),
        ("../outside.png", "leads out of the workspace"),
        ("link.png", "leads out of the workspace"),
        ("missing.png", "does not exist"),
        (".", "is a folder"),
        ("pipe", "is a named pipe"),
        ("drawing.svg", "SVG, XML or HTML"),
        ("paper.png", "is a PDF"),
        ("large.png", "images of at most 20,971,520 are taken"),
    ],
)
def test_what_is_no_image_is_refused_before_anything_is_sent(
    see: Any, root: Path, image: str, message: str
) -> None:
    (root.parent / "outside.png").write_bytes(images.PNG)
    (root / "link.png").symlink_to(root.parent / "outside.png")
    os.mkfifo(root / "pipe")
    (root / "drawing.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (root / "paper.png").write_bytes(b"%PDF-1.7\n")
    with (root / "large.png").open("wb") as file:
        file.write(images.PNG)
        file.truncate(seeing.MOST_BYTES + 1)
    answer, server = see(image=image)
    assert message in error(answer)["error"]
    assert server.requests == []


def test_a_data_url_that_is_too_large_is_refused_before_it_is_decoded() -> None:
    with pytest.raises(Refusal, match="more than 300 bytes"):
        pictures.from_data_url("data:image/png;base64," + "!" * 500, 300)
    with pytest.raises(Refusal, match="has 301 bytes; at most 300"):
        pictures.from_data_url(
            "data:image/png;base64," + base64.b64encode(b"x" * 301).decode(), 300
        )


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Failure(400, "no vision here"), "refuses the request (400): no vision here"),
        (Failure(403, "not for you"), "does not allow this (403)"),
        (Failure(404, "no such model"), "does not know the model or the address (404)"),
        (Failure(413, "too big"), "as large as this one (413)"),
        (Raw(b"<html>gone\n\n wrong</html>", 418, "text/html"), "(418): <html>gone wrong</html>"),
        (Raw(b"", 400), "(400): it says nothing more"),
        (Raw(b"<html>Welcome</html>", 200, "text/html"), "It begins: <html>Welcome</html>"),
        (Raw(b'{"choices": ['), "is not the JSON object"),
        (Raw(b"[" * 100_000), "is not the JSON object"),
        (Raw(b"\xff\xfe\x00"), "is not the JSON object"),
        (Raw(b"[]"), "is not the JSON object"),
        (Raw(b"{}"), "not a chat completion"),
        (Raw(b'{"choices": []}'), "not a chat completion"),
        (Raw(b'{"choices": [{"message": null}]}'), "not a chat completion"),
        (Raw(b'{"choices": [{"message": {"content": 7}}]}'), "gave no answer"),
        (Raw(b'{"choices": [{"message": {"refusal": "I will not."}}]}'), "declines to answer: I w"),
        (Raw(b'{"choices": [{"message": {}, "finish_reason": "content_filter"}]}'), "filter"),
        (Text(" \n"), "gave no answer"),
        (tool_calls(Call("f")), "gave no answer"),
        (Broken(Text("some text"), 20), "broke off"),
        (Raw(b" " * (5 << 20)), "is longer than 4,194,304 bytes"),
    ],
)
def test_every_failure_of_the_endpoint_is_one_plain_sentence(
    see: Any, reply: Reply, message: str
) -> None:
    answer, server = see(reply)
    assert message in error(answer)["error"]
    assert len(server.requests) == 1


def test_a_key_that_is_refused_is_never_shown(see: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "sk-wrong-abcdefghijklmnopqrstuvwxyz"
    answer, server = see(OPENAI_API_KEY=f"{wrong}\n")
    fields = error(answer)
    assert server.requests[0].headers["authorization"] == f"Bearer {wrong}"
    assert "wrong" not in answer and "Incorrect API key provided: [OPENAI_API_KEY]" in answer
    assert "whoever runs this program must correct it" in fields["error"]
    assert fields["status"] == 401


def test_a_key_that_an_error_repeats_at_its_cut_is_not_shown_in_part() -> None:
    endpoint = Endpoint("https://example.org", "sk-secret-key")
    assert "sk-" not in endpoint.quote("x" * 395 + "sk-secret-key" + "y" * 50)
    assert endpoint.quote("at https://me:password@host/x") == "at https://host/x"
    assert "sk-secret-key" not in repr(endpoint)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_overload_is_met_with_another_attempt_and_then_reported(see: Any, status: int) -> None:
    soon = {"retry-after-ms": "1"}
    answer, server = see(Failure(status, "busy", soon), Text("A red bar."))
    assert answer == "A red bar." and len(server.requests) == 2
    never = {"x-should-retry": "false", "retry-after": "17"}
    answer, server = see(Failure(status, "busy", never))
    fields = error(answer)
    assert (fields["status"], fields["retry_after"]) == (status, 17)
    assert f"({status}): busy" in fields["error"]


def test_an_endpoint_that_never_answers_is_given_up(see: Any) -> None:
    answer, _ = see(Silence(), HERMES_VISION_TIMEOUT="0.3")
    assert "did not answer within 0.3 s" in error(answer)["error"]


def test_an_endpoint_that_trickles_is_given_up(see: Any) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def trickle() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            # Each byte comes in time; what is bounded is all of them together.
            while not ended.wait(0.02):
                try:
                    connection.sendall(b" ")
                except OSError:
                    return

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        answer, _ = see(
            OPENAI_BASE_URL=f"http://127.0.0.1:{listener.getsockname()[1]}",
            HERMES_VISION_TIMEOUT="1.5",
        )
        assert "did not answer within 1.5 s" in error(answer)["error"]
    finally:
        ended.set()
        # A call that gave up before it connected leaves the thread waiting for one.
        socket.create_connection(listener.getsockname()).close()
        thread.join()
        listener.close()


def test_an_endpoint_that_is_not_there_is_named(see: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    answer, _ = see(
        OPENAI_BASE_URL=f"http://me:pass-word@127.0.0.1:{port}/v1", HERMES_VISION_TIMEOUT="60"
    )
    assert f"http://127.0.0.1:{port} cannot be reached" in error(answer)["error"]
    assert "pass-word" not in answer


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("OPENAI_API_KEY", " ", "is not set"),
        ("OPENAI_API_KEY", "sk-a\nsk-b", "characters that no key can have"),
        ("OPENAI_API_KEY", "schlüssel", "characters that no key can have"),
        ("OPENAI_BASE_URL", "localhost:8080", "must be an http:// or https:// address"),
        ("OPENAI_BASE_URL", "ftp://example.org", "must be an http:// or https:// address"),
        ("HERMES_VISION_TIMEOUT", "soon", "a number of seconds above 0 and up to 170"),
        ("HERMES_VISION_TIMEOUT", "nan", "a number of seconds"),
        ("HERMES_VISION_TIMEOUT", "0", "a number of seconds"),
        ("HERMES_VISION_TIMEOUT", "1e9", "a number of seconds"),
        ("HERMES_WORKSPACE", "/nowhere", "is not a folder"),
    ],
)
def test_a_setting_that_is_wrong_is_named(see: Any, name: str, value: str, message: str) -> None:
    answer, server = see(**{name: value})
    assert message in error(answer)["error"] and name in answer
    assert "sk-a" not in answer and "schl" not in answer
    assert server.requests == []


def test_text_in_parts_is_joined_and_a_cut_is_told(see: Any) -> None:
    parts = [{"type": "text", "text": "A "}, {"type": "text", "text": "bar."}, {"type": "x"}, 7]
    body = json.dumps({"choices": [{"message": {"content": parts}}]}).encode()
    assert see(Raw(body))[0] == "A bar."
    assert see(Text("A red", "length"))[0] == "A red\n[The answer was cut off here.]"


def test_questions_at_once_get_their_own_answers(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.png").write_bytes(images.PNG)
    monkeypatch.setenv("HERMES_WORKSPACE", str(root))

    def echo(request: Any) -> Text:
        return Text(request.body["messages"][0]["content"][0]["text"].upper())

    async def ask_all() -> list[str]:
        calls = [handler({"image": "a.png", "question": f"q{n}"}) for n in range(8)]
        return await asyncio.gather(*calls)

    with ModelServer([echo] * 8) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        assert asyncio.run(ask_all()) == [f"Q{n}" for n in range(8)]


@pytest.mark.parametrize("data", [*KINDS.values(), images.WEBP_LOSSLESS, images.WEBP_EXTENDED])
def test_width_and_height_are_read_from_every_kind(data: bytes) -> None:
    assert pictures.recognise(data, "it").size == images.SIZE


@pytest.mark.parametrize("data", [*KINDS.values(), images.WEBP_LOSSLESS, images.WEBP_EXTENDED])
def test_an_image_that_is_cut_short_anywhere_has_no_size_or_the_right_one(data: bytes) -> None:
    for end in range(12, len(data)):
        assert pictures.recognise(data[:end], "it").size in (None, images.SIZE)
