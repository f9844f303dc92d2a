"""The toolsets of a program: declared, made at run time, and implied by run-time tools.

The names and the shapes of the results are those of hermes-agent 0.19's ``toolsets`` module, which
has functions where these are methods. A name that nobody knows is an error here.
"""

from __future__ import annotations

from hermes_build.layout import EVERY_TOOL, TOOLSET, TOOLSET_ALIAS
from hermes_build.runtime.errors import UnknownToolset
from hermes_build.runtime.lookups import Lookups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from hermes_build.runtime.drafts import Draft
    from hermes_build.runtime.overlay import Overlay
    from hermes_build.runtime.resolution import View


class Toolsets(Lookups):
    """The toolsets of a registry. Lists that are handed out are fresh."""

    _told: set[tuple[str, str]] | None = None

    if TYPE_CHECKING:

        def _change(self, operation: Callable[[Draft], None]) -> None:
            """Change the registry; see `hermes_build.runtime.changes`."""

    # Looking.

    def get_toolset_names(self) -> list[str]:
        """The names of all toolsets, compositions included and aliases not, sorted."""
        return self._view().names()

    def get_toolset(self, name: str, *, include_registry: bool = True) -> dict[str, Any] | None:
        """A copy of a toolset, by its name or an alias of it, or None.

        Returns:
            At least ``name``, ``description``, ``tools`` (those it names or owns), ``includes`` and
            ``resolved`` (all that it stands for). ``include_registry=False`` shows it as it was
            compiled, and None where it was not.
        """
        if not include_registry:
            return self._compiled(name)
        view = self._view()
        own = view.canonical(name)
        if own is None:
            return None
        return {**view.record(own), "tools": view.tools(own), "resolved": sorted(view.members(own))}

    def get_toolset_info(self, name: str) -> dict[str, Any] | None:
        """What user interfaces show of a toolset, or None.

        Returns:
            ``name``, ``description``, ``direct_tools``, ``includes``, ``resolved_tools``,
            ``tool_count`` and ``is_composite`` (whether it includes others).
        """
        found = self.get_toolset(name)
        if found is None:
            return None
        return {
            "name": name,
            "description": found["description"],
            "direct_tools": found["tools"],
            "includes": found["includes"],
            "resolved_tools": found["resolved"],
            "tool_count": len(found["resolved"]),
            "is_composite": bool(found["includes"]),
        }

    def get_all_toolsets(self) -> dict[str, dict[str, Any]]:
        """Every toolset as `get_toolset` shows it, by its name; names sorted."""
        found = {name: self.get_toolset(name) for name in self.get_toolset_names()}
        return {name: one for name, one in found.items() if one is not None}

    def validate_toolset(self, name: str) -> bool:
        """Whether a name is that of a toolset, an alias of one, or means every tool."""
        return name in EVERY_TOOL or self._view().canonical(name) is not None

    def resolve_toolset(self, name: str, *, include_registry: bool = True) -> list[str]:
        """The names of the tools that a toolset stands for, sorted; ``all`` and ``*`` mean all.

        ``include_registry=False`` gives those it was compiled with.

        Raises:
            UnknownToolset: with the nearest name.
        """
        overlay = self._overlay
        if name in EVERY_TOOL:
            names = self._names(overlay) if include_registry else self._compiled_names()
            return names.copy()
        if not include_registry or not (overlay.changes_tools or overlay.toolsets):
            record = self._compiled(name, overlay.aliases if include_registry else {})
            if record is None:
                raise self._unknown_toolset(name)
            return sorted(record["resolved"])
        view = self._view(overlay)
        own = view.canonical(name)
        if own is None:
            raise self._unknown_toolset(name)
        return sorted(view.members(own))

    def resolve_multiple_toolsets(self, toolset_names: Iterable[str]) -> list[str]:
        """The names of the tools that any of some toolsets stands for, sorted, each once.

        Raises:
            UnknownToolset: with the nearest name.
            TypeError: when the names are one text.
        """
        if isinstance(toolset_names, str):
            raise TypeError("toolset_names must be a list of names, not one text")
        return sorted({tool for name in toolset_names for tool in self.resolve_toolset(name)})

    def why(self, tool: str, toolset: str) -> str:
        """Which rule lets a tool into a toolset, or keeps it out, as the end of "because ...".

        Raises:
            UnknownToolset: with the nearest name.
        """
        if toolset in EVERY_TOOL:
            return f"`{toolset}` means every tool"
        view = self._view()
        own = view.canonical(toolset)
        if own is None:
            raise self._unknown_toolset(toolset)
        return view.why(tool, own)

    # Changing.

    def create_custom_toolset(
        self,
        name: str,
        description: str,
        tools: list[str] | None = None,
        includes: list[str] | None = None,
        *,
        excludes: list[str] | None = None,
    ) -> None:
        """Make a toolset for as long as the program runs; it is held to what declared ones are.

        Args:
            name: what no toolset and no alias has yet.
            description: what it is for.
            tools: names of tools.
            includes: names of toolsets, all of whose tools it holds.
            excludes: names of tools that it does not hold, whatever brings them.

        Raises:
            ToolsetError: when a name in it is unknown, when it includes itself, holds nothing, or
                excludes what it does not hold.
        """
        from hermes_build.runtime.customs import make

        members = {"tools": tools, "includes": includes, "excludes": excludes}
        self._change(lambda draft: make(self, draft, name, description, members))

    def remove_custom_toolset(self, name: str) -> None:
        """Take back a toolset that `create_custom_toolset` made; no-op where there is none.

        Raises:
            ToolsetError: when another custom toolset includes it.
        """
        from hermes_build.runtime.customs import remove

        self._change(lambda draft: remove(draft, name))

    def register_toolset_alias(self, alias: str, toolset: str) -> None:
        """Let another name stand for a toolset, for as long as the toolset is there.

        Raises:
            UnknownToolset: when there is no such toolset.
            ValueError: when the alias is a toolset's name or a server's, when it stands for another
                one already, or is no name at all.
        """
        from hermes_build.runtime.customs import demand_alias

        def enter(draft: Draft) -> None:
            view = self._view(draft.overlay)
            target = view.canonical(toolset)
            if target is None:
                raise self._unknown_toolset(toolset)
            demand_alias(draft, alias)
            if view.canonical(alias) == alias:
                raise ValueError(f"{alias!r} is the name of a toolset, and cannot be an alias.")
            present = view.alias_target(alias)
            if present not in (None, target):
                raise ValueError(f"The alias {alias!r} stands for {present!r}, not {target!r}.")
            if present is None:
                draft.write("aliases", only_adds=True)[alias] = target

        self._change(enter)

    def get_registered_toolset_aliases(self) -> dict[str, str]:
        """Every alias, declared or added, and the toolset that it stands for."""
        declared = {
            alias: record["name"] for alias, record in self._catalogue.records(TOOLSET_ALIAS)
        }
        return {**declared, **self._overlay.aliases}

    def get_toolset_alias_target(self, alias: str) -> str | None:
        """The toolset that an alias stands for, or None."""
        record = self._catalogue.record(f"{TOOLSET_ALIAS}{alias}")
        return record["name"] if record else self._overlay.aliases.get(alias)

    # One state, looked at.

    def _view(self, overlay: Overlay | None = None) -> View:
        from hermes_build.runtime.resolution import View

        return View(self, self._overlay if overlay is None else overlay)

    def _compiled(self, name: str, aliases: dict[str, str] | Any = ()) -> dict[str, Any] | None:
        """A toolset as it was compiled, by its name or an alias, or None."""
        record = self._catalogue.record(f"{TOOLSET}{name}")
        if record is None:
            alias = self._catalogue.record(f"{TOOLSET_ALIAS}{name}")
            target = alias["name"] if alias else dict(aliases).get(name)
            record = self._catalogue.record(TOOLSET + target) if target else None
        return record and {"description": "", "tools": [], "includes": [], "resolved": [], **record}

    def _compiled_names(self) -> list[str]:
        from hermes_build.runtime.overlay import nothing

        return self._names(nothing())

    def _unknown_toolset(self, name: str) -> UnknownToolset:
        from hermes_build.nearest import nearest

        known = [*self.get_toolset_names(), *self.get_registered_toolset_aliases(), *EVERY_TOOL]
        return UnknownToolset(name, nearest(str(name), known))

    def _tell_once(self, toolset: str, tool: str, broken: str) -> None:
        """Log, once, that a guard keeps a tool out of a toolset."""
        with self._lock:
            if self._told is None:
                self._told = set()
            if (toolset, tool) in self._told:
                return
            self._told.add((toolset, tool))
        from logging import getLogger

        message = "The tool %s is kept out of the toolset %s, which %s"
        getLogger("hermes_build.runtime").warning(message, tool, toolset, broken)
