"""What a call needs of one tool, made ready at its first call and kept."""

from __future__ import annotations

from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.result import deliver, error_text, told
from hermes_build.runtime.validation import Arguments, Output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hermes_build.runtime.dynamic import DynamicArguments
    from hermes_build.runtime.errors import ToolFailure
    from hermes_build.runtime.registry import ToolRegistry
    from hermes_build.runtime.shapes import Binding


class Callee:
    """One tool, ready to be called: the parts of a call, looked up once.

    ``fits`` tells that what a model sent can be handed on as it is; ``judge`` turns it into what a
    handler gets, or a `Refusal`; ``accept_reporting`` raises that, and tells what it repaired.
    ``handler`` takes ``(arguments, **context)`` whatever shape the registered function has.
    ``timeout`` is in seconds, None for none. Text of up to ``limit`` characters is a result as it
    is: -1 says that no text is, since it has to be looked at.
    """

    __slots__ = (
        "_limit",
        "_output",
        "_registry",
        "accept_reporting",
        "check",
        "fits",
        "handler",
        "has_requirements",
        "is_async",
        "is_plain",
        "judge",
        "limit",
        "may_wait",
        "name",
        "record",
        "timeout",
    )

    def __init__(self, registry: ToolRegistry, record: dict[str, Any], binding: Binding) -> None:
        self._registry = registry
        self.record = record
        self.name: str = record["name"]
        arguments = self._gate(registry, record)
        self.fits = arguments.fit_as_they_are
        self.judge = arguments.judge
        self.accept_reporting = arguments.accept_reporting
        self.handler: Callable[..., Any] = binding.call
        self.is_async: bool = binding.is_async
        self.timeout: float | None = record.get("timeout_seconds")
        self.check = registry.check_of(record)
        requires = record.get("requires", {})
        # A platform is what it is; everything else may come and go.
        self.has_requirements = bool(requires.keys() - {"platforms"}) or bool(
            requires and registry.availability.missing(record, None)
        )
        output = record.get("output_schema")
        self._output = None if output is None else Output(output)
        declared = record.get("max_result_chars")
        limit = registry.default_max_result_chars if declared is None else declared
        self._limit = limit if registry.shortens_results else float("inf")
        self.limit = self._limit if output is None else -1
        # What a program is asked at each call: checks, and what it rewrites of the schema.
        self.may_wait = self.has_requirements or not isinstance(arguments, Arguments)
        self.is_plain = not (self.is_async or self.may_wait or self.timeout is not None)

    def _gate(self, registry: ToolRegistry, record: dict[str, Any]) -> Arguments | DynamicArguments:
        if record.get("dynamic"):
            from hermes_build.runtime.dynamic import DynamicArguments, changes_validation

            if changes_validation(record):
                return DynamicArguments(registry, record)
        return Arguments(self.name, record["schema"]["parameters"])

    def refuse(self, failure: ToolFailure, call_id: str) -> Any:
        """What a model gets for a call that is refused, or whose handler says that it failed."""
        text = error_text(told(failure), failure.fields)
        return text if isinstance(failure, Refusal) else self.shorten(text, call_id)

    def deliver(self, result: Any) -> Any:
        """The result as a model gets it; see `hermes_build.runtime.result.deliver`."""
        return deliver(self.name, result, self._output)

    def shorten(self, result: Any, call_id: str) -> Any:
        """The result itself, or a preview of text that is longer than the tool may return."""
        if not isinstance(result, str) or len(result) <= self._limit:
            return result
        from hermes_build.runtime.store import within_limit

        return within_limit(self.name, result, int(self._limit), self._registry.store, call_id)
