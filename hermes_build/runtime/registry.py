"""The registry of a compiled program: frozen tools and toolsets, and the handlers bound to them.

Method names and signatures follow hermes-agent 0.19's, so that handler modules written for it
register here unchanged. What a spec declares cannot be changed by a running program.

This module is imported by every generated registry and imports next to nothing itself; parts that
only some programs need are imported by the methods that need them.
"""

from __future__ import annotations

import os
from _thread import get_ident

from hermes_build.layout import CATALOGUE, MODULE, TOOL
from hermes_build.runtime.call import Call
from hermes_build.runtime.catalogue import Catalogue, check_format
from hermes_build.runtime.changes import Changes
from hermes_build.runtime.dispatch import acall, call
from hermes_build.runtime.errors import HandlerImportError, Refusal
from hermes_build.runtime.lookups import DEFAULT_RESULT_CHARS
from hermes_build.runtime.reports import Reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar
    from weakref import WeakSet

    from hermes_build.runtime.availability import Availability
    from hermes_build.runtime.callee import Callee
    from hermes_build.runtime.entry import ToolEntry
    from hermes_build.runtime.hooks import Hooks
    from hermes_build.runtime.mismatch import Mismatch
    from hermes_build.runtime.session import Session
    from hermes_build.runtime.shapes import Binding
    from hermes_build.runtime.store import ResultStore

    _F = TypeVar("_F", bound=Callable[..., Any])


_ATTEMPTS = 3
"""How often a tool is made ready while the registry keeps changing; then it is not kept."""


def frozen(
    file: str,
    catalogue: str = CATALOGUE,
    *,
    format: int,
    digest: str,
    needs: str = "",
) -> ToolRegistry:
    """The registry of a generated package; called by its ``registry.py`` and nothing else.

    Args:
        file: the ``__file__`` of the generated ``registry.py``.
        catalogue: the name of the catalogue beside it.
        format: the runtime format that the generated files are written in.
        digest: the SHA-256 of the catalogue's records.
        needs: the first version of hermes-build that reads this format.

    Raises:
        CatalogueError: when the files cannot be read by this runtime; it says what to do.
    """
    check_format(format, file, needs)
    folder = os.path.dirname(os.path.abspath(file))
    opened = Catalogue(os.path.join(folder, catalogue), digest)
    # Places in messages are relative to where packages are imported from, however deep this one is.
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return ToolRegistry(opened, digest, folder)


