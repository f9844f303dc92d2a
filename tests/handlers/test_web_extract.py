"""Pages of every kind are read, and no page can make that cost more than it may."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

from handlers.web import charsets, reader
from handlers.web.extract import Terms, Wish, extract, kind_of
from handlers.web.fetch import Answer
from tests.handlers.web_pages import SENTENCE, article, page, pages, pdf
from tests.handlers.web_server import Request, Server, response

HERE = Path(__file__).parents[2]


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as one:
        yield one


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


# The process that reads


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


def test_a_page_that_takes_too_long_to_read_is_given_up(server: Server) -> None:
    server.answers["/a"] = response(article("Slow", SENTENCE))
    found = page(f"{server.url}/a", terms=Terms(private=True, read_seconds=0.001))
    assert "took longer than 0.001 seconds" in found["error"]


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
