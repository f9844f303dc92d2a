"""Typed stubs of tools: the public face of code generation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hermes_build.compiler.emit.gate import Contents, Refused, check_parity, check_stub
from hermes_build.compiler.emit.naming import MARK, Kind, Names, pascal
from hermes_build.compiler.emit.prepare import CannotExpress, Node, Prepared, prepare

_ANY = {"args": "dict[str, Any]", "result": "Any"}
_LEAST_A_PROCESS = 32
_MOST_TEXT = 1_000_000
"""Characters of the schemas of a part: real ones come to a third of it, a generator to 300 MB."""

_ESCAPED_MARK = "\\ue000"
# Characters that a reader of the source does not see, or that an editor takes for a line break.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f"
    "\ud800-\udfff\ue000-\uf8ff\ufeff\ufff0-\uffff\U000e0000-\U0010ffff]"
)


@dataclass(frozen=True, slots=True)
class StubRequest:
    """A tool whose stub is wanted; its schemas hold references within themselves only."""

    name: str
    parameters: dict[str, Any]
    output_schema: dict[str, Any] | bool | None = None


@dataclass(frozen=True, slots=True)
class Stub:
    """The classes of one tool.

    ``imports`` are whole lines, an empty one between groups, without ``from __future__ import
    annotations``, which a module must begin with; they always bring in ``TypeAlias``. ``body`` is
    the classes, ending in a line break. ``args`` and ``result`` name the two roots. ``problems``
    says why a side is ``Any``; it is empty for a stub that says all it should.
    """

    imports: tuple[str, ...]
    body: str
    args: str
    result: str | None
    problems: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The stub as a module of its own."""
        imports = "\n".join(self.imports)
        return f"from __future__ import annotations\n\n{imports}\n\n\n{self.body}"


@dataclass(frozen=True, slots=True)
class _Unit:
    """A tool on its way: the sides that can be expressed, and what is wrong with the others."""

    args: str
    result: str | None
    sides: tuple[tuple[str, Prepared], ...]
    problems: tuple[tuple[str, str], ...]

    @property
    def definitions(self) -> dict[str, Node]:
        """The definitions of all sides; their names are distinct."""
        return {name: node for _, side in self.sides for name, node in side.definitions.items()}


@dataclass(frozen=True, slots=True)
class _Accepted:
    text: str
    contents: Contents


