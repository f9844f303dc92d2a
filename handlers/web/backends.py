"""Four programs that search the web: how each is asked, and where its answer has what.

Every function here gets the settings of its backend and a `Search`, and gives raw results. Nothing
that it raises holds a key: a key is in the headers of a request, and in no message.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from handlers.refusal import Refusal
from handlers.web.addresses import literal
from handlers.web.background import in_background
from handlers.web.decompress import ACCEPTED
from handlers.web.fetch import body, refused

MOST_BYTES = 4 * 1024 * 1024
"""How large an answer of a search service may be."""

_BRAVE_TIMES = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for: at most ``limit`` results, and only new ones if ``time_range`` says so.

    ``time_range`` is ``day``, ``week``, ``month``, ``year`` or empty. ``seconds`` is the time that
    the whole search may take.
    """

    query: str
    limit: int = 5
    time_range: str = ""
    seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class Found:
    """One result as the backend wrote it, markup and all."""

    title: str
    url: str
    snippet: str


Asking = Callable[[Mapping[str, str], Search], Awaitable[list[Found]]]


@dataclass(frozen=True, slots=True)
class Backend:
    """A way to search: the variable that sets it up (empty for none), and what asks it."""

    name: str
    title: str
    variable: str
    ask: Asking


async def _searxng(environ: Mapping[str, str], search: Search) -> list[Found]:
    parameters = {"q": search.query, "format": "json", "pageno": "1"}
    if search.time_range:
        parameters["time_range"] = search.time_range
    try:
        data = await _asked(
            SEARXNG, search, "GET", _base(environ, "SEARXNG_URL", "") + "/search", params=parameters
        )
    except Refusal as refusal:
        if refusal.fields.get("status") == 403:
            raise Refusal(
                f"{refusal} An instance answers programs only when `json` is among the "
                "search.formats of its settings.",
                **refusal.fields,
            ) from None
        raise
    return _found(SEARXNG, data, ("results",), "content")


async def _tavily(environ: Mapping[str, str], search: Search) -> list[Found]:
    asked: dict[str, Any] = {"query": search.query, "max_results": search.limit}
    if search.time_range:
        asked["time_range"] = search.time_range
    data = await _asked(
        TAVILY,
        search,
        "POST",
        _base(environ, "TAVILY_BASE_URL", "https://api.tavily.com") + "/search",
        headers={"Authorization": f"Bearer {_key(environ, 'TAVILY_API_KEY')}"},
        json=asked,
    )
    return _found(TAVILY, data, ("results",), "content")


async def _brave(environ: Mapping[str, str], search: Search) -> list[Found]:
    parameters = {"q": search.query, "count": str(search.limit)}
    if search.time_range:
        parameters["freshness"] = _BRAVE_TIMES[search.time_range]
    data = await _asked(
        BRAVE,
        search,
        "GET",
        _base(environ, "BRAVE_BASE_URL", "https://api.search.brave.com") + "/res/v1/web/search",
        headers={"X-Subscription-Token": _key(environ, "BRAVE_API_KEY")},
        params=parameters,
    )
    # Without any result, Brave leaves the whole of `web` out.
    return _found(BRAVE, {"web": {"results": []}, **data}, ("web", "results"), "description")


async def _ddgs(environ: Mapping[str, str], search: Search) -> list[Found]:
    try:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
    except ImportError:
        raise Refusal(
            "No search service is set up, and the package ddgs is not installed. Set SEARXNG_URL, "
            "TAVILY_API_KEY or BRAVE_API_KEY, or install ddgs."
        ) from None

    def ask() -> list[dict[str, Any]]:
        # Every engine that it asks may take this long, and it asks them in several rounds.
        with DDGS(proxy=environ.get("DDGS_PROXY"), timeout=max(1, int(search.seconds / 4))) as one:
            return one.text(
                search.query, max_results=search.limit, timelimit=search.time_range[:1] or None
            )

    try:
        results = await in_background(ask)
    except RatelimitException:
        raise Refusal("The search engines that ddgs asks refuse so many searches; wait.") from None
    except TimeoutException:
        raise Refusal("The search engines that ddgs asks did not answer in time.") from None
    except DDGSException as error:
        if "No results" in str(error):
            return []
        raise Refusal(
            "ddgs got no answer from any search engine. Check the network, or set SEARXNG_URL, "
            "TAVILY_API_KEY or BRAVE_API_KEY to use a search service."
        ) from None
    return _found(DDGS_BACKEND, {"results": results}, ("results",), "body", "href")


