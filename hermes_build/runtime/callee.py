"""What a call needs of one tool, made ready at its first call and kept."""

from __future__ import annotations

from hermes_build.runtime.result import deliver
from hermes_build.runtime.validation import Arguments, output_check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hermes_build.runtime.shapes import Binding


class Callee:
    """One tool, ready to be called: the parts of a call, looked up once.

    ``accept`` turns what a model sent into what a handler gets, or raises `Refusal`; ``handler``
    takes ``(arguments, **context)`` whatever shape the registered function has.
    """

    __slots__ = ("accept", "fits_output", "handler", "is_async", "name")

    def __init__(self, record: dict[str, Any], binding: Binding) -> None:
        self.name: str = record["name"]
        self.accept = Arguments(self.name, record["schema"]["parameters"]).accept
        self.handler: Callable[..., Any] = binding.call
        self.is_async: bool = binding.is_async
        output = record.get("output_schema")
        self.fits_output = None if output is None else output_check(output)

    def deliver(self, result: Any) -> Any:
        """The result as a model gets it; see `hermes_build.runtime.result.deliver`."""
        return deliver(self.name, result, self.fits_output)
