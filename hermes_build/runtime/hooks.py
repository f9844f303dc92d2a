"""What a program registers around its calls: hooks, by pluggy, and middleware.

Hooks observe and decide: ``pre_tool_call`` may block a call, ``post_tool_call`` sees what came of
it, ``transform_tool_result`` may replace the text that the model gets. Middleware changes:
argument middleware what was sent, before it is validated; execution middleware how the handler
runs. Each kind is called in the order in which it was registered. Without listeners nothing is
built or called, and pluggy is not imported.
"""

from __future__ import annotations

from hermes_build.runtime.errors import Refusal, describe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hermes_build.runtime.call import Call
    from hermes_build.runtime.registry import ToolRegistry

NAMES = ("pre_tool_call", "post_tool_call", "transform_tool_result")

_IDS = ("session_id", "task_id", "tool_call_id", "turn_id")


class Hooks:
    """The hooks and the middleware of one registry."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._manager: Any = None
        self._before: Any = None
        self._after: Any = None
        self._transform: Any = None
        self._arguments: tuple[Callable[..., Any], ...] = ()
        self._execution: tuple[Callable[..., Any], ...] = ()

    @property
    def is_idle(self) -> bool:
        """Whether nothing at all is registered around calls."""
        return not (
            self._before or self._after or self._transform or self._arguments or self._execution
        )

    @property
    def wraps_execution(self) -> bool:
        """Whether there is execution middleware."""
        return bool(self._execution)

    # Registering.

    def register(self, plugin: object, name: str | None = None) -> None:
        """Register a pluggy plugin: an object whose methods are marked with ``@hookimpl``.

        Raises:
            ValueError: when it implements none of the hooks, marks a function that is none of
                them, takes an argument that a hook does not have, or is registered already.
        """
        from hermes_build.runtime.hookspecs import enter, make_manager

        with self._registry._lock:
            if self._manager is None:
                self._manager = make_manager()
            enter(self._manager, plugin, name)
            self._look()

    def add(self, hook: str, function: Callable[..., Any]) -> None:
        """Register one function for one hook; it takes those of the hook's arguments it names.

        Raises:
            ValueError: for a name that is no hook, or an argument that the hook does not have.
            TypeError: for what cannot be called, and for a coroutine function.
        """
        from hermes_build.runtime.hookspecs import plugin_of

        self.register(plugin_of(hook, function))

    def unregister(self, plugin: object) -> None:
        """Take a plugin back, or a function that `add` was given; no-op where it is not there."""
        from hermes_build.runtime.hookspecs import leave

        with self._registry._lock:
            if self._manager is not None:
                leave(self._manager, plugin)
                self._look()

    def add_argument_middleware(self, function: Callable[[str, Any, Call], Any]) -> None:
        """Let a function change what was sent: ``function(tool_name, args, call)``.

        It returns the arguments to go on with, or None to leave them; what comes out is validated.
        One that raises ends the call with an error, and the handler does not run.
        """
        self._demand_plain(function)
        with self._registry._lock:
            self._arguments = (*self._arguments, function)
            self._registry._changed()

    def add_execution_middleware(self, function: Callable[[Any, Call], Any]) -> None:
        """Let a function run around the handler: ``function(proceed, call)``.

        It returns the result: that of ``proceed()``, which goes on with the call's arguments, or
        with others that it is given, validated. Under `acall` it runs in a thread.
        """
        self._demand_plain(function)
        with self._registry._lock:
            self._execution = (*self._execution, function)
            self._registry._changed()

    def _demand_plain(self, function: Any) -> None:
        from hermes_build.runtime.shapes import is_coroutine_function

        if not callable(function) or is_coroutine_function(function):
            raise TypeError("middleware must be a plain function: it runs for sync callers too")

    def _look(self) -> None:
        from hermes_build.runtime.hookspecs import asking

        callers = (getattr(self._manager.hook, name) for name in NAMES)
        self._before, self._after, self._transform = map(asking, callers)
        self._registry._changed()

    # The stages of a call.

    def change_arguments(self, call: Call) -> Any:
        """What was sent, as argument middleware leaves it."""
        sent = call.args
        for function in self._arguments:
            changed = function(call.tool_name, sent, call)
            if changed is not None:
                sent = changed
        return sent

    def before(self, call: Call) -> None:
        """Ask the ``pre_tool_call`` hooks. Raises `Refusal` where one of them blocks or fails."""
        if self._before is None:
            return
        try:
            answers = self._before(_about(call))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a policy that fails must not open the door
            from hermes_build.runtime.masking import mask

            why = mask(describe(error))
            _log(f"A pre_tool_call hook failed, so {call.tool_name} is blocked", error)
            raise Refusal(
                f"Blocked: a policy check of {call.tool_name} failed ({why}).", kind="plugin_block"
            ) from error
        for answer in answers:
            message = _block(answer, call.tool_name)
            if message is not None:
                raise Refusal(message, kind="plugin_block")

    def execute(self, call: Call, handle: Callable[[dict[str, Any]], Any]) -> Any:
        """Run the handler within the execution middleware, the first of which is outermost."""
        if not self._execution:
            return handle(call.arguments)

        def step(position: int, arguments: dict[str, Any]) -> Any:
            if position == len(self._execution):
                return handle(arguments)

            def proceed(changed: Any = None) -> Any:
                onward = arguments
                if changed is not None and call.callee is not None:
                    onward = call.callee.accept(changed)
                return step(position + 1, onward)

            return self._execution[position](proceed, call)

        return step(0, call.arguments)

    def after(self, call: Call) -> None:
        """Tell the ``post_tool_call`` hooks what came of a call; what they return is ignored."""
        if self._after is None:
            return
        _derive_status(call)
        try:
            self._after(_outcome(call))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a wrapper; plain hooks are guarded one by one
            _log(f"A post_tool_call hook failed after {call.tool_name}", error)

    def transform(self, call: Call) -> Any:
        """The result as the model gets it: the first text that a hook returns, else as it is."""
        if self._transform is None:
            return call.result
        _derive_status(call)
        try:
            answers = self._transform(_outcome(call))
            for answer in answers if isinstance(answers, list) else ():
                if isinstance(answer, str):
                    from hermes_build.runtime.result import utf8

                    return utf8(answer)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a wrapper, or text that is none; others are guarded
            _log(f"A transform_tool_result hook failed after {call.tool_name}", error)
        return call.result


def _about(call: Call) -> dict[str, Any]:
    """What every hook is told of a call, made once a call."""
    about = call.about
    if about is None:
        about = call.about = {"tool_name": call.tool_name, "args": call.arguments}
        for name in _IDS:
            about[name] = call.identity(name)
        about["repairs"] = call.repairs
    return about


def _outcome(call: Call) -> dict[str, Any]:
    """The same, and what came of it; the hooks before the handler were told already."""
    about = _about(call)
    if "status" not in about:
        about["result"] = call.result
        about["duration_ms"] = call.duration_ms
        about["status"] = call.status
        about["error_type"] = call.error_type
        about["error_message"] = call.error_message
    return about


def _derive_status(call: Call) -> None:
    """Tell an error that a handler returned, as `tool_error` makes it, from a result."""
    try:
        _look_for_error(call)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # what an envelope holds is foreign, down to its truth
        _log(f"The result of {call.tool_name} cannot be looked at", error)


def _look_for_error(call: Call) -> None:
    result = call.result
    if call.status != "ok":
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
        call.status = "error"
        call.error_type = "tool_error"
        call.error_message = message


def _block(answer: Any, tool: str) -> str | None:
    """The message of a blocking answer, None for one that lets the call pass.

    Whatever is neither None nor understood blocks too: it was meant as something.
    """
    if answer is None:
        return None
    if isinstance(answer, dict) and answer.get("action") == "block":
        return str(answer.get("message") or f"Blocked: a policy does not allow {tool}.")
    if isinstance(answer, dict) and answer.get("action") == "allow":
        return None
    return (
        f"Blocked: a pre_tool_call hook answered {type(answer).__name__} for {tool}; it must "
        'return None, or {"action": "block", "message": ...}.'
    )


def _log(what: str, error: BaseException) -> None:
    from logging import getLogger

    getLogger("hermes_build.runtime").warning("%s: %s", what, describe(error))
