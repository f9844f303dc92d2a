"""Tool definitions in JSON, in the forms that model providers and MCP servers use."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import UnionType
from typing import Any

from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.ir import JsonObject

_ANNOTATIONS = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}
# The keys under which the known forms hold what a spec holds, the usual one first.
_PARAMETERS = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
_RESULT = ("outputSchema", "output_schema", "response", "responseJsonSchema")
_LISTS = ("tools", "functions", "functionDeclarations", "function_declarations", "function")
_WRAPPERS = ("function", "toolSpec")
_OWN_KINDS = ("function", "custom")
_MEANT = ("name", "description", "title", "annotations", "type")


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool as its source defines it, in the fields of a spec; nothing is mapped yet.

    ``span`` and ``label`` say where it stands. ``dropped`` lists what a spec has no field for,
    as the ends of sentences that begin with "loses". ``comment`` is written above the spec.
    """

    name: str
    description: str | None
    parameters: Any
    span: Span | None
    label: str
    toolset: str | None = None
    title: str | None = None
    emoji: str | None = None
    output_schema: Any = None
    is_async: bool | None = None
    check: bool = False
    max_result_chars: int | None = None
    annotations: JsonObject = field(default_factory=dict)
    dynamic: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    comment: str = ""


class _Twice(ValueError):
    """A JSON object has one key twice."""


class _Refused(ValueError):
    """A value is no definition that a spec can be made from."""


def read_definitions(text: str, path: str | None, findings: Findings) -> tuple[Definition, ...]:
    """Read every tool definition of a JSON text; what cannot be read is a finding.

    The text is one value (a definition, a list of them, or an object that holds such a list, as
    ``{"tools": [...]}``) or one such value a line. ``path`` is for the findings alone, and ``None``
    where the text comes from no file.
    """
    values = _parse(text.removeprefix("\ufeff"), path, findings)
    if values is None:
        return ()
    found: list[Definition] = []
    nth = 0
    for value, line in values:
        nth += 1
        span = Span(path, line, 1, line, 1) if path else None
        try:
            found.append(_read_one(value, nth, span))
        except _Refused as error:
            findings.add("HB1304", f"{_label(value, nth)} {error}", span)
    if nth == 0:
        findings.add(
            "HB1304",
            "there is no tool definition in the file",
            Span(path) if path else None,
            help=[
                "expected: a list of OpenAI, Anthropic or MCP tool definitions, or `{tools: [...]}`"
            ],
        )
    return tuple(found)


def _parse(text: str, path: str | None, findings: Findings) -> list[tuple[Any, int]] | None:
    """Each value of the text with its line, or ``None`` after a finding."""
    line, column = 1, 1
    try:
        return list(_values(text))
    except _Twice as error:
        reason = f"the JSON cannot be read: {error}"
    except json.JSONDecodeError as error:
        reason, line, column = f"the file is not JSON: {error.msg}", error.lineno, error.colno
    except RecursionError:
        reason = "the JSON is nested too deep to be read"
    findings.add("HB1304", reason, Span(path, line, column, line, column) if path else None)
    return None


