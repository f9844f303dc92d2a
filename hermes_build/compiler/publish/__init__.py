"""The JSON Schemas of our own documents, for editors and for programs that read our reports."""

from __future__ import annotations

import json
from collections.abc import Callable

from hermes_build.compiler.publish.reports import output_schema
from hermes_build.compiler.publish.settings import config_schema
from hermes_build.compiler.publish.specs import tool_schema, toolset_schema
from hermes_build.ir import JsonObject

SCHEMAS: dict[str, Callable[[], JsonObject]] = {
    "tool": tool_schema,
    "toolset": toolset_schema,
    "config": config_schema,
    "output": output_schema,
}
"""What ``hermes-build schema NAME`` prints."""


def schema_text(name: str) -> str:
    """One of `SCHEMAS` as the text of a JSON file."""
    return json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n"
