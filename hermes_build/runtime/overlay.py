"""What a running program has added to the catalogue it was compiled to, and taken away.

An `Overlay` is one state of that, and is never changed: a change makes a new one, which takes the
place of the old in one assignment. A reader takes the reference once, and so never sees half of a
change. A `Draft` is a change in the making.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hermes_build.runtime.plugins import Plugin
    from hermes_build.runtime.registry import ToolRegistry
    from hermes_build.runtime.shapes import Binding


class Registered:
    """A tool that was registered at run time: its record, its handler, and who owns it.

    The record has the form of the catalogue's, and is kept as text: each reader gets a copy of its
    own.
    """

    __slots__ = (
        "_text",
        "annotations",
        "binding",
        "name",
        "owner",
        "tags",
        "toolset",
    )

    def __init__(self, record: dict[str, Any], binding: Binding, owner: Plugin) -> None:
        self.name: str = record["name"]
        self.toolset: str = record["toolset"]
        self.binding = binding
        self.owner = owner
        self._take(record)

    def _take(self, record: dict[str, Any]) -> None:
        from json import dumps

        self.tags = frozenset(record.get("tags", ()))
        self.annotations: dict[str, bool] = dict(record.get("annotations", {}))
        self._text = dumps(record)

    def keep_declared(self, record: dict[str, Any]) -> None:
        """Be the tool that a spec declares, before it is entered: only the handler is its own."""
        self._take(record)

    def record(self) -> dict[str, Any]:
        """A fresh copy of the record."""
        from json import loads

        record: dict[str, Any] = loads(self._text)
        return record


class Overlay:
    """One state of what lies over the catalogue; nobody changes it.

    ``entries`` are the tools that were registered at run time, by name, ``hidden`` the declared
    tools that were taken away, ``toolsets`` the custom ones, ``aliases`` what was added to the
    declared ones, and ``handles`` the plugins and servers by kind and name. ``memo`` keeps what
    readers derive from this state and the catalogue, for as long as the state lasts.
    """

    __slots__ = ("aliases", "entries", "handles", "hidden", "memo", "toolsets")

    def __init__(
        self,
        entries: Mapping[str, Registered],
        hidden: frozenset[str],
        toolsets: Mapping[str, dict[str, Any]],
        aliases: Mapping[str, str],
        handles: Mapping[tuple[str, str], Plugin],
    ) -> None:
        self.entries = entries
        self.hidden = hidden
        self.toolsets = toolsets
        self.aliases = aliases
        self.handles = handles
        self.memo: dict[Any, Any] = {}

    @property
    def changes_tools(self) -> bool:
        """Whether there are other tools than those of the catalogue."""
        return bool(self.entries or self.hidden)


_PARTS = ("entries", "hidden", "toolsets", "aliases", "handles")


def nothing() -> Overlay:
    """The overlay of a registry that nothing was registered in."""
    return Overlay({}, frozenset(), {}, {}, {})


class Draft:
    """A change of a registry in the making: copies of what it writes to, and nobody else sees.

    ``bindings`` are the handlers that it binds to declared tools, None where it takes one away;
    ``warnings`` are what is to be logged once the change is real.
    """

    __slots__ = (
        "_keeps_memo",
        "_last",
        "_parts",
        "_registry",
        "_written",
        "base",
        "bindings",
        "warnings",
    )

    def __init__(self, registry: ToolRegistry, base: Overlay) -> None:
        self._registry = registry
        self.base = self._last = base
        self._parts: dict[str, Any] = {part: getattr(base, part) for part in _PARTS}
        self._written = False
        self._keeps_memo = True
        self.bindings: dict[str, Binding | None] = {}
        self.warnings: list[tuple[object, ...]] = []

    # Reading.

    @property
    def entries(self) -> Mapping[str, Registered]:
        """The tools that were registered at run time."""
        entries: Mapping[str, Registered] = self._parts["entries"]
        return entries

    @property
    def hidden(self) -> frozenset[str]:
        """The declared tools that were taken away."""
        hidden: frozenset[str] = self._parts["hidden"]
        return hidden

    @property
    def toolsets(self) -> Mapping[str, dict[str, Any]]:
        """The toolsets that were made at run time."""
        toolsets: Mapping[str, dict[str, Any]] = self._parts["toolsets"]
        return toolsets

    @property
    def aliases(self) -> Mapping[str, str]:
        """The aliases of toolsets that were added at run time."""
        aliases: Mapping[str, str] = self._parts["aliases"]
        return aliases

    @property
    def handles(self) -> Mapping[tuple[str, str], Plugin]:
        """The handles of plugins and servers, by kind and name."""
        handles: Mapping[tuple[str, str], Plugin] = self._parts["handles"]
        return handles

    def bound(self, name: str) -> Binding | None:
        """The handler that is bound to a declared tool, in this change or before it."""
        if name in self.bindings:
            return self.bindings[name]
        return self._registry._bindings.get(name)

    @property
    def overlay(self) -> Overlay:
        """What will lie over the catalogue: the same object as before where nothing changed."""
        if self._written:
            made = Overlay(**self._parts)
            if self._keeps_memo:
                made.memo.update(self._last.memo)
            self._last = made
            self._written = False
            self._keeps_memo = True
        return self._last

    # Writing.

    def write(self, part: str, *, only_adds: bool = False) -> dict[Any, Any]:
        """One of the mappings to write to, which is a copy.

        ``only_adds`` says that what there was means the same afterwards, as it does beside a new
        toolset or alias.
        """
        held: dict[Any, Any] = self._parts[part]
        if held is getattr(self.base, part):
            held = self._parts[part] = dict(held)
        self._written = True
        self._keeps_memo = self._keeps_memo and only_adds
        return held

    def hide(self, name: str) -> None:
        """Take a declared tool away, and the handler that is bound to it."""
        self._parts["hidden"] = self.hidden | {name}
        self.bindings[name] = None
        self._written, self._keeps_memo = True, False

    def show(self, name: str) -> None:
        """Bring a declared tool back."""
        self._parts["hidden"] = self.hidden - {name}
        self._written, self._keeps_memo = True, False
