"""The tools of a program, as it was compiled and as it changed since: the lookups of a registry.

None of them needs a handler. Whatever is handed out is a fresh copy.
"""

from __future__ import annotations

from hermes_build.forks import forked_lock
from hermes_build.layout import TOOL, TOOL_ALIAS
from hermes_build.runtime.catalogue import Catalogue
from hermes_build.runtime.overlay import Overlay, nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from hermes_build.runtime.availability import Availability

DEFAULT_RESULT_CHARS = 100_000
"""How long a result may be where neither the spec nor the caller says."""


class Lookups:
    """The tools of a registry, by the names that hermes-agent has for looking.

    Each lookup reads the overlay once, and answers from that one state.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._lock = forked_lock(self)
        self._overlay: Overlay = nothing()
        self._declared_names: list[str] | None = None
        self._declared_owners: dict[str, str] | None = None

    if TYPE_CHECKING:

        @property
        def availability(self) -> Availability:
            """What is known of the tools' surroundings."""

        @property
        def default_max_result_chars(self) -> float:
            """How many characters a result may have where its tool does not say."""

        def interrupted(self) -> None:
            """In a forked process: finish what another thread was changing."""

        def check_of(self, record: dict[str, Any]) -> Callable[[], bool] | None:
            """A tool's check function."""

    def find(self, name: str) -> dict[str, Any] | None:
        """A copy of the record of a tool, by its name or an alias of it, or None."""
        return self._find(self._overlay, name)

    def get_schema(self, name: str) -> dict[str, Any] | None:
        """A copy of ``{"name", "description", "parameters"}`` as declared, or None."""
        record = self.find(name)
        return record["schema"] if record else None

    def get_definition(self, name: str) -> dict[str, Any] | None:
        """``{"type": "function", "function": {...}}`` of one tool as declared, or None."""
        schema = self.get_schema(name)
        return {"type": "function", "function": schema} if schema else None

    def get_definitions(
        self, tool_names: Iterable[str], quiet: bool = False
    ) -> list[dict[str, Any]]:
        """The definitions of the named tools that exist and are available, each once, by name.

        What their specs list under ``dynamic`` is as the running program has it. ``quiet``: no
        warning is logged of what is unavailable.

        Raises:
            TypeError: when the names are one text.
        """
        if isinstance(tool_names, str):
            raise TypeError("tool_names must be a list or a set of names, not one text")
        overlay = self._overlay
        listing = None
        found = []
        for name in sorted(set(tool_names)):
            record = self._find(overlay, name, by_alias=False)
            if record is None:
                continue
            if record.get("requires"):
                if listing is None:
                    listing = self.availability.listing(quiet)
                if listing.missing(record, self.check_of(record)):
                    continue
            schema = record["schema"]
            if record.get("dynamic"):
                schema = self._rewritten(record)
            found.append({"type": "function", "function": schema})
        return found

    def get_all_tool_names(self) -> list[str]:
        """The names of all tools, sorted."""
        return self._names(self._overlay).copy()

    def get_tool_to_toolset_map(self) -> dict[str, str]:
        """The toolset that owns each tool that is owned by one, by the tool's name."""
        return self._owners(self._overlay).copy()

    def get_toolset_for_tool(self, name: str) -> str | None:
        """The toolset that owns a tool, or None."""
        record = self.find(name)
        return record.get("toolset") if record else None

    def get_emoji(self, name: str, default: str = "⚡") -> str:
        """A tool's emoji, or ``default`` where it has none."""
        record = self.find(name)
        return (record or {}).get("emoji") or default

    def get_max_result_size(self, name: str, default: float | None = None) -> float:
        """How many characters of a tool's result a model gets at most."""
        record = self.find(name)
        declared: float | None = (record or {}).get("max_result_chars")
        if declared is not None:
            return declared
        return self.default_max_result_chars if default is None else default

    def get_registered_toolset_names(self) -> list[str]:
        """The names of the toolsets that own tools, sorted."""
        return sorted(set(self._owners(self._overlay).values()))

    def get_tool_names_for_toolset(self, toolset: str) -> list[str]:
        """The names of the tools that a toolset owns, sorted."""
        owners = self._owners(self._overlay)
        return sorted(name for name, owner in owners.items() if owner == toolset)

    # One state, looked at.

    def _rewritten(self, record: dict[str, Any]) -> dict[str, Any]:
        """A tool's schema as its ``dynamic_schema_overrides`` has it now; a fresh copy."""
        from copy import deepcopy

        from hermes_build.runtime.dynamic import effective_schema

        whole: Any = self
        return deepcopy(effective_schema(whole, record))

    def _find(self, overlay: Overlay, name: object, by_alias: bool = True) -> dict[str, Any] | None:
        if not overlay.changes_tools:
            return self._declared(name, by_alias)
        entry = overlay.entries.get(name) if isinstance(name, str) else None
        if entry is not None:
            return entry.record()
        record = self._declared(name, by_alias)
        if record is None:
            return None
        own = record["name"]
        entry = overlay.entries.get(own)  # `name` may be an alias of what was replaced
        if entry is not None:
            return entry.record()
        return None if own in overlay.hidden else record

    def _declared(self, name: object, by_alias: bool = True) -> dict[str, Any] | None:
        """A tool's record as it was compiled."""
        record = self._catalogue.record(f"{TOOL}{name}")
        if record is None and by_alias:
            alias = self._catalogue.record(f"{TOOL_ALIAS}{name}")
            if alias is not None:
                record = self._catalogue.record(TOOL + alias["name"])
        return record

    def _names(self, overlay: Overlay) -> list[str]:
        if self._declared_names is None:
            self._declared_names = sorted(self._catalogue.names(TOOL))
        if not overlay.changes_tools:
            return self._declared_names
        names: list[str] | None = overlay.memo.get("names")
        if names is None:
            kept = set(self._declared_names).difference(overlay.hidden)
            names = overlay.memo["names"] = sorted(kept.union(overlay.entries))
        return names

    def _owners(self, overlay: Overlay) -> dict[str, str]:
        if self._declared_owners is None:
            records = self._catalogue.records(TOOL)
            self._declared_owners = {
                name: record["toolset"] for name, record in records if record.get("toolset")
            }
        if not overlay.changes_tools:
            return self._declared_owners
        owners: dict[str, str] | None = overlay.memo.get("owners")
        if owners is None:
            owners = {
                name: owner
                for name, owner in self._declared_owners.items()
                if name not in overlay.hidden
            }
            owners.update((name, entry.toolset) for name, entry in overlay.entries.items())
            owners = overlay.memo["owners"] = dict(sorted(owners.items()))
        return owners
