"""The gate: generated Python is accepted only if it holds what the compiler emits and nothing else.

Schemas come from strangers, so text that a generator or a template made of them is not trusted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from hermes_build.compiler.emit.allow import (
    Contents,
    Reader,
    Refused,
    is_docstring,
    literal,
    name_of,
    refuse,
    text_of,
)
from hermes_build.compiler.emit.naming import MARK, Kind
from hermes_build.ir import is_name

__all__ = [
    "Contents",
    "Refused",
    "check_module",
    "check_package",
    "check_parity",
    "check_registry",
    "check_stub",
]

_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=]")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_BINDING = "hermes_build.runtime.binding"
_BINDERS = frozenset({"AsyncImplements", "EitherImplements", "Implements"})


def parse(text: str) -> ast.Module:
    """Return the syntax tree of generated text.

    Raises:
        Refused: when it is not Python, or names a source encoding.
    """
    for number, line in enumerate(re.split("[\n\r]", text, maxsplit=3)[:3], 1):
        # Python would read the same bytes as other text.
        if _COOKIE.match(line):
            refuse(number, "a comment that names an encoding")
    try:
        return ast.parse(text)
    except SyntaxError as error:
        refuse(error.lineno or 0, f"not Python: {error.msg}")
    except (ValueError, RecursionError, MemoryError) as error:
        refuse(0, f"not Python: {error}")


def check_stub(text: str, kind: Kind) -> Contents:
    """Return what a generated module of classes holds.

    Raises:
        Refused: when it holds anything that is not on the list of its kind.
    """
    reader = Reader(kind)
    for node in parse(text).body:
        if isinstance(node, ast.ImportFrom):
            reader.take_import(node)
        else:
            reader.take_definition(node)
    return reader.finish()


def check_parity(contents: Contents, definitions: Mapping[str, Any]) -> None:
    """Compare an accepted module with the definitions that it was made from.

    Raises:
        Refused: when a class is missing or was not asked for, or a class has other keys or other
            required keys than its definition.
    """
    if contents.definitions.keys() != definitions.keys():
        strange = sorted(contents.definitions.keys() ^ definitions.keys())
        refuse(0, f"definitions differ: {', '.join(strange[:4])}")
    for name, node in definitions.items():
        properties = node.get("properties")
        got = contents.fields.get(name)
        if properties is None:
            if got is not None and got.keys() - {"root"}:
                refuse(0, f"{name} has keys that its schema has not")
            continue
        if got is None:
            refuse(0, f"{name} is not a class")
        want = {key.removeprefix(MARK) for key in properties}
        if got.keys() != want:
            refuse(0, f"{name} has other keys than its schema: {sorted(got.keys() ^ want)[:4]!r}")
        required = {key.removeprefix(MARK) for key in node.get("required", ())}
        if {key for key, needed in got.items() if needed} != required:
            refuse(0, f"{name} requires other keys than its schema")


def check_module(text: str, kind: Kind, tool: str | None = None) -> Contents:
    """Return what a complete module of a tool holds: its stub, and the tail that binds a handler.

    ``tool`` is the name that the module must be for, where the caller knows it.

    Raises:
        Refused: when it holds anything else, or the tail is missing or of another form.
    """
    body = parse(text).body
    reader = Reader(kind)
    if body and is_docstring(body[0]):
        body = body[1:]
    if not body:
        refuse(0, "a module without a tail")
    bound = False
    for node in body:
        if bound:
            refuse(node, "a statement after `implements`")
        if isinstance(node, ast.ImportFrom):
            if not _take_tail_import(node, reader):
                reader.take_import(node)
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "implements":
            _check_binding(node, reader, tool)
            bound = True
        else:
            reader.take_definition(node)
    if not bound:
        refuse(body[-1], "a module that does not end in `implements`")
    return reader.finish()


def _take_tail_import(node: ast.ImportFrom, reader: Reader) -> bool:
    """Take an import that only the tail needs; return whether it was one."""
    names = {alias.name for alias in node.names if alias.asname is None}
    if len(names) != len(node.names):
        return False
    if node.level == 0 and node.module == _BINDING:
        allowed = names <= _BINDERS | {"ToolResult"}
    else:
        allowed = node.level == 2 and node.module == "registry" and names == {"registry"}
    if not allowed or reader.contents.definitions:
        return False
    reader.known |= names
    return True


def _check_binding(node: ast.Assign, reader: Reader, tool: str | None) -> None:
    """Accept ``implements = Implements[Args, Result]("name", Args, "digest", registry)``."""
    call = node.value
    if len(node.targets) != 1 or not isinstance(call, ast.Call) or call.keywords:
        refuse(node, "`implements` of another form")
    generic = call.func
    if not isinstance(generic, ast.Subscript) or len(call.args) != 4:
        refuse(node, "`implements` of another form")
    if name_of(generic.value, "a binder") not in _BINDERS & reader.known:
        refuse(node, "a binder that is not on the list")
    types = generic.slice.elts if isinstance(generic.slice, ast.Tuple) else [generic.slice]
    definitions = reader.contents.definitions
    if len(types) != 2 or any(
        name_of(one, "a bound type") not in {*definitions, "ToolResult"} & reader.known
        for one in types
    ):
        refuse(node, "`implements` of types that the module does not define")
    name, args, digest, registry = call.args
    bound = text_of(name, "a tool's name")
    if not is_name(bound) or tool not in (None, bound):
        refuse(node, "`implements` of another tool")
    if name_of(args, "a class of arguments") not in definitions:
        refuse(node, "a class of arguments that the module does not define")
    if not _DIGEST.match(text_of(digest, "a digest")):
        refuse(node, "a digest of another form")
    if name_of(registry, "a registry") != "registry" or "registry" not in reader.known:
        refuse(node, "`implements` without the registry")


def check_registry(text: str) -> None:
    """Accept the module that opens the frozen catalogue.

    Raises:
        Refused: when it holds anything but a docstring, the import of ``frozen``, ``__all__`` and
            ``registry = frozen(__file__, literals)``.
    """
    body = parse(text).body
    if body and is_docstring(body[0]):
        body = body[1:]
    imported = made = False
    for node in body:
        if made:
            refuse(node, "a statement after `registry`")
        if isinstance(node, ast.ImportFrom):
            imported |= _registry_import(node)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = name_of(node.targets[0], "a target")
            if target == "__all__":
                if not (
                    isinstance(node.value, ast.List)
                    and [text_of(one, "a name") for one in node.value.elts] == ["registry"]
                ):
                    refuse(node, "`__all__` of another form")
            elif target == "registry" and imported:
                _check_frozen(node.value)
                made = True
            else:
                refuse(node, f"an assignment to {target}")
        else:
            refuse(node, f"a statement of kind {type(node).__name__}")
    if not made:
        refuse(0, "a module without a registry")


def _registry_import(node: ast.ImportFrom) -> bool:
    """Accept one of the two imports; return whether it brings in ``frozen``."""
    names = [(alias.name, alias.asname) for alias in node.names]
    if node.level == 0 and node.module == "__future__" and names == [("annotations", None)]:
        return False
    if node.level or node.module != "hermes_build.runtime.registry" or names != [("frozen", None)]:
        refuse(node, "an import that is not on the list")
    return True


def _check_frozen(call: ast.expr) -> None:
    if not isinstance(call, ast.Call) or name_of(call.func, "a call") != "frozen" or not call.args:
        refuse(call, "a registry of another form")
    if name_of(call.args[0], "a registry's place") != "__file__":
        refuse(call, "a registry that is not beside its own module")
    for one in call.args[1:]:
        literal(one)
    for word in call.keywords:
        if word.arg is None:
            refuse(call, "a registry with unpacked settings")
        literal(word.value)


def check_package(text: str) -> None:
    """Accept an ``__init__`` that holds a docstring and nothing more.

    Raises:
        Refused: when it holds anything else.
    """
    for node in parse(text).body:
        if not is_docstring(node):
            refuse(node, f"a statement of kind {type(node).__name__}")
