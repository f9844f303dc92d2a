"""The allow-list: the kinds of nodes, names and forms that generated classes are made of.

Whatever is not listed here is refused. What is accepted cannot run code of anybody's: the only
calls are of ``TypedDict``, ``Field`` and ``ConfigDict`` with literals, and of ``model_rebuild``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from hermes_build.compiler.emit.naming import Kind

_TYPING = frozenset({"Any", "Literal", "NotRequired", "TypeAlias", "TypedDict", "Union"})
_IMPORTS: dict[Kind, dict[str, frozenset[str]]] = {
    "typed-dict": {"__future__": frozenset({"annotations"}), "typing": _TYPING},
    "pydantic": {
        "__future__": frozenset({"annotations"}),
        "typing": frozenset({"Annotated", "Any", "Literal", "TypeAlias", "Union"}),
        "pydantic": frozenset({"BaseModel", "ConfigDict", "Field", "RootModel"}),
    },
}
_BUILTINS = frozenset({"bool", "dict", "float", "int", "list", "str"})
_GENERIC = _TYPING - {"Any"} | {"Annotated", "ConfigDict", "Field", "RootModel", "dict", "list"}
_FIELD_WORDS = frozenset({"alias", "description", "validate_default"}) | {
    "ge",
    "gt",
    "le",
    "lt",
    "max_length",
    "min_length",
}
_CONFIG_WORDS = frozenset({"extra"})


class Refused(ValueError):
    """Generated text that holds something the compiler never emits.

    ``line`` counts from 1, or is 0 where no line is to blame.
    """

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}" if line else reason)
        self.line = line
        self.reason = reason


@dataclass(slots=True)
class Contents:
    """What an accepted module holds.

    ``fields`` maps a class name to its keys and whether each is required; ``definitions`` maps
    every class and alias to the line where it begins; ``calls`` maps every class that is a call
    of ``TypedDict`` to the line where it ends; ``imports`` maps modules to names.
    """

    imports: dict[str, list[str]] = field(default_factory=dict)
    last_import_line: int = 0
    definitions: dict[str, int] = field(default_factory=dict)
    fields: dict[str, dict[str, bool]] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)


def refuse(where: int | ast.AST, reason: str) -> NoReturn:
    """Raise `Refused` for a line or a node."""
    raise Refused(where if isinstance(where, int) else getattr(where, "lineno", 0), reason)


def name_of(node: ast.AST, what: str) -> str:
    """Return the identifier that a bare name is."""
    if not isinstance(node, ast.Name):
        refuse(node, f"{what} is not a bare name")
    return node.id


def text_of(node: ast.AST, what: str) -> str:
    """Return the value of a string literal."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and node.kind is None):
        refuse(node, f"{what} is not a string literal")
    return node.value


