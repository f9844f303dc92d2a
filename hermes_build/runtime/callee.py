"""What a call needs of one tool, made ready at its first call and kept."""

from __future__ import annotations

from hermes_build.runtime.result import deliver
from hermes_build.runtime.validation import Arguments, Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hermes_build.runtime.shapes import Binding


class Callee:
    """One tool, ready to be called: the parts of a call, looked up once.

    ``fits`` tells that what a model sent can be handed on as it is; ``accept`` turns it into what a
    handler gets, or raises `Refusal`. ``handler`` takes ``(arguments, **context)`` whatever shape
    the registered function has, and ``returns_text`` tells that it is sync and may return any text.
    """

    __slots__ = ("_output", "accept", "fits", "handler", "is_async", "name", "returns_text")

    def __init__(self, record: dict[str, Any], binding: Binding) -> None:
        self.name: str = record["name"]
        arguments = Arguments(self.name, record["schema"]["parameters"])
        self.fits = arguments.fit_as_they_are
        self.accept = arguments.accept
        self.handler: Callable[..., Any] = binding.call
        self.is_async: bool = binding.is_async
        output = record.get("output_schema")
        self._output = None if output is None else Output(output)
        self.returns_text = output is None and not binding.is_async

    def deliver(self, result: Any) -> Any:
        """The result as a model gets it; see `hermes_build.runtime.result.deliver`."""
        return deliver(self.name, result, self._output)
