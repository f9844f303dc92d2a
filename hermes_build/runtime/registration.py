"""Binding a handler: the cross-check at import, then the entry in the registry."""

from __future__ import annotations

import sys
from _thread import get_ident
from typing import TYPE_CHECKING, Any

from hermes_build.layout import TOOL_ALIAS
from hermes_build.runtime.drift import Claim, claims_async, differences
from hermes_build.runtime.errors import SchemaDriftError
from hermes_build.runtime.mismatch import Mismatch, relative_path, show_place, spec_place
from hermes_build.runtime.nearest import did_you_mean
from hermes_build.runtime.shapes import Binding, adapt, read_shape, root_properties, source_of

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
    record = registry._catalogue.record(f"tool/{claim.tool}")
    module, path, line = source_of(claim.function)
    place = (relative_path(path, registry.root), line)
    found, binding = _examine(registry, claim, record, module, place)

    def enter(draft: Draft) -> None:
        present = draft.bound(claim.tool)
        differing = list(found)
        if present is not None and not override and not _same_source(present, claim.function):
            message = f"already registered by {present.module} at {show_place(present.place)}"
            differing.append(("duplicate", "HB3003", message))
        if binding is None or differing:
            spec = spec_place(record) if record else None
            raise SchemaDriftError(
                tuple(Mismatch(claim.tool, *one, spec=spec, handler=place) for one in differing)
            )
        if present is not None and override:
            draft.warnings.append(_override(present, binding))
        draft.bindings[claim.tool] = binding
        # A module that the registry imports for its other tools does not bring back what the host
        # program has taken out.
        if claim.tool in draft.hidden and get_ident() not in registry._importing:
            draft.show(claim.tool)

    try:
        registry._change(enter)
    except SchemaDriftError as error:
        collected = registry.collecting()
        if collected is None:
            raise
        collected.extend(error.mismatches)


def _examine(
    registry: Handlers,
    claim: Claim,
    record: dict[str, Any] | None,
    module: str,
    place: tuple[str, int],
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
    binding = Binding(
        tool=claim.tool,
        function=claim.function,
        call=adapt(shape, claim.function, properties),
        is_async=claims_async(claim),
        check_fn=claim.check_fn,
        dynamic_schema_overrides=claim.dynamic_schema_overrides,
        module=module,
        execution=_execution(module),
        place=place,
    )
    return found, binding


def _execution(module: str) -> object:
    """What tells one execution of a module's code from the next: reloading makes a new spec."""
    return getattr(sys.modules.get(module), "__spec__", None)


def _same_source(present: Binding, function: Any) -> bool:
    """Whether a handler is the one that is bound already, or comes from running its module again.

    Two functions of one name within one execution are two handlers, however alike they look: a
    decorator copied along with its function is the commonest mistake of all. In an interactive
    session there is no execution to tell apart, and running a cell again is meant.
    """
    if present.function is function:
        return True
    module, _, _ = source_of(function)
    if module != present.module or _name(function) != _name(present.function):
        return False
    execution = _execution(module)
    if execution is None:
        return module == "__main__" and hasattr(sys, "ps1")
    return execution is not present.execution


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def _override(present: Binding, binding: Binding) -> tuple[object, ...]:
    return (
        "The handler of %s is replaced: %s by %s",
        binding.tool,
        show_place(present.place),
        show_place(binding.place),
    )
