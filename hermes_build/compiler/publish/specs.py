"""The JSON Schemas of tool specs and toolsets."""

from __future__ import annotations

from hermes_build.compiler.publish.pieces import (
    DIALECT,
    MODULE,
    VARIABLE,
    above_zero,
    closed,
    document,
    flag,
    listed,
    mapped,
    name,
    text,
    toolset_name,
)
from hermes_build.compiler.spec import HANDLERS, PLATFORMS
from hermes_build.ir import TOOL_NAME, JsonObject
from hermes_build.keywords import HOLDS, KNOWN


def _hints(description: str) -> JsonObject:
    return closed(
        description,
        {
            "read_only": flag("The tool changes nothing outside itself."),
            "destructive": flag("The tool may delete or overwrite what was there."),
            "idempotent": flag("A second call with equal arguments changes nothing more."),
            "open_world": flag("The tool reaches beyond this machine: the web, other services."),
        },
    )


def tool_schema() -> JsonObject:
    """The schema of a document in the specs folder: a tool, MCP servers, or shared ``$defs``."""
    # Conditions rather than `oneOf`: an editor then completes, and blames, the one that is meant.
    return document(
        "hermes-build tool spec",
        "A document of the specs folder: one tool, MCP servers, or definitions that others share.",
        {
            "type": "object",
            "if": {"required": ["mcp_servers"]},
            "then": {"$ref": "#/$defs/servers"},
            "else": {
                "if": {"required": ["$defs"], "not": {"required": ["name"]}},
                "then": {"$ref": "#/$defs/shared"},
                "else": {"$ref": "#/$defs/tool"},
            },
            "$defs": {
                "tool": _tool(),
                "servers": _servers(),
                "shared": closed(
                    "Schemas for other specs to refer to, as `common.yaml#/$defs/Path`.",
                    {
                        "$defs": mapped("Schemas by name.", {"$ref": "#/$defs/schema"}),
                        "description": text("What these definitions are for."),
                    },
                    ["$defs"],
                ),
                "schema": {
                    # The metaschema decides; the names beside it are for completion at any depth.
                    "description": "A JSON Schema (2020-12).",
                    "allOf": [{"$ref": DIALECT}, {"$ref": "#/$defs/keywords"}],
                },
                "keywords": {"type": ["object", "boolean"], "properties": _keywords()},
            },
        },
    )


def _keywords() -> JsonObject:
    inner = {"$ref": "#/$defs/keywords"}
    shapes: dict[str, JsonObject] = {
        "schema": inner,
        "list": {"items": inner},
        "map": {"additionalProperties": inner},
    }
    return {name: shapes[HOLDS[name]] if name in HOLDS else {} for name in sorted(KNOWN)}


def _tool() -> JsonObject:
    properties: JsonObject = {
        "name": name("The name that a model calls.", examples=["read_file"]),
        "toolset": toolset_name("The one toolset that owns the tool.", examples=["file"]),
        "title": text("A name for people.", examples=["Read file"]),
        "description": text(
            "What the tool does, on what, and when to use it: a model chooses by this text.",
            examples=["Read a text file with line numbers."],
        ),
        "emoji": text("A sign for lists and logs.", examples=["📖"]),
        "parameters": {
            "description": "The arguments: a JSON Schema (2020-12) whose root is an object. "
            "Models see it as it is written.",
            "type": "object",
            "$ref": "#/$defs/schema",
            "examples": [
                {
                    "type": "object",
                    "properties": {"path": {"type": "string", "description": "Path of the file"}},
                    "required": ["path"],
                    "additionalProperties": False,
                }
            ],
        },
        "output_schema": {
            "description": "The result: a JSON Schema (2020-12) that results are checked against.",
            "type": ["object", "boolean"],
            "$ref": "#/$defs/schema",
        },
        "is_async": flag(
            "Whether the handler must be a coroutine function; left out, either will do."
        ),
        "requires": _requires(),
        "max_result_chars": above_zero(
            "integer", "How many characters a result may have.", examples=[100000]
        ),
        "timeout_seconds": above_zero(
            "number", "How long a call may take, in seconds.", examples=[120]
        ),
        "annotations": _hints("Hints on side effects, as MCP has them.")
        | {
            "not": {
                "properties": {"read_only": {"const": True}, "destructive": {"const": True}},
                "required": ["read_only", "destructive"],
            }
        },
        "tags": listed(
            "Labels that guards of toolsets speak of.",
            {"type": "string", "pattern": "^[a-z0-9][a-z0-9_.:-]{0,63}$"},
            examples=[["filesystem"]],
        ),
        "dynamic": listed(
            "JSON pointers to the parts of the definition that a running program may rewrite.",
            {"type": "string", "pattern": "^/(description|parameters)(/|$)"},
            examples=[["/description"]],
        ),
        "aliases": listed(
            "Other names that reach the tool.",
            {"type": "string", "pattern": TOOL_NAME},
            examples=[["cat_file"]],
        ),
        "deprecated": closed(
            "Says that the tool will go.",
            {
                "since": text("The version that began to say so.", examples=["1.2"]),
                "use": text("The tool that takes its place.", examples=["other_tool"]),
            },
        ),
        "examples": listed(
            "Calls that fit `parameters`.",
            closed(
                "One call.",
                {
                    "args": {"type": "object", "description": "The arguments."},
                    "description": {"description": "What the example shows."},
                    "result": {"description": "What the call gives."},
                },
                ["args"],
            ),
            examples=[[{"args": {"path": "README.md"}}]],
        ),
        "handler": {
            "description": "Who answers: `self`, a handler module that registers itself; "
            "`external`, the program around; `server`, an MCP server.",
            "enum": list(HANDLERS),
            "default": "self",
        },
    }
    return closed("One tool.", properties, ["name", "parameters"])


