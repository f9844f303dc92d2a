"""A tool in digests, as it was declared: those of its record, and those of its text."""

from __future__ import annotations

from dataclasses import dataclass

from hermes_build.canonical import compact, digest
from hermes_build.compiler.emit.registry import tool_record
from hermes_build.digests import record_digests
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
    found = record_digests(tool_record(tool, None, ""))
    return Digests(
        source=source,
        args=found.args,
        result=found.result,
        prompt=found.prompt,
        runtime=found.runtime,
        schema=found.schema,
        authored=digest(compact([found.prompt, tool.is_async, tool.output_schema]).encode()),
    )
