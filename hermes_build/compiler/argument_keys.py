"""Which keys of its arguments a handler reads, as far as its source says so in plain words.

Three forms count, where ``args`` is the handler's first parameter: ``args["city"]``,
``args.get("city")`` and ``"city" in args``, also in functions inside it. A handler that does
anything with ``args`` that could put keys in, or bind the name again, is left alone.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from hermes_build.compiler.diagnostics import Span

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

# As the runtime tells the shapes of a handler apart.
_DICTS = ("Args", "dict", "Dict", "Mapping", "MutableMapping", "JsonObject", "Any")
_PLAIN_NAMES = ("args", "arguments", "params", "kwargs", "_args", "_")
_HARMLESS = ("items", "keys", "values", "copy")

_Functions = (ast.FunctionDef, ast.AsyncFunctionDef)
_NAMED = (*_Functions, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_TEXT = r"""(?:"([^"\\\n]*)"|'([^'\\\n]*)')"""


@dataclass(frozen=True, slots=True)
class ReadKeys:
    """The keys that a handler may read of its arguments: ``mentioned`` is a guess at them.

    The guess takes a hundredth of the time of looking closely, which `places` does. Nearly always
    all mentioned keys are properties, so that nobody needs to.
    """

    mentioned: frozenset[str]
    source: bytes
    path: str
    line: int

    def places(self) -> list[tuple[str, Span]]:
        """Return each key that is read for certain, in order, with the first place."""
        lines = self.source.splitlines()
        for node in ast.walk(ast.parse(self.source, self.path)):
            if isinstance(node, _Functions) and node.lineno == self.line:
                found = sorted(read_keys(node).items(), key=lambda row: _place(row[1]))
                return [(key, span_of(one, self.path, lines)) for key, one in found]
        return []


def keys_of(function: Function, source: bytes, path: str, lines: list[bytes]) -> ReadKeys | None:
    """Return the keys that a function of a module may read, None where there are none."""
    name = _arguments(function)
    if name is None:
        return None
    text = b"\n".join(lines[function.lineno - 1 : function.end_lineno])
    found = {b"".join(groups) for groups in _mentions(name).findall(text)}
    mentioned = frozenset(one.decode("utf-8", "replace") for one in found)
    return ReadKeys(mentioned, source, path, function.lineno) if mentioned else None


@lru_cache(maxsize=16)
def _mentions(name: str) -> re.Pattern[bytes]:
    read = rf"\b{name}\s*(?:\[|\.\s*get\()\s*{_TEXT}"
    return re.compile(rf"{read}|{_TEXT}\s+(?:not\s+)?in\s+{name}\b".encode())


def span_of(node: ast.expr | ast.stmt, path: str, lines: list[bytes]) -> Span:
    """Return where a node stands; of a call, where the name of what is called does."""
    if isinstance(node, ast.Call):
        node = node.func
    line, end = node.lineno, node.end_lineno or node.lineno
    last = node.end_col_offset or node.col_offset
    return Span(path, line, _column(lines, line, node.col_offset), end, _column(lines, end, last))


def _column(lines: list[bytes], line: int, offset: int) -> int:
    """Characters from 1, where the parser counts bytes from 0."""
    text = lines[line - 1] if line <= len(lines) else b""
    return len(text[:offset].decode("utf-8", "replace")) + 1


def read_keys(function: Function) -> dict[str, ast.expr]:
    """Return each key that a handler reads, with the first place where it does."""
    name = _arguments(function)
    if name is None:
        return {}
    read: dict[str, ast.expr] = {}
    written: set[str] = set()
    uses: list[ast.Name] = []
    harmless: set[ast.expr] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            if node.id == name:
                uses.append(node)
            continue
        if _binds(node, name) and node is not function.args:
            return {}
        used = _used(node, name)
        if used is None:
            continue
        where, key, writes = used
        harmless.add(where)
        text = _text(key)
        if text is None or key is None:
            continue
        if writes:
            written.add(text)
        elif text not in read or _place(key) < _place(read[text]):
            read[text] = key
    if any(one not in harmless for one in uses):
        return {}
    return {text: key for text, key in read.items() if text not in written}


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _arguments(function: Function) -> str | None:
    """The name of the parameter that takes all arguments; None for handlers of another shape."""
    positional = [*function.args.posonlyargs, *function.args.args]
    if not positional:
        return None
    first = positional[0]
    if first.annotation is None:
        return first.arg if first.arg in _PLAIN_NAMES else None
    return first.arg if _last_name(first.annotation) in _DICTS else None


def _last_name(annotation: ast.expr) -> str | None:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.partition("[")[0].rpartition(".")[2].strip()
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    if isinstance(annotation, ast.Attribute):
        return annotation.attr
    return annotation.id if isinstance(annotation, ast.Name) else None


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a node other than a name gives the name another meaning somewhere in it."""
    if isinstance(node, ast.arguments):
        parts = [*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg]
        return any(one is not None and one.arg == name for one in parts)
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0]) == name
    if isinstance(node, ast.MatchMapping):
        return node.rest == name
    return isinstance(node, _NAMED) and node.name == name


def _used(node: ast.AST, name: str) -> tuple[ast.expr, ast.expr | None, bool] | None:
    """The use that a node makes of the arguments, its key, and whether it puts it in."""
    where: ast.expr | None = None
    key: ast.expr | None = None
    writes = False
    if isinstance(node, ast.Subscript):
        where, key, writes = node.value, node.slice, not isinstance(node.ctx, ast.Load)
        if writes and _text(key) is None:
            return None  # any key may be in now
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "get" and node.args:
            where, key = node.func.value, node.args[0]
        elif node.func.attr in _HARMLESS:
            where = node.func.value
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        if isinstance(node.ops[0], ast.In | ast.NotIn):
            where, key = node.comparators[0], node.left
    elif isinstance(node, ast.FormattedValue) or (
        isinstance(node, ast.keyword) and node.arg is None
    ):
        where = node.value
    if isinstance(where, ast.Name) and where.id == name and isinstance(where.ctx, ast.Load):
        return where, key, writes
    return None


def _text(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None
