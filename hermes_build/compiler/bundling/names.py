"""What the names of one module stand for, as far as its source says so in so many words."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeAlias

Text: TypeAlias = "tuple[str, bool]"
"""A text that an expression may give; with False, only how it begins is known."""

_MOST = 64
"""So many texts for one expression are written out; more of them count as not known."""

_UNKNOWN: list[Text] = [("", False)]

_BINDING = frozenset(
    (
        *(ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign),
        *(ast.For, ast.AsyncFor, ast.comprehension, ast.withitem, ast.arg, ast.ExceptHandler),
        *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
        *(ast.MatchAs, ast.MatchStar, ast.MatchMapping),
    )
)
"""What can bind a name; nearly all nodes of a tree are of other kinds."""


class Names:
    """The names of a module, in all its scopes at once.

    A name counts as known where everything that binds it, anywhere in the module, is an import or
    a text that is written out. ``is_wanted`` is false for modules that nobody will ask about.
    """

    def __init__(self, tree: ast.Module, module: str, package: str, is_wanted: bool) -> None:
        self._imported: dict[str, set[str]] = {}
        self._bound: dict[str, list[ast.expr | None]] = {}
        self._stars: set[str] = set()
        self._own = {"__name__": module, "__package__": package}
        if is_wanted:
            for node in ast.walk(tree):
                if type(node) in _BINDING:
                    self._learn(node)

    def dotted(self, node: ast.expr) -> str:
        """The dotted name that names and attributes lead to through imports; else empty."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        origins = self._imported.get(node.id, set())
        if len(origins) != 1 or node.id in self._bound:
            return ""
        return ".".join([*origins, *reversed(attributes)])

    def origins(self, node: ast.expr) -> set[str]:
        """Every dotted name that names and attributes may lead to: through imports, or as they are.

        Unlike `dotted`, whatever else the module binds to the name. What ``getattr`` takes by a
        text that is written out is an attribute, too.
        """
        if isinstance(node, ast.Name):
            if node.id in self._imported:
                return self._imported[node.id]
            own = set() if node.id in self._bound else {node.id}
            return own | {f"{one}.{node.id}" for one in self._stars}
        inner, name = attribute(node)
        if inner is None:
            return set()
        return {f"{one}.{name}" for one in self.origins(inner)}

    def values(self, name: str) -> list[ast.expr | None]:
        """What the module binds to a name; None for what is no value that is written out."""
        return self._bound.get(name, [])

    def binds(self, name: str) -> bool:
        """Whether the module binds a name otherwise than by an import."""
        return name in self._bound

    def checks_types(self, test: ast.expr) -> bool | None:
        """Whether a condition holds for type checkers alone, for all but them, or neither: None."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.checks_types(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return True if any(self.checks_types(one) is True for one in test.values) else None
        if isinstance(test, ast.Name) and test.id in self._bound:
            # `TYPE_CHECKING = False`, by which a module saves the import of `typing`.
            values = self._bound[test.id]
            plain = all(isinstance(one, ast.Constant) and one.value is False for one in values)
            only = test.id == "TYPE_CHECKING" and plain and test.id not in self._imported
            return True if only else None
        origin = self.dotted(test)
        return (
            True if origin in ("typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING") else None
        )

    def texts(self, node: ast.expr) -> list[Text]:
        """Every text that an expression may give, as far as that is known."""
        if isinstance(node, ast.Constant):
            return [(node.value, True)] if isinstance(node.value, str) else _UNKNOWN
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.IfExp):
            return _few([*self.texts(node.body), *self.texts(node.orelse)])
        if isinstance(node, ast.BoolOp):
            return _few([text for one in node.values for text in self.texts(one)])
        if isinstance(node, ast.JoinedStr):
            return _joined([self._piece(one) for one in node.values])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return _joined([self.texts(node.left), self.texts(node.right)])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return _before(self.texts(node.left), "%")
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "format"
        ):
            return _before(self.texts(node.func.value), "{")
        return _UNKNOWN

    def listed(self, node: ast.expr) -> list[str] | None:
        """The texts of a list that is written out, or None."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.listed(node.left), self.listed(node.right)
            return None if left is None or right is None else left + right
        if not isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return None
        found = []
        for one in node.elts:
            if not isinstance(one, ast.Constant) or not isinstance(one.value, str):
                return None
            found.append(one.value)
        return found

    def _named(self, name: str) -> list[Text]:
        if name in self._own and name not in self._bound:
            return [(self._own[name], True)]
        values = self._bound.get(name)
        if not values or name in self._imported:
            return _UNKNOWN
        found = [one.value if isinstance(one, ast.Constant) else None for one in values]
        texts = [(one, True) for one in found if isinstance(one, str)]
        return _few(texts) if len(texts) == len(values) else _UNKNOWN

    def _piece(self, node: ast.expr) -> list[Text]:
        if not isinstance(node, ast.FormattedValue):
            return self.texts(node)
        plain = node.conversion == -1 and node.format_spec is None
        return self.texts(node.value) if plain else _UNKNOWN

    def _learn(self, node: ast.AST) -> None:
        """Note what a node binds: an import, a text, or something that is not known (None)."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                self._imported.setdefault(bound, set()).add(alias.name if alias.asname else bound)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*":
                    self._stars.add(f"{'.' * node.level}{node.module or ''}")
                    continue
                home = f"{node.module}." if node.module else ""
                origin = f"{'.' * node.level}{home}{alias.name}"
                self._imported.setdefault(alias.asname or alias.name, set()).add(origin)
        else:
            for name, value in _bindings(node):
                self._bound.setdefault(name, []).append(value)


def attribute(node: ast.expr) -> tuple[ast.expr | None, str]:
    """What an attribute is taken of, and its name; None and nothing where this is no attribute.

    What ``getattr`` or square brackets take by a text that is written out counts as one.
    """
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    value: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        value, key = node.value, node.slice
    elif isinstance(node, ast.Call) and len(node.args) > 1:
        value, key = node.args[0], node.args[1]
        if not isinstance(node.func, ast.Name) or node.func.id != "getattr":
            return None, ""
    else:
        return None, ""
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return value, key.value
    return None, ""


def absolute(module: str, level: int, package: str) -> str:
    """The absolute name of a module that is named from a package; empty where there is none."""
    if not level:
        return module
    parts = package.split(".") if package else []
    if level > len(parts):
        return ""
    kept = parts[: len(parts) - level + 1]
    return ".".join([*kept, module] if module else kept)


def _bindings(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                yield target.id, node.value
            else:
                yield from _unknown(target)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        if isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        values = node.iter.elts if isinstance(node.iter, (ast.Tuple, ast.List)) else None
        if isinstance(node.target, ast.Name) and values:
            yield from ((node.target.id, one) for one in values)
        else:
            yield from _unknown(node.target)
    elif isinstance(node, ast.AugAssign):
        yield from _unknown(node.target)
    elif isinstance(node, ast.withitem):
        if node.optional_vars is not None:
            yield from _unknown(node.optional_vars)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name, None
    elif isinstance(node, ast.arg):
        yield node.arg, None
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name, None
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest, None


def _unknown(target: ast.expr) -> Iterator[tuple[str, None]]:
    for one in ast.walk(target):
        if isinstance(one, ast.Name):
            yield one.id, None


def _joined(pieces: Sequence[list[Text]]) -> list[Text]:
    count = 1
    for one in pieces:
        count *= len(one)
    if count > _MOST:
        return _UNKNOWN
    found = []
    for row in product(*pieces):
        text, whole = "", True
        for piece, exact in row:
            text, whole = text + piece, exact
            if not exact:
                break
        found.append((text, whole))
    return _few(found)


def _before(texts: list[Text], mark: str) -> list[Text]:
    """What stands before the first place that is filled in later."""
    return _few([(text.partition(mark)[0], False) for text, _ in texts])


def _few(texts: list[Text]) -> list[Text]:
    unlike = list(dict.fromkeys(texts))
    return unlike if len(unlike) <= _MOST else _UNKNOWN
