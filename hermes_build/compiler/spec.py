"""From a YAML document to the tool, toolset or servers that it declares."""

from __future__ import annotations

import re
from typing import Any, cast

from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.fields import Fields, Pointer
from hermes_build.compiler.load import Document
from hermes_build.compiler.nearest import did_you_mean
from hermes_build.ir import (
    RESERVED_TOOLSETS,
    Annotations,
    Deprecated,
    Guards,
    HandlerKind,
    JsonObject,
    Place,
    Requires,
    Schema,
    Server,
    Tool,
    Toolset,
)

TOOL_KEYS = (
    "name", "toolset", "title", "description", "emoji", "parameters", "output_schema", "is_async",
    "requires", "max_result_chars", "timeout_seconds", "annotations", "tags", "dynamic", "aliases",
    "deprecated", "examples", "handler",
)  # fmt: skip
REQUIRES_KEYS = ("env", "any_env", "python", "commands", "platforms", "check")
ANNOTATION_KEYS = ("read_only", "destructive", "idempotent", "open_world")
TOOLSET_KEYS = (
    "name", "description", "tools", "includes", "excludes", "guards", "aliases", "may_be_empty",
)  # fmt: skip
GUARD_KEYS = ("forbid_tags", "require", "max_tools", "max_tokens")
SERVER_KEYS = ("command", "args", "env", "url", "headers", "timeout")
SHARED_KEYS = ("$defs", "description")
"""The keys of a document that only holds schemas for others to refer to."""

PLATFORMS = ("linux", "macos", "windows")
HANDLERS = ("self", "external", "server")

_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAG = re.compile(r"[a-z0-9][a-z0-9_.:-]{0,63}")


def is_server_document(value: Any) -> bool:
    """Whether a document declares MCP servers rather than a tool."""
    return isinstance(value, dict) and "mcp_servers" in value


def is_shared_document(value: Any) -> bool:
    """Whether a document only holds ``$defs`` that tools of other files refer to."""
    return isinstance(value, dict) and "$defs" in value and "name" not in value


def _mapping(doc: Document, what: str, findings: Findings) -> JsonObject | None:
    if isinstance(doc.value, dict):
        return doc.value
    findings.add(
        "HB1002", f"{what} must be a mapping", doc.at(), label="expected keys such as `name:`"
    )
    return None


def read_tool(doc: Document, findings: Findings) -> Tool | None:
    """Read one tool; ``None`` when too little of it could be read to go on.

    Its schemas are as written: `schema.check_schema` judges and bundles them.
    """
    value = _mapping(doc, "a tool spec", findings)
    if value is None:
        return None
    get = Fields(doc, (), value, findings)
    get.known(TOOL_KEYS, "a tool spec")
    whole = get.need(("name", "parameters"), "the tool spec")
    name = get.name("name", "the name of a tool")
    parameters = value.get("parameters")
    if "parameters" in value and not isinstance(parameters, dict):
        get.wrong("parameters", "a JSON Schema of an object")
    output: Schema | None = value.get("output_schema")
    if "output_schema" in value and not isinstance(output, dict | bool):
        get.wrong("output_schema", "a JSON Schema")
        output = None
    toolset = get.name("toolset", "the name of a toolset")
    if toolset in RESERVED_TOOLSETS:
        _reserved(toolset, get.span("toolset"), findings)
        toolset = None
    tool = Tool(
        name=name or "",
        place=Place(doc.source.path, doc.line),
        description=get.text("description") or "",
        parameters=parameters if isinstance(parameters, dict) else {},
        toolset=toolset,
        title=get.text("title"),
        emoji=get.text("emoji"),
        output_schema=output,
        is_async=get.flag("is_async"),
        requires=_requires(get),
        max_result_chars=get.whole("max_result_chars"),
        timeout_seconds=get.number("timeout_seconds", whole=False),
        annotations=_annotations(get),
        tags=get.texts("tags", _TAG, "a tag: lower-case letters, digits and `_ . : -`"),
        dynamic=_dynamic(get, value),
        aliases=get.names("aliases", "an alias of a tool"),
        deprecated=_deprecated(get),
        examples=_examples(get, value),
        handler=cast("HandlerKind", get.one_of("handler", HANDLERS, "self")),
    )
    return tool if whole and name and isinstance(parameters, dict) else None


def _requires(get: Fields) -> Requires:
    inner = get.table("requires", REQUIRES_KEYS)
    if inner is None:
        return Requires()
    variable = "the name of an environment variable"
    platforms = inner.texts("platforms")
    for nth, one in enumerate(platforms):
        if one not in PLATFORMS:
            inner.wrong("platforms", f"one of {', '.join(PLATFORMS)}", nth, code="HB1008")
    return Requires(
        env=inner.texts("env", _ENV, variable),
        any_env=inner.texts("any_env", _ENV, variable),
        python=inner.texts("python", _MODULE, "the dotted name of a module"),
        commands=inner.texts("commands", re.compile(r"[^\s/\\\0]+"), "the name of a command"),
        platforms=platforms,
        check=inner.flag("check") or False,
    )


def _annotations(get: Fields) -> Annotations:
    inner = get.table("annotations", ANNOTATION_KEYS)
    if inner is None:
        return Annotations()
    found = Annotations(*(inner.flag(key) for key in ANNOTATION_KEYS))
    if found.read_only and found.destructive:
        get.findings.add(
            "HB1011",
            "a tool cannot be both `read_only` and `destructive`",
            inner.span("destructive"),
            label="a tool that only reads destroys nothing",
        )
    return found


def _deprecated(get: Fields) -> Deprecated | None:
    inner = get.table("deprecated", ("since", "use"))
    if inner is None:
        return None
    return Deprecated(since=inner.text("since"), use=inner.text("use"))


