"""Standing in for hermes-agent's module ``tools.registry``, so that a program can move in steps.

A program that is built like hermes-agent 0.19 has tool modules that say
``from tools.registry import registry`` and register themselves. To run them on a compiled registry,
unchanged, put a stand-in in that module's place before the first of them is imported::

    from hermes_build.runtime import compat
    from generated.registry import registry

    compat.install(registry)
    import model_tools  # the program itself, as it was

The steps are these. `hermes-build import python` writes the specs from the running program, and
`hermes-build compile` freezes them. With the two lines above every registration is held against
its spec, arguments are validated, and listings come from the frozen catalogue. Then tool modules
can change to ``from generated.registry import registry`` one at a time: both names mean one
registry. When the last has changed, the stand-in can go.

The stand-in has what hermes-agent's own code uses of the module: ``registry``, ``tool_error``,
``tool_result``, ``discover_builtin_tools``, ``invalidate_check_fn_cache``, ``ToolEntry`` and
``ToolRegistry``. Its ``registry`` (`StandIn`) is the compiled one, and differs from it where
hermes-agent's interface says less than ours:

- hermes-agent has no handles for plugins. What a plugin registers is known by the module that its
  handler comes from, and goes through a handle that is made when the plugin is loaded
  (``register_plugin_override_policy``). A tool of a toolset ``mcp-NAME`` goes through the handle of
  the server ``NAME``. Both may register a tool of theirs again, which replaces it.
- Long results come back whole: such a program shortens and keeps them after the call.
- ``requires_env`` and ``description`` of a registration decide nothing there, and are shown where
  they were shown: in entries and in reports. They are no part of the specs.

What is an error in the compiled registry is one here, where hermes-agent is silent: a tool that no
spec declares, a registration that differs from its spec, an unknown toolset, a name that is taken.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hermes_build.runtime.entry import ToolEntry
from hermes_build.runtime.errors import SchemaDriftError
from hermes_build.runtime.registry import ToolRegistry
from hermes_build.runtime.resolution import SERVER_PREFIX
from hermes_build.runtime.result import tool_error, tool_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from hermes_build.runtime.mismatch import Mismatch
    from hermes_build.runtime.plugins import Plugin
    from hermes_build.runtime.servers import Server

MODULE = "tools.registry"
"""The module that hermes-agent's tool modules register in."""

PLUGINS = "hermes_plugins"
"""The package that hermes-agent loads plugins into, each as a subpackage."""


def install(registry: ToolRegistry, name: str = MODULE) -> ModuleType:
    """Put a stand-in over a compiled registry in the place of a module.

    Args:
        registry: the compiled registry.
        name: the module's dotted name. The package around it is where `discover_builtin_tools`
            looks for tool modules.

    Returns:
        The module, which ``import`` finds from now on.

    Raises:
        RuntimeError: when the module was imported already: what has registered there is lost.
    """
    present = sys.modules.get(name)
    if present is not None:
        if getattr(present, "compiled", None) is registry:
            return present
        raise RuntimeError(
            f"{name!r} is imported already; call install() before anything that imports it."
        )
    package, _, last = name.rpartition(".")
    with registry._lock:
        registry.shortens_results = False
        registry._changed()  # tools that were called before have their limits from then
    stand_in = StandIn(registry)

    def discover_builtin_tools(tools_dir: Path | str | None = None) -> list[str]:
        """Import the modules of a folder that register tools, and return their names.

        One that fails to import is logged, and its tools answer with the reason.

        Raises:
            SchemaDriftError: with the differences of all modules.
        """
        folder = _folder(package) if tools_dir is None else Path(tools_dir)
        return _import_all(registry, folder, package)

    module = ModuleType(name, f"Stands in for {name}: the tools are those of a compiled program.")
    module.__spec__ = ModuleSpec(name, None, origin=__file__)
    module.__package__ = package
    contents: dict[str, object] = {
        "ToolEntry": ToolEntry,
        "ToolRegistry": ToolRegistry,
        "compiled": registry,
        "discover_builtin_tools": discover_builtin_tools,
        "invalidate_check_fn_cache": registry.availability.invalidate,
        "registry": stand_in,
        "tool_error": tool_error,
        "tool_result": tool_result,
    }
    vars(module).update(contents)
    sys.modules[name] = module
    if package in sys.modules:
        setattr(sys.modules[package], last, module)
    return module


