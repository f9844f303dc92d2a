"""A tool in digests, one for each kind of reader that a change can concern."""

from __future__ import annotations

from dataclasses import dataclass

from hermes_build.compiler.canonical import (
    canonical,
    compact,
    digest,
    hexdigest,
    value_digest,
)
from hermes_build.compiler.emit.definition import definition
from hermes_build.compiler.emit.registry import tool_record
from hermes_build.compiler.keywords import strip_prompt
from hermes_build.ir import Tool


@dataclass(frozen=True, slots=True)
class Digests:
    """``args``, ``result``, ``prompt``, ``runtime`` and ``source`` are the lock's.

    ``schema`` is of both schemas whole, and ties a stub to the record that it was made from;
    ``authored`` covers the same with keys in their written order, which the stub's text follows.
    """

    source: str
    args: str
    result: str | None
    prompt: str
    runtime: str
    schema: str
    authored: str


def digests(tool: Tool, source: str) -> Digests:
    """Return the digests of one tool, whose document's text has the digest ``source``."""
    runtime = tool_record(tool, None, "")
    for key in ("schema", "output_schema", "source", "digest", "title"):
        runtime.pop(key, None)
    schemas = {"parameters": tool.parameters}
    if tool.output_schema is not None:
        schemas["output_schema"] = tool.output_schema  # type: ignore[assignment]
    prompt = digest(compact([definition(tool), tool.title]).encode())
    authored = [prompt, tool.is_async, tool.output_schema]
    return Digests(
        source=source,
        args=value_digest(strip_prompt(tool.parameters)),
        result=None
        if tool.output_schema is None
        else value_digest(strip_prompt(tool.output_schema)),
        prompt=prompt,
        runtime=value_digest(runtime),
        schema=hexdigest(canonical(schemas)),
        authored=digest(compact(authored).encode()),
    )
