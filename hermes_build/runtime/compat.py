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
spec declares, a registration that differs from its spec, an alias of an unknown toolset, a name
that is taken.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from hermes_build.runtime.entry import ToolEntry
from hermes_build.runtime.errors import SchemaDriftError
from hermes_build.runtime.registry import ToolRegistry
from hermes_build.runtime.result import tool_error, tool_result
from hermes_build.runtime.stand_in import StandIn

MODULE = "tools.registry"
"""The module that hermes-agent's tool modules register in."""


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
    registry.shortens_results = False
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


def _folder(package: str) -> Path:
    """Where the modules of a package are."""
    return Path(import_module(package).__path__[0])


def _import_all(registry: ToolRegistry, folder: Path, package: str) -> list[str]:
    from hermes_build.runtime.discovery import import_discovered
    from hermes_build.runtime.loading import collecting
    from hermes_build.runtime.logs import warn

    with collecting(registry) as mismatches:
        report = import_discovered(folder, package, registry)
    for one in report.failed:
        warn("The tool module %s cannot be imported: %s", one.module, one.reason)
    if mismatches:
        raise SchemaDriftError(tuple(mismatches))
    return list(report.imported)
