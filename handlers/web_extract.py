"""The handler of `web_extract`.

``HERMES_ALLOW_PRIVATE_URLS=1`` lets it fetch from private and loopback addresses as well.
"""

from __future__ import annotations

from typing import Any

from generated.tools import web_extract
from handlers.web import extract
from hermes_build.runtime.result import tool_error, tool_result


@web_extract.implements
async def handler(args: web_extract.Args, **context: Any) -> str:
    wish = extract.Wish(args["format"], args["max_chars"], args["offset"])
    results = await extract.extract(args["urls"], wish, extract.terms_of())
    if len(results) == 1 and "error" in results[0]:
        return tool_error(results[0].pop("error"), **results[0])
    if all("error" in one for one in results):
        return tool_error("None of the pages could be read.", results=results)
    return tool_result(results=results)
