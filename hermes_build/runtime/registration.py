"""Binding a handler: the cross-check at import, then the entry in the registry."""

from __future__ import annotations

import sys
from _thread import get_ident
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hermes_build.layout import TOOL, TOOL_ALIAS
from hermes_build.runtime.drift import Claim, claims_async, differences
from hermes_build.runtime.errors import SchemaDriftError
from hermes_build.runtime.mismatch import Mismatch, relative_path, show_place, spec_place
from hermes_build.runtime.nearest import did_you_mean
from hermes_build.runtime.shapes import (
    Binding,
    adapt,
    is_imported,
    read_shape,
    root_properties,
    source_of,
)

if TYPE_CHECKING:
    from hermes_build.runtime.drafts import Draft
    from hermes_build.runtime.handlers import Handlers


def bind(registry: Handlers, claim: Claim, override: bool) -> None:
    """Check a registration against its spec, and enter it.

    Nothing is entered unless everything fits. While `ToolRegistry.load` runs, mismatches are left
    with it, so that one report can hold those of all modules.

    Raises:
        SchemaDriftError: with every difference.
    """
    record = registry._catalogue.record(TOOL + claim.tool)
    found, binding = examine(registry, claim, record)
    home = _home(registry, record)
    is_own = binding is not None and _comes_from(home, binding)

    def enter(draft: Draft) -> None:
        if binding is None:
            raise drifted(registry, claim, record, found)
        present = draft.bound(claim.tool)
        own = home if is_own or _runs_again(home, present) else None
        if not (override or _is_free(present, binding, home, own)):
            if present is not None and present.registrar is None and own and not found:
                return  # an override stands, although it came before what it overrides
            taken = ("duplicate", "HB3003", _taken(present, home))
            raise drifted(registry, claim, record, [*found, taken])
        if found:
            raise drifted(registry, claim, record, found)
        entered = replace(binding, registrar=own, execution=_execution(own or binding.module))
        if override and (present is not None or own != home):
            draft.warnings.append(_override(present, entered, home))
        draft.bindings[claim.tool] = entered
        noted = registry._noted.get(get_ident())
        if noted is not None:
            noted.append((claim.tool, present, entered))
        # A module that the registry imports for its other tools does not bring back what the host
        # program has taken out.
        if claim.tool in draft.hidden and get_ident() not in registry._importing:
            draft.show(claim.tool)

    try:
        registry._change(enter)
    except SchemaDriftError as error:
        collected = registry.collected()
        if collected is None:
            raise
        collected.extend(error.mismatches)


def drifted(
    registry: Handlers,
    claim: Claim,
    record: dict[str, Any] | None,
    differing: list[tuple[str, str, str]],
) -> SchemaDriftError:
    """The error of a registration that does not fit, with the places of spec and handler."""
    _, path, line = source_of(claim.function)
    place = (relative_path(path, registry.root), line)
    spec = spec_place(record) if record else None
    return SchemaDriftError(
        tuple(Mismatch(claim.tool, *one, spec=spec, handler=place) for one in differing)
    )


def examine(
    registry: Handlers, claim: Claim, record: dict[str, Any] | None
) -> tuple[list[tuple[str, str, str]], Binding | None]:
    """Every difference as (kind, code, message), and the binding if there could be one."""
    if record is None:
        alias = registry._catalogue.record(f"{TOOL_ALIAS}{claim.tool}")
        hint = (
            f" It is an alias of {alias['name']!r}; register under that name."
            if alias
            else did_you_mean(str(claim.tool), registry.get_all_tool_names())
            + " Tools without a spec are registered through `registry.plugin(NAME)`."
        )
        return [("unknown-tool", "HB3002", f"no spec declares this tool.{hint}")], None
    if record.get("handler") == "server":
        message = "declared `handler: server`: its MCP server handles it"
        return [("not-ours", "HB3006", message)], None
    if not callable(claim.function):
        kind = type(claim.function).__name__
        return [("not-callable", "HB3007", f"the handler must be callable, not {kind}")], None
    parameters = record["schema"]["parameters"]
    properties = root_properties(parameters)
    shape = read_shape(claim.function, properties, claim.arguments)

    def fits(pointer: str, value: Any) -> bool:
        # The validator is imported by the rare registration that needs it, not by all of them.
        from hermes_build.runtime.subschemas import subschema_check

        return subschema_check(parameters)(pointer, value)

    found = [
        (kind, "HB1208" if kind == "keyword-name" else "HB3007", text)
        for kind, text in differences(claim, shape, record, fits)
    ]
    module, path, line = source_of(claim.function)
    binding = Binding(
        tool=claim.tool,
        function=claim.function,
        call=adapt(shape, claim.function, properties),
        is_async=claims_async(claim),
        check_fn=claim.check_fn,
        dynamic_schema_overrides=claim.dynamic_schema_overrides,
        module=module,
        execution=None,
        place=(relative_path(path, registry.root), line),
    )
    return found, binding


# Who may register a tool.


def _home(registry: Handlers, record: dict[str, Any] | None) -> str | None:
    """The module that was compiled to handle a tool, as it is called in this process, or None."""
    module = record.get("module") if record else None
    return None if module is None else registry.module_name(module)


def _comes_from(home: str | None, binding: Binding) -> bool:
    """Whether a registration is a handler module's own.

    It is where the function was written there, and while the module is imported: then it may
    register functions of other modules, by decorators and helpers of its own choice.
    """
    return home is not None and (binding.module == home or is_imported(home) is False)


def _runs_again(home: str | None, present: Binding | None) -> bool:
    """Whether a handler module is run once more, as far as a tool tells that it registered."""
    return present is not None and present.registrar == home and _was_run_again(present)


def _is_free(present: Binding | None, binding: Binding, home: str | None, own: str | None) -> bool:
    """Whether a tool is to be had without an override."""
    if present is None:
        return own == home or _runs_as_main(home, binding.module)
    return _same_source(present, binding)


def _taken(present: Binding | None, home: str | None) -> str:
    if present is not None:
        return f"already registered by {present.module} at {show_place(present.place)}"
    return (
        f"its handler module {home} registers it; pass override=True to take its place, or in a "
        "test use `with registry.stub(NAME, FUNCTION)`"
    )


def _runs_as_main(home: str | None, module: str) -> bool:
    """Whether a function was written in a handler module that runs as the program: ``-m``."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return module == "__main__" and getattr(spec, "name", None) == home


def _execution(module: str) -> object:
    """What tells one execution of a module's code from the next: reloading makes a new spec."""
    return getattr(sys.modules.get(module), "__spec__", None)


def _was_run_again(present: Binding) -> bool:
    """Whether the code that registered a handler was run once more since then."""
    return _execution(present.registrar or present.module) is not present.execution


def _same_source(present: Binding, binding: Binding) -> bool:
    """Whether a handler is the one that is bound already, or comes from running its module again.

    Two functions of one name within one execution are two handlers, however alike they look: a
    decorator copied along with its function is the commonest mistake of all. In an interactive
    session there is no execution to tell apart, and running a cell again is meant.
    """
    if present.function is binding.function:
        return True
    if present.registrar is not None:
        return _was_run_again(present)
    if binding.module != present.module or _name(binding.function) != _name(present.function):
        return False
    if _execution(present.module) is None:
        return present.module == "__main__" and hasattr(sys, "ps1")
    return _was_run_again(present)


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def _override(present: Binding | None, binding: Binding, home: str | None) -> tuple[object, ...]:
    return (
        "The handler of %s is replaced: %s by %s",
        binding.tool,
        show_place(present.place) if present else f"that of {home}",
        show_place(binding.place),
    )