def _values(text: str) -> Iterator[tuple[Any, int]]:
    """Each value of the text with the line on which it starts.

    The members of a list at the top, or of the list that an object holds, are given one by one,
    so that each has its own line.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer)
    at, line, seen = 0, 1, 0
    in_list = False
    while True:
        at = _skip(text, at)
        line, seen = line + text.count("\n", seen, at), at
        if at == len(text):
            if in_list:
                raise json.JSONDecodeError("the list is not closed", text, at)
            return
        if not in_list and text[at] == "[":
            in_list, at = True, _skip(text, at + 1)
            if text.startswith("]", at):
                in_list, at = False, at + 1
            continue
        value, end = decoder.raw_decode(text, at)
        for one, start in _members(decoder, text, at, value):
            line, seen = line + text.count("\n", seen, start), start
            yield one, line
        at = _skip(text, end)
        if in_list:
            if text.startswith("]", at):
                in_list, at = False, at + 1
            elif text.startswith(",", at):
                at += 1
            else:
                raise json.JSONDecodeError("expected `,` or `]`", text, at)


def _members(
    decoder: json.JSONDecoder, text: str, at: int, value: Any
) -> Iterator[tuple[Any, int]]:
    """The definitions in a value whose text starts at ``at``, each with its own start."""
    for key in _way_in(value):
        at = _skip(text, at + 1)
        while True:
            name, at = decoder.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # past the colon
            if name == key:
                break
            _, at = decoder.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # past the comma
        value = value[key]
    if not isinstance(value, list):
        yield value, at
        return
    for one in value:
        at = _skip(text, at + 1)  # past the bracket, or the comma
        _, end = decoder.raw_decode(text, at)
        yield from _members(decoder, text, at, one)
        at = _skip(text, end)


def _way_in(value: Any) -> tuple[str, ...]:
    """The keys that lead to the list of definitions that an object holds; none where it is one."""
    way: tuple[str, ...] = ()
    reply = value.get("result") if isinstance(value, dict) else None
    if isinstance(reply, dict) and "tools" in reply:
        value, way = reply, ("result",)  # what an MCP server answers to `tools/list`
    if isinstance(value, dict) and "name" not in value:
        for key in _LISTS:
            if isinstance(value.get(key), list):
                return (*way, key)
    return way


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _Twice(f"an object has the key {twice!r} twice")
    return value


def _integer(digits: str) -> int | float:
    # Python refuses to read thousands of digits; the value is refused by name later either way.
    return int(digits) if len(digits) <= 400 else float("-inf" if digits[0] == "-" else "inf")


def _read_one(raw: Any, nth: int, span: Span | None) -> Definition:
    """One definition of any known form.

    Raises:
        _Refused: it is none; the message says why, as the end of a sentence.
    """
    value = _unwrap(raw)
    if not isinstance(value, dict):
        raise _Refused(f"is not a tool definition but {_kind(value)}")
    key = next((key for key in _PARAMETERS if key in value), None)
    kind = value.get("type")
    if key is None and isinstance(kind, str) and kind not in _OWN_KINDS:
        raise _Refused(f"is `{kind}`, a tool that the provider runs: it has no schema to import")
    name = value.get("name")
    if not isinstance(name, str) or not name:
        raise _Refused("has no name")
    result = next((one for one in _RESULT if value.get(one) is not None), None)
    description = value.get("description")
    if description is not None and not isinstance(description, str):
        raise _Refused(f"has {_kind(description)} for its description, not text")
    title, hints, dropped = _hints(value)
    strange = [one for one in value if one not in (*_MEANT, key, result)]
    if value is not raw:
        strange += [one for one in raw if one not in ("type", *_WRAPPERS)]
    dropped += [f"{one!a}, which a spec has no place for" for one in strange]
    return Definition(
        name=name,
        description=description,
        parameters=_schema(value, key, dict),
        span=span,
        label=_label(raw, nth),
        title=title,
        output_schema=_schema(value, result, dict | bool),
        annotations=hints,
        dropped=tuple(dropped),
    )


def _unwrap(raw: Any) -> Any:
    """Take a definition out of ``{"type": "function", "function": {...}}`` and its likes."""
    if not isinstance(raw, dict) or "name" in raw:
        return raw
    return next((raw[key] for key in _WRAPPERS if isinstance(raw.get(key), dict)), raw)


def _label(raw: Any, nth: int) -> str:
    """How findings name a definition: its place in the file, and its name where it has one."""
    value = _unwrap(raw)
    name = value.get("name") if isinstance(value, dict) else None
    return (
        f"item {nth} (`{ascii(name)[1:-1]}`)" if name and isinstance(name, str) else f"item {nth}"
    )


def _schema(value: JsonObject, key: str | None, kinds: type | UnionType) -> Any:
    """The schema under ``key``, out of the ``{"json": {...}}`` that one provider puts around it."""
    if key is None or value[key] is None:
        return None
    schema = value[key]
    if isinstance(schema, dict) and list(schema) == ["json"] and isinstance(schema["json"], dict):
        return schema["json"]
    if not isinstance(schema, kinds):
        raise _Refused(f"has {_kind(schema)} for `{key}`, not a schema")
    return schema


def _hints(value: JsonObject) -> tuple[str | None, JsonObject, list[str]]:
    """The title, the hints and what else MCP's ``annotations`` hold."""
    dropped: list[str] = []
    title = value.get("title")
    given = value.get("annotations")
    hints: JsonObject = {}
    for key, one in given.items() if isinstance(given, dict) else ():
        if key == "title" and isinstance(one, str):
            if title and one and title != one:
                dropped.append(f"the annotation 'title' ({one!a}), since it has a `title` too")
            title = title or one
        elif key in _ANNOTATIONS and isinstance(one, bool):
            hints[_ANNOTATIONS[key]] = one
        elif one is not None:
            dropped.append(f"the annotation {key!a}, which a spec has no place for")
    if hints.get("read_only") and hints.get("destructive"):
        # MCP lets a server send both and says that the second then means nothing.
        del hints["destructive"]
        dropped.append("the hint `destructiveHint`, which contradicts `readOnlyHint`")
    return (title if isinstance(title, str) and title else None), hints, dropped


def _kind(value: Any) -> str:
    """What a value is, with its article."""
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