def make_stubs(requests: Sequence[StubRequest], kind: Kind, jobs: int = 1) -> dict[str, Stub]:
    """Return the stub of each tool by its name.

    The text of a stub depends on its request and ``kind`` alone: not on its neighbours, their
    order or ``jobs``, the number of processes. A schema that cannot be expressed costs its own
    side an honest ``Any`` and a sentence in ``problems``; nothing here raises for a schema.
    """
    if not requests:
        return {}
    # The generator takes a third of a second to import, which a cached compile never pays.
    from hermes_build.compiler.emit.generator import CHUNK, spread

    size = min(CHUNK, max(_LEAST_A_PROCESS, -(-len(requests) // max(1, jobs))))
    found = spread(partial(_make_part, kind=kind), list(_parts(requests, size)), jobs)
    stubs = [stub for part in found for stub in part]
    return {request.name: stub for request, stub in zip(requests, stubs, strict=True)}


def _parts(requests: Sequence[StubRequest], size: int) -> Iterator[Sequence[StubRequest]]:
    """Cut requests into parts of up to ``size``, none too large for the generator's memory."""
    start = weight = 0
    for at, request in enumerate(requests):
        more = len(repr(request.parameters)) + len(repr(request.output_schema))
        if at > start and (at - start >= size or weight + more > _MOST_TEXT):
            yield requests[start:at]
            start, weight = at, 0
        weight += more
    yield requests[start:]


def _make_part(requests: Sequence[StubRequest], kind: Kind) -> list[Stub]:
    from hermes_build.compiler.emit.generator import own_garbage

    with own_garbage():
        units = [_unit(request, kind) for request in requests]
        accepted = _accept([unit.definitions for unit in units], kind)
        return [
            _compose(unit, one) if isinstance(one, _Accepted) else _one_by_one(unit, one, kind)
            for unit, one in zip(units, accepted, strict=True)
        ]


def _unit(request: StubRequest, kind: Kind) -> _Unit:
    base = pascal(request.name)
    names = Names()
    args = names.fresh(f"{base}Args")
    result = None if request.output_schema is None else names.fresh(f"{base}Result")
    wanted: list[tuple[str, str, str, Any]] = [("args", base, args, request.parameters)]
    if result is not None:
        wanted.append(("result", result, result, request.output_schema))
    sides: list[tuple[str, Prepared]] = []
    problems: list[tuple[str, str]] = []
    for side, inner, root, schema in wanted:
        try:
            # A handler reads arguments with their defaults filled in; a result is as it wrote it.
            filled = side == "args"
            sides.append((side, prepare(inner, root, schema, kind, names, filled=filled)))
        except CannotExpress as reason:
            problems.append((side, str(reason)))
    return _Unit(args, result, tuple(sides), tuple(problems))


def _accept(wanted: Sequence[dict[str, Node]], kind: Kind) -> list[_Accepted | str]:
    """Return the checked text of each set of definitions, or the reason why there is none."""
    from hermes_build.compiler.emit.generator import Failed, generate_texts

    asked = [definitions for definitions in wanted if definitions]
    texts = iter(generate_texts(asked, kind))
    found: list[_Accepted | str] = []
    for definitions in wanted:
        if not definitions:
            found.append(_Accepted("", Contents()))
            continue
        text = next(texts)
        if isinstance(text, Failed):
            found.append(text.reason)
            continue
        try:
            found.append(_check(text, definitions, kind))
        except Refused as refused:
            found.append(f"the generated text was refused: {refused}")
    return found


def _check(text: str, definitions: dict[str, Node], kind: Kind) -> _Accepted:
    if not text.isascii() or _HIDDEN.search(text):
        text = _HIDDEN.sub(_escape, text)
    if _ESCAPED_MARK in text:
        text = _unmark(text)
    contents = check_stub(text, kind)
    if contents.calls:
        text = _with_texts(text, contents, definitions)
        contents = check_stub(text, kind)
    check_parity(contents, definitions)
    return _Accepted(text, contents)


def _with_texts(text: str, contents: Contents, definitions: dict[str, Node]) -> str:
    """Return generated text with docstrings where the generator has no place for them.

    A class whose keys are not all identifiers is a call of ``TypedDict``; its descriptions go below
    it, where editors look for what a name means.
    """
    lines = text.split("\n")
    for name, line in reversed(contents.calls.items()):
        node = definitions.get(name, {})
        said = [node["description"], ""] if "description" in node else []
        said += [
            f"{key.removeprefix(MARK)}: {one['description']}"
            for key, one in node.get("properties", {}).items()
            if "description" in one
        ]
        if said:
            lines[line:line] = _docstring("\n".join(said).strip()).split("\n")
    return "\n".join(lines)


def _docstring(text: str) -> str:
    inner = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{_HIDDEN.sub(_escape, inner)}\n"""'


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


def _unmark(text: str) -> str:
    """Return generated text with the marks before property names taken out."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text  # The gate will say what is wrong with it.
    lines = text.split("\n")
    places = [
        (one.lineno - 1, one.col_offset)
        for node in ast.walk(tree)
        for one in _quoted_names(node)
        if isinstance(one, ast.Constant) and str(one.value).startswith(MARK)
    ]
    for line, column in sorted(places, reverse=True):
        raw = lines[line].encode()
        start = column + 1
        if raw[start:].startswith(_ESCAPED_MARK.encode()):
            lines[line] = (raw[:start] + raw[start + len(_ESCAPED_MARK) :]).decode()
    return "\n".join(lines)


def _quoted_names(node: ast.AST) -> Iterable[ast.expr | None]:
    if isinstance(node, ast.Dict):
        return node.keys
    if isinstance(node, ast.keyword) and node.arg == "alias":
        return (node.value,)
    return ()


def _one_by_one(unit: _Unit, reason: str, kind: Kind) -> Stub:
    """Return a stub of the sides that can be generated on their own."""
    if len(unit.sides) < 2:
        problems = (*unit.problems, *((side, reason) for side, _ in unit.sides))
        return _compose(_Unit(unit.args, unit.result, (), problems), _Accepted("", Contents()))
    alone = _accept([prepared.definitions for _, prepared in unit.sides], kind)
    problems = unit.problems + tuple(
        (side, one)
        for (side, _), one in zip(unit.sides, alone, strict=True)
        if isinstance(one, str)
    )
    kept = tuple(
        (side, one)
        for side, one in zip(unit.sides, alone, strict=True)
        if isinstance(one, _Accepted)
    )
    if len(kept) != 1:
        # Each side is fine alone and both fail together: the arguments matter more.
        kept = kept[:1]
        problems = (*problems, ("result", reason)) if kept else problems
    rest = _Unit(unit.args, unit.result, tuple(side for side, _ in kept), problems)
    return _compose(rest, kept[0][1] if kept else _Accepted("", Contents()))


def _compose(unit: _Unit, accepted: _Accepted) -> Stub:
    imports = {module: set(names) for module, names in accepted.contents.imports.items()}
    imports.pop("__future__", None)
    imports.setdefault("typing", set()).add("TypeAlias")
    lines = accepted.text.split("\n")
    parts = ["\n".join(lines[accepted.contents.last_import_line :]).strip("\n")]
    for side, _ in unit.problems:
        imports["typing"].add("Any")
        parts.append(f"{unit.args if side == 'args' else unit.result}: TypeAlias = {_ANY[side]}")
    return Stub(
        imports=_import_lines(imports),
        body="\n\n\n".join(part for part in parts if part) + "\n",
        args=unit.args,
        result=unit.result,
        problems=tuple(
            f"{'parameters' if side == 'args' else 'output_schema'}: {reason}"
            for side, reason in unit.problems
        ),
    )


def _import_lines(imports: dict[str, set[str]]) -> tuple[str, ...]:
    lines = [
        f"from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(imports.items(), key=lambda one: one[0] != "typing")
    ]
    # The standard library comes first, in a group of its own.
    return (lines[0], "", *lines[1:]) if len(lines) > 1 else tuple(lines)
