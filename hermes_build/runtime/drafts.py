"""A change of a registry in the making, which nobody sees until it takes effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hermes_build.runtime.overlay import Overlay, Registered

if TYPE_CHECKING:
    from hermes_build.runtime.plugins import Plugin
    from hermes_build.runtime.registry import ToolRegistry
    from hermes_build.runtime.shapes import Binding

_PARTS = ("entries", "hidden", "toolsets", "aliases", "handles")


class Draft:
    """A change in the making: copies of what it writes to, and all else as it is.

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