class StandIn:
    """A compiled registry behind the interface of hermes-agent's; see the module's text.

    Whatever it does not have itself is the compiled registry's.
    """

    def __init__(self, registry: ToolRegistry) -> None:
        self.compiled = registry
        self.dispatch = registry.call
        self._plugins: dict[str, Plugin] = {}
        self._servers: dict[str, Server] = {}
        # By tool: what its registration said that no spec says.
        self._variables: dict[str, list[str]] = {}
        self._descriptions: dict[str, str] = {}
        self._known = _Known(-1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiled, name)

    @property
    def _generation(self) -> int:
        return self.compiled.generation

    @property
    def _tools(self) -> dict[str, ToolEntry]:
        entries = ((name, self.get_entry(name)) for name in self.compiled.get_all_tool_names())
        return {name: entry for name, entry in entries if entry is not None}

    # Registering.

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
        """Bind a handler to a declared tool, or register one of a plugin or a server.

        Raises:
            SchemaDriftError: when a tool of the program differs from its spec, or has none.
            RegistrationError: when a plugin or a server may not register it so.
        """
        options: dict[str, Any] = {
            "toolset": toolset,
            "schema": schema,
            "handler": handler,
            "check_fn": check_fn,
            "requires_env": requires_env,
            "is_async": is_async,
            "description": description,
            "emoji": emoji,
            "max_result_size_chars": max_result_size_chars,
            "dynamic_schema_overrides": dynamic_schema_overrides,
        }
        plugin = self._plugin_of(handler)
        if toolset is not None and toolset.startswith(SERVER_PREFIX):
            self._server(toolset).register(name, replace=True, **options)
        elif plugin is not None and not self._is_for(plugin, name, toolset):
            plugin.register(name, override=override, replace=True, **options)
        else:
            self.compiled.register(name, override=override, **options)
        self._variables[name] = list(requires_env or ())
        self._descriptions[name] = description
        self._known = _Known(-1)

    def deregister(self, name: str) -> None:
        """Take a tool out. A plugin takes out its own, and others with the operator's consent.

        Raises:
            PermissionError: when the caller is a plugin that may not.
        """
        caller = sys._getframe(1).f_globals.get("__name__", "")
        plugin = self._plugin_in(caller if isinstance(caller, str) else "")
        entry = self.compiled._overlay.entries.get(name)
        if plugin is not None:
            plugin.deregister(name)
        elif entry is not None and entry.owner.toolset is not None:
            entry.owner.deregister(name)
        else:
            self.compiled.deregister(name)

    def register_plugin_override_policy(self, module_namespace: str, allowed: bool) -> None:
        """Make known a plugin, by the module that it is loaded as, and whether it may override."""
        plugin = self._plugins.get(module_namespace)
        if plugin is None:
            plugin = self.compiled.plugin(module_namespace, allow_override=bool(allowed))
            self._plugins[module_namespace] = plugin
        # The operator may have changed their mind since the plugin was loaded before.
        plugin._allow_override = bool(allowed)

    def register_toolset_alias(self, alias: str, toolset: str) -> None:
        """As the compiled registry; the alias that a server's tools came with is there already."""
        if self.compiled.get_toolset_alias_target(alias) != toolset:
            self.compiled.register_toolset_alias(alias, toolset)

    # Looking.

    def get_entry(self, name: str) -> ToolEntry | None:
        """A tool's spec and handler, with the description and variables of its registration.

        It is one object for all callers until something changes: the program asks all the time.
        """
        known = self._current()
        if name not in known.entries:
            entry = self.compiled.get_entry(name)
            if entry is not None:
                entry.description = self._descriptions.get(name) or entry.description
                entry.requires_env = list(self._variables.get(name) or entry.requires_env)
            known.entries[name] = entry
        return known.entries[name]

    def get_schema(self, name: str) -> dict[str, Any] | None:
        """``{"name", "description", "parameters"}`` as declared; one object, as `get_entry`."""
        entry = self.get_entry(name)
        return None if entry is None else entry.schema

    def _current(self) -> _Known:
        """What was looked up since the last change."""
        known = self._known
        if known.generation != self.compiled.generation:
            known = self._known = _Known(self.compiled.generation)
        return known

    def get_available_toolsets(self) -> dict[str, dict[str, Any]]:
        """As the compiled registry, with the variables that registrations name."""
        found = self.compiled.get_available_toolsets()
        for one in found.values():
            one["requirements"] = self._with_variables(one["tools"], one["requirements"])
        return found

    def get_toolset_requirements(self) -> dict[str, dict[str, Any]]:
        """As the compiled registry, with the variables that registrations name."""
        found = self.compiled.get_toolset_requirements()
        for one in found.values():
            one["env_vars"] = self._with_variables(one["tools"], one["env_vars"])
        return found

    def check_tool_availability(
        self, quiet: bool = False
    ) -> tuple[list[str], list[dict[str, Any]]]:
        """As the compiled registry, with the variables that registrations name."""
        available, unavailable = self.compiled.check_tool_availability(quiet)
        for one in unavailable:
            one["env_vars"] = self._with_variables(one["tools"], one["env_vars"])
        return available, unavailable

    def _with_variables(self, tools: list[str], declared: list[str]) -> list[str]:
        named = (one for tool in tools for one in self._variables.get(tool, ()))
        return list(dict.fromkeys([*named, *declared]))

    # Whose a tool is.

    def _server(self, toolset: str) -> Server:
        name = toolset.removeprefix(SERVER_PREFIX)
        server = self._servers.get(name)
        if server is None:
            server = self._servers[name] = self.compiled.server(name)
        return server

    def _plugin_of(self, handler: Any) -> Plugin | None:
        from hermes_build.runtime.shapes import source_of

        module, _, _ = source_of(handler)
        return self._plugin_in(module)

    def _plugin_in(self, module: str) -> Plugin | None:
        """The plugin that a module is part of; one that was not made known may override nothing."""
        parts = module.split(".")
        for count in range(len(parts), 0, -1):
            plugin = self._plugins.get(".".join(parts[:count]))
            if plugin is not None:
                return plugin
        if parts[0] != PLUGINS or len(parts) == 1:
            return None
        namespace = ".".join(parts[:2])
        self.register_plugin_override_policy(namespace, False)
        return self._plugins[namespace]

    def _is_for(self, plugin: Plugin, name: str, toolset: str | None) -> bool:
        """Whether a declared tool waits for this plugin's handler: as declared, and not taken."""
        record = self.compiled.find(name)
        if record is None or record.get("toolset") != toolset:
            return False
        if name in self.compiled._overlay.entries:
            return False
        bound = self.compiled._bindings.get(name)
        return bound is None or self._plugin_in(bound.module) is plugin


class _Known:
    """What was looked up in one state of the registry."""

    __slots__ = ("entries", "generation")

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.entries: dict[str, ToolEntry | None] = {}


def _folder(package: str) -> Path:
    """Where the modules of a package are."""
    return Path(import_module(package).__path__[0])


def _import_all(registry: ToolRegistry, folder: Path, package: str) -> list[str]:
    from logging import getLogger

    from hermes_build.runtime.discovery import import_discovered

    mismatches: list[Mismatch] = []
    registry._collected = (get_ident(), mismatches)
    try:
        report = import_discovered(folder, package, registry)
    finally:
        registry._collected = None
    log = getLogger("hermes_build.runtime")
    for one in report.failed:
        log.warning("The tool module %s cannot be imported: %s", one.module, one.reason)
    if mismatches:
        raise SchemaDriftError(tuple(mismatches))
    return list(report.imported)
