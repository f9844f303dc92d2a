"""Which tools one handler module registers: read from its source, never imported.

A registration is a statement at a module's top level, also inside its ``if``, ``try``, ``with``
and loops:

* ``@read_file.implements``, where the name leads to the module of generated stubs;
* ``@registry.handler("read_file")`` and ``registry.register(name="read_file", ...)``, where the
  name leads to the generated registry.

Names are followed through the module's own imports and plain assignments, and a tool's name
through constants of the module. A registration whose tool cannot be read so is a finding.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from hermes_build.compiler.argument_keys import Function, ReadKeys, keys_of, span_of
from hermes_build.compiler.diagnostics import Findings, Span

Style: TypeAlias = Literal["implements", "handler", "register"]

MAX_BYTES = 4_000_000
"""The largest handler module that is parsed; parsing takes some 100 times its size in memory."""

_MARKS = (b"implements", b"registry")


@dataclass(frozen=True, slots=True)
class Binding:
    """One registration. ``tool`` is the tool's name or, for ``implements``, its stub module's.

    ``is_async`` says which kind of function is registered, None where source does not tell.
    ``keys`` are those that the function may read of its arguments. ``package`` is the compiled
    package that it registers with, where that is another one than is compiled here; the span is
    then of the import.
    """

    tool: str
    module: str
    span: Span
    style: Style
    is_async: bool | None = None
    keys: ReadKeys | None = None
    package: str = ""

    @property
    def path(self) -> str:
        """The handler module's file, relative to the project."""
        return self.span.path

    @property
    def line(self) -> int:
        """The line of the registration, counted from 1."""
        return self.span.line


def read_registrations(
    source: bytes,
    path: str,
    module: str,
    package: str,
    output: str,
    findings: Findings,
    strays: list[Binding] | None = None,
) -> list[Binding]:
    """Return the registrations of one module, in the order of its lines.

    Of two for one tool in two arms of an ``if``, ``try`` or ``match`` the first stands for both.

    ``module`` and ``package`` are the module's dotted name and that of the package it is in;
    ``output`` is the generated package's. Source that cannot be parsed is a finding. What looks
    like a registration with another generated package is added to ``strays``.
    """
    if not any(mark in source for mark in _MARKS):
        return []  # most modules of a large program are settled by this look
    tree = _parse(source, path, findings)
    if tree is None:
        return []
    reader = _Module(module, package, path, source, output, findings)
    found = reader.bindings(tree)
    if strays is not None:
        strays += reader.strays
    return found


def _parse(source: bytes, path: str, findings: Findings) -> ast.Module | None:
    if len(source) > MAX_BYTES:
        findings.add("HB3004", f"`{path}` is larger than {MAX_BYTES:,} bytes", Span(path))
        return None
    try:
        return ast.parse(source, path)
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        end = max(error.end_offset or 0, column + 1) if error.end_lineno == line else column + 1
        span = Span(path, line, column, line, end)
        findings.add("HB3004", f"`{path}` cannot be parsed", span, label=error.msg)
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) or "it is nested too deep"
        findings.add("HB3004", f"`{path}` cannot be parsed: {reason}", Span(path))
    return None


_Function = (ast.FunctionDef, ast.AsyncFunctionDef)

_OTHER = re.compile(
    r"(?P<package>.+)\.tools\.(?P<stub>\w+)\.implements"
    r"|(?P<home>.+)\.registry\.registry\.(?:handler|register)"
)
"""How a module names what registers a handler, whatever the generated package is called."""


