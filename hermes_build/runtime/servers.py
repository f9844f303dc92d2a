"""Tools that come from MCP servers: their handle, and how many of them are registered at once.

A server's tools are what its author names them, so that a name that cannot be had is no mistake of
the program: it is reported, and the others are registered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermes_build.ir import is_name
from hermes_build.layout import EVERY_TOOL
from hermes_build.runtime.admission import Offer, admit
from hermes_build.runtime.drift import equal
from hermes_build.runtime.errors import RegistrationError, ToolConflict
from hermes_build.runtime.overlay import Registered
from hermes_build.runtime.plugins import Plugin, drop
from hermes_build.runtime.resolution import SERVER_PREFIX, View

if TYPE_CHECKING:
    from hermes_build.runtime.drafts import Draft
    from hermes_build.runtime.toolsets import Toolsets

_UNUSABLE = re.compile("[^A-Za-z0-9_-]")
_SPEAKING = re.compile("[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Skipped:
    """What was offered and not registered.

    ``names`` are the server's own names, several where they all become one; ``tool`` is what they
    would be called here. ``kind`` is a stable word for the ``reason``. ``origin`` offered them, and
    ``present_origin`` has the name, where somebody has.
    """

    names: tuple[str, ...]
    tool: str | None
    kind: str
    reason: str
    origin: str
    present_origin: str | None = None


@dataclass(frozen=True, slots=True)
class Registrations:
    """What became of many tools: ``registered`` by the server's own names, and ``skipped``."""

    registered: Mapping[str, str]
    skipped: tuple[Skipped, ...]


