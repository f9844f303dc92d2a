"""What a compiled program declares: the lookups of a registry, none of which needs a handler.

Whatever is handed out is a fresh copy.
"""

from __future__ import annotations

from _thread import RLock

from hermes_build.layout import TOOL, TOOL_ALIAS, TOOLSET, TOOLSET_ALIAS
from hermes_build.runtime.catalogue import Catalogue
from hermes_build.runtime.errors import UnknownToolset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

EVERY_TOOL = ("all", "*")
"""Toolset names that mean every tool."""

DEFAULT_RESULT_CHARS = 100_000
"""How long a result may be where neither the spec nor the caller says."""


class Lookups:
    """The tools and toolsets of a catalogue, by the names that hermes-agent has for looking."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._lock = RLock()
        self._aliases: dict[str, str] = {}
        self._names: list[str] | None = None
        self._owners: dict[str, str] | None = None

    # Tools.

    def find(self, name: str) -> dict[str, Any] | None:
        """A copy of the record of a tool, by its name or an alias of it, or None."""
        record = self._catalogue.record(f"{TOOL}{name}")
        if record is None:
            alias = self._catalogue.record(f"{TOOL_ALIAS}{name}")
            if alias is not None:
                record = self._catalogue.record(TOOL + alias["name"])
        return record

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
        """The definitions of the named tools that exist, each once, sorted by name.

        ``quiet`` changes nothing: callers of hermes-agent pass it.
        """
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
        """How many characters of a tool's result a model should get; a call does not shorten it."""
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
        from hermes_build.nearest import nearest

        known = [*self.get_toolset_names(), *self.get_registered_toolset_aliases(), *EVERY_TOOL]
        return UnknownToolset(name, nearest(str(name), known))
