"""What a running program has added to the catalogue it was compiled to, and taken away.

An `Overlay` is one state of that, and is never changed: a change makes a new one, which takes the
place of the old in one assignment. A reader takes the reference once, and so never sees half of a
change. `hermes_build.runtime.drafts` makes changes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hermes_build.runtime.plugins import Plugin
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


def nothing() -> Overlay:
    """The overlay of a registry that nothing was registered in."""
    return Overlay({}, frozenset(), {}, {}, {})
