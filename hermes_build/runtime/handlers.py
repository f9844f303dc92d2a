"""The handlers of a program: bound to its tools, and imported when they are first needed."""

from __future__ import annotations

from _thread import get_ident

from hermes_build.layout import MODULE, TOOL
from hermes_build.runtime.changes import Changes
from hermes_build.runtime.errors import HandlerImportError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    from hermes_build.runtime.catalogue import Catalogue
    from hermes_build.runtime.loading import Bound
    from hermes_build.runtime.mismatch import Mismatch
    from hermes_build.runtime.overlay import Overlay
    from hermes_build.runtime.shapes import Binding

    _F = TypeVar("_F", bound=Callable[..., Any])


class Handlers(Changes):
    """Registering, finding and loading the handlers of a registry."""

    def __init__(self, catalogue: Catalogue, digest: str, root: str) -> None:
        super().__init__(catalogue)
        self.root = root
        self._digest = digest
        self._failures: dict[str, HandlerImportError] = {}
        self._importing: set[int] = set()
        self._noted: dict[int, list[Bound]] = {}
        self._stubs: dict[str, tuple[Binding, ...]] = {}
        self._lost: dict[str, str] = {}
        self._collected: tuple[int, list[Mismatch]] | None = None

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
        existing modules work unchanged. ``override`` replaces a handler that is bound already, and
        takes a tool that another module was compiled to handle.

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
        return self._binding_in(self._overlay, name)

    def stub(self, name: str, function: Callable[..., Any]) -> AbstractContextManager[None]:
        """Put a function in a tool's place while a ``with`` block runs, as tests do.

        It is held against the tool's spec like any handler, and takes calls of every thread; the
        tool's own module is not imported for them. Of several the last that was put there takes
        them. What the tool requires is demanded as ever, but for its check function.

        Raises:
            SchemaDriftError: when the block is entered, with every difference from the spec.
        """
        from hermes_build.runtime.stubbing import stub

        return stub(self._whole(), name, function)

    def _binding_in(self, overlay: Overlay, name: str) -> Binding:
        """The handler of a tool in one state of the registry."""
        stubs = self._stubs.get(name)
        if stubs:
            return stubs[-1]
        entry = overlay.entries.get(name)
        if entry is not None:
            return entry.binding
        if name in overlay.hidden:
            raise LookupError(f"The tool {name!r} was taken out of this program.")
        found = self._bindings.get(name)
        # What a module registers is not called before the module was run to its end.
        if found is not None and found.is_ready:
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

    def check_of(self, record: dict[str, Any]) -> Callable[[], bool] | None:
        """The check function of a tool whose spec promises one; its module is imported for it.

        Where the module fails to import, the check raises `Unavailable` with the reason; where it
        failed before, so does that of every tool it takes along.
        """
        has_check = record.get("requires", {}).get("check")
        if not has_check and record.get("module") not in self._failures:
            return None
        try:
            binding = self.binding(record["name"])
            return binding.check_fn if has_check else None
        except (HandlerImportError, LookupError) as error:
            reason = str(error.args[0])

        def lost() -> bool:
            from hermes_build.runtime.errors import Unavailable

            raise Unavailable(reason)

        return lost

    # What loading and registration keep here.

    def module_name(self, module: str) -> str:
        """The name under which a handler module is imported into this process.

        It is another than the catalogue's where the program has a space of its own.
        """
        return module

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

    def collected(self) -> list[Mismatch] | None:
        """Where this thread's registrations leave their mismatches while `load` runs, or None."""
        collected = self._collected
        return collected[1] if collected and collected[0] == get_ident() else None
