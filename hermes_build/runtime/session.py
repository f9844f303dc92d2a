"""What one agent may use: a set of tools, and the way to list and to call them.

A session's listing and its calls obey one resolved set: what was not granted cannot be called,
however a program comes by its name.
"""

from __future__ import annotations

from hermes_build.runtime.call import Call, named
from hermes_build.runtime.dispatch import acall, call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from hermes_build.runtime.callee import Callee
    from hermes_build.runtime.deferred import Deferred
    from hermes_build.runtime.freezing import FrozenList
    from hermes_build.runtime.grants import Explanation, Grants
    from hermes_build.runtime.listing import Listing
    from hermes_build.runtime.outcome import Outcome
    from hermes_build.runtime.registry import ToolRegistry


class Session:
    """The tools of a registry that one agent may use.

    Args:
        registry: whose tools they are.
        enabled: toolsets, by name or alias, and single tools. None means every tool, and an empty
            list means none.
        disabled: toolsets, single tools, and ``tag:NAME`` for every tool with a tag. Applied last,
            on resolved tools: what is disabled is out, whatever enables it.
        session_id: what hooks and handlers see as ``session_id``.
        deferred: toolsets and single tools that are not listed: the model finds them with
            ``tool_search``, reads them with ``tool_describe``, and calls them with ``tool_call``.
        within: a session that this one never goes beyond; see `narrow`.

    Raises:
        UnknownToolset: for a name that is neither a toolset's nor a tool's.
        TypeError: for text where a list of names is wanted.

    Tools that come and go at run time are in it or not by the same rules.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        enabled: Iterable[str] | None = None,
        disabled: Iterable[str] = (),
        *,
        session_id: str = "",
        deferred: Iterable[str] = (),
        within: Session | None = None,
    ) -> None:
        from hermes_build.runtime.grants import Rules

        self.registry = registry
        self.session_id = session_id
        self._rules = Rules(registry, enabled, disabled, deferred, within)
        self._grants: Grants = self._rules.resolve(strict=True)
        self._ready: dict[str, Callee] = {}
        self._listing: Listing | None = None
        self._deferred: Deferred | None = None
        if self._rules.defers:
            from hermes_build.runtime.deferred import Deferred

            self._deferred = Deferred(self)
        registry._enlist(self)

    # What is granted.

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the granted tools, sorted, whether they are available here or not."""
        return self._granted().names

    @property
    def deferred_names(self) -> tuple[str, ...]:
        """The names of the granted tools that are found rather than listed, sorted."""
        return self._granted().deferred

    def grants(self, name: str) -> bool:
        """Whether a tool, by its own name, may be called in this session."""
        return name in self._granted().tools

    def narrow(
        self,
        enabled: Iterable[str] | None = None,
        disabled: Iterable[str] = (),
        *,
        session_id: str = "",
        deferred: Iterable[str] = (),
    ) -> Session:
        """A session for a helper of this one's agent: by its own rules, and never beyond this one.

        Raises:
            UnknownToolset, TypeError: as `Session`.
        """
        return self.registry.session(
            enabled,
            disabled,
            session_id=session_id or self.session_id,
            deferred=deferred,
            within=self,
        )

    def explain(self, tool: str) -> Explanation:
        """Whether a tool is in this session, whether it can be used here, and which rule decided.

        Raises:
            LookupError: when there is no such tool.
        """
        from hermes_build.runtime.grants import explain

        return explain(self._rules, self._granted(), tool)

    def denial(self, name: str) -> str:
        """The sentence that refuses a call of a tool that is not granted."""
        return f"Tool {name} is not in this session's toolsets, and was not run."

    def _granted(self) -> Grants:
        grants = self._grants
        if grants.generation != self.registry.generation:
            grants = self._grants = self._rules.resolve(strict=False)
        return grants

    # What a model sees.

    def definitions(self) -> FrozenList:
        """The definitions of the granted tools that are available here, in the frozen order.

        One object a state, frozen to its depth: ``json.dumps`` and ``==`` see plain lists and
        dicts, and ``copy.deepcopy`` gives some.
        """
        listing = self._listing
        if listing is None or not listing.is_current():
            listing = self._listed()
        return listing.objects

    def definitions_json(self) -> bytes:
        """The definitions as compact JSON in UTF-8."""
        return self._listed().json

    def _listed(self) -> Listing:
        listing = self._listing
        if listing is None or not listing.is_current():
            from hermes_build.runtime.listing import Listing

            listing = self._listing = Listing(self, self._granted(), listing)
        return listing

    # Calling.

    def call(self, name: str, args: Any = None, **context: Any) -> Any:
        """Call a granted tool, as `ToolRegistry.call` does; the session is part of the context."""
        if self._deferred is not None:
            name, args, answer = self._deferred.unwrap(name, args)
            if answer is not None:
                return answer
        return call(self, name, args, **self._context(context))

    async def acall(self, name: str, args: Any = None, **context: Any) -> Any:
        """Call a granted tool from async code, as `ToolRegistry.acall` does."""
        if self._deferred is not None:
            name, args, answer = await self._deferred.aunwrap(name, args)
            if answer is not None:
                return answer
        return await acall(self, name, args, **self._context(context))

    def run(self, name: str, args: Any = None, **context: Any) -> Outcome:
        """Call a granted tool as `call` does, and tell what came of it as data."""
        from hermes_build.runtime.outcome import run

        answer = None
        if self._deferred is not None:
            name, args, answer = self._deferred.unwrap(name, args)
        return run(self.begin(name, args, self._context(context)), answer)

    async def arun(self, name: str, args: Any = None, **context: Any) -> Outcome:
        """Call a granted tool as `acall` does, and tell what came of it as data."""
        from hermes_build.runtime.outcome import arun

        answer = None
        if self._deferred is not None:
            name, args, answer = await self._deferred.aunwrap(name, args)
        return await arun(self.begin(name, args, self._context(context)), answer)

    def _context(self, context: dict[str, Any]) -> dict[str, Any]:
        context["session"] = self
        context.setdefault("session_id", self.session_id)
        return context

    def begin(self, name: Any, args: Any, context: dict[str, Any]) -> Call:
        """A call of this session that is about to go through the pipeline."""
        registry = self.registry
        name = named(name)
        # Looked up in this order, a change in between leaves what was found with the old state: the
        # registry empties its own tools before those of its sessions.
        mine = self._ready
        ready = registry._ready.get(name)
        if ready is not None and self.grants(ready.name):
            mine[name] = ready
        return Call(registry, self, name, args, context)