class Server(Plugin):
    """The handle of one MCP server, made by `ToolRegistry.server`.

    Its tools are all in one toolset, ``mcp-`` and its name, for which its name is an alias while it
    has tools. It overrides nobody, and nobody overrides or removes its tools. A tool that a spec
    declares with ``handler: server`` in that toolset gets its handler from it.
    """

    __slots__ = ()

    kind = "server"

    @property
    def toolset(self) -> str:
        """The one toolset that its tools are in."""
        return SERVER_PREFIX + self._name

    def register_many(
        self, tools: Iterable[Mapping[str, Any]], *, prefix: str = "", replace: bool = False
    ) -> Registrations:
        """Register what a server offers, as one change; what cannot be is skipped and reported.

        Args:
            tools: the arguments of `register`, by name. ``name`` is the server's own: characters
                that a name cannot have become ``_``. Its ``schema`` needs no ``name``.
            prefix: what the tools' names here begin with.
            replace: ``tools`` are all that the server has: others of its tools are removed.

        Returns:
            What was registered under which name, and what was skipped, and why.
        """
        skipped: list[Skipped] = []
        offered = self._named(tools, prefix, skipped)
        admitted: dict[str, tuple[str, Registered]] = {}
        for public, raw, one in offered:
            try:
                admitted[public] = (raw, self._admitted(public, raw, one))
            except (RegistrationError, TypeError) as error:
                kind = error.kind if isinstance(error, RegistrationError) else "arguments"
                skipped.append(Skipped((raw,), public, kind, str(error), self.origin))
        registered: dict[str, str] = {}
        refused: list[Skipped] = []

        def enter(draft: Draft) -> None:
            registered.clear()  # a change may be made again on a newer state
            refused.clear()
            for public, (raw, entry) in admitted.items():
                try:
                    self._enter(draft, entry, False, replace)
                    registered[raw] = public
                except ToolConflict as error:
                    there = error.present_origin
                    refused.append(
                        Skipped((raw,), public, error.kind, str(error), self.origin, there)
                    )
                except RegistrationError as error:
                    if error.kind == "closed":
                        raise
                    refused.append(Skipped((raw,), public, error.kind, str(error), self.origin))
            if replace:  # last, so that the toolset is never without tools, and keeps its aliases
                for name, entry in list(draft.entries.items()):
                    if entry.owner is self and name not in admitted:
                        drop(self._registry, draft, name)

        self._registry._change(enter)
        report = Registrations(dict(registered), (*skipped, *refused))
        if report.skipped:
            self._tell(report)
        return report

    def _named(
        self, tools: Iterable[Any], prefix: str, skipped: list[Skipped]
    ) -> list[tuple[str, str, Mapping[str, Any]]]:
        """Each tool with the name it is to have here, without those whose names meet or fail."""
        by_name: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
        for one in tools:
            raw = one.get("name") if isinstance(one, Mapping) else None
            if not isinstance(raw, str) or not raw.strip():
                reason = f"a tool of the {self.origin} has no usable name: {raw!r}"
                skipped.append(Skipped((str(raw),), None, "name", reason, self.origin))
                continue
            public = prefix + _UNUSABLE.sub("_", raw)
            if not is_name(public) or not _SPEAKING.search(raw):
                reason = f"{public!r} cannot be a tool's name (of the {self.origin}: {raw!r})"
                skipped.append(Skipped((raw,), None, "name", reason, self.origin))
                continue
            by_name.setdefault(public, []).append((raw, one))
        for public, several in by_name.items():
            if len(several) > 1:
                names = tuple(raw for raw, _ in several)
                reason = (
                    f"{len(names)} tools of the {self.origin} would all be called {public!r}: "
                    + ", ".join(map(repr, names))
                )
                skipped.append(Skipped(names, public, "ambiguous", reason, self.origin))
        return [(name, *rest[0]) for name, rest in by_name.items() if len(rest) == 1]

    def _admitted(self, public: str, raw: str, one: Mapping[str, Any]) -> Registered:
        schema = one.get("schema")
        if isinstance(schema, dict) and schema.get("name", raw) == raw:
            schema = {**schema, "name": public}
        fields = {"toolset": self.toolset, **one, "name": public, "schema": schema}
        return admit(self._registry, self, Offer(**fields))

    def _enter(self, draft: Draft, entry: Registered, override: bool, replace: bool) -> None:
        super()._enter(draft, entry, override, replace)
        if self._name not in draft.aliases:
            draft.write("aliases", only_adds=True)[self._name] = self.toolset

    def _demand_leave(self, draft: Draft, entry: Registered, override: bool) -> None:
        record = self._registry._declared(entry.name, by_alias=False)
        is_ours = (
            record is not None
            and entry.name not in draft.entries
            and entry.name not in draft.hidden
            and record.get("handler") == "server"
            and record.get("toolset") == self.toolset
        )
        if record is None or not is_ours:
            message = "who has it keeps it"
            raise self._conflict(draft, entry, "taken", message)
        if not equal(entry.record()["schema"]["parameters"], record["schema"]["parameters"]):
            message = "its parameters are not those that its spec was pinned with; pin it again"
            raise self._conflict(draft, entry, "pinned", message)
        entry.keep_declared(record)

    def _tell(self, report: Registrations) -> None:
        from logging import getLogger

        log = getLogger("hermes_build.runtime")
        for one in report.skipped:
            log.warning("A tool of %s is skipped: %s", self.origin, one.reason)


def demand_name(registry: Toolsets, draft: Draft, name: Any) -> None:
    """Refuse a server's name that would leave its tools out of reach.

    Raises:
        ValueError: with what is wrong with the name.
    """
    if not isinstance(name, str) or not is_name(SERVER_PREFIX + name):
        raise ValueError(
            f"A server's name is 1 to 60 letters, digits, `_` and `-`, and this is {name!r}."
        )
    if name in EVERY_TOOL:
        raise ValueError(f"The name {name!r} means every tool, and no server can have it.")
    own = View(registry, draft.overlay).canonical(name)
    if own == name:
        raise ValueError(
            f"There is a toolset {name!r}, so that the tools of a server of this name could not "
            "be asked for; give the server another name."
        )
    if own is not None:
        raise ValueError(
            f"The name {name!r} is an alias of the toolset {own!r}; give the server another name."
        )