def _examples(get: Fields, value: JsonObject) -> tuple[JsonObject, ...]:
    rows = value.get("examples")
    if rows is None and "examples" not in value:
        return ()
    if not isinstance(rows, list):
        get.wrong("examples", "a list of mappings with `args`")
        return ()
    good: list[JsonObject] = []
    for nth, row in enumerate(rows):
        if not isinstance(row, dict):
            get.wrong("examples", "a mapping with `args`", nth)
            continue
        inner = Fields(get.doc, ("examples", nth), row, get.findings)
        inner.known(("args", "description", "result"), "an example")
        if not inner.need(("args",), "the example"):
            continue
        if not isinstance(row["args"], dict):
            inner.wrong("args", "a mapping of arguments")
            continue
        good.append(row)
    return tuple(good) if len(good) == len(rows) else ()


def _dynamic(get: Fields, value: JsonObject) -> tuple[str, ...]:
    """Pointers into the definition that a running program may rewrite."""
    pointers = get.texts("dynamic")
    definition = {
        "description": value.get("description", ""),
        "parameters": value.get("parameters"),
    }
    for nth, pointer in enumerate(pointers):
        parts = pointer.split("/")
        if parts[0] != "" or len(parts) < 2 or parts[1] not in definition:
            get.wrong(
                "dynamic",
                "a JSON pointer under `/description` or `/parameters`",
                nth,
                code="HB1010",
            )
            continue
        node: Any = definition
        for part in parts[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and part in node:
                node = node[part]
            elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
                node = node[int(part)]
            elif isinstance(node, dict) and part == parts[-1] == "description":
                node = ""  # a description may come at run time alone
            else:
                get.findings.add(
                    "HB1010",
                    f"`{pointer}` meets nothing in the tool's definition",
                    get.span("dynamic", nth),
                    label=f"`{part}` is not there",
                    help=did_you_mean(part, node, get.findings) if isinstance(node, dict) else (),
                )
                break
    return pointers


def _reserved(name: str, span: Span, findings: Findings) -> None:
    findings.add(
        "HB2007",
        f"`{name}` is a reserved toolset name",
        span,
        label="it means every tool",
        help=("choose another name",),
    )


def read_toolset(doc: Document, findings: Findings) -> Toolset | None:
    """Read one toolset; ``None`` when it has no name that it may have."""
    value = _mapping(doc, "a toolset", findings)
    if value is None:
        return None
    get = Fields(doc, (), value, findings)
    get.known(TOOLSET_KEYS, "a toolset")
    if not get.need(("name",), "the toolset"):
        return None
    raw = value["name"]
    if isinstance(raw, str) and raw in RESERVED_TOOLSETS:
        _reserved(raw, get.span("name"), findings)
        return None
    name = get.name("name", "the name of a toolset")
    aliases = get.names("aliases", "an alias of a toolset")
    for nth, one in enumerate(aliases):
        if one in RESERVED_TOOLSETS:
            _reserved(one, get.span("aliases", nth), findings)
    toolset = Toolset(
        name=name or "",
        place=Place(doc.source.path, doc.line),
        description=get.text("description") or "",
        tools=get.texts("tools") if "tools" in value else None,
        includes=get.texts("includes"),
        excludes=get.texts("excludes"),
        guards=_guards(get),
        aliases=tuple(one for one in aliases if one not in RESERVED_TOOLSETS),
        may_be_empty=bool(get.flag("may_be_empty")),
    )
    return toolset if name else None


def _guards(get: Fields) -> Guards:
    inner = get.table("guards", GUARD_KEYS)
    if inner is None:
        return Guards()
    require = inner.table("require", ANNOTATION_KEYS)
    wanted: dict[str, bool] = {}
    if require is not None:
        for key in ANNOTATION_KEYS:
            flag = require.flag(key)
            if flag is not None:
                wanted[key] = flag
    return Guards(
        forbid_tags=inner.texts("forbid_tags"),
        require=wanted,
        max_tools=inner.whole("max_tools"),
        max_tokens=inner.whole("max_tokens"),
    )


def read_servers(doc: Document, findings: Findings) -> tuple[Server, ...]:
    """Read the MCP servers that one document declares."""
    value = cast("JsonObject", doc.value)
    get = Fields(doc, (), value, findings)
    get.known(("mcp_servers",), "a document of servers")
    rows = value["mcp_servers"]
    if not isinstance(rows, dict):
        get.wrong("mcp_servers", "a mapping of names to servers")
        return ()
    found: list[Server] = []
    for name, row in rows.items():
        at: Pointer = ("mcp_servers", name)
        if not isinstance(row, dict):
            get.wrong("mcp_servers", "a mapping with `command` or `url`", name)
            continue
        if not get.name_fits(name, "the name of a server", *at, key=True):
            continue
        inner = Fields(doc, at, row, findings)
        inner.known(SERVER_KEYS, "a server")
        if ("command" in row) == ("url" in row):
            findings.add(
                "HB1003",
                f"server `{name}` needs either `command` or `url`",
                doc.at(*at, key=True),
                help=("`command` starts a local server, `url` reaches a remote one",),
            )
            continue
        found.append(
            Server(
                name=name,
                place=Place(doc.source.path, doc.at(*at, key=True).line),
                command=inner.text("command"),
                args=inner.arguments("args"),
                env=inner.text_map("env"),
                url=inner.text("url", re.compile(r"https?://\S+"), "an http or https address"),
                headers=inner.text_map("headers"),
                timeout=inner.number("timeout", whole=False),
            )
        )
    return tuple(found)
