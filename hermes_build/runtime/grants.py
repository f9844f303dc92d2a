"""Which tools a session has: what is enabled, what is disabled last, and which rule decided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermes_build.runtime.errors import UnknownToolset

if TYPE_CHECKING:
    from hermes_build.runtime.overlay import Overlay
    from hermes_build.runtime.registry import ToolRegistry
    from hermes_build.runtime.session import Session

TAG = "tag:"
"""What a name in ``disabled`` begins with that stands for every tool with a tag."""


OWN_TOOLS = ("tool_search", "tool_describe", "tool_call")
"""The names of the tools that a session with deferred tools has of its own."""

_ATTEMPTS = 3
"""How often tools are resolved while the registry keeps changing; then it has to wait."""


@dataclass(frozen=True, slots=True)
class Grants:
    """The tools of a session in one ``state`` of its registry: names, sorted, and as a set.

    ``deferred`` are those of them that are not listed.
    """

    generation: int
    state: Overlay
    names: tuple[str, ...]
    tools: frozenset[str]
    deferred: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a tool is in a session or not.

    ``granted`` is whether it may be called; ``because`` are the rules that decided, the deciding
    one first; ``missing`` is what it lacks to be used here; ``deferred`` whether it is found rather
    than listed.
    """

    tool: str
    granted: bool
    because: tuple[str, ...]
    missing: tuple[str, ...] = ()
    deferred: bool = False

    def __str__(self) -> str:
        verb = "is" if self.granted else "is not"
        text = f"{self.tool} {verb} in this session: {'; '.join(self.because)}."
        if self.missing:
            text += f" It is not available here: {'; '.join(self.missing)}."
        return text


class Rules:
    """What a session was made with: names that are enabled, disabled and deferred.

    Raises:
        TypeError: for text where a list of names is wanted, and for a name that is no text.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        enabled: Iterable[str] | None,
        disabled: Iterable[str] | None,
        deferred: Iterable[str] | None,
        within: Session | None = None,
    ) -> None:
        self.registry = registry
        self.within = within
        self.enabled = None if enabled is None else _names("enabled", enabled)
        self.disabled = _names("disabled", () if disabled is None else disabled)
        self.defers = _names("deferred", () if deferred is None else deferred)

    def resolve(self, *, strict: bool) -> Grants:
        """The tools that the rules grant in the registry's present state.

        Args:
            strict: whether an unknown name is an error. Later on it is not: a server's toolset may
                have gone, and takes its tools with it.

        Raises:
            UnknownToolset: with the nearest name.
        """
        registry = self.registry
        for _ in range(_ATTEMPTS):
            # Each name is looked up by itself, and between two of them everything may change.
            generation, state = registry.generation, registry._overlay
            grants = self._resolved(generation, state, strict)
            if registry._overlay is state:
                return grants
        with registry._lock:
            return self._resolved(registry.generation, registry._overlay, strict)

    def _resolved(self, generation: int, state: Overlay, strict: bool) -> Grants:
        if self.enabled is None:
            granted = set(self.registry.get_all_tool_names())
        else:
            granted = {tool for name in self.enabled for tool in self._tools(name, strict)}
        for name in self.disabled:
            granted.difference_update(self._tools(name, strict, tags=True))
        if self.within is not None:
            granted.intersection_update(self.within.names)
        if self.defers and not strict:
            # Names that the session's own three tools have; registered later, nobody could call it.
            granted.difference_update(OWN_TOOLS)
        deferred = {tool for name in self.defers for tool in self._tools(name, strict)}
        return Grants(
            generation,
            state,
            tuple(sorted(granted)),
            frozenset(granted),
            tuple(sorted(granted & deferred)),
        )

    def rules_for(self, tool: str) -> Iterator[tuple[bool, str]]:
        """Every rule that speaks of a tool, as whether it lets it in and its sentence."""
        if self.within is not None and not self.within.grants(tool):
            yield False, "the session that this one is within does not have it"
        if self.defers and tool in OWN_TOOLS:
            yield False, "the session has a tool of its own by that name, for its deferred ones"
        for name in self.disabled:
            if tool in self._tools(name, strict=False, tags=True):
                yield False, f"{self._described(name, tool)} is disabled (denials are applied last)"
        if self.enabled is None:
            yield True, "every tool is enabled by default"
        for name in self.enabled or ():
            if tool in self._tools(name, strict=False):
                yield True, f"{self._described(name, tool)} is enabled"

    def _tools(self, name: str, strict: bool, tags: bool = False) -> Iterable[str]:
        if tags and name.startswith(TAG):
            return self._tagged(name, strict)
        try:
            return self.registry.resolve_toolset(name)
        except UnknownToolset:
            record = self.registry.find(name)
            if record is not None:
                return (record["name"],)
            if not strict:
                return ()
        from hermes_build.nearest import nearest

        registry = self.registry
        known = [
            *registry.get_toolset_names(),
            *registry.get_registered_toolset_aliases(),
            *registry.get_all_tool_names(),
        ]
        raise UnknownToolset(name, nearest(name, known))

    def _tagged(self, name: str, strict: bool) -> Iterable[str]:
        tags: dict[str, list[str]] = {}
        for tool in self.registry.get_all_tool_names():
            for tag in (self.registry.find(tool) or {}).get("tags", ()):
                tags.setdefault(tag, []).append(tool)
        wanted = name.removeprefix(TAG)
        if strict and wanted not in tags:
            from hermes_build.nearest import nearest

            near = nearest(wanted, tags)
            raise UnknownToolset(name, near and TAG + near)
        return tags.get(wanted, ())

    def _described(self, name: str, tool: str) -> str:
        if name.startswith(TAG):
            return f"its tag {name.removeprefix(TAG)!r}"
        if not self.registry.validate_toolset(name):
            return f"the tool {name!r}"
        owner = self.registry.get_toolset_for_tool(tool)
        target = self.registry.get_toolset_alias_target(name) or name
        if owner == target:
            return f"its toolset {name!r}"
        return f"the toolset {name!r}, which it comes through,"


def explain(rules: Rules, grants: Grants, tool: str) -> Explanation:
    """Whether a tool is granted, and which rules decided.

    Raises:
        LookupError: when there is no such tool.
    """
    record = rules.registry.find(tool)
    if record is None:
        from hermes_build.runtime.nearest import did_you_mean

        hint = did_you_mean(tool, rules.registry.get_all_tool_names())
        raise LookupError(f"There is no tool {tool!r}.{hint}")
    name = record["name"]
    granted = name in grants.tools
    found = list(rules.rules_for(name))
    because = tuple(text for lets_in, text in found if lets_in is granted)
    return Explanation(
        name,
        granted,
        because or ("nothing enables it",),
        rules.registry.why_unavailable(name) if granted else (),
        name in grants.deferred,
    )


def _names(what: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"`{what}` must be a list of names, not {type(given).__name__}")
    names = tuple(given)
    for position, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"`{what}[{position}]` must be a name, not {type(name).__name__}")
    return tuple(dict.fromkeys(names))
