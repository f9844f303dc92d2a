"""What a program registers around its calls: hooks, by pluggy, and middleware.

Hooks observe and decide: ``pre_tool_call`` may block a call, ``post_tool_call`` sees what came of
it, ``transform_tool_result`` may replace the text that the model gets. Middleware changes:
argument middleware what was sent, before it is validated; execution middleware how the handler
runs. Each kind is called in the order in which it was registered. Without listeners nothing is
built or called, and pluggy is not imported.
"""

from __future__ import annotations

from hermes_build.runtime.errors import Refusal, describe
from hermes_build.runtime.freezing import freeze
from hermes_build.runtime.logs import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hermes_build.runtime.call import Call
    from hermes_build.runtime.registry import ToolRegistry

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

    def unregister(self, plugin: object) -> object | None:
        """Take back a plugin, a function that `add` was given, or middleware.

        Returns:
            What was taken back; None, as pluggy has it, where nothing of the kind was registered.
        """
        with self._registry._lock:
            arguments = tuple(one for one in self._arguments if one != plugin)
            execution = tuple(one for one in self._execution if one != plugin)
            found = arguments != self._arguments or execution != self._execution
            self._arguments, self._execution = arguments, execution
            if self._manager is not None:
                from hermes_build.runtime.hookspecs import leave

                found = leave(self._manager, plugin) or found
            if not found:
                return None
            self._look()
            return plugin

    def add_argument_middleware(self, function: Callable[[str, Any, Call], Any]) -> None:
        """Let a function change what was sent: ``function(tool_name, args, call)``.

        It returns the arguments to go on with, or None to leave them; what comes out is validated.
        One that raises ends the call with an error, and the handler does not run.
        """
        self._demand_plain(function)
        with self._registry._lock:
            self._arguments = (*self._arguments, function)
            self._look()

    def add_execution_middleware(self, function: Callable[[Any, Call], Any]) -> None:
        """Let a function run around the handler: ``function(proceed, call)``.

        It returns the result: that of ``proceed()``, which goes on with the call's arguments, or
        with others that it is given, validated. Under `acall` it runs in a thread.
        """
        self._demand_plain(function)
        with self._registry._lock:
            self._execution = (*self._execution, function)
            self._look()

    def _demand_plain(self, function: Any) -> None:
        from hermes_build.runtime.shapes import is_coroutine_function

        if not callable(function) or is_coroutine_function(function):
            raise TypeError("middleware must be a plain function: it runs for sync callers too")

    def _look(self) -> None:
        """Let what is registered by now take effect, under the lock."""
        if self._manager is not None:
            from hermes_build.runtime.hookspecs import NAMES, asking

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
        # Looked up once, here and below: meanwhile, another thread may take the last one back.
        ask = self._before
        if ask is None:
            if self._after is not None or self._transform is not None:
                _note(call)  # now, since a handler may write into its arguments
            return
        try:
            answers = ask(_about(call))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a policy that fails must not open the door
            from hermes_build.runtime.masking import mask

            why = mask(describe(error))
            warn("A pre_tool_call hook failed, so %s is blocked: %s", call.tool_name, error)
            raise Refusal(
                f"Blocked: a policy check of {call.tool_name} failed ({why}).", kind="plugin_block"
            ) from error
        for answer in answers:
            message = _block(answer, call.tool_name)
            if message is not None:
                raise Refusal(message, kind="plugin_block")

    def execute(self, call: Call, handle: Callable[[dict[str, Any]], Any]) -> Any:
        """Run the handler within the execution middleware, the first of which is outermost."""
        middleware = self._execution

        def step(position: int, arguments: dict[str, Any], told: dict[str, Any]) -> Any:
            # What all others see of a call is what its handler gets, and only `proceed` changes it.
            call.arguments = told
            if call.about is not None:
                call.about["args"] = told
                call.about["repairs"] = call.repairs
            if position == len(middleware):
                return handle(arguments)

            def proceed(changed: Any = None) -> Any:
                if changed is None or call.callee is None:
                    return step(position + 1, arguments, told)
                from copy import deepcopy

                # A copy, since parts of it may be frozen, as what middleware is told is.
                onward, repairs = call.callee.accept_reporting(deepcopy(changed))
                call.repairs = (*call.repairs, *repairs)
                return step(position + 1, onward, freeze(onward))

            return middleware[position](proceed, call)

        return step(0, call.arguments, freeze(call.arguments))

    def after(self, call: Call) -> None:
        """Tell the ``post_tool_call`` hooks what came of a call; what they return is ignored."""
        tell = self._after
        if tell is None:
            return
        call.derive_status()
        try:
            tell(_outcome(call))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a wrapper; plain hooks are guarded one by one
            warn("A post_tool_call hook failed after %s: %s", call.tool_name, error)

    def transform(self, call: Call) -> Any:
        """The result as the model gets it: the first text that a hook returns, else as it is."""
        ask = self._transform
        if ask is None:
            return call.result
        call.derive_status()
        try:
            answers = ask(_outcome(call))
            for answer in answers if isinstance(answers, list) else ():
                if isinstance(answer, str):
                    from hermes_build.runtime.result import utf8

                    return utf8(answer)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a wrapper, or text that is none; others are guarded
            warn("A transform_tool_result hook failed after %s: %s", call.tool_name, error)
        return call.result


def _about(call: Call) -> dict[str, Any]:
    """What every hook is told of a call, made once a call; nobody can change its arguments."""
    if call.about is None:
        call.about = _told(call, freeze(call.arguments))
    return call.about


def _note(call: Call) -> dict[str, Any]:
    """The same, also for arguments that were refused, which may fail at being frozen."""
    try:
        return _about(call)
    except KeyboardInterrupt:
        raise
    except BaseException:  # they hold themselves, or are foreign
        call.about = _told(call, call.arguments)
        return call.about


def _told(call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
    about: dict[str, Any] = {"tool_name": call.tool_name, "args": arguments}
    for name in _IDS:
        about[name] = call.identity(name)
    about["repairs"] = call.repairs
    return about


def _outcome(call: Call) -> dict[str, Any]:
    """The same, and what came of it; the hooks before the handler were told already."""
    about = _note(call)
    if "status" not in about:
        about["result"] = call.result
        about["duration_ms"] = call.duration_ms
        about["status"] = call.status
        about["error_type"] = call.error_type
        about["error_message"] = call.error_message
    return about


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
