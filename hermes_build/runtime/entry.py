"""One registered tool, as hermes-agent's ``get_entry`` shows it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hermes_build.runtime.registry import ToolRegistry


class ToolEntry:
    """A tool's spec, copied, and its handler, imported when it is asked for.

    Entries are made afresh at each look-up: changing one changes nothing in the registry.
    """

    __slots__ = (
        "_registry",
        "description",
        "emoji",
        "max_result_size_chars",
        "name",
        "requires_env",
        "schema",
        "toolset",
    )

    def __init__(self, registry: ToolRegistry, record: dict[str, Any]) -> None:
        self._registry = registry
        self.name: str = record["name"]
        self.toolset: str | None = record.get("toolset")
        self.schema: dict[str, Any] = record["schema"]
        self.description: str = self.schema.get("description", "")
        self.emoji: str = record.get("emoji", "")
        self.requires_env: list[str] = record.get("requires", {}).get("env", [])
        self.max_result_size_chars: int | None = record.get("max_result_chars")

    @property
    def spec(self) -> dict[str, Any]:
        """A fresh copy of all that the catalogue holds of the tool; `docs/handlers.md` lists it."""
        return self._registry.find(self.name) or {}

    @property
    def handler(self) -> Callable[..., Any]:
        """The function that was registered. Raises `HandlerImportError` or `LookupError`."""
        return self._registry.binding(self.name).function

    @property
    def is_async(self) -> bool:
        """Whether the handler is async. Raises as `handler` does."""
        return self._registry.binding(self.name).is_async

    @property
    def check_fn(self) -> Callable[[], bool] | None:
        """The check function that was registered, if any. Raises as `handler` does."""
        return self._registry.binding(self.name).check_fn

    @property
    def dynamic_schema_overrides(self) -> Callable[[], dict[str, Any]] | None:
        """What rewrites the spec's dynamic fields, if anything. Raises as `handler` does."""
        return self._registry.binding(self.name).dynamic_schema_overrides

    def __repr__(self) -> str:
        return f"ToolEntry(name={self.name!r}, toolset={self.toolset!r})"
