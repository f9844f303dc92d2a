"""What the expressions of a module look up by names: modules above all.

A function that takes the name of a module is known by its own name, and the name that it is given
is read where it is written out. Else what is known of it is noted, and nothing is guessed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from hermes_build.compiler.bundling.facts import Imports, Notes, Undecided
from hermes_build.compiler.bundling.functions import (
    BY_NAME,
    argument,
    first_argument,
    kind_of,
    shown,
)
from hermes_build.compiler.bundling.names import Names, absolute, attribute
from hermes_build.compiler.bundling.uses import Uses, knows_itself

_ONLY_CALLED = (*BY_NAME, "find_spec", "resolve_name", "list", "run")
"""Kinds of functions that are a finding where they are used otherwise than in a call."""

_HOMES = frozenset(("__builtins__", "builtins", "importlib", "importlib.util", "pkgutil", "runpy"))
_SEARCHED = frozenset(("sys.meta_path", "sys.path", "sys.path_hooks"))
_ELSEWHERE = "it changes where modules are looked for"


class Lookups:
    """Judges the expressions of one module; what is found is noted.

    Args:
        names: what the names of the module stand for.
        package: the package that relative names start at.
        notes: gathers what is found.
        read: reads the text of a program that the module runs, as if it stood in the module.
    """

    def __init__(
        self, names: Names, package: str, notes: Notes, read: Callable[[str], Imports]
    ) -> None:
        self.names, self.package, self.notes, self.read_text = names, package, notes, read
        self.uses = Uses(names, package, notes)

    def look(self, statement: ast.stmt, guarded: bool) -> None:
        """Look at the expressions of one statement, and not at the statements in it."""
        if isinstance(statement, (ast.Assign, ast.Delete)):
            self.bound(statement, statement.targets)
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
            self.bound(statement, [statement.target])
        stack = _inner(statement)
        while stack:
            node = stack.pop()
            rest = self.seen(node, guarded) if isinstance(node, ast.expr) else None
            stack += _inner(node) if rest is None else reversed(rest)

    def seen(self, node: ast.expr, guarded: bool) -> list[ast.expr] | None:
        """Judge one expression: what of it is still to be looked at, or None for all of it."""
        if isinstance(node, (ast.Constant, ast.Name)) and not self.may_mean(node):
            return []
        data = self.uses.data(node) if isinstance(node, (ast.Call, ast.BinOp)) else None
        if data is not None:
            return data
        if isinstance(node, ast.Call):
            kind = kind_of(self.names, node.func)
            if kind:
                return self.called(node, kind, guarded)
        elif isinstance(node, ast.Compare) and _is_none(node.comparators):
            return []  # whether it is there, and no use of it
        elif not isinstance(getattr(node, "ctx", None), ast.Load):
            return None
        return self.used(node)

    def used(self, node: ast.expr) -> list[ast.expr] | None:
        """Judge what is used otherwise than in a call of it; what is left, or None for all."""
        kind = kind_of(self.names, node)
        inner, name = attribute(node)
        name = name or getattr(node, "id", "")
        if kind in _ONLY_CALLED:
            self.notes.undecide(node, f"`{name}` is used otherwise than in a call here")
        elif kind in ("files", "resource"):
            self.notes.use("data", node, name)
        elif kind == "path":
            self.notes.use("path", node, name)
        elif kind == "process":
            self.notes.use("process", node, name)
        elif not self.uses.path(node):
            if isinstance(node, (ast.List, ast.Tuple)):
                self.uses.command(node)
            elif isinstance(node, ast.Subscript) and self.is_of(node.value, "sys.modules"):
                self.uses.named(node, node.slice, "sys.modules")
            elif self.takes_unknown(node):
                self.notes.undecide(node, "what is taken here cannot be read from source")
            return None
        return [] if inner is None else [inner]

    def may_mean(self, node: ast.Constant | ast.Name) -> bool:
        """Whether a name may lead to something that looks up by names; most do not."""
        if isinstance(node, ast.Constant):
            return False
        return node.id.startswith("__") or bool(kind_of(self.names, node))

    def is_of(self, node: ast.expr, name: str) -> bool:
        """Whether imports may give an expression a dotted name."""
        return name in self.names.origins(node)

    def takes_unknown(self, node: ast.expr) -> bool:
        """Whether something is taken of a module that imports by names, and what is computed."""
        inner: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            inner = node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr" and node.args:
            inner = node.args[0]
        if inner is None or attribute(node)[0] is not None:
            return False
        return not self.names.origins(inner).isdisjoint(_HOMES)

    def called(self, call: ast.Call, kind: str, guarded: bool) -> list[ast.expr]:
        """Judge a call of a function that looks up by name; what is left are its arguments."""
        first = first_argument(call, kind)
        inner = attribute(call.func)[0]
        rest = [*call.args, *(one.value for one in call.keywords)]
        rest += [inner] if inner is not None else []
        if kind == "from_file":
            self.notes.undecide(call, "a module is loaded from a file")
        elif kind == "search":
            self.notes.undecide(call, _ELSEWHERE)
        elif kind == "run":
            self.run(call, first, guarded)
        elif kind in ("list", "extend_path"):
            rest = [one for one in rest if one is not first]
            if kind == "list":
                self.listing(call, first)
        elif kind == "text" or (kind == "run_module" and self.is_written_out(first)):
            self.uses.named(call, first, shown(call.func))
        elif kind == "configuration":
            self.uses.configured(call, shown(call.func))
        elif kind == "path":
            self.notes.use("path", call, shown(call.func), self.uses.module_of(first))
        elif kind == "process":
            self.notes.use("process", call, shown(call.func))
        elif kind != "compile":
            self.imported(call, kind, first, guarded)
        return rest

    def imported(self, call: ast.Call, kind: str, first: ast.expr | None, guarded: bool) -> None:
        """Judge a call that imports a module by its name, or looks for one."""
        values = self.names.texts(first) if first is not None else None
        if not values:
            self.notes.undecide(call, "the module's name cannot be read from source")
            return
        for text, whole in values:
            name, taken = text, tuple[str, ...]()
            if kind == "__import__":
                level = argument(call, 4, "level")
                steps = 0 if level is None else getattr(level, "value", None)
                if type(steps) is not int:
                    self.notes.undecide(call, "how far `level` leads cannot be read from source")
                    return
                name = absolute(text, max(steps, 0), self.package)
                listed = _listed(argument(call, 3, "fromlist"))
                if listed is None and whole:
                    why = "what is taken of it cannot be read from source"
                    self.notes.undecide(call, why, f"{name}.")
                taken = listed or ()
            elif kind == "resolve_name":
                name, _, rest = text.partition(":")
                if whole and not rest and "." in name:  # the last part may be a name in the module
                    name, _, last = name.rpartition(".")
                    taken = (last,)
            elif text.startswith("."):
                name = self.relative(text, argument(call, 1, "package"))
            if not whole or not name:
                self.notes.undecide(call, "the module's name is computed", name)
            else:
                self.notes.add(name, call, taken, guarded=guarded or kind == "find_spec")

    def is_written_out(self, node: ast.expr | None) -> bool:
        """Whether an expression gives texts that are known, and none that a bundle changes."""
        if node is None or knows_itself(node):
            return False
        return all(whole for _, whole in self.names.texts(node))

    def relative(self, text: str, anchor: ast.expr | None) -> str:
        """The name that ``import_module`` makes of a relative one; empty where that is unknown."""
        known = self.names.texts(anchor) if anchor is not None else None
        if not known or len(known) != 1 or not known[0][1]:
            return ""
        name = text.lstrip(".")
        return absolute(name, len(text) - len(name), known[0][0])

    def run(self, call: ast.Call, first: ast.expr | None, guarded: bool) -> None:
        """Judge a call of ``exec`` or ``eval``: what it runs is read where it is written out."""
        if isinstance(first, ast.Call) and kind_of(self.names, first.func) == "compile":
            first = argument(first, 0, "source")
        if _without_builtins(argument(call, 1, "globals")):
            return  # nothing can be imported from there
        if isinstance(first, ast.Constant) and isinstance(first.value, bytes):
            first = ast.Constant(first.value.decode("utf-8", "replace"))
        span = self.notes.span(call)
        for text, whole in self.names.texts(first) if first is not None else [("", False)]:
            try:
                inner = self.read_text(text.lstrip(" \t")) if whole else None
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                inner = None
            if inner is None:
                self.notes.undecide(call, "what is run here cannot be read from source")
                return
            for one in inner.found:
                self.notes.found.append(replace(one, span=span, guarded=one.guarded or guarded))
            self.notes.undecided += [replace(each, span=span) for each in inner.undecided]
            self.notes.uses += [replace(each, span=span) for each in inner.uses]

    def listing(self, call: ast.Call, path: ast.expr | None) -> None:
        """Judge a call that lists the modules of a package."""
        inner, name = attribute(path) if path is not None else (None, "")
        package = self.uses.module_of(inner) if name == "__path__" else ""
        if isinstance(path, ast.Name) and path.id == "__path__":
            package = self.package
        why = "any module that is listed here may be meant"
        known = f"{package}." if package else ""
        self.notes.undecided.append(Undecided(self.notes.span(call), known, why, listed=package))

    def bound(self, statement: ast.stmt, targets: list[ast.expr]) -> None:
        """Judge what a statement binds: where modules are looked for, or what makes them."""
        value = getattr(statement, "value", None)
        extends = isinstance(value, ast.Call) and kind_of(self.names, value.func) == "extend_path"
        for target in targets:
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and binds(target, "__getattr__"):
                self.lazy(statement, value)
            whole = target.value if isinstance(target, ast.Subscript) else target
            name = getattr(whole, "id", "") or getattr(whole, "attr", "")
            searched = not self.names.origins(whole).isdisjoint(_SEARCHED)
            if searched or (name == "__path__" and not extends):
                self.notes.undecide(target, _ELSEWHERE)

    def lazy(self, statement: ast.stmt, value: ast.expr | None) -> None:
        """Look at a ``__getattr__`` of the module that something else makes."""
        made = value.func if isinstance(value, ast.Call) else value
        if isinstance(made, ast.Name) and self.names.binds(made.id):
            return  # a function of this module, which is read like all of it
        why = "what the module's `__getattr__` imports"
        maker = self.uses.module_of(made)
        self.notes.undecided.append(Undecided(self.notes.span(statement), "", why, maker))


def binds(node: ast.expr | None, name: str) -> bool:
    """Whether a target of an assignment is a name, or holds it."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(binds(one, name) for one in node.elts)
    return isinstance(node, ast.Name) and node.id == name


def _is_none(nodes: list[ast.expr]) -> bool:
    return all(isinstance(one, ast.Constant) and one.value is None for one in nodes)


def _without_builtins(node: ast.expr | None) -> bool:
    """Whether this is a namespace that is written out, with builtins that are none."""
    rows = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
    return any(
        isinstance(key, ast.Constant)
        and key.value == "__builtins__"
        and isinstance(value, (ast.Dict, ast.Constant))
        and not getattr(value, "keys", None)
        for key, value in rows
    )


def _inner(node: ast.AST) -> list[ast.AST]:
    """What stands in a node, last first, but for statements; guards and caught types do."""
    return [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.stmt)][::-1]


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
