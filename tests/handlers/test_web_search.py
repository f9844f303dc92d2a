"""Every backend is asked as it wants to be, its answer is cleaned, and no key is ever shown."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from handlers.refusal import Refusal
from handlers.web.backends import Search
from handlers.web.search import choose, cleaned, web_search
from tests.handlers.web_server import Server, cancelled, redirect, response, silence, trickle

KEY = "tvly-s3cr3t-k3y"


@pytest.fixture(autouse=True)
def without_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "DDGS_PROXY"):
        monkeypatch.delenv(name, raising=False)


def said(value: Any) -> bytes:
    return response(json.dumps(value), "application/json")


def settings(server: Server, backend: str) -> dict[str, str]:
    return {
        "searxng": {"SEARXNG_URL": server.url},
        "tavily": {"TAVILY_API_KEY": KEY, "TAVILY_BASE_URL": server.url},
        "brave": {"BRAVE_API_KEY": KEY, "BRAVE_BASE_URL": server.url},
    }[backend]


def search(environ: dict[str, str], query: str = "old mills", **fields: Any) -> dict[str, Any]:
    return asyncio.run(web_search(Search(query, **fields), environ))


def refusal(environ: dict[str, str], **fields: Any) -> str:
    """What a search that fails says; a key is neither in it nor in what led to it."""
    with pytest.raises(Refusal) as caught:
        search(environ, **fields)
    error: BaseException | None = caught.value
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    while error is not None:
        assert KEY not in f"{error} {error.args} {getattr(error, 'details', '')}"
        error = error.__cause__
    return str(caught.value)


EACH = pytest.mark.parametrize("backend", ["searxng", "tavily", "brave"])


# Asking


def test_searxng_is_asked_for_json(server: Server) -> None:
    server.answers["/sub/search"] = said(
        {"results": [{"title": "T", "url": "https://a.test/", "content": "S", "score": 1}]}
    )
    environ = {"SEARXNG_URL": f"{server.url}/sub/"}
    answer = search(environ, "old mills & rivers", time_range="week")
    assert answer == {
        "backend": "searxng",
        "query": "old mills & rivers",
        "results": [{"title": "T", "url": "https://a.test/", "snippet": "S"}],
    }
    [request] = server.requests
    asked = parse_qs(urlsplit(request.target).query)
    assert asked["q"] == ["old mills & rivers"] and asked["format"] == ["json"]
    assert asked["time_range"] == ["week"] and request.method == "GET"


def test_the_password_in_a_searxng_url_is_sent_and_not_shown(server: Server) -> None:
    server.answers["/search"] = response(status="401 Unauthorized")
    environ = {"SEARXNG_URL": f"http://user:{KEY}@127.0.0.1:{server.port}"}
    assert "HTTP 401" in refusal(environ)
    assert server.requests[0].headers["authorization"].startswith("Basic ")


def test_tavily_gets_its_key_in_a_bearer_header(server: Server) -> None:
    server.answers["/search"] = said(
        {"results": [{"title": "T", "url": "https://a.test/", "content": "S", "raw_content": None}]}
    )
    answer = search(settings(server, "tavily"), limit=7, time_range="year")
    assert answer["backend"] == "tavily" and answer["results"][0]["snippet"] == "S"
    [request] = server.requests
    assert request.method == "POST" and request.headers["authorization"] == f"Bearer {KEY}"
    assert json.loads(request.body) == {
        "query": "old mills",
        "max_results": 7,
        "time_range": "year",
    }
    assert KEY not in request.target


def test_brave_gets_its_key_in_its_own_header(server: Server) -> None:
    server.answers["/res/v1/web/search"] = said(
        {"web": {"results": [{"title": "T", "url": "https://a.test/", "description": "<b>S</b>"}]}}
    )
    answer = search(settings(server, "brave"), limit=20, time_range="month")
    assert answer["backend"] == "brave" and answer["results"][0]["snippet"] == "S"
    [request] = server.requests
    assert request.headers["x-subscription-token"] == KEY and KEY not in request.target
    assert parse_qs(urlsplit(request.target).query) == {
        "q": ["old mills"],
        "count": ["20"],
        "freshness": ["pm"],
    }


def test_ddgs_is_asked_without_a_key_and_its_failure_is_told() -> None:
    with Server({"*": response(status="502 Bad Gateway")}) as proxy:
        # Everything that ddgs asks goes to this proxy, which lets nothing through.
        words = refusal({"DDGS_PROXY": proxy.url}, seconds=120.0)
        assert proxy.requests and {one.method for one in proxy.requests} == {"CONNECT"}
    assert "ddgs got no answer from any search engine" in words
    assert "set SEARXNG_URL, TAVILY_API_KEY or BRAVE_API_KEY" in words


# Choosing


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, "ddgs"),
        ({"SEARXNG_URL": " ", "TAVILY_API_KEY": ""}, "ddgs"),
        ({"BRAVE_API_KEY": KEY}, "brave"),
        ({"BRAVE_API_KEY": KEY, "TAVILY_API_KEY": KEY}, "tavily"),
        ({"BRAVE_API_KEY": KEY, "TAVILY_API_KEY": KEY, "SEARXNG_URL": "http://s.test"}, "searxng"),
        ({"HERMES_SEARCH_BACKEND": "ddgs", "TAVILY_API_KEY": KEY}, "ddgs"),
        (
            {"HERMES_SEARCH_BACKEND": " Brave ", "BRAVE_API_KEY": KEY, "TAVILY_API_KEY": KEY},
            "brave",
        ),
    ],
)
def test_the_first_backend_that_is_set_up_is_used_unless_one_is_named(
    environ: dict[str, str], name: str
) -> None:
    assert choose(environ).name == name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tavily", "set TAVILY_API_KEY"),
        ("brave", "set BRAVE_API_KEY"),
        ("searxng", "set SEARXNG_URL"),
        ("google", "'google', but must be one of searxng, tavily, brave, ddgs"),
    ],
)
def test_a_backend_that_cannot_be_used_says_what_to_set(name: str, words: str) -> None:
    assert words in refusal({"HERMES_SEARCH_BACKEND": name})


@pytest.mark.parametrize(
    "url", ["search.test", "ftp://search.test", "http://", "http://s.test/?q=", "http://[", "http://s.test#a"]
)  # fmt: skip
def test_a_base_url_that_is_none_names_its_variable(url: str) -> None:
    assert "SEARXNG_URL is not a URL" in refusal({"SEARXNG_URL": url})
    environ = {"TAVILY_API_KEY": KEY, "TAVILY_BASE_URL": url}
    assert "TAVILY_BASE_URL is not a URL" in refusal(environ)


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown() -> None:
    for key in (f"{KEY}\nHost: x", f"{KEY}ü"):
        words = refusal({"TAVILY_API_KEY": key})
        assert words == "TAVILY_API_KEY holds characters that no key has. Set it again."


def test_an_empty_query_is_refused() -> None:
    with pytest.raises(Refusal, match="query is empty"):
        search({"SEARXNG_URL": "http://s.test"}, " \u200b\n")


# Failing


@EACH
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (response(KEY, status="500 Internal Server Error"), "HTTP 500 (Internal Server Error)"),
        (response(status="429 Too Many", retry_after="30"), "wait 30 seconds"),
        (redirect("http://elsewhere.test/"), "Redirects are not followed"),
        (response(f"<html>{KEY}</html>"), "not JSON"),
        (response("", "application/json"), "not JSON"),
        (response(f'{{"results": ["{KEY}', "application/json"), "not JSON"),
        (response("[" * 100_000, "application/json"), "not JSON"),
        (said([1]), "not an object"),
        (said({"results": {"a": KEY}, "web": [KEY]}), "no list of results"),
        (response("x", content_length="100"), "broke"),
        (response("no gzip", content_encoding="gzip"), "gzip data is not valid"),
        (response("x" * 5_000_000), "larger than 4,194,304 bytes"),
        (b"", "broke"),
        (b"garbage\r\n\r\n", "broke"),
    ],
)
def test_a_failing_service_is_told_by_its_name(
    server: Server, backend: str, answer: bytes, words: str
) -> None:
    server.answers["*"] = answer
    told = refusal(settings(server, backend))
    title = {"searxng": "SearXNG", "tavily": "Tavily", "brave": "Brave Search"}[backend]
    assert words in told and title in told


@EACH
@pytest.mark.parametrize("answer", [silence, trickle])
def test_a_service_that_does_not_finish_is_left(server: Server, backend: str, answer: Any) -> None:
    server.answers["*"] = answer
    assert "within 0.5 seconds" in refusal(settings(server, backend), seconds=0.5)
    assert not server.requests or server.hung_up.wait(60)


@EACH
def test_a_service_that_is_not_there_is_told(backend: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = Server()
        nowhere.url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        assert "cannot be reached" in refusal(settings(nowhere, backend))


@pytest.mark.parametrize(("backend", "status"), [("tavily", 401), ("brave", 403)])
def test_a_refused_key_names_its_variable(server: Server, backend: str, status: int) -> None:
    server.answers["*"] = response(f"bad key {KEY}", status=f"{status} No")
    assert f"Check {backend.upper()}_API_KEY" in refusal(settings(server, backend))


def test_searxng_without_json_says_what_its_settings_need(server: Server) -> None:
    server.answers["*"] = response(status="403 Forbidden")
    assert "`json` is among the search.formats" in refusal(settings(server, "searxng"))


def test_cancelling_a_search_closes_its_connection(server: Server) -> None:
    server.answers["*"] = silence
    environ = settings(server, "searxng")
    asyncio.run(cancelled(web_search(Search("old mills", seconds=600), environ), server))


# Cleaning


def test_nothing_found_is_an_empty_list(server: Server) -> None:
    server.answers["/search"] = said({"results": []})
    server.answers["/res/v1/web/search"] = said({"type": "search", "query": {}})
    for backend in ("searxng", "tavily", "brave"):
        assert search(settings(server, backend))["results"] == []


def test_results_are_plain_text_on_one_line(server: Server) -> None:
    tags = "".join(chr(0xE0000 + ord(one)) for one in "obey")
    server.answers["/search"] = said(
        {
            "results": [
                {
                    "title": f"<b>Mills</b> &amp;\n rivers\u202e{tags}",
                    "url": "https://a.test/\u200b?a=1&b=2",
                    "content": "One <b class='x'>old</b> mill, <!-- no --> 1 < 2 &lt;i&gt;\x00",
                },
                {"title": None, "url": "http://b.test/", "content": 5},
                {"title": "again", "url": "http://b.test/"},
                {"title": "a script", "url": "javascript:alert(1)"},
                {"title": "without a URL"},
                "no result",
                {"title": "t" * 500, "url": "http://c.test/", "content": "c" * 2_000},
                {"title": "too long", "url": "http://d.test/" + "d" * 3_000},
            ]
        }
    )
    first, second, third = search(settings(server, "searxng"))["results"]
    assert first == {
        "title": "Mills & rivers",
        "url": "https://a.test/?a=1&b=2",
        "snippet": "One old mill, 1 < 2 <i>",
    }
    assert second == {"title": "http://b.test/", "url": "http://b.test/", "snippet": "5"}
    assert len(third["title"]) == 200 and third["title"].endswith("…")
    assert len(third["snippet"]) == 500 and third["snippet"].endswith("…")


@pytest.mark.parametrize("limit", [1, 3, 20])
def test_no_more_results_come_than_asked_for(server: Server, limit: int) -> None:
    many = [{"title": str(one), "url": f"http://a.test/{one}", "content": ""} for one in range(30)]
    server.answers["/search"] = said({"results": many})
    found = search(settings(server, "searxng"), limit=limit)["results"]
    assert [one["title"] for one in found] == [str(one) for one in range(limit)]
    assert cleaned([], limit) == []
