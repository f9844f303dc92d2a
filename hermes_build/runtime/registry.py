"""The registry of a compiled program: frozen tools and toolsets, and the handlers bound to them.

Method names and signatures follow hermes-agent 0.19's, so that handler modules written for it
register here unchanged. What a spec declares cannot be changed by a running program; whatever is
handed out is a fresh copy.

This module is imported by every generated registry and imports next to nothing itself; parts that
only some programs need are imported by the methods that need them.
"""

from __future__ import annotations

import os
from _thread import RLock, get_ident

from hermes_build.layout import CATALOGUE, MODULE, TOOL, TOOL_ALIAS, TOOLSET, TOOLSET_ALIAS
from hermes_build.runtime.catalogue import Catalogue, check_format
from hermes_build.runtime.dispatch import dispatch
from hermes_build.runtime.errors import HandlerImportError, Refusal, UnknownToolset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from hermes_build.runtime.callee import Callee
    from hermes_build.runtime.drift import Mismatch
    from hermes_build.runtime.entry import ToolEntry
    from hermes_build.runtime.shapes import Binding

    _F = TypeVar("_F", bound=Callable[..., Any])

EVERY_TOOL = ("all", "*")
"""Toolset names that mean every tool."""

DEFAULT_RESULT_CHARS = 100_000
"""How long a result may be where neither the spec nor the caller says."""


def frozen(
    file: str,
    catalogue: str = CATALOGUE,
    *,
    format: int,
    digest: str,
    needs: str = "",
) -> ToolRegistry:
    """The registry of a generated package; called by its ``registry.py`` and nothing else.

    Args:
        file: the ``__file__`` of the generated ``registry.py``.
        catalogue: the name of the catalogue beside it.
        format: the runtime format that the generated files are written in.
        digest: the SHA-256 of the catalogue's records.
        needs: the first version of hermes-build that reads this format.

    Raises:
        CatalogueError: when the files cannot be read by this runtime; it says what to do.
    """
    check_format(format, file, needs)
    folder = os.path.dirname(os.path.abspath(file))
    opened = Catalogue(os.path.join(folder, catalogue), digest)
    # Places in messages are relative to where packages are imported from, however deep this one is.
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return ToolRegistry(opened, digest, folder)


