"""What one module imports: read from its source, never run.

Every place counts that could run: functions, classes, all arms of ``if`` and ``try``. Only what
stands below ``if TYPE_CHECKING:`` never runs. A module that is imported by a name which the source
computes is followed where the name is written out after all; else what is known of the name is
reported with its place, and nothing is guessed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from hermes_build.compiler.argument_keys import span_of
from hermes_build.compiler.bundling.names import Names
from hermes_build.compiler.diagnostics import Span


@dataclass(frozen=True, slots=True)
class Import:
    """One import of ``module``, a dotted name without leading dots.

    ``names`` are what ``from module import ...`` takes, ``*`` for all. ``guarded`` says that the
    program goes on where the module is not there, and ``typing`` that only type checkers import it.
    """

    module: str
    names: tuple[str, ...]
    span: Span
    guarded: bool = False
    typing: bool = False


@dataclass(frozen=True, slots=True)
class Undecided:
    """An import of a module whose name is computed: ``known`` is how the name begins, if known.

    ``maker`` is the dotted name of a function that makes what imports, where one does.
    """

    span: Span
    known: str
    why: str
    maker: str = ""


@dataclass(frozen=True, slots=True)
class Imports:
    """What a module imports, in the order of its lines; ``exported`` is its ``__all__``.

    ``exported`` is empty where there is none, and None where it cannot be read. ``by_path`` is the
    first place that asks for the module's own file.
    """

    found: tuple[Import, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    by_path: Span | None = None
    exported: tuple[str, ...] | None = ()


def read_imports(source: bytes, path: str, module: str, *, is_package: bool) -> Imports:
    """Read the imports of a module.

    ``path`` is its file, for the places of what is found; ``module`` is its dotted name, and
    ``is_package`` says that the file is the ``__init__.py`` of it.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the source cannot be parsed.
    """
    return _Reader(ast.parse(source, path), source, path, module, is_package).read()


_DYNAMIC = (
    *(b"import_module", b"__import__", b"resolve_name", b"run_module", b"run_path"),
    *(b"spec_from_file_location", b"SourceFileLoader", b"zipimporter", b"__getattr__"),
)
"""What source holds that imports by a computed name; most modules hold none of it."""

_BY_NAME = ("import_module", "__import__")
_IN_MODULES = {"run_module": "runpy", "run_path": "runpy", "resolve_name": "pkgutil"}
_FROM_FILES = ("run_path", "spec_from_file_location", "SourceFileLoader", "zipimporter")
_CAUGHT = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")


class _Reader:
    def __init__(
        self, tree: ast.Module, source: bytes, path: str, module: str, is_package: bool
    ) -> None:
        self.tree, self.path = tree, path
        self.lines = source.splitlines()
        self.dynamic = any(one in source for one in _DYNAMIC)
        self.lists, self.asks = b"__all__" in source, b"__file__" in source
        self.package = module if is_package else module.rpartition(".")[0]
        self.names = Names(tree, module, self.package, self.dynamic or b"TYPE_CHECKING" in source)
        self.found: list[Import] = []
        self.undecided: list[Undecided] = []

    def read(self) -> Imports:
        for statement, guarded, typing in self.statements():
            if isinstance(statement, ast.Import):
                for alias in statement.names:
                    self.add(alias.name, (), statement, guarded, typing)
            elif isinstance(statement, ast.ImportFrom):
                module = self.origin(statement.module or "", statement.level)
                names = tuple(alias.name for alias in statement.names)
                if module:
                    self.add(module, names, statement, guarded, typing)
            elif self.dynamic and not typing:
                self.look(statement, guarded)
        exported = self.exported() if self.lists else ()
        return Imports(tuple(self.found), tuple(self.undecided), self.by_path(), exported)

    def by_path(self) -> Span | None:
        if not self.asks:
            return None
        places = [
            (node.lineno, node.col_offset, node)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name) and node.id == "__file__"
        ]
        return (
            span_of(min(places, key=lambda one: one[:2])[2], self.path, self.lines)
            if places
            else None
        )

    def statements(self) -> Iterator[tuple[ast.stmt, bool, bool]]:
        """Every statement, whether a failing import in it is caught, and whether it never runs."""
        stack: list[tuple[list[ast.stmt], bool, bool]] = [(self.tree.body, False, False)]
        while stack:
            body, guarded, typing = stack.pop()
            inner: list[tuple[list[ast.stmt], bool, bool]] = []
            for one in body:
                yield one, guarded, typing
                if isinstance(one, ast.If):
                    checks = self.names.checks_types(one.test)
                    inner.append((one.body, guarded, typing or checks is True))
                    inner.append((one.orelse, guarded, typing or checks is False))
                elif isinstance(one, (ast.Try, ast.TryStar)):
                    caught = guarded or any(_catches(handler.type) for handler in one.handlers)
                    inner.append((one.body, caught, typing))
                    inner += [(handler.body, caught, typing) for handler in one.handlers]
                    inner += [(rest, guarded, typing) for rest in (one.orelse, one.finalbody)]
                elif isinstance(one, ast.Match):
                    inner += [(case.body, guarded, typing) for case in one.cases]
                else:
                    caught = guarded or (
                        isinstance(one, ast.With) and any(_suppresses(item) for item in one.items)
                    )
                    for name in ("body", "orelse"):
                        if isinstance(rest := getattr(one, name, None), list):
                            inner.append((rest, caught, typing))
            stack += reversed(inner)

    def add(
        self, module: str, names: tuple[str, ...], node: ast.stmt | ast.expr, guarded: bool,
        typing: bool,
    ) -> None:  # fmt: skip
        span = span_of(node, self.path, self.lines)
        self.found.append(Import(module, names, span, guarded, typing))

    def origin(self, module: str, level: int) -> str:
        """The absolute name of a module that is named from here; empty where there is none."""
        if not level:
            return module
        parts = self.package.split(".") if self.package else []
        if level > len(parts):
            return ""
        kept = parts[: len(parts) - level + 1]
        return ".".join([*kept, module] if module else kept)

    def look(self, statement: ast.stmt, guarded: bool) -> None:
        """Look at the expressions of one statement for imports by a computed name."""
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(_binds(target, "__getattr__") for target in targets):
                self.lazy(statement)
        stack: list[ast.AST] = [
            child for child in ast.iter_child_nodes(statement) if not _is_body(child)
        ]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Call):
                what = self.importer(node.func)
                if what:
                    self.called(node, what, guarded)
                    stack += [*node.args, *(one.value for one in node.keywords)]
                    continue
            elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                what = self.importer(node)
                if what and what not in _FROM_FILES:
                    self.undecide(node, "", f"`{what}` is used otherwise than in a call here")
                    continue
            stack += reversed(list(ast.iter_child_nodes(node)))

    def lazy(self, statement: ast.Assign | ast.AnnAssign) -> None:
        """Look at a ``__getattr__`` of the module that something else makes."""
        value = statement.value
        made = value.func if isinstance(value, ast.Call) else value
        if isinstance(made, ast.Name) and self.names.binds(made.id):
            return  # a function of this module, which is read like all of it
        maker = "" if made is None else self.names.dotted(made)
        if maker.startswith("."):
            name = maker.lstrip(".")
            maker = self.origin(name, len(maker) - len(name))
        span = span_of(statement, self.path, self.lines)
        why = "what the module's `__getattr__` imports"
        self.undecided.append(Undecided(span, "", why, maker))

    def importer(self, node: ast.expr) -> str:
        """Which function that imports by name an expression leads to; empty for any other."""
        if isinstance(node, ast.Attribute):
            last, home = node.attr, self.names.dotted(node.value)
        elif isinstance(node, ast.Name):
            origin = self.names.dotted(node) or node.id
            home, _, last = origin.rpartition(".")
            if not home:  # a builtin, or what a star import brought
                return last if last in _BY_NAME and not self.names.binds(last) else ""
        else:
            return ""
        if last in _BY_NAME or (last in _FROM_FILES and last not in _IN_MODULES):
            return last
        return last if home and home == _IN_MODULES.get(last) else ""

    def called(self, call: ast.Call, what: str, guarded: bool) -> None:
        if what in _FROM_FILES:
            self.undecide(call, "", "a module is loaded from a file")
            return
        first = _argument(call, 0, "mod_name" if what == "run_module" else "name")
        values = self.names.texts(first) if first is not None else None
        if not values:
            self.undecide(call, "", "the module's name cannot be read from source")
            return
        for text, whole in values:
            name, taken = text, tuple[str, ...]()
            if what == "__import__":
                level = _argument(call, 4, "level")
                steps = 0 if level is None else getattr(level, "value", None)
                if type(steps) is not int:
                    self.undecide(call, "", "how far `level` leads cannot be read from source")
                    return
                name = self.origin(text, max(steps, 0))
                listed = _listed(_argument(call, 3, "fromlist"))
                if listed is None and whole:
                    self.undecide(
                        call, f"{name}.", "what is taken of it cannot be read from source"
                    )
                taken = listed or ()
            elif what == "resolve_name":
                name, _, rest = text.partition(":")
                if whole and not rest and "." in name:  # the last part may be a name in the module
                    name, _, last = name.rpartition(".")
                    taken = (last,)
            elif text.startswith("."):
                name = self.relative(text, _argument(call, 1, "package"))
            if not whole or not name:
                self.undecide(call, name, "the module's name is computed")
            else:
                self.add(name, taken, call, guarded, False)

    def relative(self, text: str, anchor: ast.expr | None) -> str:
        """The name that ``import_module`` makes of a relative one; empty where that is unknown."""
        known = self.names.texts(anchor) if anchor is not None else None
        if not known or len(known) != 1 or not known[0][1]:
            return ""
        name = text.lstrip(".")
        level = len(text) - len(name)
        parts = known[0][0].split(".")
        return ".".join([*parts[: len(parts) - level + 1], name]) if level <= len(parts) else ""

    def undecide(self, node: ast.expr | ast.stmt, known: str, why: str) -> None:
        self.undecided.append(Undecided(span_of(node, self.path, self.lines), known, why))

    def exported(self) -> tuple[str, ...] | None:
        """The names of ``__all__``, as far as they are written out in it."""
        names: list[str] = []
        for node in ast.walk(self.tree):
            value: ast.expr | None = None
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                value = node.value if any(_binds(one, "__all__") for one in targets) else None
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and _binds(node.func.value, "__all__")
                and node.args
            ):
                value = node.args[0]
                if node.func.attr == "append":
                    value = ast.List([value])
            if value is None:
                continue
            found = self.names.listed(value)
            if found is None:
                return None
            names += found
        return tuple(names)


def _catches(kind: ast.expr | None) -> bool:
    """Whether an ``except`` of this kind catches a failing import."""
    if kind is None:
        return True
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(one, ast.Name) and one.id in _CAUGHT for one in kinds)


def _suppresses(item: ast.withitem) -> bool:
    call = item.context_expr
    if not isinstance(call, ast.Call):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name == "suppress" and any(_catches(one) for one in call.args)


def _is_body(node: ast.AST) -> bool:
    return isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case))


def _binds(node: ast.expr | None, name: str) -> bool:
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(_binds(one, name) for one in node.elts)
    return isinstance(node, ast.Name) and node.id == name


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if len(call.args) > position and not any(isinstance(one, ast.Starred) for one in call.args):
        return call.args[position]
    return None


def _listed(node: ast.expr | None) -> tuple[str, ...] | None:
    """The texts of a list that is written out; None where it is not."""
    if node is None:
        return ()
    if isinstance(node, ast.Constant) and not node.value:
        return ()
    elements = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    texts = [one.value if isinstance(one, ast.Constant) else None for one in elements]
    known = tuple(one for one in texts if isinstance(one, str))
    return known if len(known) == len(texts) else None