SEARXNG = Backend("searxng", "SearXNG", "SEARXNG_URL", _searxng)
TAVILY = Backend("tavily", "Tavily", "TAVILY_API_KEY", _tavily)
BRAVE = Backend("brave", "Brave Search", "BRAVE_API_KEY", _brave)
DDGS_BACKEND = Backend("ddgs", "ddgs", "", _ddgs)

ALL = (SEARXNG, TAVILY, BRAVE, DDGS_BACKEND)
"""Every backend; the first that is set up is used."""


def _key(environ: Mapping[str, str], variable: str) -> str:
    key = environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise Refusal(f"{variable} holds characters that no key has. Set it again.")
    return key


def _base(environ: Mapping[str, str], variable: str, default: str) -> str:
    """The URL that a variable sets, without a slash at its end.

    Raises:
        Refusal: when it is no http or https URL; its value is not shown, as it may hold a password.
    """
    import httpx

    text = environ.get(variable, "").strip() or default
    try:
        url = httpx.URL(text)
        literal(url.raw_host.decode("ascii"))
        usable = url.scheme in ("http", "https")
    except (httpx.InvalidURL, ValueError, Refusal):
        usable = False
    if not usable or "?" in text or "#" in text:
        raise Refusal(f"{variable} is not a URL such as https://search.example.org.")
    return text.rstrip("/")


async def _asked(
    backend: Backend, search: Search, method: str, url: str, **request: Any
) -> dict[str, Any]:
    """What a service answers, as a JSON object.

    Redirects are not followed: a key is for the service that it was given out by.

    Raises:
        Refusal: when there is no such answer within the search's time.
    """
    import httpx

    headers = {
        "Accept": "application/json",
        "Accept-Encoding": ACCEPTED,
        **request.pop("headers", {}),
    }
    who = backend.title
    try:
        async with (
            asyncio.timeout(search.seconds),
            httpx.AsyncClient(timeout=search.seconds) as client,
            client.stream(method, url, headers=headers, **request) as response,
        ):
            if response.status_code != 200:
                raise Refusal(_status(backend, response), status=response.status_code)
            try:
                data = await body(response, MOST_BYTES)
            except Refusal as refusal:
                raise Refusal(f"{who}: {refusal}") from None
    except (TimeoutError, httpx.TimeoutException):
        raise Refusal(f"{who} did not answer within {search.seconds:g} seconds.") from None
    except (httpx.ConnectError, httpx.ProxyError):
        raise Refusal(f"{who} cannot be reached. Check the network and its URL.") from None
    except httpx.HTTPError as error:
        raise Refusal(f"The connection to {who} broke ({type(error).__name__}).") from None
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        raise Refusal(f"{who} answered with something that is not JSON.") from None
    if not isinstance(answer, dict):
        raise Refusal(f"{who} answered with JSON that is not an object.")
    return answer


def _status(backend: Backend, response: Any) -> str:
    sentence = refused(response, backend.title)
    status = response.status_code
    if 300 <= status < 400:
        return f"{sentence} Redirects are not followed; set the URL that it leads to."
    if status in (401, 403) and backend.variable.endswith("_KEY"):
        return f"{sentence} Check {backend.variable}."
    if status in (432, 433):  # Tavily's own
        return f"{sentence} The plan of {backend.variable} is used up."
    return sentence


def _found(
    backend: Backend, data: Any, path: tuple[str, ...], snippet: str, url: str = "url"
) -> list[Found]:
    """The results at a path of an answer; an entry that is no result is passed over.

    Raises:
        Refusal: when there is no list at the path.
    """
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    if not isinstance(data, list):
        raise Refusal(f"{backend.title} answered with JSON that holds no list of results.")
    return [
        Found(*(str(one.get(name) or "") for name in ("title", url, snippet)))
        for one in data
        if isinstance(one, dict)
    ]