class ToolRegistry:
    """A program's tools: what they are, who handles them, and the way to call them.

    ``root`` is the folder that places in messages are relative to.
    """

    def __init__(self, catalogue: Catalogue, digest: str, root: str) -> None:
        self.root = root
        self._catalogue = catalogue
        self._digest = digest
        self._lock = RLock()
        self._bindings: dict[str, Binding] = {}
        self._ready: dict[str, Callee] = {}
        self._failures: dict[str, HandlerImportError] = {}
        self._aliases: dict[str, str] = {}
        self._names: list[str] | None = None
        self._owners: dict[str, str] | None = None
        self._collected: tuple[int, list[Mismatch]] | None = None

    # Calling.

    call = dispatch
    dispatch = dispatch

    def _prepare(self, name: str) -> Callee:
        """Make a tool ready for its first call. Raises `Refusal` where it cannot be called."""
        record = self.find(name)
        if record is None:
            from hermes_build.runtime.nearest import did_you_mean

            hint = did_you_mean(str(name), self.get_all_tool_names())
            raise Refusal(f"Unknown tool: {name}.{hint}")
        tool = record["name"]
        try:
            binding = self.binding(tool)
        except (HandlerImportError, LookupError) as error:
            raise Refusal(str(error.args[0])) from error
        from hermes_build.runtime.callee import Callee

        callee = Callee(record, binding)
        with self._lock:
            if self._bindings.get(tool) is binding:
                self._ready[name] = callee
        return callee

    # Handlers.

    def register(
        self,
        name: str,
        toolset: str | None = None,
        schema: dict[str, Any] | None = None,
        handler: Callable[..., Any] | None = None,
        check_fn: Callable[[], bool] | None = None,
        requires_env: list[str] | None = None,
        is_async: bool = False,
        description: str = "",
        emoji: str = "",
        max_result_size_chars: float | None = None,
        dynamic_schema_overrides: Callable[[], dict[str, Any]] | None = None,
        override: bool = False,
    ) -> None:
        """Bind a handler to a declared tool, in the form that hermes-agent has.

        ``toolset`` and ``schema`` are compared with the spec, and may be left out. The spec alone
        says what ``requires_env``, ``description``, ``emoji`` and ``max_result_size_chars`` are:
        they are accepted so that existing modules work unchanged. ``override`` replaces a handler
        that is bound already.

        Raises:
            SchemaDriftError: with every difference between the registration and the spec.
        """
        self.bind(
            name,
            handler,
            toolset=toolset,
            schema=schema,
            check_fn=check_fn,
            requires_env=requires_env,
            is_async=is_async,
            dynamic_schema_overrides=dynamic_schema_overrides,
            override=override,
        )

    def handler(
        self,
        name: str,
        *,
        check_fn: Callable[[], bool] | None = None,
        dynamic_schema_overrides: Callable[[], dict[str, Any]] | None = None,
    ) -> Callable[[_F], _F]:
        """A decorator that binds a function to a declared tool by name.

        Raises:
            SchemaDriftError: from the decorator, with every difference from the spec.
        """

        def decorate(function: _F) -> _F:
            self.bind(
                name,
                function,
                check_fn=check_fn,
                dynamic_schema_overrides=dynamic_schema_overrides,
            )
            return function

        return decorate

    def bind(self, name: str, handler: Any, *, override: bool = False, **claims: Any) -> None:
        """Bind a handler to a declared tool; the other ways to register all end here.

        ``claims`` are the fields of `hermes_build.runtime.drift.Claim`.

        Raises:
            SchemaDriftError: with every difference between the registration and the spec.
        """
        from hermes_build.runtime.drift import Claim
        from hermes_build.runtime.registration import bind

        bind(self, Claim(name, handler, **claims), override)

    def binding(self, name: str) -> Binding:
        """The handler of a declared tool; its module is imported when it is first asked for.

        Raises:
            HandlerImportError: when the module fails to import.
            LookupError: when nothing binds a handler to the tool.
        """
        found = self._bindings.get(name)
        if found is not None:
            return found
        record = self._catalogue.record(TOOL + name)
        if record is None:
            raise LookupError(f"Unknown tool: {name}.")
        module = record.get("module")
        if module is not None:
            from hermes_build.runtime.loading import import_handlers

            import_handlers(self, module)
            found = self._bindings.get(name)
            if found is not None:
                return found
            raise LookupError(f"Handler module {module!r} no longer registers the tool {name!r}.")
        kind = record.get("handler", "self")
        if kind == "self":
            raise LookupError(f"No handler module registers the tool {name!r}.")
        raise LookupError(
            f"The tool {name!r} is declared `handler: {kind}`, and the host program has not bound "
            "a handler to it."
        )

    def load(self) -> None:
        """Import every handler module, and verify the catalogue against its digest.

        Raises:
            SchemaDriftError: with the differences of all modules, and the handlers that no module
                registers. It is a `LoadError` when modules fail to import.
            CatalogueError: when the catalogue was changed after it was compiled.
        """
        from hermes_build.runtime.loading import load

        self._catalogue.verify(self._digest)
        load(self)

    # Tools.

    def find(self, name: str) -> dict[str, Any] | None:
        """A copy of the record of a tool, by its name or an alias of it, or None."""
        record = self._catalogue.record(f"{TOOL}{name}")
        if record is None:
            alias = self._catalogue.record(f"{TOOL_ALIAS}{name}")
            if alias is not None:
                record = self._catalogue.record(TOOL + alias["name"])
        return record

    def get_entry(self, name: str) -> ToolEntry | None:
        """A tool's spec and handler as hermes-agent shows them, or None."""
        record = self.find(name)
        if record is None:
            return None
        from hermes_build.runtime.entry import ToolEntry

        return ToolEntry(self, record)

    def get_schema(self, name: str) -> dict[str, Any] | None:
        """A copy of ``{"name", "description", "parameters"}`` as declared, or None."""
        record = self.find(name)
        return record["schema"] if record else None

    def get_definition(self, name: str) -> dict[str, Any] | None:
        """``{"type": "function", "function": {...}}`` of one tool, or None."""
        schema = self.get_schema(name)
        return {"type": "function", "function": schema} if schema else None

    def get_definitions(
        self, tool_names: Iterable[str], quiet: bool = False
    ) -> list[dict[str, Any]]:
        """The definitions of the named tools that exist, each once, sorted by name."""
        found = (self._catalogue.record(TOOL + name) for name in sorted(set(tool_names)))
        return [{"type": "function", "function": one["schema"]} for one in found if one]

    def get_all_tool_names(self) -> list[str]:
        """The names of all declared tools, sorted."""
        if self._names is None:
            self._names = sorted(self._catalogue.names(TOOL))
        return self._names.copy()

    def get_tool_to_toolset_map(self) -> dict[str, str]:
        """The toolset that owns each tool that is owned by one, by the tool's name."""
        if self._owners is None:
            records = self._catalogue.records(TOOL)
            self._owners = {
                name: record["toolset"] for name, record in records if record.get("toolset")
            }
        return self._owners.copy()

    def get_toolset_for_tool(self, name: str) -> str | None:
        """The toolset that owns a tool, or None."""
        record = self.find(name)
        return record.get("toolset") if record else None

    def get_emoji(self, name: str, default: str = "⚡") -> str:
        """A tool's emoji, or ``default`` where it has none."""
        record = self.find(name)
        return (record or {}).get("emoji") or default

    def get_max_result_size(self, name: str, default: float | None = None) -> float:
        """How many characters a tool's result may have before it is shortened."""
        record = self.find(name)
        declared: int | None = (record or {}).get("max_result_chars")
        if declared is not None:
            return declared
        return DEFAULT_RESULT_CHARS if default is None else default

    # Toolsets.

    def get_registered_toolset_names(self) -> list[str]:
        """The names of the toolsets that own tools, sorted."""
        return sorted(set(self.get_tool_to_toolset_map().values()))

    def get_tool_names_for_toolset(self, toolset: str) -> list[str]:
        """The names of the tools that a toolset owns, sorted."""
        owners = self.get_tool_to_toolset_map()
        return sorted(name for name, owner in owners.items() if owner == toolset)

    def get_toolset_names(self) -> list[str]:
        """The names of all declared toolsets, compositions included, sorted."""
        return sorted(self._catalogue.names(TOOLSET))

    def get_toolset(self, name: str) -> dict[str, Any] | None:
        """A copy of the record of a toolset, by its name or an alias of it, or None."""
        record = self._catalogue.record(f"{TOOLSET}{name}")
        if record is None:
            target = self.get_toolset_alias_target(name)
            record = self._catalogue.record(TOOLSET + target) if target else None
        return record

    def resolve_toolset(self, name: str) -> list[str]:
        """The names of the tools that a toolset stands for, sorted; ``all`` and ``*`` mean all.

        Raises:
            UnknownToolset: with the nearest name.
        """
        if name in EVERY_TOOL:
            return self.get_all_tool_names()
        record = self.get_toolset(name)
        if record is None:
            raise self._unknown_toolset(name)
        return sorted(record.get("resolved", ()))

    def register_toolset_alias(self, alias: str, toolset: str) -> None:
        """Let another name stand for a declared toolset, for as long as the program runs.

        Raises:
            UnknownToolset: when there is no such toolset.
            ValueError: when the alias is a toolset's name, or stands for another one already.
        """
        target = self.get_toolset_alias_target(toolset) or toolset
        if TOOLSET + target not in self._catalogue:
            raise self._unknown_toolset(toolset)
        if alias in EVERY_TOOL or TOOLSET + alias in self._catalogue:
            raise ValueError(f"{alias!r} is the name of a toolset, and cannot be an alias.")
        with self._lock:
            present = self.get_toolset_alias_target(alias)
            if present not in (None, target):
                raise ValueError(f"The alias {alias!r} stands for {present!r}, not {target!r}.")
            self._aliases[alias] = target

    def get_registered_toolset_aliases(self) -> dict[str, str]:
        """Every alias, declared or added, and the toolset that it stands for."""
        declared = {
            alias: record["name"] for alias, record in self._catalogue.records(TOOLSET_ALIAS)
        }
        return {**declared, **self._aliases}

    def get_toolset_alias_target(self, alias: str) -> str | None:
        """The toolset that an alias stands for, or None."""
        record = self._catalogue.record(f"{TOOLSET_ALIAS}{alias}")
        return record["name"] if record else self._aliases.get(alias)

    def _unknown_toolset(self, name: str) -> UnknownToolset:
        from hermes_build.runtime.nearest import nearest

        known = [*self.get_toolset_names(), *self.get_registered_toolset_aliases(), *EVERY_TOOL]
        return UnknownToolset(name, nearest(str(name), known))

    # What loading and registration keep here.

    def handler_modules(self) -> dict[str, tuple[str, ...]]:
        """The handler modules that the compiler found, and the tools that each registers."""
        return {name: tuple(one["tools"]) for name, one in self._catalogue.records(MODULE)}

    def tools_of_module(self, module: str) -> tuple[str, ...]:
        """The tools that one handler module registers, as the compiler found them."""
        record = self._catalogue.record(MODULE + module)
        return tuple(record["tools"]) if record else ()

    def collecting(self) -> list[Mismatch] | None:
        """Where this thread's registrations leave their mismatches while `load` runs, or None."""
        collected = self._collected
        return collected[1] if collected and collected[0] == get_ident() else None
