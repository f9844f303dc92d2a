"""What a compiled program runs on: the frozen registry, handlers, validation and dispatch.

Names are imported when they are asked for (PEP 562), because a program that only lists its tools
must not pay for what calls them.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_build.runtime.bundles import open_bundle as open_bundle
    from hermes_build.runtime.entry import ToolEntry as ToolEntry
    from hermes_build.runtime.errors import CatalogueError as CatalogueError
    from hermes_build.runtime.errors import ConsentRequired as ConsentRequired
    from hermes_build.runtime.errors import HandlerImportError as HandlerImportError
    from hermes_build.runtime.errors import HandlerTimeout as HandlerTimeout
    from hermes_build.runtime.errors import LoadError as LoadError
    from hermes_build.runtime.errors import RegistrationError as RegistrationError
    from hermes_build.runtime.errors import SchemaDriftError as SchemaDriftError
    from hermes_build.runtime.errors import ToolConflict as ToolConflict
    from hermes_build.runtime.errors import ToolFailure as ToolFailure
    from hermes_build.runtime.errors import ToolsetError as ToolsetError
    from hermes_build.runtime.errors import Unavailable as Unavailable
    from hermes_build.runtime.errors import UnknownToolset as UnknownToolset
    from hermes_build.runtime.hookspecs import hookimpl as hookimpl
    from hermes_build.runtime.outcome import Outcome as Outcome
    from hermes_build.runtime.plugins import Plugin as Plugin
    from hermes_build.runtime.registry import ToolRegistry as ToolRegistry
    from hermes_build.runtime.result import tool_error as tool_error
    from hermes_build.runtime.result import tool_result as tool_result
    from hermes_build.runtime.servers import Server as Server
    from hermes_build.runtime.session import Session as Session
    from hermes_build.runtime.store import FolderStore as FolderStore

_HOMES = {
    "CatalogueError": "errors",
    "ConsentRequired": "errors",
    "FolderStore": "store",
    "HandlerImportError": "errors",
    "HandlerTimeout": "errors",
    "LoadError": "errors",
    "Outcome": "outcome",
    "Plugin": "plugins",
    "RegistrationError": "errors",
    "SchemaDriftError": "errors",
    "Server": "servers",
    "Session": "session",
    "ToolConflict": "errors",
    "ToolEntry": "entry",
    "ToolFailure": "errors",
    "ToolRegistry": "registry",
    "ToolsetError": "errors",
    "Unavailable": "errors",
    "UnknownToolset": "errors",
    "hookimpl": "hookspecs",
    "open_bundle": "bundles",
    "tool_error": "result",
    "tool_result": "result",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    """Import a public name from the module that is its home."""
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
