"""What `web_search` does: choose a backend, ask it, and clean what it found."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from handlers.refusal import Refusal
from handlers.web.backends import ALL, DDGS_BACKEND, Backend, Found, Search
from handlers.web.cleaning import one_line, without_markup

VARIABLE = "HERMES_SEARCH_BACKEND"
"""The variable that names the backend to use, whatever else is set up."""

TITLE_CHARS = 200
SNIPPET_CHARS = 500
URL_CHARS = 2_000


async def web_search(search: Search, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Search the web.

    The answer has the ``backend`` that answered, the ``query``, and ``results``: each with
    ``title``, ``url`` and ``snippet``, as plain text on one line.

    Raises:
        Refusal: when no backend can be used, or the one that is used gives no usable answer.
    """
    query = one_line(search.query, len(search.query))
    if not query:
        raise Refusal("The query is empty.")
    backend = choose(environ)
    asked = Search(query, search.limit, search.time_range, search.seconds)
    try:
        # A backend that runs in a thread cannot be stopped, but it can be left behind.
        async with asyncio.timeout(search.seconds + 1):
            found = await backend.ask(environ, asked)
    except TimeoutError:
        raise Refusal(
            f"{backend.title} did not answer within {search.seconds:g} seconds."
        ) from None
    return {"backend": backend.name, "query": query, "results": cleaned(found, search.limit)}


def choose(environ: Mapping[str, str]) -> Backend:
    """The backend that `VARIABLE` names; without it, the first that is set up.

    Raises:
        Refusal: when the variable names none, or one that is not set up; it says what to set.
    """
    wanted = environ.get(VARIABLE, "").strip().lower()
    if not wanted:
        return next((one for one in ALL if _is_set_up(one, environ)), DDGS_BACKEND)
    for one in ALL:
        if one.name == wanted:
            if not _is_set_up(one, environ):
                raise Refusal(
                    f"{VARIABLE} asks for {one.name}, which is not set up: set {one.variable}."
                )
            return one
    names = ", ".join(one.name for one in ALL)
    raise Refusal(f"{VARIABLE} is {one_line(wanted, 40)!r}, but must be one of {names}.")


def _is_set_up(backend: Backend, environ: Mapping[str, str]) -> bool:
    return not backend.variable or bool(environ.get(backend.variable, "").strip())


def cleaned(found: list[Found], limit: int) -> list[dict[str, str]]:
    """The first results that lead to a page, each page once, as text that can be shown."""
    results: dict[str, dict[str, str]] = {}
    for one in found:
        url = one_line(one.url, len(one.url) + 1)
        if not url.lower().startswith(("http://", "https://")) or len(url) > URL_CHARS:
            continue
        if url not in results:
            results[url] = {
                "title": without_markup(one.title, TITLE_CHARS) or url,
                "url": url,
                "snippet": without_markup(one.snippet, SNIPPET_CHARS),
            }
        if len(results) == limit:
            break
    return list(results.values())
