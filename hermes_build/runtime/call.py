"""One call on its way through the pipeline: what hooks, middleware and spans look at."""

from __future__ import annotations

from hermes_build.runtime.errors import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hermes_build.runtime.callee import Callee
    from hermes_build.runtime.coercion import Repair
    from hermes_build.runtime.registry import ToolRegistry
    from hermes_build.runtime.session import Session


def named(name: object) -> str:
    """The name that was called, as plain text; what is no text is described.

    Nothing of the name's own is run, which could fail at being compared or printed.
    """
    kind = type(name)
    if issubclass(kind, str):
        return str.__str__(name)
    return f"(a value of type {name_of(kind)}, which is no name)"


class Call:
    """What is known of one call, filled in as it proceeds.

    ``tool_name`` is the name that was called, and the tool's own name as soon as it is found;
    ``args`` what was sent; ``arguments`` what the handler gets, with ``repairs``. ``context`` goes
    to the handler as keywords. ``status`` is ``ok``, ``error``, ``blocked`` or ``cancelled``;
    ``error_type`` is a stable word for what went wrong, and ``error_message`` its sentence.
    ``callee`` is the tool that was found, and ``generation`` the registry's when that was.
    ``duration_ms`` is how long the handler ran, 0 where it did not. ``about`` is what hooks are
    told, as soon as one is.
    """

    __slots__ = (
        "about",
        "args",
        "arguments",
        "callee",
        "context",
        "duration_ms",
        "error_message",
        "error_type",
        "generation",
        "registry",
        "repairs",
        "result",
        "session",
        "status",
        "tool_name",
    )

    def __init__(
        self,
        registry: ToolRegistry,
        session: Session | None,
        tool_name: object,
        args: Any,
        context: dict[str, Any],
    ) -> None:
        self.registry = registry
        self.session = session
        self.tool_name = named(tool_name)
        self.args = args
        self.context = context
        self.callee: Callee | None = None
        self.generation = -1
        # By its type, since what a value says of its own class may raise.
        self.arguments: dict[str, Any] = args if issubclass(type(args), dict) else {}
        self.repairs: tuple[Repair, ...] = ()
        self.result: Any = None
        self.about: dict[str, Any] | None = None
        self.duration_ms = 0
        self.status = "ok"
        self.error_type: str | None = None
        self.error_message: str | None = None

    @property
    def record(self) -> dict[str, Any] | None:
        """The tool as its spec declares it; None while it is not found."""
        return self.callee.record if self.callee else None

    def identity(self, name: str) -> str:
        """An id of the context (``session_id``, ``task_id``, ...); empty where there is none."""
        value = self.context.get(name)
        if value is None or type(value) is str:
            return value or ""
        try:
            return str(value)
        except KeyboardInterrupt:
            raise
        except BaseException:  # whatever a program passes for an id, the call goes on
            return ""

    def derive_status(self) -> None:
        """Tell an error that a handler returned, as `tool_error` makes it, from a result."""
        try:
            self._look_for_error()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # what an envelope holds is foreign, down to its truth
            from hermes_build.runtime.logs import warn

            warn("The result of %s cannot be looked at: %s", self.tool_name, error)

    def _look_for_error(self) -> None:
        result = self.result
        if self.status != "ok":
            return
        if isinstance(result, str):
            # Text that could be an error object is worth parsing; the rest is not.
            if result.lstrip()[:1] != "{" or '"error"' not in result:
                return
            from json import loads

            try:
                result = loads(result)
            except (ValueError, RecursionError):
                return
        if isinstance(result, dict) and result.get("error"):
            message = str(result["error"])
            self.status = "error"
            self.error_type = "tool_error"
            self.error_message = message

    def fail(self, error_type: str, message: str, /, **fields: object) -> None:
        """Make an error of this call: its result is JSON text with ``error`` and ``fields``."""
        from hermes_build.runtime.result import error_text

        self.status = "blocked" if error_type == "plugin_block" else "error"
        self.error_type = str(fields.get("error_type", error_type))
        self.error_message = message
        self.result = error_text(message, fields)
