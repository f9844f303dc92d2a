"""What the source of one module says of what it needs: data, without the source."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal, TypeAlias

from hermes_build.compiler.argument_keys import span_of
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

    ``maker`` is the dotted name of a function that makes what imports, where one does. ``listed``
    is a package whose modules are listed when the program runs: any of them may be meant.
    """

    span: Span
    known: str
    why: str
    maker: str = ""
    listed: str = ""


Kind: TypeAlias = Literal["path", "text", "process", "data"]


@dataclass(frozen=True, slots=True)
class Use:
    """What a module does beside importing that a bundle must answer for.

    ``kind`` is ``path`` for asking where the file of a module is, ``text`` for naming a module to
    ``what``, which does not look into bundles, ``process`` for starting processes that have not
    opened the bundle, and ``data`` for reading files of a package. ``module`` is the dotted name of
    the module or package that this is about, or of something in it, and empty where it is not
    known. ``file`` is the path of the data in the package; None where it is not known.
    """

    kind: Kind
    span: Span
    what: str
    module: str = ""
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Imports:
    """What a module needs, in the order of its lines; ``exported`` is its ``__all__``.

    ``exported`` is empty where there is none, and None where it cannot be read.
    """

    found: tuple[Import, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    uses: tuple[Use, ...] = ()
    exported: tuple[str, ...] | None = ()


class Notes:
    """Gathers what is found in one module; ``path`` is its file and ``lines`` its source."""

    def __init__(self, path: str, lines: list[bytes]) -> None:
        self._path, self._lines = path, lines
        self.found: list[Import] = []
        self.undecided: list[Undecided] = []
        self.uses: list[Use] = []

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Where a node stands; of a call, where the name of what is called does."""
        return span_of(node, self._path, self._lines)

    def add(
        self,
        module: str,
        node: ast.expr | ast.stmt,
        names: tuple[str, ...] = (),
        *,
        guarded: bool = False,
        typing: bool = False,
    ) -> None:
        """Note an import."""
        self.found.append(Import(module, names, self.span(node), guarded, typing))

    def undecide(self, node: ast.expr | ast.stmt, why: str, known: str = "") -> None:
        """Note an import of which the source says no more than how its name begins."""
        self.undecided.append(Undecided(self.span(node), known, why))

    def use(
        self, kind: Kind, node: ast.expr, what: str, module: str = "", file: str | None = None
    ) -> None:
        """Note what a bundle must answer for otherwise."""
        self.uses.append(Use(kind, self.span(node), what, module, file))

    def all(self, exported: tuple[str, ...] | None) -> Imports:
        """All that was noted."""
        return Imports(tuple(self.found), tuple(self.undecided), tuple(self.uses), exported)
