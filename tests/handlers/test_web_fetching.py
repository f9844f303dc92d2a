"""No page is fetched from where nobody may go, and no server can make it cost more than it may."""

from __future__ import annotations

import asyncio
import json
import socket
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handlers.refusal import Refusal
from handlers.web import decompress
from handlers.web.extract import Terms, Wish, extract
from tests.handlers.web_pages import LOCAL, fetched, page, zipped
from tests.handlers.web_server import (
    CERTIFICATE,
    Request,
    Server,
    cancelled,
    redirect,
    response,
    silence,
    trickle,
)

# Redirects and addresses


def test_redirects_are_followed_and_the_last_url_is_told(server: Server) -> None:
    server.answers["/a"] = redirect("b?x=1", "301 Moved Permanently")
    server.answers["/b"] = redirect(f"//127.0.0.1:{server.port}/c", "307 Temporary Redirect")
    server.answers["/c"] = response("here", "text/plain")
    found = page(f"{server.url}/a")
    assert (found["content"], found["final_url"]) == ("here", f"{server.url}/c")


@pytest.mark.parametrize(("hops", "arrives"), [(5, True), (6, False)])
def test_five_redirects_are_followed_and_no_more(server: Server, hops: int, arrives: bool) -> None:
    for hop in range(hops):
        server.answers[f"/{hop}"] = redirect(f"/{hop + 1}")
    server.answers[f"/{hops}"] = response("here", "text/plain")
    found = page(f"{server.url}/0")
    assert found.get("content") == ("here" if arrives else None)
    assert arrives or "redirects more than 5 times" in found["error"]


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("http://169.254.169.254/latest/meta-data/", "link-local"),
        ("http://[fd00:ec2::254]/", "metadata"),
        ("http://[::ffff:169.254.169.254]/", "link-local"),
        ("http://2852039166/", "spelling that is not accepted"),
        ("http://0.0.0.0/", "unspecified"),
        ("file:///etc/passwd", "Only http and https"),
        ("http://user:hunter2@pages.test/", "user name"),
        ("http://inside.test/", "link-local"),
        ("http://pages.test:port/", "not a URL"),
    ],
)
def test_a_redirect_to_where_nobody_may_go_is_refused(
    server: Server, location: str, words: str
) -> None:
    async def resolver(host: str, port: int) -> list[str]:
        assert host == "inside.test"
        return ["169.254.169.254"]

    server.answers["/a"] = redirect(location)
    found = page(f"{server.url}/a", terms=Terms(private=True, resolver=resolver))
    assert words in found["error"] and "hunter2" not in json.dumps(found)


def test_this_machine_is_refused_unless_it_is_allowed(server: Server) -> None:
    for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]"):
        found = page(f"http://{host}:{server.port}/a", terms=Terms())
        assert "loopback address" in found["error"], host
    assert not server.requests


