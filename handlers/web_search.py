"""The handler of `web_search`.

``SEARXNG_URL``, ``TAVILY_API_KEY`` or ``BRAVE_API_KEY`` sets up a search service; the first of them
that is there is used. ``TAVILY_BASE_URL`` and ``BRAVE_BASE_URL`` lead to compatible services
elsewhere. Without any of them, the package ddgs asks public search engines.
``HERMES_SEARCH_BACKEND`` names the one to use: searxng, tavily, brave or ddgs.
"""

from __future__ import annotations

from typing import Any

from generated.tools import web_search
from handlers.web import search
from handlers.web.backends import Search
from hermes_build.runtime.result import tool_result


@web_search.implements
async def handler(args: web_search.Args, **context: Any) -> str:
    asked = Search(args["query"], args["limit"], args.get("time_range", ""))
    return tool_result(await search.web_search(asked))
