"""Tools that plugins register while a program runs, each through a handle of its own.

Whoever loads a plugin asks the registry for its handle, and passes it on. The handle is the
plugin's identity: nothing is read from the handler, the calling code or a toolset's name, all of
which a plugin chooses. It records consent and prevents accidents; it is no sandbox, since plugins
run in the process of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hermes_build.layout import TOOL_ALIAS
from hermes_build.runtime.admission import Offer, admit
from hermes_build.runtime.errors import ConsentRequired, RegistrationError, ToolConflict
from hermes_build.runtime.mismatch import show_place, spec_place
from hermes_build.runtime.resolution import View

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from hermes_build.runtime.drafts import Draft
    from hermes_build.runtime.overlay import Registered
    from hermes_build.runtime.registry import ToolRegistry


class Plugin:
    """The handle of one plugin, made by `ToolRegistry.plugin`."""

    __slots__ = ("_allow_override", "_name", "_registry")

    kind = "plugin"

    def __init__(self, registry: ToolRegistry, name: str, allow_override: bool) -> None:
        self._registry = registry
        self._name = name
        self._allow_override = allow_override

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self._name

    @property
    def allow_override(self) -> bool:
        """Whether it may replace and remove tools that it does not own."""
        return self._allow_override

    @property
    def toolset(self) -> str | None:
        """The one toolset that its tools are in; None where it may choose."""
        return None

    @property
    def origin(self) -> str:
        """How messages call it."""
        return f"{self.kind} {self._name!r}"

    @property
    def names(self) -> list[str]:
        """The names of its tools, sorted."""
        entries = self._registry._overlay.entries
        return sorted(name for name, entry in entries.items() if entry.owner is self)

    def register(
        self,
        name: str,
        toolset: str | None = None,
        schema: dict[str, Any] | None = None,
        handler: Callable[..., Any] | None = None,
        check_fn: Callable[[], bool] | None = None,
        requires_env: list[str] | None = None,
        is_async: bool = False,
        description: str = "",
        emoji: str = "",
        max_result_size_chars: float | None = None,
        dynamic_schema_overrides: Callable[[], dict[str, Any]] | None = None,
        override: bool = False,
        *,
        output_schema: dict[str, Any] | bool | None = None,
        timeout_seconds: float | None = None,
        tags: list[str] | tuple[str, ...] = (),
        annotations: dict[str, bool] | None = None,
        replace: bool = False,
    ) -> None:
        """Register a tool that no spec declares.

        Args:
            name: the tool, named as in specs.
            toolset: who owns it: a declared toolset, which it joins, or one of its own.
            schema: ``{"name", "description", "parameters"}``; it is copied.
            handler: a function of any shape that handlers have; sync or async is seen from it.
            check_fn: says whether the tool can be used here; a plain function that returns a bool.
            requires_env: the environment variables that it needs.
            is_async: for a handler that returns a coroutine without being seen to.
            description: what the tool does, where ``schema`` does not say.
            emoji: its sign in user interfaces.
            max_result_size_chars: how long its results may be; None for the registry's default.
            dynamic_schema_overrides: returns what to rewrite of the schema at each listing.
            override: replace a tool that somebody else owns; the operator must allow it.
            output_schema: a JSON Schema of its results.
            timeout_seconds: how long the handler may take; None for as long as it likes.
            tags: words that guards of toolsets look at.
            annotations: ``read_only``, ``destructive``, ``idempotent`` and ``open_world``, as far
                as they are known.
            replace: replace a tool of its own.

        Raises:
            RegistrationError: with everything that is wrong with the registration.
            ToolConflict: when the name is taken; who has it keeps it.
            ConsentRequired: when it wants to override, and was not given ``allow_override``.
        """
        offer = Offer(
            name=name,
            toolset=self.toolset if toolset is None else toolset,
            schema=schema,
            handler=handler,
            check_fn=check_fn,
            requires_env=requires_env,
            is_async=is_async,
            description=description,
            emoji=emoji,
            max_result_size_chars=max_result_size_chars,
            dynamic_schema_overrides=dynamic_schema_overrides,
            output_schema=output_schema,
            timeout_seconds=timeout_seconds,
            tags=tags,
            annotations=annotations,
        )
        entry = admit(self._registry, self, offer)
        self._registry._change(lambda draft: self._enter(draft, entry, override, replace))

    def deregister(self, name: str) -> None:
        """Remove a tool; an unknown name is no error.

        A declared tool that one of this plugin's own stood in for is there again afterwards.

        Raises:
            ConsentRequired: when it is not its own, and the operator did not allow that.
            PermissionError: when it is a server's; only the server's own handle removes it.
        """

        def leave(draft: Draft) -> None:
            entry = draft.entries.get(name)
            if entry is not None and entry.owner is self:
                drop(self._registry, draft, name)
                return
            if entry is None and (
                name in draft.hidden or self._registry._declared(name, by_alias=False) is None
            ):
                return
            if not self._allow_override:
                owner = entry.owner.origin if entry else "the program"
                raise ConsentRequired(name, ("consent", self._needs_consent("remove", owner)))
            take_away(self._registry, draft, name)

        self._registry._change(leave)

    def batch(self) -> AbstractContextManager[None]:
        """Make what is done inside all or nothing; see `ToolRegistry.batch`."""
        return self._registry.batch()

    def close(self) -> None:
        """Remove all its tools, and let its name be used again."""

        def leave(draft: Draft) -> None:
            if draft.handles.get((self.kind, self._name)) is not self:
                return
            for name in [one for one, entry in draft.entries.items() if entry.owner is self]:
                drop(self._registry, draft, name)
            del draft.write("handles", only_adds=True)[self.kind, self._name]

        self._registry._change(leave)

    def __repr__(self) -> str:
        return f"<{self.origin} with {len(self.names)} tools>"

    # Entering a tool.

    def _enter(self, draft: Draft, entry: Registered, override: bool, replace: bool) -> None:
        """Enter a tool in a change, if its name is free or may be taken."""
        registry = self._registry
        if draft.handles.get((self.kind, self._name)) is not self:
            raise self._refused(entry, ("closed", f"the {self.origin} is closed"))
        view = View(registry, draft.overlay)
        own = view.canonical(entry.toolset)
        if own not in (None, entry.toolset):
            message = f"{entry.toolset!r} is an alias of the toolset {own!r}; register into that"
            raise self._refused(entry, ("toolset", message))
        if ("server", entry.toolset) in draft.handles:
            message = f"{entry.toolset!r} is the name of a server; choose another toolset"
            raise self._refused(entry, ("toolset", message))
        alias = registry._catalogue.record(TOOL_ALIAS + entry.name)
        if alias is not None:
            message = f"this name is an alias of the tool {alias['name']!r}; choose another"
            raise self._refused(entry, ("alias", message))
        present = draft.entries.get(entry.name)
        if present is not None and present.owner is self:
            if not replace:
                message = "this plugin has registered it already; pass replace=True to replace it"
                raise self._conflict(draft, entry, "duplicate", message)
        elif present is not None or registry._declared(entry.name, by_alias=False) is not None:
            self._demand_leave(draft, entry, override)
        left, _, _ = present_as(registry, draft, entry.name)
        draft.write("entries")[entry.name] = entry
        if left != entry.toolset:
            _drop_aliases(registry, draft, left)

    def _demand_leave(self, draft: Draft, entry: Registered, override: bool) -> None:
        """Refuse to take a name that somebody else has, unless that is wanted and allowed."""
        present = draft.entries.get(entry.name)
        if present is not None and present.owner.toolset is not None:
            message = "it is a server's, which alone can replace it; choose another name"
            raise self._conflict(draft, entry, "server", message)
        is_free = present is None and entry.name in draft.hidden
        if not (override or is_free):
            message = "choose another name, or pass override=True to replace it"
            if not self._allow_override:
                message += f", where {self._consent()}"
            raise self._conflict(draft, entry, "taken", message)
        if not self._allow_override:
            owner = present.owner.origin if present else "the program"
            raise ConsentRequired(
                entry.name,
                ("consent", self._needs_consent("replace", owner)),
                place=entry.binding.place,
            )
        if not is_free:
            toolset, origin, place = present_as(self._registry, draft, entry.name)
            draft.warnings.append(
                (
                    "The tool %s is replaced: %s of toolset %s (%s) by %s of toolset %s (%s)",
                    entry.name,
                    origin,
                    toolset,
                    show_place(place) if place else "unknown",
                    self.origin,
                    entry.toolset,
                    show_place(entry.binding.place),
                )
            )

    def _needs_consent(self, verb: str, owner: str) -> str:
        return f"the {self.origin} may not {verb} a tool of {owner}; {self._consent()}"

    def _consent(self) -> str:
        return f"the operator allows it with `registry.plugin({self._name!r}, allow_override=True)`"

    def _refused(self, entry: Registered, problem: tuple[str, str]) -> RegistrationError:
        return RegistrationError(entry.name, problem, place=entry.binding.place)

    def _conflict(self, draft: Draft, entry: Registered, kind: str, advice: str) -> ToolConflict:
        toolset, origin, place = present_as(self._registry, draft, entry.name)
        where = f" at {show_place(place)}" if place else ""
        message = (
            f"{self.origin} registers it in toolset {entry.toolset!r}, and {origin} has it in "
            f"toolset {toolset!r}{where}; {advice}"
        )
        return ToolConflict(
            entry.name,
            (kind, message),
            toolset=entry.toolset,
            origin=self.origin,
            place=entry.binding.place,
            present_toolset=toolset,
            present_origin=origin,
            present_place=place,
        )


def present_as(
    registry: ToolRegistry, draft: Draft, name: str
) -> tuple[str | None, str, tuple[str, int] | None]:
    """The toolset, the origin and the place of a tool that is there."""
    entry = draft.entries.get(name)
    if entry is not None:
        return entry.toolset, f"the {entry.owner.origin}", entry.binding.place
    record = registry._declared(name) or {}
    return record.get("toolset"), "the program", spec_place(record)


def drop(registry: ToolRegistry, draft: Draft, name: str) -> None:
    """Remove a run-time tool, and with the last tool of a toolset its run-time aliases."""
    toolset = draft.write("entries").pop(name).toolset
    _drop_aliases(registry, draft, toolset)


def take_away(registry: ToolRegistry, draft: Draft, name: str) -> None:
    """Remove whatever has a name, declared tools included; nothing where nobody has it.

    Raises:
        PermissionError: when it is a server's.
    """
    entry = draft.entries.get(name)
    if entry is not None:
        if entry.owner.toolset is not None:
            raise PermissionError(
                f"The tool {name!r} belongs to the {entry.owner.origin}; its own handle alone "
                "removes it."
            )
        drop(registry, draft, name)
    record = registry._declared(name, by_alias=False)
    if record is not None and name not in draft.hidden:
        draft.hide(name)
        _drop_aliases(registry, draft, record.get("toolset"))


def _drop_aliases(registry: ToolRegistry, draft: Draft, toolset: str | None) -> None:
    if toolset not in draft.aliases.values():
        return
    if toolset in registry._owners(draft.overlay).values() or toolset in draft.toolsets:
        return
    aliases = draft.write("aliases")
    for alias in [alias for alias, target in aliases.items() if target == toolset]:
        del aliases[alias]
