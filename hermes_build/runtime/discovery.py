"""Finding handler modules in a folder by reading them, and importing those that register tools.

A program that was compiled has no need of this: its registry knows its handler modules. It is for
folders that no compiler has seen, such as those of plugins.

A module counts when a statement at its top level registers a tool: ``registry.register(...)``, or
a function that is decorated with ``@registry.handler(...)`` or ``@TOOL.implements``. A call inside
a function does not count, since importing the module would register nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_build.runtime.errors import describe
from hermes_build.runtime.loading import whole

if TYPE_CHECKING:
    from hermes_build.runtime.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class FailedModule:
    """A module that could not be read or imported: why, and which tools it would have registered.

    ``tools`` holds the names that are written out in its source.
    """

    module: str
    reason: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What became of the modules of a folder: the names of the imported ones, and the failed."""

    imported: tuple[str, ...]
    failed: tuple[FailedModule, ...]


@dataclass(frozen=True, slots=True)
class _Module:
    """A module that registers tools, or that cannot be read; ``fault`` says why not."""

    name: str
    tools: tuple[str, ...]
    fault: str = ""


def discover(folder: str | Path) -> list[str]:
    """The names of the modules in a folder that register tools, sorted; nothing is imported.

    ``__init__`` is a package's own, and never counts; a file that cannot be read or parsed does not
    either.

    Raises:
        NotADirectoryError: when the folder is not there.
    """
    return [one.name for one in _modules(Path(folder)) if not one.fault]


def import_discovered(
    folder: str | Path, package: str = "", registry: ToolRegistry | None = None
) -> LoadReport:
    """Import the modules of a folder that register tools, each whether or not another fails.

    Args:
        folder: where they are.
        package: the dotted name that they are imported under; empty where the folder itself is on
            the path.
        registry: told of the tools that failing modules would have registered, so that a call of
            one says what happened to it; what such a module did register is taken back.

    Returns:
        What was imported, and what failed and why, a file that cannot be parsed included.

    Raises:
        NotADirectoryError: when the folder is not there.
    """
    imported: list[str] = []
    failed: list[FailedModule] = []
    for one in _modules(Path(folder)):
        name = f"{package}.{one.name}" if package else one.name
        reason = one.fault or _import(name, registry)
        if reason:
            failed.append(FailedModule(name, reason, one.tools))
        else:
            imported.append(name)
    if registry is not None:
        registry.note_lost(
            {
                tool: f"Its handler module {one.module!r} failed to import: {one.reason}."
                for one in failed
                for tool in one.tools
            }
        )
    return LoadReport(tuple(imported), tuple(failed))


def _import(name: str, registry: ToolRegistry | None) -> str:
    """Import a module: why it failed, or nothing."""
    try:
        with nullcontext() if registry is None else whole(registry, name):
            import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # foreign code; a module may even call sys.exit()
        return describe(error)
    return ""


def _modules(folder: Path) -> Iterator[_Module]:
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder")
    for path in sorted(folder.glob("*.py")):
        if path.stem != "__init__" and path.is_file():
            found = _read(path)
            if found is not None:
                yield found


def _read(path: Path) -> _Module | None:
    """What a file registers, or None where it registers nothing."""
    try:
        source = path.read_bytes()
        # Parsing takes a thousand times as long as this look.
        if b"register" not in source and b"handler" not in source and b"implements" not in source:
            return None
        tree = ast.parse(source, filename=str(path))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        return _Module(path.stem, (), describe(error))
    registries = {"registry"} | {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == "registry"
    }
    registers = False
    tools = []
    for call in _calls(tree):
        name = _registered(call, registries)
        if name is not None:
            registers = True
            if name:
                tools.append(name)
    return _Module(path.stem, tuple(tools)) if registers else None


def _calls(tree: ast.Module) -> Iterator[ast.expr]:
    """The calls that stand as statements at the top level, and the decorators there."""
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node.value
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from node.decorator_list


def _registered(node: ast.expr, registries: set[str]) -> str | None:
    """The tool that an expression registers, empty where its name is not written out; or None."""
    function = node.func if isinstance(node, ast.Call) else node
    if not isinstance(function, ast.Attribute):
        return None
    owner = function.value
    if function.attr == "implements":
        return owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
    is_registry = isinstance(owner, ast.Name) and owner.id in registries
    if function.attr not in ("register", "handler") or not is_registry:
        return None
    if not isinstance(node, ast.Call):
        return None
    for first in [*(one.value for one in node.keywords if one.arg == "name"), *node.args[:1]]:
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return first.value
    return ""
