"""How long a tool's definition is for a model."""

from __future__ import annotations

from hermes_build.canonical import compact
from hermes_build.compiler.emit.definition import definition
from hermes_build.ir import Tool

BYTES_PER_TOKEN = 4
"""The usual rule of thumb for English text and JSON; no provider's tokeniser is at hand offline."""


def definition_tokens(tool: Tool) -> int:
    """Estimate the tokens of a tool's definition: its compact JSON in UTF-8, by four bytes."""
    text = compact(definition(tool))
    return -(-len(text.encode()) // BYTES_PER_TOKEN)
