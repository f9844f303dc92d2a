"""Pages of every kind are read, and no server can make that cost more than it may."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

from handlers.web import charsets, decompress, reader
from handlers.web.extract import Terms, Wish, extract, kind_of
from handlers.web.fetch import Answer, Limits, fetch
from handlers.web.refusal import Refusal
from tests.handlers.web_server import (
    CERTIFICATE,
    Request,
    Server,
    redirect,
    response,
    silence,
    trickle,
)

HERE = Path(__file__).parents[2]
LOCAL = Terms(private=True)
SENTENCE = "The river runs past the old mill and turns to the north behind the long wall."


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as one:
        yield one


def pages(*urls: str, wish: Wish | None = None, terms: Terms = LOCAL) -> list[dict[str, Any]]:
    return asyncio.run(extract(urls, wish or Wish(), terms))


def page(url: str, wish: Wish | None = None, terms: Terms = LOCAL) -> dict[str, Any]:
    return pages(url, wish=wish, terms=terms)[0]


def fetched(url: str, **limits: Any) -> bytes:
    return asyncio.run(fetch(url, limits=Limits(**limits), private=True)).data


def article(title: str, *paragraphs: str, head: str = "") -> str:
    text = "".join(f"<p>{one}</p>" for one in paragraphs)
    return (
        f"<!doctype html><html><head>{head}<title>{title}</title></head><body>"
        f"<nav><a href='/home'>Home</a></nav><article><h1>{title}</h1>{text}</article>"
        "<script>alert('script')</script></body></html>"
    )


def pdf(*texts: str, **about: str) -> bytes:
    """A PDF file with a page for each text, written out object by object."""
    kids = " ".join(f"{index * 2 + 5} 0 R" for index in range(len(texts)))
    title = about.get("title", "")
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /MediaBox [0 0 612 792] /Count {len(texts)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>",
    ]
    for index, text in enumerate(texts):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        resources = "/Resources << /Font << /F1 3 0 R >> >>"
        objects += [
            f"<< /Type /Page /Parent 2 0 R {resources} /Contents {index * 2 + 6} 0 R >>",
            f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream",
        ]
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n".encode()
    root = f"/Size {len(objects) + 1} /Root 1 0 R /Info 4 0 R"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    return (
        out
        + (
            f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n"
            f"<< {root} >>\nstartxref\n{len(out)}\n%%EOF\n"
        ).encode()
    )


# Kinds of pages


def test_an_html_page_is_its_main_text_as_markdown_with_absolute_links(server: Server) -> None:
    head = "<meta property='article:published_time' content='2024-03-01T10:00:00Z'>"
    body = article("On mills", SENTENCE, f"{SENTENCE} See <a href='/more'>more</a>.", head=head)
    server.answers["/a"] = response(body)
    found = page(f"{server.url}/a")
    assert found["title"] == "On mills" and found["published"] == "2024-03-01"
    assert found["media_type"] == "text/html"
    assert found["content"].startswith("# On mills\n\nThe river runs")
    assert f"[more]({server.url}/more)" in found["content"]
    assert "script" not in found["content"] and "Home" not in found["content"]
    assert found["chars"] == len(found["content"]) and "note" not in found


def test_plain_text_is_asked_for_with_a_format(server: Server) -> None:
    server.answers["/a"] = response(article("On mills", SENTENCE, f"<b>{SENTENCE}</b>"))
    content = page(f"{server.url}/a", Wish("text"))["content"]
    assert "#" not in content and "*" not in content and SENTENCE in content


def test_a_page_without_a_main_text_gives_all_that_it_shows(server: Server) -> None:
    deep = "<div>" * 20_000 + "<b>deep</b> down" + "</div>" * 20_000
    server.answers["/a"] = response(
        f"<title>Deep &amp; odd</title><style>p{{}}</style>{deep}<ul><li>one<li>two</ul>"
    )
    found = page(f"{server.url}/a")
    assert found["title"] == "Deep & odd"
    assert found["content"] == "deep down\none\ntwo"


def test_a_page_too_large_for_a_tree_is_read_plainly() -> None:
    text = article("Long", *[f"{SENTENCE} {number}" for number in range(25_000)])
    assert len(text) > reader.MOST_TREE
    found = reader.read_html(text, "http://pages.test/", "markdown")
    assert found["title"] == "Long"
    assert found["text"].count(SENTENCE) == 25_000 and f"{SENTENCE} 24999\n" in found["text"] + "\n"


def test_a_page_that_shows_nothing_without_scripts_says_so(server: Server) -> None:
    server.answers["/a"] = response("<html><body><div id=app></div><script>run()</script></html>")
    assert "without running its scripts" in page(f"{server.url}/a")["error"]


@pytest.mark.parametrize("head", ["", "%PDF comes late: \n\n"])
def test_a_pdf_file_is_read_page_by_page(server: Server, head: str) -> None:
    data = head.encode() + pdf("First page here", "Second page there", title="Two pages")
    server.answers["/a"] = response(data, "application/pdf")
    found = page(f"{server.url}/a")
    assert found["content"] == "First page here\n\nSecond page there"
    assert found["title"] == "Two pages" and (found["pages"], found["pages_read"]) == (2, 2)


def test_a_pdf_file_under_a_false_name_is_read_as_one(server: Server) -> None:
    server.answers["/a"] = response(pdf("Here all the same"), "text/html")
    assert page(f"{server.url}/a")["content"] == "Here all the same"


def test_a_pdf_file_is_left_when_its_time_is_over() -> None:
    found = reader.read_pdf(pdf("one", "two", "three"), seconds=-1)
    assert (found["text"], found["pages"], found["pages_read"]) == ("one", 3, 1)


def test_pages_of_a_pdf_file_that_were_not_read_are_counted(server: Server) -> None:
    server.answers["/a"] = response(pdf(*["x"] * (reader.MOST_PAGES + 3)), "application/pdf")
    note = page(f"{server.url}/a")["note"]
    assert note == "Only the first 500 of 503 pages were read."


def encrypted(password: str) -> bytes:
    import pypdf

    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("Hidden words")))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def bomb() -> bytes:
    """A PDF file of less than a megabyte with a page of 100 MB."""
    stream = zlib.compress(b" " * 100_000_000, 1)
    data = pdf("@").replace(b"BT /F1 12 Tf 72 720 Td (@) Tj ET", stream)
    return data.replace(b"/Length 32", f"/Length {len(stream)} /Filter /FlateDecode".encode())


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: b"%PDF-1.7\nnothing else", "is damaged"),
        (lambda: pdf("x").replace(b"/Pages 2 0 R", b"/Pages 9 0 R"), "cannot be read"),
        (lambda: pdf(""), "holds no text"),
        (lambda: encrypted("secret"), "encrypted and needs a password"),
        (bomb, "none of its pages can be read"),
    ],
    ids=["damaged", "without-pages", "scanned", "encrypted", "bomb"],
)
def test_a_pdf_file_that_gives_no_text_says_why(
    server: Server, made: Callable[[], bytes], words: str
) -> None:
    server.answers["/a"] = response(made(), "application/pdf")
    assert words in page(f"{server.url}/a")["error"]


def test_a_pdf_file_encrypted_without_a_password_is_read(server: Server) -> None:
    server.answers["/a"] = response(encrypted(""), "application/pdf")
    assert page(f"{server.url}/a")["content"] == "Hidden words"


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/plain", "a <b> c\n  indented\n"),
        ("application/json", '{"a": [1, "<p>"]}'),
        ("application/ld+json", '{"@id": 1}'),
        ("text/xml", "<?xml version='1.0'?>\n<a>b</a>"),
        ("application/rss+xml", "<rss><item/></rss>"),
        ("image/svg+xml", "<svg><text>t</text></svg>"),
        ("text/csv", "a,b\n1,2"),
        ("application/octet-stream", "words without a type"),
        ("", "words without a type"),
        ("nonsense", "words without a type"),
    ],
)
def test_text_of_other_kinds_comes_as_it_is(server: Server, media_type: str, body: str) -> None:
    server.answers["/a"] = response(body, media_type)
    found = page(f"{server.url}/a")
    assert found["content"] == body.strip() and found["title"] == ""


def test_html_without_a_type_is_told_by_its_beginning(server: Server) -> None:
    server.answers["/a"] = response(f"<!-- x -->\n{article('Untold', SENTENCE)}", "")
    assert page(f"{server.url}/a")["title"] == "Untold"


def test_a_row_of_comments_is_looked_through_once() -> None:
    answer = Answer("http://pages.test/", "", "", b"<!---->" * 1_000)
    assert kind_of(answer) == "text"
    answer = Answer("http://pages.test/", "", "", b"<!---->\n" * 100 + b"<HTML>")
    assert kind_of(answer) == "html"


@pytest.mark.parametrize(
    ("media_type", "body", "words"),
    [
        ("image/png", b"\x89PNG\r\n\x1a\n\0\0", "leads to image/png"),
        ("video/mp4", b"\0\0\0\x18ftyp", "leads to video/mp4"),
        ("text/html", b"\x89PNG\r\n\x1a\n\0\0", "a PNG image"),
        ("application/zip", b"PK\x03\x04\0\0", "a ZIP archive"),
        ("text/plain", b"\x7fELF\x02\x01\0\0", "an ELF program"),
        ("", b"\0\1\2\3" * 50, "binary data (200 bytes)"),
        ("text/html", b"", "page is empty"),
        ("text/html", b" \n ", "page is empty"),
    ],
)
def test_what_is_no_text_is_refused_by_its_kind(
    server: Server, media_type: str, body: bytes, words: str
) -> None:
    server.answers["/a"] = response(body, media_type)
    assert words in page(f"{server.url}/a")["error"]


@pytest.mark.parametrize(
    ("codec", "header", "head"),
    [
        ("utf-8", "utf-8", ""),
        ("utf-8", "", ""),
        ("utf-8-sig", "windows-1252", ""),
        ("utf-8", "utf-16le", ""),
        ("utf-16", "", ""),
        ("utf-16-le", "utf-16le", ""),
        ("cp1252", "iso-8859-1", ""),
        ("cp1252", "", "<meta charset='windows-1252'>"),
        ("iso8859-2", "ISO-8859-2", "<meta charset='utf-8'>"),
        ("iso8859-2", "", "<meta http-equiv=content-type content='text/html; charset=latin2'>"),
        ("cp1252", "no-such-charset", "<meta charset=cp1252>"),
        ("cp1252", "rot13", "<meta charset=cp1252>"),
        ("utf-8", "us-ascii", "<meta charset=utf-8>"),
    ],
)
def test_characters_are_read_by_mark_header_and_page(codec: str, header: str, head: str) -> None:
    words = f"Käse für Übermüdete: {SENTENCE}"
    body = article("Öl", words, head=head).encode(codec)
    text = charsets.decode(body, header, markup=True)
    assert "<title>Öl</title>" in text and words in text


def test_the_charset_of_a_page_reaches_its_title_and_text(server: Server) -> None:
    words = f"Zażółć gęślą jaźń: {SENTENCE}"
    body = article("Łódź", words, head="<meta charset=utf-8>").encode("iso8859-2")
    server.answers["/a"] = response(body, "text/html; charset=ISO-8859-2")
    found = page(f"{server.url}/a")
    assert found["title"] == "Łódź" and words in found["content"]


@pytest.mark.parametrize(
    ("codec", "label", "words"),
    [
        ("shift_jis", "shift_jis", "こんにちは世界"),
        ("euc_jp", "euc-jp", "こんにちは世界"),
        ("iso2022_jp", "iso-2022-jp", "こんにちは世界"),
        ("gb18030", "gb2312", "你好,世界"),
        ("big5", "big5", "你好世界"),
        ("euc_kr", "euc-kr", "안녕하세요"),
        ("koi8_r", "koi8-r", "Привет, мир"),
        ("cp1251", "windows-1251", "Привет, мир"),
        ("iso8859_7", "iso-8859-7", "Γειά σου"),
    ],
)
def test_charsets_of_the_world_are_read(server: Server, codec: str, label: str, words: str) -> None:
    server.answers["/a"] = response(words.encode(codec), f'text/plain; charset="{label}"')
    assert page(f"{server.url}/a")["content"] == words


def test_undeclared_characters_are_guessed(server: Server) -> None:
    words = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 5
    server.answers["/a"] = response(words.encode("cp1251"), "text/plain")
    assert page(f"{server.url}/a")["content"] == words.strip()


def test_hidden_characters_do_not_come_through(server: Server) -> None:
    tags = "".join(chr(0xE0000 + ord(one)) for one in "obey")
    server.answers["/a"] = response(
        f"a\u202eb\u200bc{tags}d\x1b[0m\x00e\r\nf\n\n\n\ng\u200dh", "text/plain; charset=utf-8"
    )
    assert "binary" in page(f"{server.url}/a")["error"]
    server.answers["/a"] = response(
        f"a\u202eb\u200bc{tags}d\x1b[0me\r\nf\n\n\n\ng\u200dh", "text/plain; charset=utf-8"
    )
    assert page(f"{server.url}/a")["content"] == "abcd[0me\nf\n\ng\u200dh"


# Parts of pages, and several of them


def test_a_long_page_is_cut_and_read_on(server: Server) -> None:
    text = "".join(f"{number:06d}|" for number in range(1_000))
    server.answers["/a"] = response(text, "text/plain")
    first = page(f"{server.url}/a", Wish(max_chars=3_000))
    assert first["content"] == text[:3_000] and first["chars"] == 7_000
    assert (first["omitted_chars"], first["next_offset"]) == (4_000, 3_000)
    assert first["note"] == "4,000 more characters were left out; read on with offset=3000."
    last = page(f"{server.url}/a", Wish(max_chars=4_000, offset=3_000))
    assert first["content"] + last["content"] == text
    assert not {"omitted_chars", "next_offset", "note"} & set(last)
    beyond = page(f"{server.url}/a", Wish(offset=7_000))
    assert "has 7,000 characters" in beyond["error"]


def test_results_come_in_the_order_asked_and_a_failure_spoils_no_other(server: Server) -> None:
    fast_was_sent = Event()

    def slow(request: Request) -> Iterator[bytes]:
        fast_was_sent.wait(60)
        yield response("slow", "text/plain")

    def fast(request: Request) -> Iterator[bytes]:
        yield response("fast", "text/plain")
        fast_was_sent.set()

    server.answers["/slow"] = slow
    server.answers["/fast"] = fast
    server.answers["/dropped"] = lambda request: []
    urls = [f"{server.url}{path}" for path in ("/slow", "/gone", "/fast", "/dropped")]
    found = pages(*urls, "ftp://pages.test/")
    assert [one["url"] for one in found] == [*urls, "ftp://pages.test/"]
    assert [one.get("content") for one in found] == ["slow", None, "fast", None, None]
    assert "HTTP 404" in found[1]["error"] and found[1]["status"] == 404
    assert "connection broke" in found[3]["error"]
    assert "Only http and https" in found[4]["error"]


def test_pages_are_fetched_side_by_side(server: Server) -> None:
    # Each of the two answers only once the other was asked for as well.
    meeting = Barrier(2, timeout=60)

    def answer(request: Request) -> Iterator[bytes]:
        meeting.wait()
        yield response(request.target, "text/plain")

    server.answers["*"] = answer
    found = pages(f"{server.url}/1", f"{server.url}/2")
    assert [one["content"] for one in found] == ["/1", "/2"]


def test_a_url_given_twice_is_fetched_once(server: Server) -> None:
    server.answers["/a"] = response("a", "text/plain")
    found = pages(f"{server.url}/a", f"{server.url}/a")
    assert [one["content"] for one in found] == ["a", "a"] and len(server.requests) == 1


def test_credentials_of_a_refused_url_are_not_repeated(server: Server) -> None:
    found = page(f"http://user:hunter2@127.0.0.1:{server.port}/a")
    assert "hunter2" not in json.dumps(found) and "user name" in found["error"]
    assert not server.requests


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

    async def cancelled() -> None:
        task = asyncio.create_task(extract([f"{server.url}/a"], Wish(), LOCAL))
        assert await asyncio.to_thread(server.asked.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.hung_up.wait, 60)

    asyncio.run(cancelled())


def test_a_page_that_takes_too_long_to_read_is_given_up(server: Server) -> None:
    server.answers["/a"] = response(article("Slow", SENTENCE))
    found = page(f"{server.url}/a", terms=Terms(private=True, read_seconds=0.001))
    assert "took longer than 0.001 seconds" in found["error"]


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
        response(gzip.compress(b"x" * 5_000_000), "text/plain", content_encoding="gzip"),
        response(zlib.compress(b"x" * 5_000_000), "text/plain", content_encoding="deflate"),
        response(gzip.compress(b"") * 1_000, "text/plain", content_encoding="gzip"),
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
        data = gzip.compress(b"x" * 5_000_000)
    assert len(decompress.decoder(encoding).feed(data, 1_000)) == 1_001


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(b"words")),
        ("x-gzip", gzip.compress(b"wo") + gzip.compress(b"rds")),
        ("GZIP", gzip.compress(b"words") + b"\0\0\0"),
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
    data = gzip.compress(b"first ") + gzip.compress(b"second")
    assert b"".join(inner.feed(bytes([one]), 100) for one in data) == b"first second"
    inner.end()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (response(b"no gzip", content_encoding="gzip"), "gzip data is not valid"),
        (response(gzip.compress(b"x")[:-9], content_encoding="gzip"), "stops short"),
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


def test_the_process_that_reads_a_page_sees_no_secrets(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A module on PYTHONPATH that is imported in place of a parser writes down what it can see."""
    source = f"open({str(tmp_path / 'seen')!r}, 'w').write(json.dumps(dict(os.environ)))\n"
    parser(tmp_path, monkeypatch, f"import json, os\n{source}")
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-secret")
    server.answers["/a"] = response(article("Seen", SENTENCE))
    assert SENTENCE in page(f"{server.url}/a")["content"]
    seen = json.loads((tmp_path / "seen").read_text())
    assert "PYTHONPATH" in seen and "TAVILY_API_KEY" not in seen


