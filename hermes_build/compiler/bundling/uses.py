"""What a module does by names beside importing: paths, texts, processes, data of packages."""

from __future__ import annotations

import ast
import posixpath
from itertools import product

from hermes_build.compiler.bundling.facts import Notes
from hermes_build.compiler.bundling.functions import argument, first_argument, kind_of, shown
from hermes_build.compiler.bundling.names import Names, absolute, attribute

_PLACES = ("__file__", "__path__")
_IN_SPEC = ("cached", "origin")
_READS = ("exists", "is_dir", "is_file", "open", "read_bytes", "read_text")


class Uses:
    """Judges expressions of one module; what is found is noted."""

    def __init__(self, names: Names, package: str, notes: Notes) -> None:
        self.names, self.package, self.notes = names, package, notes

    def path(self, node: ast.expr) -> bool:
        """Note where an expression asks for the file of a module, and say whether it does."""
        inner, name = attribute(node)
        if isinstance(node, ast.Subscript) and not _is_namespace(node.value):
            return False
        if isinstance(node, ast.Name) and node.id in _PLACES:
            self.notes.use("path", node, node.id)
        elif name in _PLACES or name == "submodule_search_locations":
            self.notes.use("path", node, name, self.module_of(inner))
        elif name in _IN_SPEC and inner is not None and self._is_spec(inner):
            self.notes.use("path", node, f"__spec__.{name}")
        elif isinstance(node, ast.Call) and _is_namespace(attribute(node.func)[0]) and node.args:
            key = node.args[0]
            if not isinstance(key, ast.Constant) or key.value not in _PLACES:
                return False
            self.notes.use("path", node, str(key.value))
        else:
            return False
        return True

    def _is_spec(self, node: ast.expr) -> bool:
        last = attribute(node)[1] or getattr(node, "id", "")
        made = isinstance(node, ast.Call) and kind_of(self.names, node.func) == "find_spec"
        return last == "__spec__" or made

    def named(self, node: ast.expr, name: ast.expr | None, what: str) -> None:
        """Note the name of a module that is given to ``what``, which does not look into bundles.

        A name that is made of the module's own leads there in a bundle as well.
        """
        if name is None or knows_itself(name):
            return
        for text, whole in self.names.texts(name):
            if whole and text.replace(".", "_").isidentifier():
                self.notes.use("text", node, what, text)

    def configured(self, call: ast.Call, what: str) -> None:
        """Note what a configuration of ``logging`` names: classes and functions."""
        given = first_argument(call, "configuration")
        values = self.names.values(given.id) if isinstance(given, ast.Name) else [given]
        for node in (inner for one in values if one is not None for inner in ast.walk(one)):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value in ("class", "()"):
                        self.named(call, value, what)
            elif isinstance(node, ast.Constant) and str(node.value).startswith("ext://"):
                self.named(call, ast.Constant(str(node.value).removeprefix("ext://")), what)

    def command(self, node: ast.List | ast.Tuple) -> None:
        """Note the module that a command line names by ``-m``."""
        for flag, name in zip(node.elts, node.elts[1:], strict=False):
            if isinstance(flag, ast.Constant) and flag.value == "-m":
                self.named(name, name, "python -m")

    def data(self, node: ast.expr) -> list[ast.expr] | None:
        """Note what data of a package an expression leads to: what is left of it; else None."""
        steps: list[ast.expr] = []
        rest: list[ast.expr] = []
        call = node
        while not isinstance(call, ast.Call) or not self._opens(call):
            if isinstance(call, ast.BinOp) and isinstance(call.op, ast.Div):
                steps.insert(0, call.right)
                call = call.left
                continue
            inner, name = attribute(call.func) if isinstance(call, ast.Call) else (None, "")
            if inner is None or not isinstance(call, ast.Call):
                return None
            if name == "joinpath":
                steps[:0] = call.args
            elif name in _READS and call is node:
                rest = [*call.args, *(one.value for one in call.keywords)]
            else:
                return None
            call = inner
        kind = kind_of(self.names, call.func)
        anchor = first_argument(call, kind)
        if kind == "resource":
            steps = [argument(call, 1, "resource") or ast.Constant(None), *steps]
            given = [*call.args, *(one.value for one in call.keywords)]
            rest += [one for one in given if one is not anchor and one is not steps[0]]
        is_bare = not call.args and not call.keywords
        packages = self._packages(anchor) if is_bare or anchor is not None else []
        for package in packages or [""]:
            if package:
                self.notes.add(package, call)
            for file in self._files(steps):
                self.notes.use("data", call, shown(call.func), package, file)
        return [*([anchor] if anchor is not None else []), *steps, *rest]

    def _opens(self, call: ast.Call) -> bool:
        return kind_of(self.names, call.func) in ("files", "resource")

    def _files(self, steps: list[ast.expr]) -> list[str | None]:
        """The paths that some steps lead to; None for one that is not known."""
        rows = [self.names.texts(one) for one in steps]
        if not all(row and all(whole for _, whole in row) for row in rows):
            return [None]
        paths = (posixpath.join(*(text for text, _ in row), "") for row in product(*rows))
        found = [posixpath.normpath(one) for one in paths]
        return [None if one.startswith(("..", "/")) else one for one in found]

    def _packages(self, anchor: ast.expr | None) -> list[str]:
        """The packages that an anchor of data may stand for, by their names."""
        if anchor is None:
            return [self.package]
        texts = self.names.texts(anchor)
        if texts and all(whole for _, whole in texts):
            return [text for text, _ in texts]
        module = self.module_of(anchor)
        return [module] if module else []

    def module_of(self, node: ast.expr | None) -> str:
        """The dotted name that imports give to an expression; empty where none is known."""
        name = "" if node is None else self.names.dotted(node)
        inner = name.lstrip(".")
        return absolute(inner, len(name) - len(inner), self.package)


def _is_namespace(node: ast.expr | None) -> bool:
    """Whether this is the namespace of a module, as a mapping."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") in ("globals", "locals", "vars")
    return node is not None and attribute(node)[1] == "__dict__"


def knows_itself(node: ast.expr) -> bool:
    """Whether a name is made of the module's own, which is another one in a bundle."""
    names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
    return any(one in ("__name__", "__package__", "__spec__") for one in names)
