"""Importing handler modules: one when a tool of it is first called, or all of them."""

from __future__ import annotations

import sys
from _thread import get_ident
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hermes_build.layout import TOOL
from hermes_build.runtime.errors import HandlerImportError, LoadError, SchemaDriftError
from hermes_build.runtime.mismatch import Mismatch, relative_path, spec_place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import TypeAlias

    from hermes_build.runtime.handlers import Handlers
    from hermes_build.runtime.shapes import Binding

    Bound: TypeAlias = tuple[str, Binding | None, Binding]
    """A tool, the handler that it had, and the one that was bound to it."""


def import_handlers(registry: Handlers, module: str) -> None:
    """Import one handler module, which registers its tools.

    Where another thread is importing it, its import is waited for. A failure is remembered: each
    call of a lost tool answers at once, with the first reason. What a failing module had registered
    is taken back, since its code did not run to its end.

    Raises:
        HandlerImportError: naming the tools that are lost.
    """
    failure = registry._failures.get(module)
    own = registry.module_name(module)
    if failure is not None and own not in sys.modules:
        raise failure.again()
    try:
        with _importing(registry), whole(registry, own):
            import_module(own)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # foreign code; a module may even call sys.exit()
        path, line = _where(error, registry.root)
        failure = HandlerImportError(module, registry.tools_of_module(module), error, path, line)
        registry._failures[module] = failure
        raise failure from error
    registry._failures.pop(module, None)


def load(registry: Handlers, started: Callable[[str], object] | None = None) -> None:
    """Import every handler module; raise one error for all that is wrong with them.

    ``started`` is told the name of each module just before its import, which may never end.

    Raises:
        SchemaDriftError: for mismatches and missing handlers alone.
        LoadError: when modules fail to import.
    """
    failures: list[HandlerImportError] = []
    registry._failures.clear()
    with collecting(registry) as mismatches:
        for module, names in registry.handler_modules().items():
            if registry._overlay.hidden.issuperset(names):
                continue  # the host program has taken all its tools out
            if started is not None:
                started(module)
            try:
                import_handlers(registry, module)
            except HandlerImportError as failure:
                failures.append(failure)
    explained = {one.tool for one in mismatches} | {name for one in failures for name in one.tools}
    mismatches += _missing(registry, explained)
    if failures:
        raise LoadError(tuple(mismatches), tuple(failures)) from failures[0]
    if mismatches:
        raise SchemaDriftError(tuple(mismatches))


@contextmanager
def collecting(registry: Handlers) -> Iterator[list[Mismatch]]:
    """Collect the mismatches of what this thread registers, rather than raise each of them."""
    mismatches: list[Mismatch] = []
    registry._collected = (get_ident(), mismatches)
    try:
        yield mismatches
    finally:
        registry._collected = None


@contextmanager
def whole(registry: Handlers, module: str) -> Iterator[None]:
    """Take back what this thread binds in the block, the import of a module, where that fails.

    What stays is what others bound that were imported to their end by it.
    """
    thread = get_ident()
    outer = registry._noted.get(thread)
    noted: list[Bound] = []
    registry._noted[thread] = noted
    try:
        yield
    except BaseException:
        with registry._lock:
            for name, before, binding in reversed(noted):
                is_others = binding.registrar not in (None, module) and binding.is_ready
                if is_others or registry._bindings.get(name) is not binding:
                    continue
                if before is None:
                    del registry._bindings[name]
                else:
                    registry._bindings[name] = before
            registry._changed()
        raise
    finally:
        if outer is None:
            del registry._noted[thread]
        else:
            registry._noted[thread] = outer


@contextmanager
def _importing(registry: Handlers) -> Iterator[None]:
    """Let a module's registrations take effect at once, as those of no host program."""
    from hermes_build.runtime.batches import outside

    thread = get_ident()
    is_outermost = thread not in registry._importing
    registry._importing.add(thread)
    try:
        with outside(registry) if registry._batches is not None else nullcontext():
            yield
    finally:
        if is_outermost:
            registry._importing.discard(thread)


def _missing(registry: Handlers, explained: set[str]) -> list[Mismatch]:
    """Tools of ours without a handler, where nothing else says why."""
    found = []
    for name, record in registry._catalogue.records(TOOL):
        if record.get("handler", "self") != "self" or name in registry._bindings:
            continue
        if name in registry._overlay.hidden:
            continue
        if name not in explained:
            module: Any = record.get("module")
            who = f"the handler module {module!r} does not" if module else "no handler module does"
            message = f"a handler must register this tool, and {who}"
            found.append(Mismatch(name, "missing", "HB3001", message, spec=spec_place(record)))
    return found


def _where(error: BaseException, root: str) -> tuple[str | None, int | None]:
    """The last place in the project that an exception passed through, else the last place at all.

    A module that cannot be found or parsed never ran, so that its own place is not among them.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return relative_path(error.filename, root), error.lineno
    last: tuple[str | None, int | None] = (None, None)
    trace: TracebackType | None = error.__traceback__
    own = __file__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if path != own and not path.startswith("<frozen"):
            inside = relative_path(path, root) != path
            was_inside = last[0] is not None and not last[0].startswith(("/", "\\"))
            if inside or not was_inside:
                last = (relative_path(path, root), trace.tb_lineno)
        trace = trace.tb_next
    return last
