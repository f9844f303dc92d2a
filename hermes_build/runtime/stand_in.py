"""A compiled registry behind the interface of hermes-agent's, for `hermes_build.runtime.compat`."""

from __future__ import annotations

import sys
from inspect import signature
from typing import TYPE_CHECKING, Any

from hermes_build.runtime.resolution import SERVER_PREFIX

if TYPE_CHECKING:
    from hermes_build.runtime.entry import ToolEntry
    from hermes_build.runtime.plugins import Plugin
    from hermes_build.runtime.registry import ToolRegistry
    from hermes_build.runtime.servers import Server

PLUGINS = "hermes_plugins"
"""The package that hermes-agent loads plugins into, each as a subpackage."""


class StandIn:
    """A compiled registry behind the interface of hermes-agent's.

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

    def register(self, *values: Any, **options: Any) -> None:
        """Bind a handler to a declared tool, or register one of a plugin or a server.

        It takes what `ToolRegistry.register` takes, as hermes-agent's does.

        Raises:
            SchemaDriftError: when a tool of the program differs from its spec, or has none.
            RegistrationError: when a plugin or a server may not register it so.
        """
        options = signature(self.compiled.register).bind(*values, **options).arguments
        name: str = options.pop("name")
        toolset: str | None = options.get("toolset")
        override: bool = options.pop("override", False)
        plugin = self._plugin_of(options.get("handler"))
        if toolset is not None and toolset.startswith(SERVER_PREFIX):
            self._server(toolset).register(name, replace=True, **options)
        elif plugin is not None and not self._is_for(plugin, name, toolset):
            plugin.register(name, override=override, replace=True, **options)
        else:
            self.compiled.register(name, override=override, **options)
        self._variables[name] = list(options.get("requires_env") or ())
        self._descriptions[name] = options.get("description", "")
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
