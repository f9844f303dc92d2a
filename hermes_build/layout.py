"""The layout of a compiled catalogue: what the compiler writes and the runtime reads.

A catalogue is UTF-8 text, one record a line: ``KEY TAB JSON LF``. The first line is the header (key
``!``); the others are sorted by the bytes of their keys, so that a reader finds one by bisection
without reading its neighbours, and a reviewer sees one changed line for one changed tool. JSON
texts are compact and hold no raw line break or tab. A reader accepts CRLF line ends, which a
version-control checkout may have put in.

Keys are ``tool/NAME``, ``toolset/NAME``, ``alias/tool/NAME``, ``alias/toolset/NAME`` and
``module/DOTTED.NAME`` (a handler module and the tools that it registers).

This module imports nothing: the import of a frozen registry must stay within a few milliseconds.
"""

FORMAT = 1
"""The runtime format: a number that grows when older runtimes could misread a newer catalogue."""

SINCE = "0.1.0"
"""The first version of hermes-build whose runtime reads this format."""

CATALOGUE = "catalogue.jsonl"
"""The catalogue's file name, beside the generated ``registry.py``."""

EVERY_TOOL = ("all", "*")
"""Toolset names that mean every tool; nobody may declare them."""

HEADER = "!"
TOOL = "tool/"
TOOLSET = "toolset/"
TOOL_ALIAS = "alias/tool/"
TOOLSET_ALIAS = "alias/toolset/"
MODULE = "module/"

TOOL_FIELDS = (
    *("name", "toolset", "title", "emoji", "schema", "output_schema", "is_async", "requires"),
    *("max_result_chars", "timeout_seconds", "annotations", "tags", "dynamic", "aliases"),
    *("deprecated", "handler", "module", "source", "digest"),
)
"""What the record of a tool may say, in this order."""

TOOLSET_FIELDS = (
    *("name", "description", "tools", "includes", "excludes", "guards", "aliases", "resolved"),
    "source",
)
"""What the record of a toolset may say, in this order."""


def module_name(tool: str) -> str:
    """Return the name of a tool's generated module, which is in the package ``tools``."""
    return tool.replace("-", "_")