def test_the_connection_goes_to_the_address_that_was_judged_and_the_name_is_looked_up_once(
    server: Server,
) -> None:
    """A name server that gives another address the second time is never asked a second time."""
    asked = []

    async def resolver(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    server.answers["/a"] = response("here", "text/plain")
    # The system knows no such name: only the address that was judged can have been used.
    url = f"http://pages.test:{server.port}/a"
    found = page(url, terms=Terms(private=True, resolver=resolver))
    assert found["content"] == "here" and asked == [("pages.test", server.port)]
    assert server.requests[0].headers["host"] == f"pages.test:{server.port}"
    assert server.requests[0].target == "/a"


def test_every_hop_is_looked_up_and_judged_anew(server: Server) -> None:
    answers = iter([["127.0.0.1"], ["127.0.0.1", "169.254.169.254"]])

    async def resolver(host: str, port: int) -> list[str]:
        return next(answers)

    server.answers["/a"] = redirect("/b")
    server.answers["/b"] = response("never seen", "text/plain")
    url = f"http://pages.test:{server.port}/a"
    found = page(url, terms=Terms(private=True, resolver=resolver))
    assert "link-local" in found["error"] and len(server.requests) == 1


def test_the_next_address_is_tried_where_one_does_not_answer(server: Server) -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    server.answers["/a"] = response("here", "text/plain")
    url = f"http://pages.test:{server.port}/a"
    assert page(url, terms=Terms(private=True, resolver=resolver))["content"] == "here"


def test_a_server_that_is_not_there_is_told() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        found = page(f"http://127.0.0.1:{closed.getsockname()[1]}/")
    assert "does not accept connections" in found["error"]


def test_a_proxy_of_the_environment_is_not_used(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server({"*": response("proxy", "text/plain")}) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        server.answers["/a"] = response("direct", "text/plain")
        assert page(f"{server.url}/a")["content"] == "direct"
        assert not proxy.requests


@pytest.mark.parametrize("name", ["pages.test", "other.test"])
def test_a_certificate_is_held_against_the_name_and_not_the_address(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    (tmp_path / "ca.pem").write_text(CERTIFICATE)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with Server({"/a": response("safe", "text/plain")}, tls=True) as server:
        url = f"https://{name}:{server.port}/a"
        found = page(url, terms=Terms(private=True, resolver=resolver))
        assert server.names == [name]
    if name == "pages.test":
        assert found["content"] == "safe"
    else:
        assert "certificate is not valid" in found["error"] and "other.test" in found["error"]


def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    with Server({"/a": response("unsafe", "text/plain")}, tls=True) as server:
        url = f"https://pages.test:{server.port}/a"
        found = page(url, terms=Terms(private=True, resolver=resolver))
    assert "certificate is not valid" in found["error"]


# Servers that mean harm, or fail


@pytest.mark.parametrize("answer", [trickle, silence], ids=["trickle", "silence"])
def test_a_server_that_does_not_finish_is_cut_off(server: Server, answer: Any) -> None:
    server.answers["/a"] = answer
    with pytest.raises(Refusal, match=r"within 0\.5 seconds"):
        fetched(f"{server.url}/a", seconds=0.5)
    assert not server.requests or server.hung_up.wait(60)


def test_cancelling_a_call_closes_its_connections(server: Server) -> None:
    server.answers["*"] = silence

    asyncio.run(cancelled(extract([f"{server.url}/a"], Wish(), LOCAL), server))


def endless(request: Request) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n"
    while True:
        yield b"x" * 65_536


@pytest.mark.parametrize(
    "answer",
    [
        response("x" * 1_001, "text/plain"),
        response("x" * 10, "text/plain", content_length="1000000000"),
        endless,
        response(zipped(b"x" * 5_000_000), "text/plain", content_encoding="gzip"),
        response(zlib.compress(b"x" * 5_000_000), "text/plain", content_encoding="deflate"),
        response(zipped(b"") * 1_000, "text/plain", content_encoding="gzip"),
    ],
    ids=["large", "said-to-be-large", "endless", "gzip-bomb", "deflate-bomb", "empty-members"],
)
def test_more_than_the_limit_is_not_read(server: Server, answer: Any) -> None:
    server.answers["/a"] = answer
    with pytest.raises(Refusal, match=r"larger than 1,000 bytes"):
        fetched(f"{server.url}/a", bytes=1_000)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_decompressed_one_byte_beyond_the_limit_and_no_further(encoding: str) -> None:
    data = zlib.compress(b"x" * 5_000_000)
    if encoding == "gzip":
        data = zipped(b"x" * 5_000_000)
    assert len(decompress.decoder(encoding).feed(data, 1_000)) == 1_001


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", zipped(b"words")),
        ("x-gzip", zipped(b"wo") + zipped(b"rds")),
        ("GZIP", zipped(b"words") + b"\0\0\0"),
        ("deflate", zlib.compress(b"words")),
        ("deflate", zlib.compress(b"words")[2:-4]),
        ("identity", b"words"),
        ("", b"words"),
    ],
)
def test_compressed_pages_are_read(server: Server, encoding: str, data: bytes) -> None:
    server.answers["/a"] = response(data, "text/plain", content_encoding=encoding)
    assert fetched(f"{server.url}/a") == b"words"


def test_compressed_bytes_that_come_one_by_one_are_read() -> None:
    inner = decompress.decoder("gzip")
    data = zipped(b"first ") + zipped(b"second")
    assert b"".join(inner.feed(bytes([one]), 100) for one in data) == b"first second"
    inner.end()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (response(b"no gzip", content_encoding="gzip"), "gzip data is not valid"),
        (response(zipped(b"x")[:-9], content_encoding="gzip"), "stops short"),
        (response("x", content_encoding="br"), "'br', which was not asked for"),
        (response("x", content_encoding="gzip, gzip"), "was not asked for"),
        (response("short", content_length="100"), "connection broke"),
        (response("x", status="503 Busy", retry_after="120"), "wait 120 seconds"),
        (response("x", status="403 Forbidden"), r"HTTP 403 \(Forbidden\)"),
        (response("x", status="204 No Content"), "HTTP 204"),
        (response("x", status="302 Found"), "HTTP 302"),
        (response("x", status="799 Odd"), "HTTP 799"),
        (b"garbage\r\n\r\n", "connection broke"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000, "connection broke"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "connection broke"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab", "connection broke"),
        (b"", "connection broke"),
    ],
)
def test_an_answer_that_cannot_be_used_says_what_is_wrong(
    server: Server, answer: bytes, words: str
) -> None:
    server.answers["/a"] = answer
    with pytest.raises(Refusal, match=words):
        fetched(f"{server.url}/a")


def test_a_connection_that_is_dropped_after_a_redirect_is_no_obstacle(server: Server) -> None:
    """The server promises to keep the connection and closes it; each hop has its own anyway."""
    kept = response(status="302 Found", location="/b", connection="keep-alive")
    server.answers |= {"/a": kept, "/b": response("here", "text/plain")}
    assert fetched(f"{server.url}/a") == b"here"


def test_a_body_that_ends_with_the_connection_is_whole(server: Server) -> None:
    server.answers["/a"] = b"HTTP/1.0 200 OK\r\ncontent-type: text/plain\r\n\r\nold style"
    assert page(f"{server.url}/a")["content"] == "old style"