def _requires() -> JsonObject:
    variables: JsonObject = {"type": "string", "pattern": VARIABLE}
    return closed(
        "What must be there for the tool to be available.",
        {
            "env": listed(
                "Environment variables, all of them.", variables, examples=[["FIRECRAWL_API_KEY"]]
            ),
            "any_env": listed(
                "Environment variables, at least one of them.",
                variables,
                examples=[["TAVILY_API_KEY", "EXA_API_KEY"]],
            ),
            "python": listed(
                "Modules that can be imported.",
                {"type": "string", "pattern": MODULE},
                examples=[["trafilatura"]],
            ),
            "commands": listed(
                "Programs on PATH.",
                {"type": "string", "pattern": r"^[^\s/\\\u0000]+$"},
                examples=[["rg"]],
            ),
            "platforms": listed("Operating systems, one of them.", {"enum": list(PLATFORMS)}),
            "check": flag("The handler module also supplies a check function.", default=False),
        },
    )


def _servers() -> JsonObject:
    server = closed(
        "One MCP server: `command` starts it here, `url` reaches it elsewhere.",
        {
            "command": text("The program to start.", examples=["npx"]),
            "args": listed("Its arguments.", {"type": "string"}),
            "env": mapped(
                "Its environment; `${VAR}` is read when it starts and never stored.",
                {"type": "string"},
                examples=[{"API_KEY": "${API_KEY}"}],
            ),
            "url": text(
                "Its address.", pattern=r"^https?://\S+$", examples=["https://example.com/mcp"]
            ),
            "headers": mapped("Headers of each request; `${VAR}` as in `env`.", {"type": "string"}),
            "timeout": above_zero("number", "How long an answer may take, in seconds."),
        },
        oneOf=[{"required": ["command"]}, {"required": ["url"]}],
    )
    servers = mapped("MCP servers by name.", server, propertyNames={"pattern": TOOL_NAME})
    return closed("MCP servers.", {"mcp_servers": servers}, ["mcp_servers"])


def toolset_schema() -> JsonObject:
    """The schema of a document in the toolsets folder."""
    node = closed(
        "One toolset.",
        {
            "name": toolset_name("The toolset's name.", examples=["debugging"]),
            "description": text("What the toolset is for.", examples=["Troubleshooting toolkit"]),
            "tools": listed("Tools by name.", {"type": "string"}, examples=[["terminal"]]),
            "includes": listed(
                'Whole toolsets by name; `"*"` means every tool.',
                {"type": "string"},
                examples=[["web", "file"]],
            ),
            "excludes": listed(
                "Tools to leave out: applied last, and always wins.",
                {"type": "string"},
                examples=[["write_file"]],
            ),
            "guards": closed(
                "Promises about the resolved tools, proved when the program is compiled.",
                {
                    "forbid_tags": listed(
                        "Tags that no tool may have.", {"type": "string"}, examples=[["exec"]]
                    ),
                    "require": _hints("Hints that every tool must give, with these values."),
                    "max_tools": above_zero("integer", "How many tools there may be."),
                    "max_tokens": above_zero(
                        "integer", "How long the definitions may be, in estimated tokens."
                    ),
                },
            ),
            "aliases": listed(
                "Other names of the toolset.", toolset_name("Another name."), examples=[["debug"]]
            ),
            "may_be_empty": flag(
                "Whether it may resolve to no tool, because a running program fills it."
            ),
        },
        ["name"],
    )
    return document("hermes-build toolset", "A document of the toolsets folder: one toolset.", node)