def parser(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Let the process that reads HTML import this module in place of its parser."""
    (folder / "trafilatura.py").write_text(source)
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_a_parser_that_hangs_is_ended_with_its_call(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    source = f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()) + '.')\n"
    parser(tmp_path, monkeypatch, source + "time.sleep(600)\n")
    server.answers["/a"] = response(article("Hangs", SENTENCE))

    async def cancelled() -> None:
        terms = Terms(private=True, read_seconds=600)
        task = asyncio.create_task(extract([f"{server.url}/a"], Wish(), terms))
        while not (pid.exists() and pid.read_text().endswith(".")):
            assert not task.done()
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text().strip(".")), 0)


def test_a_parser_that_is_brought_down_costs_one_page(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parser(tmp_path, monkeypatch, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    server.answers |= {
        "/a": response(article("Falls", SENTENCE)),
        "/b": response("stands", "text/plain"),
    }
    first, second = pages(f"{server.url}/a", f"{server.url}/b")
    assert "brings down the program that parses it" in first["error"]
    assert second["content"] == "stands"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to its memory")
def test_a_parser_that_wants_all_memory_gets_no_more_than_its_share(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is asked for is never touched, so that the test itself needs none of it."""
    wrote = tmp_path / "wrote"
    source = f"""
import mmap
try:
    mmap.mmap(-1, {reader.MOST_MEMORY})
    answer = "given"
except (MemoryError, OSError):
    answer = "refused"
open({str(wrote)!r}, "w").write(answer)
"""
    parser(tmp_path, monkeypatch, source)
    server.answers["/a"] = response(article("Hungry", SENTENCE))
    assert SENTENCE in page(f"{server.url}/a")["content"]
    assert wrote.read_text() == "refused"


def test_the_handlers_load_without_the_packages_that_they_use() -> None:
    source = (
        "import sys, handlers.web.extract, handlers.web.search\n"
        "print(*{'httpx', 'trafilatura', 'pypdf', 'ddgs', 'lxml'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


# Through the registry

CALL = """
import sys
sys.path.insert(0, sys.argv[1])
from generated.registry import registry
print(registry.call(sys.argv[2], __import__("json").loads(sys.argv[3])))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    for name in ("tool_specs", "toolsets", "handlers"):
        shutil.copytree(HERE / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "hermes-build.toml").write_text('handlers = ["handlers"]\n')
    subprocess.run(
        [sys.executable, "-m", "hermes_build", "compile", "-C", str(folder)],
        check=True, env={**os.environ, "PYTHONPATH": str(HERE)}, timeout=120,
    )  # fmt: skip
    return folder


def call(program: Path, tool: str, args: dict[str, Any], **environ: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", CALL, str(program), tool, json.dumps(args)],
        env={**os.environ, "PYTHONPATH": str(HERE), **environ},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_model_reads_pages_through_the_registry(program: Path, server: Server) -> None:
    server.answers["/a"] = response(article("Title", SENTENCE))
    urls = [f"{server.url}/a", f"{server.url}/gone"]
    answer = call(program, "web_extract", {"urls": urls}, HERMES_ALLOW_PRIVATE_URLS="1")
    first, second = answer["results"]
    assert SENTENCE in first["content"] and "HTTP 404" in second["error"]
    assert "error" not in answer


def test_a_call_without_any_page_is_an_error(program: Path, server: Server) -> None:
    answer = call(program, "web_extract", {"urls": [f"{server.url}/a"]})
    assert "loopback address" in answer["error"] and answer["url"] == f"{server.url}/a"
    answer = call(program, "web_extract", {"urls": [f"{server.url}/a", "ftp://pages.test/"]})
    assert answer["error"] == "None of the pages could be read."
    assert [one["url"] for one in answer["results"]] == [f"{server.url}/a", "ftp://pages.test/"]
    assert not server.requests


def test_a_model_searches_through_the_registry(program: Path, server: Server) -> None:
    found = {"results": [{"title": "T", "url": "https://pages.test/", "content": "S"}]}
    server.answers["/search"] = response(json.dumps(found), "application/json")
    answer = call(
        program, "web_search", {"query": "mills"},
        SEARXNG_URL=server.url, HERMES_SEARCH_BACKEND="", no_proxy="127.0.0.1",
    )  # fmt: skip
    assert answer == {
        "backend": "searxng",
        "query": "mills",
        "results": [{"title": "T", "url": "https://pages.test/", "snippet": "S"}],
    }
