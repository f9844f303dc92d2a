"""The registry of a compiled program: frozen tools and toolsets, and the handlers bound to them.

Method names and signatures follow hermes-agent 0.19's, so that handler modules written for it
register here unchanged. What a spec declares cannot be changed by a running program.

This module is imported by every generated registry and imports next to nothing itself; parts that
only some programs need are imported by the methods that need them.
"""

from __future__ import annotations

import os

from hermes_build.layout import CATALOGUE
from hermes_build.runtime.call import Call
from hermes_build.runtime.catalogue import Catalogue, check_format
from hermes_build.runtime.dispatch import acall, call
from hermes_build.runtime.errors import HandlerImportError, Refusal, unavailable
from hermes_build.runtime.handlers import Handlers
from hermes_build.runtime.lookups import DEFAULT_RESULT_CHARS
from hermes_build.runtime.reports import Reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any
    from weakref import WeakSet

    from hermes_build.runtime.availability import Availability
    from hermes_build.runtime.callee import Callee
    from hermes_build.runtime.entry import ToolEntry
    from hermes_build.runtime.hooks import Hooks
    from hermes_build.runtime.outcome import Outcome
    from hermes_build.runtime.session import Session
    from hermes_build.runtime.store import ResultStore

_NAME_CHARS = 200
"""How much of a name that no tool has is said again."""

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


class ToolRegistry(Handlers, Reports):
    """A program's tools: what they are, who handles them, and the way to call them.

    ``root`` is the folder that places in messages are relative to. ``store`` keeps the text of
    results that are too long for a model, where the host program sets one.
    """

    def __init__(self, catalogue: Catalogue, digest: str, root: str) -> None:
        super().__init__(catalogue, digest, root)
        self._callees: dict[str, Callee] = {}
        self._ready: dict[str, Callee] = {}
        self._hooks: Hooks | None = None
        self._availability: Availability | None = None
        self._sessions: WeakSet[Session] | None = None
        self.store: ResultStore | None = None
        self._shortens_results = True
        self._default_max_result_chars: float = DEFAULT_RESULT_CHARS

    # How long a result may be.

    @property
    def shortens_results(self) -> bool:
        """Whether long results are replaced by previews; False where the program does so itself."""
        return self._shortens_results

    @shortens_results.setter
    def shortens_results(self, shortens: bool) -> None:
        with self._lock:
            self._shortens_results = shortens
            self._forget()  # tools that are ready have their limits with them

    @property
    def default_max_result_chars(self) -> float:
        """How many characters a result may have where its tool does not say."""
        return self._default_max_result_chars

    @default_max_result_chars.setter
    def default_max_result_chars(self, limit: float) -> None:
        given: object = limit
        if not isinstance(given, int | float) or not given >= 1:
            raise ValueError(
                f"a limit is a number of characters from 1 on, not {limit!r}; "
                "`math.inf` is no limit"
            )
        with self._lock:
            self._default_max_result_chars = limit
            self._forget()

    # Calling.

    call = call
    dispatch = call
    acall = acall

    def run(self, name: str, args: Any = None, **context: Any) -> Outcome:
        """Call a tool as `call` does, and tell what came of it as data beside the answer."""
        from hermes_build.runtime.outcome import run

        return run(self.begin(name, args, context))

    async def arun(self, name: str, args: Any = None, **context: Any) -> Outcome:
        """Call a tool as `acall` does, and tell what came of it as data beside the answer."""
        from hermes_build.runtime.outcome import arun

        return await arun(self.begin(name, args, context))

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
        overlay = self._overlay
        record = self._find(overlay, name)
        if record is None:
            from hermes_build.runtime.nearest import did_you_mean

            lost = self._lost.get(str(name))
            hint = f" {lost}" if lost else did_you_mean(str(name), self.get_all_tool_names())
            from hermes_build.runtime.problems import shorten_text

            shown = shorten_text(name, _NAME_CHARS)
            raise Refusal(f"Unknown tool: {shown}.{hint}", kind="unknown_tool")
        # A module may need what the tool requires: what is missing says more than how it fails.
        if record.get("requires") and (missing := self.availability.missing(record, None)):
            raise unavailable(record["name"], missing)
        try:
            binding = self._binding_in(overlay, record["name"])
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
        from hermes_build.runtime.session import Session

        return Session(
            self, enabled, disabled, session_id=session_id, deferred=deferred, within=within
        )

    def _enlist(self, session: Session) -> None:
        """Remember a session, which keeps tools that are ready and has to hear of changes."""
        from weakref import WeakSet

        with self._lock:
            if self._sessions is None:
                self._sessions = WeakSet()
            self._sessions.add(session)

    def _changed(self) -> None:
        """Forget what was made ready, at the end of a change and under the lock."""
        super()._changed()
        self._forget()

    def _forget(self) -> None:
        self._callees = {}
        self._ready = {}
        for session in self._sessions or ():
            # A new table: a thread that is just making a tool ready still writes into the old one.
            session._ready = {}

    def get_entry(self, name: str) -> ToolEntry | None:
        """A tool's spec and handler as hermes-agent shows them, or None."""
        overlay = self._overlay
        record = self._find(overlay, name)
        if record is None:
            return None
        from hermes_build.runtime.entry import ToolEntry

        return ToolEntry(self, record, overlay.entries.get(record["name"]))
