"""The typed decorator of each generated tool module: ``@read_file.implements``.

One generic object a tool, rather than a list of overloads in one place: type checkers walk such a
list at every use, which takes a minute at a thousand tools where this takes a second.

A handler returns what its spec declares, or text: the error that `tool_error` makes.

A decorated function is handed back as it is; type checkers see it as a `Handler`. Its exact type
cannot be kept without losing the check for surplus parameters, so the type that is seen is the one
that tests and other handlers need: the tool's own arguments, any context by keyword, the declared
result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar, overload

if TYPE_CHECKING:
    from hermes_build.runtime.registry import ToolRegistry

A = TypeVar("A")
R = TypeVar("R")
A_contra = TypeVar("A_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

ToolResult: TypeAlias = str | Mapping[str, Any] | list[Any]
"""What a handler without an ``output_schema`` returns: text, or what becomes JSON text."""

Check: TypeAlias = Callable[[], bool]
Overrides: TypeAlias = Callable[[], Mapping[str, Any]]


class Handler(Protocol[A_contra, R_co]):
    """A decorated handler, called directly: its arguments, and context by keyword."""

    def __call__(self, args: A_contra, /, **context: Any) -> R_co:
        """Call the function itself: nothing is validated or filled in."""
        ...


class _Implements(Generic[A]):
    """What the three decorators are; what differs is what type checkers are told of them."""

    def __init__(self, tool: str, arguments: Any, digest: str, registry: ToolRegistry) -> None:
        self.tool = tool
        self.arguments = arguments
        self.digest = digest
        self._registry = registry

    def is_generated_for(self, tool: str) -> bool:
        """Whether the module of this object is the one that was generated for a tool."""
        return self.tool == tool

    def _register(
        self,
        handler: Any = None,
        /,
        *,
        check_fn: Check | None = None,
        dynamic_schema_overrides: Overrides | None = None,
    ) -> Any:
        """Register a handler. Raises `SchemaDriftError` where it does not fit the spec."""

        def register(function: Any) -> Any:
            self._registry.bind(
                self.tool,
                function,
                check_fn=check_fn,
                dynamic_schema_overrides=dynamic_schema_overrides,
                arguments=self.arguments,
                digest=self.digest,
            )
            return function

        return register if handler is None else register(handler)

    if not TYPE_CHECKING:  # type checkers are told of each decorator what it takes
        __call__ = _register


class Implements(_Implements[A], Generic[A, R]):
    """Registers the handler of a tool that its spec declares sync."""

    if TYPE_CHECKING:

        @overload
        def __call__(self, handler: Callable[[A], R | str], /) -> Handler[A, R | str]: ...
        @overload
        def __call__(
            self,
            /,
            *,
            check_fn: Check | None = None,
            dynamic_schema_overrides: Overrides | None = None,
        ) -> Callable[[Callable[[A], R | str]], Handler[A, R | str]]: ...
        def __call__(self, *handler: Any, **options: Any) -> Any:
            """Register a handler. Raises `SchemaDriftError` where it does not fit the spec."""


class AsyncImplements(_Implements[A], Generic[A, R]):
    """Registers the handler of a tool that its spec declares async."""

    if TYPE_CHECKING:

        @overload
        def __call__(
            self, handler: Callable[[A], Awaitable[R | str]], /
        ) -> Handler[A, Coroutine[Any, Any, R | str]]: ...
        @overload
        def __call__(
            self,
            /,
            *,
            check_fn: Check | None = None,
            dynamic_schema_overrides: Overrides | None = None,
        ) -> Callable[
            [Callable[[A], Awaitable[R | str]]], Handler[A, Coroutine[Any, Any, R | str]]
        ]: ...
        def __call__(self, *handler: Any, **options: Any) -> Any:
            """Register a handler. Raises `SchemaDriftError` where it does not fit the spec."""


class EitherImplements(_Implements[A], Generic[A, R]):
    """Registers the handler of a tool whose spec leaves sync or async to the handler."""

    if TYPE_CHECKING:

        @overload
        def __call__(
            self, handler: Callable[[A], R | str | Awaitable[R | str]], /
        ) -> Handler[A, Any]: ...
        @overload
        def __call__(
            self,
            /,
            *,
            check_fn: Check | None = None,
            dynamic_schema_overrides: Overrides | None = None,
        ) -> Callable[[Callable[[A], R | str | Awaitable[R | str]]], Handler[A, Any]]: ...
        def __call__(self, *handler: Any, **options: Any) -> Any:
            """Register a handler. Raises `SchemaDriftError` where it does not fit the spec."""
