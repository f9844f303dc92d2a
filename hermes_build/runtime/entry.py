"""One registered tool, as hermes-agent's ``get_entry`` shows it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hermes_build.runtime.overlay import Registered
    from hermes_build.runtime.registry import ToolRegistry
    from hermes_build.runtime.shapes import Binding


class ToolEntry:
    """A tool's spec, copied, and its handler, imported when it is asked for.

    Entries are made afresh at each look-up: changing one changes nothing in the registry. That of a
    tool that was registered at run time stays what it was when the tool is replaced or removed.
    ``origin`` says where the tool comes from: the place of its spec, or the plugin or server.
    """

    __slots__ = (
        "_registered",
        "_registry",
        "description",
        "emoji",
        "max_result_size_chars",
        "name",
        "origin",
        "requires_env",
        "schema",
        "toolset",
    )

    def __init__(
        self, registry: ToolRegistry, record: dict[str, Any], registered: Registered | None = None
    ) -> None:
        self._registry = registry
        self._registered = registered
        self.name: str = record["name"]
        self.toolset: str | None = record.get("toolset")
        self.schema: dict[str, Any] = record["schema"]
        self.description: str = self.schema.get("description", "")
        self.emoji: str = record.get("emoji", "")
        self.requires_env: list[str] = record.get("requires", {}).get("env", [])
        self.max_result_size_chars: float | None = record.get("max_result_chars")
        source: str = record.get("source", "")
        self.origin: str = registered.owner.origin if registered else source

    @property
    def spec(self) -> dict[str, Any]:
        """A fresh copy of all that is known of the tool; `docs/handlers.md` lists it."""
        if self._registered is not None:
            return self._registered.record()
        return self._registry._declared(self.name) or {}

    @property
    def handler(self) -> Callable[..., Any]:
        """The function that was registered. Raises `HandlerImportError` or `LookupError`."""
        return self._binding.function

    @property
    def is_async(self) -> bool:
        """Whether the handler is async. Raises as `handler` does."""
        return self._binding.is_async

    @property
    def check_fn(self) -> Callable[[], bool] | None:
        """The check function that was registered, if any. Raises as `handler` does."""
        return self._binding.check_fn

    @property
    def dynamic_schema_overrides(self) -> Callable[[], dict[str, Any]] | None:
        """What rewrites the spec's dynamic fields, if anything. Raises as `handler` does."""
        return self._binding.dynamic_schema_overrides

    @property
    def _binding(self) -> Binding:
        if self._registered is not None:
            return self._registered.binding
        return self._registry.binding(self.name)

    def __repr__(self) -> str:
        return f"ToolEntry(name={self.name!r}, toolset={self.toolset!r})"