def is_docstring(node: ast.stmt) -> bool:
    """Whether a statement is a string literal and nothing more."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


class Reader:
    """Reads the statements of one generated module, top to bottom."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.allowed = _IMPORTS[kind]
        self.contents = Contents()
        self.known: set[str] = set(_BUILTINS)
        # Names that annotations use before they may be defined: they are looked up at the end.
        self.later: dict[str, int] = {}

    def finish(self) -> Contents:
        """Return the contents once every statement was taken."""
        for name, line in self.later.items():
            if name not in self.known:
                refuse(line, f"unknown name {name}")
        return self.contents

    def take_import(self, node: ast.ImportFrom) -> None:
        """Take an import of listed names from a listed module."""
        if node.level or node.module not in self.allowed:
            refuse(node, "an import that is not on the list")
        if self.contents.definitions:
            refuse(node, "an import after a definition")
        names = self.contents.imports.setdefault(node.module, [])
        for alias in node.names:
            if alias.asname is not None or alias.name not in self.allowed[node.module]:
                refuse(node, f"an import of {alias.name} that is not on the list")
            names.append(alias.name)
            self.known.add(alias.name)
        self.contents.last_import_line = node.end_lineno or node.lineno

    def take_definition(self, node: ast.stmt) -> None:
        """Take a class, a functional TypedDict, an alias, or what belongs to one of them."""
        if isinstance(node, ast.ClassDef):
            self._take_class(node)
        elif isinstance(node, ast.Assign):
            self._take_functional(node)
        elif isinstance(node, ast.AnnAssign):
            self._take_alias(node)
        elif is_docstring(node):
            if not self.contents.definitions:
                refuse(node, "a text before the first definition")
        elif self.kind == "pydantic" and isinstance(node, ast.Expr):
            self._take_rebuild(node.value)
        else:
            refuse(node, f"a statement of kind {type(node).__name__}")

    def _define(self, name: str, node: ast.stmt) -> None:
        if name in self.known:
            refuse(node, f"{name} is defined twice")
        self.known.add(name)
        self.contents.definitions[name] = node.lineno

    def _take_class(self, node: ast.ClassDef) -> None:
        if node.decorator_list or node.keywords or getattr(node, "type_params", None):
            refuse(node, "a class with decorators, keywords or type parameters")
        if len(node.bases) != 1:
            refuse(node, "a class without exactly one base")
        base = node.bases[0]
        root = False
        if self.kind == "pydantic" and isinstance(base, ast.Subscript):
            root = True
            if name_of(base.value, "a base") != "RootModel":
                refuse(base, "a base that is not on the list")
            self._define(node.name, node)
            self._annotation(base.slice, now=True)
        else:
            if name_of(base, "a base") != (
                "TypedDict" if self.kind == "typed-dict" else "BaseModel"
            ):
                refuse(base, "a base that is not on the list")
            self._define(node.name, node)
        self._needs(base.value if isinstance(base, ast.Subscript) else base, now=True)
        keys: dict[str, bool] = {}
        for one in node.body:
            if isinstance(one, ast.AnnAssign):
                key, required = self._member(one)
                if key in keys:
                    refuse(one, f"the key {key!r} stands twice")
                keys[key] = required
            elif isinstance(one, ast.Assign) and self.kind == "pydantic":
                self._configuration(one)
            elif not isinstance(one, ast.Pass) and not is_docstring(one):
                refuse(one, f"a class body with a statement of kind {type(one).__name__}")
        if root and keys.keys() != {"root"}:
            refuse(node, "a root model with other fields than its root")
        self.contents.fields[node.name] = keys

    def _member(self, node: ast.AnnAssign) -> tuple[str, bool]:
        key = name_of(node.target, "a field")
        if not node.simple:
            refuse(node, "a field in brackets")
        if self.kind == "typed-dict":
            if node.value is not None:
                refuse(node, "a key with a value")
            if key.startswith("__"):
                refuse(node, "a key that the class body would mangle")
            return key, self._entry(node.annotation, now=False)
        alias = self._annotation(node.annotation, now=False)
        if node.value is not None:
            literal(node.value)
        return key if alias is None else alias, node.value is None

    def _entry(self, node: ast.expr, *, now: bool) -> bool:
        """Read a TypedDict's value type; return whether its key is required."""
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "NotRequired":
            self._needs(node.value, now=True)
            self._annotation(node.slice, now=now)
            return False
        self._annotation(node, now=now)
        return True

    def _take_functional(self, node: ast.Assign) -> None:
        if self.kind != "typed-dict" or len(node.targets) != 1:
            refuse(node, "an assignment that is not on the list")
        name = name_of(node.targets[0], "a target")
        call = node.value
        if not isinstance(call, ast.Call) or name_of(call.func, "a call") != "TypedDict":
            refuse(node, "an assignment that is not on the list")
        if len(call.args) != 2 or call.keywords or not isinstance(call.args[1], ast.Dict):
            refuse(node, "a TypedDict of another form")
        if text_of(call.args[0], "a TypedDict's name") != name:
            refuse(node, "a TypedDict with two names")
        self._needs(call.func, now=True)
        keys: dict[str, bool] = {}
        for key_node, value in zip(call.args[1].keys, call.args[1].values, strict=True):
            key = text_of(key_node or node, "a key")
            if key in keys:
                refuse(value, f"the key {key!r} stands twice")
            keys[key] = self._entry(value, now=True)
        self._define(name, node)
        self.contents.fields[name] = keys
        self.contents.calls[name] = node.end_lineno or node.lineno

    def _take_alias(self, node: ast.AnnAssign) -> None:
        name = name_of(node.target, "an alias")
        if name_of(node.annotation, "an alias's type") != "TypeAlias" or node.value is None:
            refuse(node, "an annotated assignment that is not an alias")
        self._needs(node.annotation, now=True)
        self._annotation(node.value, now=True)
        self._define(name, node)

    def _take_rebuild(self, node: ast.expr) -> None:
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "model_rebuild"
            and not node.args
            and not node.keywords
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in self.contents.fields
        ):
            refuse(node, "an expression that is not on the list")

    def _configuration(self, node: ast.Assign) -> None:
        call = node.value
        if (
            len(node.targets) != 1
            or name_of(node.targets[0], "a target") != "model_config"
            or not isinstance(call, ast.Call)
            or name_of(call.func, "a call") != "ConfigDict"
            or call.args
        ):
            refuse(node, "an assignment that is not on the list")
        self._needs(call.func, now=True)
        for word in call.keywords:
            if word.arg not in _CONFIG_WORDS:
                refuse(node, f"a setting {word.arg} that is not on the list")
            text_of(word.value, "a setting")

    def _needs(self, node: ast.AST, *, now: bool) -> None:
        name = name_of(node, "a type")
        if name not in self.known:
            if now:
                refuse(node, f"{name} is used before it is known")
            self.later.setdefault(name, node.lineno)  # type: ignore[attr-defined]

    def _annotation(self, node: ast.expr, *, now: bool) -> str | None:
        """Read a type; ``now`` if it is evaluated where it stands. Return a field's alias."""
        if isinstance(node, ast.Name):
            if node.id in _GENERIC:
                refuse(node, f"{node.id} without its parameters")
            self._needs(node, now=now)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and node.value.isidentifier():
                # A forward reference in quotes: a name and nothing else.
                self.later.setdefault(node.value, node.lineno)
            elif node.value is not None:
                refuse(node, "a constant in a type")
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            self._union(node, now=now)
        elif isinstance(node, ast.Subscript):
            return self._generic(node, now=now)
        else:
            refuse(node, f"a type of kind {type(node).__name__}")
        return None

    def _union(self, node: ast.BinOp, *, now: bool) -> None:
        # A union of thousands is a deep chain to the left, so this walks rather than recurses.
        left: ast.expr = node
        while isinstance(left, ast.BinOp):
            if not isinstance(left.op, ast.BitOr):
                refuse(left, "an operator in a type")
            self._annotation(left.right, now=now)
            left = left.left
        self._annotation(left, now=now)

    def _generic(self, node: ast.Subscript, *, now: bool) -> str | None:
        name = name_of(node.value, "a generic type")
        self._needs(node.value, now=now)
        inner = node.slice
        if name == "Literal":
            for one in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                literal_member(one)
        elif name == "list":
            self._annotation(inner, now=now)
        elif name == "dict" and isinstance(inner, ast.Tuple) and len(inner.elts) == 2:
            if name_of(inner.elts[0], "a mapping's key") != "str":
                refuse(node, "a mapping whose keys are not text")
            self._annotation(inner.elts[1], now=now)
        elif name == "Union" and isinstance(inner, ast.Tuple):
            for one in inner.elts:
                self._annotation(one, now=now)
        elif name == "Annotated" and isinstance(inner, ast.Tuple) and len(inner.elts) == 2:
            self._annotation(inner.elts[0], now=now)
            return self._field(inner.elts[1])
        else:
            refuse(node, f"a type {name}[...] of another form")
        return None

    def _field(self, node: ast.expr) -> str | None:
        """Read ``Field(...)`` with literals; return its alias."""
        if not isinstance(node, ast.Call) or name_of(node.func, "a call") != "Field":
            refuse(node, "a note to a type that is not a Field")
        self._needs(node.func, now=True)
        for one in node.args:
            literal(one)
        alias = None
        for word in node.keywords:
            if word.arg not in _FIELD_WORDS:
                refuse(node, f"a field's {word.arg} is not on the list")
            literal(word.value)
            if word.arg == "alias":
                alias = text_of(word.value, "an alias")
        return alias


def literal_member(node: ast.expr) -> None:
    """Accept what ``Literal`` may hold: text, whole numbers, booleans, ``None``."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
        if not (isinstance(node, ast.Constant) and type(node.value) is int):
            refuse(node, "a negative literal that is not a whole number")
    elif not (
        isinstance(node, ast.Constant)
        and (node.value is None or type(node.value) in (str, int, bool))
    ):
        refuse(node, "a literal of another kind")


def literal(node: ast.expr) -> None:
    """Accept JSON data written as a Python literal."""
    waiting: list[ast.expr | None] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.USub):
            one = one.operand
            if not (isinstance(one, ast.Constant) and type(one.value) in (int, float)):
                refuse(node, "a negative literal that is not a number")
        elif isinstance(one, ast.Constant):
            if not (one.value is None or type(one.value) in (str, int, float, bool)):
                refuse(node, "a literal of another kind")
        elif isinstance(one, ast.List):
            waiting.extend(one.elts)
        elif isinstance(one, ast.Dict):
            waiting.extend(_items(one))
        else:
            refuse(node, "a value that is not a literal")


def _items(node: ast.Dict) -> Iterable[ast.expr]:
    for key, value in zip(node.keys, node.values, strict=True):
        text_of(key or node, "a key")
        yield value