class _Module:
    """Follows the names of one module, and collects its registrations."""

    def __init__(
        self,
        name: str,
        package: str,
        path: str,
        source: bytes,
        output: str,
        findings: Findings,
    ) -> None:
        self.name, self.package, self.path, self.findings = name, package, path, findings
        self.source, self.lines = source, source.splitlines()
        self.tools = f"{output}.tools."
        self.registry = f"{output}.registry.registry"
        self.names: dict[str, str] = {}
        self.texts: dict[str, str | None] = {}
        self.kinds: dict[str, bool | None] = {}
        self.functions: dict[str, Function | None] = {}
        self.imports: dict[str, ast.stmt] = {}
        self.wrapped: set[Function] = set()
        self.found: list[tuple[Binding, Function | None]] = []
        self.strays: list[Binding] = []

    def bindings(self, tree: ast.Module) -> list[Binding]:
        for statement, _ in _top_level(tree.body):
            self.learn(statement)
        kept: list[tuple[Binding, Function | None]] = []
        places: dict[str, list[_Branch]] = {}
        for statement, inside in _top_level(tree.body):
            self.found = []
            self.visit(statement)
            for one, function in self.found:
                others = places.setdefault(one.tool, [])
                if not any(_never_both(inside, other) for other in others):
                    kept.append((one, function))
                others.append(inside)
        counts = Counter(function for _, function in kept)
        found = [
            self.with_keys(one, function) if function and counts[function] == 1 else one
            for one, function in kept
        ]
        return sorted(found, key=lambda one: (one.line, one.span.column))

    def with_keys(self, one: Binding, function: Function) -> Binding:
        """Add the keys that the function reads; it must serve this tool alone, and directly."""
        if function in self.wrapped:
            return one
        return replace(one, keys=keys_of(function, self.source, self.path, self.lines))

    def learn(self, statement: ast.stmt) -> None:
        """Note what a statement binds: imports, other names for them, constants, functions."""
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                bound = alias.asname or alias.name.partition(".")[0]
                self.names[bound] = alias.name if alias.asname else bound
                self.imports[bound] = statement
        elif isinstance(statement, ast.ImportFrom):
            origin = self.origin(statement)
            for alias in statement.names:
                if alias.name == "*":
                    if f"{origin}.registry" == self.registry:
                        self.names["registry"] = self.registry
                else:
                    self.names[alias.asname or alias.name] = f"{origin}.{alias.name}"
                    self.imports[alias.asname or alias.name] = statement
        elif isinstance(statement, _Function):
            plain = not statement.decorator_list
            known = isinstance(statement, ast.AsyncFunctionDef) if plain else None
            first = statement.name not in self.kinds
            self.kinds[statement.name] = known if first else None
            self.functions[statement.name] = statement if plain and first else None
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    self.assign(target.id, statement.value)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            for node in ast.walk(statement.target):
                if isinstance(node, ast.Name):
                    self.texts[node.id] = None

    def assign(self, name: str, value: ast.expr) -> None:
        text = value.value if isinstance(value, ast.Constant) else None
        text = text if isinstance(text, str) else None
        # A name that is given two texts has no text that can be relied on.
        self.texts[name] = text if self.texts.get(name, text) == text else None
        target = self.resolve(value)
        if target is not None and target.startswith((self.tools, self.registry)):
            self.names[name] = target

    def origin(self, statement: ast.ImportFrom) -> str:
        if not statement.level:
            return statement.module or ""
        parts = self.package.split(".") if self.package else []
        kept = parts[: len(parts) - statement.level + 1]
        return ".".join([*kept, *([statement.module] if statement.module else [])])

    def visit(self, statement: ast.stmt) -> None:
        if isinstance(statement, _Function):
            for decorator in statement.decorator_list:
                self.decorated(decorator, statement)
            return
        for value in _expressions(statement):
            for node in _calls(value):
                self.called(node)

    def decorated(
        self, decorator: ast.expr, function: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> None:
        # Decorators below ours have already wrapped the function: then its kind is not known.
        innermost = decorator is function.decorator_list[-1]
        kind = isinstance(function, ast.AsyncFunctionDef) if innermost else None
        call = decorator if isinstance(decorator, ast.Call) else None
        target = self.resolve(call.func if call else decorator)
        if target is None:
            return
        if target.startswith(self.tools) and target.endswith(".implements"):
            self.implements(target, decorator, kind, function)
        elif target == f"{self.registry}.handler":
            self.by_name(call, decorator, "handler", kind, function)
        else:
            self.stray(target, decorator)
            return
        if not innermost:
            self.wrapped.add(function)

    def called(self, call: ast.Call) -> None:
        if isinstance(call.func, ast.Call):  # registry.handler("x")(function)
            outer = self.resolve(call.func.func)
            if outer == f"{self.registry}.handler":
                self.by_name(
                    call.func, call.func, "handler", self.kind_of(call), self.function_of(call)
                )
            elif outer and outer.startswith(self.tools) and outer.endswith(".implements"):
                self.implements(outer, call.func, self.kind_of(call), self.function_of(call))
            elif outer:
                self.stray(outer, call.func)
            return
        target = self.resolve(call.func)
        if target is None:
            return
        if target == f"{self.registry}.register":
            handler = _argument(call, "handler", 3)
            self.by_name(
                call, call, "register", self.registered_kind(call), self.function_named(handler)
            )
        elif target.startswith(self.tools) and target.endswith(".implements") and call.args:
            self.implements(target, call, self.kind_of(call), self.function_of(call))
        else:
            self.stray(target, call)

    def stray(self, target: str, node: ast.expr) -> None:
        """Note what would be a registration, were another generated package compiled here."""
        call = node if isinstance(node, ast.Call) else None
        found = _OTHER.fullmatch(target)
        if found is None:
            return
        root: ast.expr = call.func if call else node
        while isinstance(root, ast.Attribute):
            root = root.value
        given = _argument(call, "name", 0) if call else None
        text = found["stub"] or (given.value if isinstance(given, ast.Constant) else None)
        statement = self.imports.get(root.id) if isinstance(root, ast.Name) else None
        if isinstance(text, str) and statement is not None:
            style: Style = "implements" if found["stub"] else "handler"
            span = self.span(statement)
            package = found["package"] or found["home"]
            self.strays.append(Binding(text, self.name, span, style, package=package))

    def implements(
        self, target: str, node: ast.expr, kind: bool | None, function: Function | None
    ) -> None:
        stub = target.removeprefix(self.tools).removesuffix(".implements")
        if stub and "." not in stub:
            shown = node.func if isinstance(node, ast.Call) else node
            one = Binding(stub, self.name, self.span(shown), "implements", kind)
            self.found.append((one, function))

    def by_name(
        self,
        call: ast.Call | None,
        node: ast.expr,
        style: Style,
        kind: bool | None,
        function: Function | None,
    ) -> None:
        given = _argument(call, "name", 0) if call else None
        text: str | None = None
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            text = given.value
        elif isinstance(given, ast.Name):
            text = self.texts.get(given.id)
        if text is not None:
            one = Binding(text, self.name, self.span(given or node), style, kind)
            self.found.append((one, function))
            return
        self.findings.add(
            "HB3005",
            "the name of the tool that is registered here cannot be read from source",
            self.span(given or node),
            label="not a text, nor a constant of this module" if given else "no name is given",
            help=("register each tool with its name written out",),
        )

    def registered_kind(self, call: ast.Call) -> bool | None:
        handler = _argument(call, "handler", 3)
        known = self.kinds.get(handler.id) if isinstance(handler, ast.Name) else None
        if known is not None:
            return known
        said = _argument(call, "is_async", 6)
        return said.value if isinstance(said, ast.Constant) and said.value is True else None

    def function_of(self, call: ast.Call) -> Function | None:
        return self.function_named(call.args[0] if call.args else None)

    def function_named(self, node: ast.expr | None) -> Function | None:
        return self.functions.get(node.id) if isinstance(node, ast.Name) else None

    def kind_of(self, call: ast.Call) -> bool | None:
        first = call.args[0] if call.args else None
        return self.kinds.get(first.id) if isinstance(first, ast.Name) else None

    def resolve(self, node: ast.expr) -> str | None:
        """The dotted name that an expression of names and attributes leads to, or None."""
        attributes: list[str] = []
        while isinstance(node, ast.Attribute):
            attributes.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.names:
            return None
        return ".".join([self.names[node.id], *reversed(attributes)])

    def span(self, node: ast.expr | ast.stmt) -> Span:
        return span_of(node, self.path, self.lines)


def _argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if len(call.args) > position and not any(isinstance(one, ast.Starred) for one in call.args):
        return call.args[position]
    return None


_Branch: TypeAlias = tuple[tuple[int, int], ...]
"""Which arm of which branching statements a statement stands in, outermost first."""


def _top_level(body: list[ast.stmt], inside: _Branch = ()) -> Iterator[tuple[ast.stmt, _Branch]]:
    """The statements that an import runs, outside functions and classes."""
    for statement in body:
        yield statement, inside
        if isinstance(statement, (*_Function, ast.ClassDef)):
            continue
        arms: list[tuple[list[ast.stmt], int]] = [(getattr(statement, "body", []), 0)]
        arms.append((getattr(statement, "orelse", []), int(isinstance(statement, ast.If))))
        others = [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]
        arms += [(one.body, nth) for nth, one in enumerate(others, 1)]
        for arm, nth in arms:
            yield from _top_level(arm, (*inside, (statement.lineno, nth)))
        yield from _top_level(getattr(statement, "finalbody", []), inside)


def _never_both(one: _Branch, other: _Branch) -> bool:
    """Whether one run of the module passes at most one of two places."""
    return any(
        mine[0] == theirs[0] and mine[1] != theirs[1]
        for mine, theirs in zip(one, other, strict=False)
    )


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement itself, without the statements inside it."""
    if isinstance(statement, ast.ClassDef):
        return
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield child


def _calls(value: ast.expr) -> Iterator[ast.Call]:
    """The calls that evaluating an expression makes, outermost first."""
    if isinstance(value, ast.Lambda):
        return
    if isinstance(value, ast.Call):
        yield value
    for child in ast.iter_child_nodes(value):
        if isinstance(child, ast.expr):
            yield from _calls(child)
        elif isinstance(child, ast.keyword):
            yield from _calls(child.value)
