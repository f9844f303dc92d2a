"""Pages of every kind are read, alone or several at once, and through the registry."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

from handlers.web import reader
from handlers.web.extract import Wish, kind_of
from handlers.web.fetch import Answer
from tests.handlers.calling import HERE
from tests.handlers.web_pages import SENTENCE, article, page, pages
from tests.handlers.web_server import Request, Server, response

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
