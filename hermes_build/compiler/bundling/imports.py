"""What one module imports: read from its source, never run.

Every place counts that could run: functions, classes, all arms of ``if`` and ``try``. Only what
stands below ``if TYPE_CHECKING:`` never runs. A module that is imported by a name which the source
computes is followed where the name is written out after all; else what is known of the name is
reported with its place, and nothing is guessed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from hermes_build.compiler.bundling.facts import Imports, Notes
from hermes_build.compiler.bundling.functions import may_look_up
from hermes_build.compiler.bundling.lookups import Lookups, binds
from hermes_build.compiler.bundling.names import Names, absolute


def read_imports(source: bytes, path: str, module: str, *, is_package: bool) -> Imports:
    """Read the imports of a module.

    ``path`` is its file, for the places of what is found; ``module`` is its dotted name, and
    ``is_package`` says that the file is the ``__init__.py`` of it.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the source cannot be parsed.
    """
    return _Reader(ast.parse(source, path), source, path, module, is_package).read()


def _read_text(text: str, *, path: str, module: str, is_package: bool) -> Imports:
    """What a program needs that a module holds as a text, and runs."""
    return read_imports(text.encode("utf-8", "replace"), path, module, is_package=is_package)


_CAUGHT = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")


class _Reader:
    def __init__(
        self, tree: ast.Module, source: bytes, path: str, module: str, is_package: bool
    ) -> None:
        self.tree, self.lists = tree, b"__all__" in source
        self.package = module if is_package else module.rpartition(".")[0]
        self.dynamic = may_look_up(source)
        self.names = Names(tree, module, self.package, self.dynamic or b"TYPE_CHECKING" in source)
        self.notes = Notes(path, source.splitlines())
        # No method of ours: a circle would hold each tree until somebody looks for circles.
        inner = partial(_read_text, path=path, module=module, is_package=is_package)
        self.lookups = Lookups(self.names, self.package, self.notes, inner)

    def read(self) -> Imports:
        for one, guarded, typing in self.statements():
            if isinstance(one, ast.Import):
                for alias in one.names:
                    self.notes.add(alias.name, one, guarded=guarded, typing=typing)
            elif isinstance(one, ast.ImportFrom):
                module = absolute(one.module or "", one.level, self.package)
                names = tuple(alias.name for alias in one.names)
                if module:
                    self.notes.add(module, one, names, guarded=guarded, typing=typing)
            elif self.dynamic and not typing:
                self.lookups.look(one, guarded)
        return self.notes.all(self.exported() if self.lists else ())

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

    def exported(self) -> tuple[str, ...] | None:
        """The names of ``__all__``, as far as they are written out in it."""
        names: list[str] = []
        for node in ast.walk(self.tree):
            value: ast.expr | None = None
            targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                value = node.value if any(binds(one, "__all__") for one in targets) else None
            elif (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and binds(node.func.value, "__all__")
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