class ToolRegistry(Changes, Reports):
    """A program's tools: what they are, who handles them, and the way to call them.

    ``root`` is the folder that places in messages are relative to. ``store`` keeps the text of
    results that are too long for a model, where the host program sets one.
    """

    def __init__(self, catalogue: Catalogue, digest: str, root: str) -> None:
        super().__init__(catalogue)
        self.root = root
        self._digest = digest
        self._failures: dict[str, HandlerImportError] = {}
        self._importing: set[int] = set()
        self._lost: dict[str, str] = {}
        self._collected: tuple[int, list[Mismatch]] | None = None
        self._callees: dict[str, Callee] = {}
        self._ready: dict[str, Callee] = {}
        self._hooks: Hooks | None = None
        self._availability: Availability | None = None
        self._sessions: WeakSet[Session] | None = None
        self.store: ResultStore | None = None
        self.default_max_result_chars: float = DEFAULT_RESULT_CHARS

    # Calling.

    call = call
    dispatch = call
    acall = acall

    def begin(self, name: str, args: Any, context: dict[str, Any]) -> Call:
        """A call of this registry that is about to go through the pipeline."""
        return Call(self, None, name, args, context)

    def prepare(self, name: str) -> Callee:
        """A tool, ready to be called; it is made ready at its first call.

        Raises:
            Refusal: where it cannot be called.
        """
        found = self._callees.get(name)
        if found is not None:
            return found
        for _ in range(_ATTEMPTS):
            # Importing a handler module changes the registry, and so may another thread: what was
            # made of one state is never kept with the next.
            before = self._generation
            callee = self._make(name)
            with self._lock:
                if before == self._generation:
                    self._callees[name] = callee
                    if callee.is_plain and (self._hooks is None or self._hooks.is_idle):
                        self._ready[name] = callee
                    break
        return callee

    def _make(self, name: str) -> Callee:
        record = self.find(name)
        if record is None:
            from hermes_build.runtime.nearest import did_you_mean

            lost = self._lost.get(str(name))
            hint = f" {lost}" if lost else did_you_mean(str(name), self.get_all_tool_names())
            raise Refusal(f"Unknown tool: {name}.{hint}", kind="unknown_tool")
        try:
            binding = self.binding(record["name"])
        except (HandlerImportError, LookupError) as error:
            raise Refusal(str(error.args[0]), kind="unavailable") from error
        from hermes_build.runtime.callee import Callee

        return Callee(self, record, binding)

    @property
    def hooks(self) -> Hooks:
        """What is registered around calls."""
        if self._hooks is None:
            from hermes_build.runtime.hooks import Hooks

            hooks = Hooks(self)
            with self._lock:
                if self._hooks is None:
                    self._hooks = hooks
        return self._hooks

    @property
    def availability(self) -> Availability:
        """What tools need of their surroundings, and whether it is there."""
        if self._availability is None:
            from hermes_build.runtime.availability import Availability

            availability = Availability()
            with self._lock:
                if self._availability is None:
                    self._availability = availability
        return self._availability

    def check_of(self, record: dict[str, Any]) -> Callable[[], bool] | None:
        """The check function of a tool whose spec promises one; its module is imported for it.

        Where the module fails to import, the check raises `Unavailable` with the reason.
        """
        if not record.get("requires", {}).get("check"):
            return None
        try:
            return self.binding(record["name"]).check_fn
        except (HandlerImportError, LookupError) as error:
            reason = str(error.args[0])

        def lost() -> bool:
            from hermes_build.runtime.errors import Unavailable

            raise Unavailable(reason)

        return lost

    def session(
        self,
        enabled: Iterable[str] | None = None,
        disabled: Iterable[str] = (),
        *,
        session_id: str = "",
        deferred: Iterable[str] = (),
        within: Session | None = None,
    ) -> Session:
        """What one agent holds: the tools that it may see and call, and no others.

        The arguments are those of `hermes_build.runtime.session.Session`.
        """
        from weakref import WeakSet

        from hermes_build.runtime.session import Session

        session = Session(
            self, enabled, disabled, session_id=session_id, deferred=deferred, within=within
        )
        with self._lock:
            if self._sessions is None:
                self._sessions = WeakSet()
            self._sessions.add(session)
        return session

    def _changed(self) -> None:
        """Forget what was made ready, at the end of a change and under the lock."""
        super()._changed()
        self._callees = {}
        self._ready = {}
        for session in self._sessions or ():
            # A new table: a thread that is just making a tool ready still writes into the old one.
            session._ready = {}

    # Handlers.

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
    ) -> None:
        """Bind a handler to a declared tool, in the form that hermes-agent has.

        A tool that no spec declares is registered through `plugin`. ``toolset`` and ``schema`` are
        compared with the spec, and may be left out. The spec alone says what ``requires_env``,
        ``description``, ``emoji`` and ``max_result_size_chars`` are: they are accepted so that
        existing modules work unchanged. ``override`` replaces a handler that is bound already.

        Raises:
            SchemaDriftError: with every difference between the registration and the spec.
        """
        self.bind(
            name,
            handler,
            toolset=toolset,
            schema=schema,
            check_fn=check_fn,
            requires_env=requires_env,
            is_async=is_async,
            dynamic_schema_overrides=dynamic_schema_overrides,
            override=override,
        )

    def handler(
        self,
        name: str,
        *,
        check_fn: Callable[[], bool] | None = None,
        dynamic_schema_overrides: Callable[[], dict[str, Any]] | None = None,
    ) -> Callable[[_F], _F]:
        """A decorator that binds a function to a declared tool by name.

        Raises:
            SchemaDriftError: from the decorator, with every difference from the spec.
        """

        def decorate(function: _F) -> _F:
            self.bind(
                name,
                function,
                check_fn=check_fn,
                dynamic_schema_overrides=dynamic_schema_overrides,
            )
            return function

        return decorate

    def bind(self, name: str, handler: Any, *, override: bool = False, **claims: Any) -> None:
        """Bind a handler to a declared tool; the other ways to register all end here.

        ``claims`` are the fields of `hermes_build.runtime.drift.Claim`.

        Raises:
            SchemaDriftError: with every difference between the registration and the spec.
        """
        from hermes_build.runtime.drift import Claim
        from hermes_build.runtime.registration import bind

        bind(self, Claim(name, handler, **claims), override)

    def binding(self, name: str) -> Binding:
        """The handler of a declared tool; its module is imported when it is first asked for.

        Raises:
            HandlerImportError: when the module fails to import.
            LookupError: when nothing binds a handler to the tool.
        """
        overlay = self._overlay
        entry = overlay.entries.get(name)
        if entry is not None:
            return entry.binding
        if name in overlay.hidden:
            raise LookupError(f"The tool {name!r} was taken out of this program.")
        found = self._bindings.get(name)
        if found is not None:
            return found
        record = self._catalogue.record(TOOL + name)
        if record is None:
            raise LookupError(f"Unknown tool: {name}.")
        module = record.get("module")
        if module is not None:
            from hermes_build.runtime.loading import import_handlers

            import_handlers(self, module)
            found = self._bindings.get(name)
            if found is not None:
                return found
            raise LookupError(f"Handler module {module!r} no longer registers the tool {name!r}.")
        kind = record.get("handler", "self")
        if kind == "self":
            raise LookupError(f"No handler module registers the tool {name!r}.")
        raise LookupError(
            f"The tool {name!r} is declared `handler: {kind}`, and the host program has not bound "
            "a handler to it."
        )

    def get_entry(self, name: str) -> ToolEntry | None:
        """A tool's spec and handler as hermes-agent shows them, or None."""
        overlay = self._overlay
        record = self._find(overlay, name)
        if record is None:
            return None
        from hermes_build.runtime.entry import ToolEntry

        return ToolEntry(self, record, overlay.entries.get(record["name"]))

    def load(self, *, started: Callable[[str], object] | None = None) -> None:
        """Import every handler module, and verify the catalogue against its digest.

        ``started`` is told the name of each module just before its import, which may never end.

        Raises:
            SchemaDriftError: with the differences of all modules, and the handlers that no module
                registers. It is a `LoadError` when modules fail to import.
            CatalogueError: when the catalogue was changed after it was compiled.
        """
        from hermes_build.runtime.loading import load

        self.verify()
        load(self, started)

    def verify(self) -> None:
        """Read the whole catalogue, and compare it with its digest.

        Raises:
            CatalogueError: when the catalogue was changed after it was compiled.
        """
        self._catalogue.verify(self._digest)

    # What loading and registration keep here.

    def handler_modules(self) -> dict[str, tuple[str, ...]]:
        """The handler modules that the compiler found, and the tools that each registers."""
        return {name: tuple(one["tools"]) for name, one in self._catalogue.records(MODULE)}

    def note_lost(self, tools: dict[str, str]) -> None:
        """Keep, by the names of tools that are not there, what a call of one is to be told."""
        with self._lock:
            self._lost = {**self._lost, **tools}

    def tools_of_module(self, module: str) -> tuple[str, ...]:
        """The tools that one handler module registers, as the compiler found them."""
        record = self._catalogue.record(MODULE + module)
        return tuple(record["tools"]) if record else ()

    def collecting(self) -> list[Mismatch] | None:
        """Where this thread's registrations leave their mismatches while `load` runs, or None."""
        collected = self._collected
        return collected[1] if collected and collected[0] == get_ident() else None
