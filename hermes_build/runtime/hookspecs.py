"""The hooks as pluggy knows them: their names, their arguments, and who implements them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import pluggy

from hermes_build.runtime.logs import warn
from hermes_build.runtime.shapes import is_coroutine_function

if TYPE_CHECKING:
    from hermes_build.runtime.coercion import Repair

PROJECT = "hermes_build"
"""pluggy's name for these hooks."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin as one that implements the hook of its name."""


class Specs:
    """The hooks around a call. Ids are text, empty where the caller gave none."""

    @hookspec
    def pre_tool_call(
        self,
        tool_name: str,
        args: dict[str, Any],
        session_id: str,
        task_id: str,
        tool_call_id: str,
        turn_id: str,
        repairs: tuple[Repair, ...],
    ) -> dict[str, str] | None:
        """Called once a call, with validated arguments, before its handler.

        Return None to let it pass, or ``{"action": "block", "message": ...}``. One that raises
        blocks too.
        """

    @hookspec
    def post_tool_call(
        self,
        tool_name: str,
        args: dict[str, Any],
        session_id: str,
        task_id: str,
        tool_call_id: str,
        turn_id: str,
        result: Any,
        duration_ms: int,
        status: str,
        error_type: str | None,
        error_message: str | None,
        repairs: tuple[Repair, ...],
    ) -> None:
        """Called once a call, whatever came of it; what it returns or raises changes nothing."""

    @hookspec
    def transform_tool_result(
        self,
        tool_name: str,
        args: dict[str, Any],
        session_id: str,
        task_id: str,
        tool_call_id: str,
        turn_id: str,
        result: Any,
        duration_ms: int,
        status: str,
        error_type: str | None,
        error_message: str | None,
        repairs: tuple[Repair, ...],
    ) -> str | None:
        """Called after ``post_tool_call``; the first text that is returned replaces the result."""


NAMES = tuple(name for name in vars(Specs) if not name.startswith("_"))


class _InOrder(pluggy.PluginManager):
    """Calls what was registered first, first: where pluggy calls what was registered last."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        opts = super().parse_hookimpl_opts(plugin, name)
        if opts and not (opts.get("tryfirst") or opts.get("wrapper") or opts.get("hookwrapper")):
            opts = {**opts, "trylast": True}
        return opts


def make_manager() -> pluggy.PluginManager:
    """A manager that knows the three hooks and nothing else."""
    manager = _InOrder(PROJECT)
    manager.add_hookspecs(Specs)
    return manager


def enter(manager: pluggy.PluginManager, plugin: object, name: str | None) -> None:
    """Register a plugin, and guard what may not break a call.

    Raises:
        ValueError: when it implements none of the hooks, or something that is none of them.
    """
    marked = [one for one in dir(plugin) if manager.parse_hookimpl_opts(plugin, one)]
    strange = [one for one in marked if one not in NAMES]
    if strange:
        known = ", ".join(NAMES)
        raise ValueError(f"{strange[0]!r} is no hook; the hooks are {known}")
    if not marked:
        raise ValueError(
            f"{plugin!r} implements no hook: mark a function called {', '.join(NAMES)} with "
            "`@hookimpl`"
        )
    for one in marked:
        if is_coroutine_function(getattr(plugin, one)):
            raise TypeError(f"the hook {one} must be a plain function: it is called without a loop")
    try:
        manager.register(plugin, name)
    except pluggy.PluginValidationError as error:
        raise ValueError(str(error)) from error
    for caller in manager.get_hookcallers(plugin) or ():
        if caller.name == "pre_tool_call":
            continue
        for implementation in caller.get_hookimpls():
            wraps = implementation.wrapper or implementation.hookwrapper
            if implementation.plugin is plugin and not wraps:
                # One observer that fails must not silence the others.
                implementation.function = _Guarded(caller.name, implementation.function)  # type: ignore[misc]


def asking(caller: pluggy.HookCaller) -> Callable[[dict[str, Any]], Any] | None:
    """What asks all that implement a hook, given the hook's arguments by name; None for nobody.

    pluggy sorts and checks once more at each call what was settled at registration, which costs
    more than the rest of a call. So it is left to call where a plugin wraps the others, and the
    same is done in its stead where none does.
    """
    implementations = caller.get_hookimpls()
    if not implementations:
        return None
    if any(one.wrapper or one.hookwrapper for one in implementations):
        return lambda values: caller(**values)
    # Each function with its arguments, and whether it takes them by name; None for all of them.
    listeners: list[tuple[Callable[..., Any], tuple[str, ...] | None, bool]] = []
    for one in reversed(implementations):
        if isinstance(one.plugin, _OneFunction):
            listeners.append((one.plugin.function, one.plugin.taken, True))
        else:
            function: Any = one.function
            listeners.append((getattr(function, "guarded", function), one.argnames, False))
    is_guarded = caller.name != "pre_tool_call"

    def ask(values: dict[str, Any]) -> list[Any]:
        answers = []
        for function, names, by_name in listeners:
            try:
                if names is None:
                    answer = function(**values)
                elif by_name:
                    answer = function(**{name: values[name] for name in names})
                else:
                    answer = function(*[values[name] for name in names])
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if not is_guarded:
                    raise
                warn("A %s hook failed: %s", caller.name, error)
            else:
                if answer is not None:
                    answers.append(answer)
        return answers

    return ask


def leave(manager: pluggy.PluginManager, plugin: object) -> bool:
    """Take a plugin back, or the plugins that were made of a function; whether there were any."""
    # Not by `is`: each look at a bound method makes another object, which equals the others.
    found = [
        one
        for one in manager.get_plugins()
        if one == plugin or (isinstance(one, _OneFunction) and one.function == plugin)
    ]
    for one in found:
        manager.unregister(one)
    return bool(found)


class _OneFunction:
    """A plugin that is one function for one hook; ``taken`` are the arguments, None for all."""

    def __init__(self, function: Callable[..., Any], taken: tuple[str, ...] | None) -> None:
        self.function = function
        self.taken = taken


def plugin_of(hook: str, function: Callable[..., Any]) -> object:
    """A plugin that calls one function, with those of the hook's arguments that it takes.

    Raises:
        ValueError: for a name that is no hook, or an argument that the hook does not have.
        TypeError: for what cannot be called, and for a coroutine function.
    """
    if hook not in NAMES:
        raise ValueError(f"{hook!r} is no hook; the hooks are {', '.join(NAMES)}")
    if is_coroutine_function(function):
        raise TypeError(f"a {hook} hook must be a plain function: it is called without a loop")
    spec = getattr(Specs, hook)
    known = list(inspect.signature(spec).parameters)[1:]
    taken = _taken(function, known, hook)

    # pluggy reads which arguments to pass from what is wrapped, and passes them in that order.
    @wraps(spec, updated=())
    def pick(*values: Any) -> Any:
        given = dict(zip(known, values, strict=True))
        return function(**{name: given[name] for name in taken})

    plugin = _OneFunction(function, None if taken == known else tuple(taken))
    setattr(plugin, hook, hookimpl(pick))
    return plugin


def _taken(function: Callable[..., Any], known: list[str], hook: str) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # built in, without a signature: it may take anything
        return known
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return known
    named = [one for one in parameters if one.kind is not one.VAR_POSITIONAL]
    for one in named:
        if one.kind is one.POSITIONAL_ONLY or (one.name not in known and one.default is one.empty):
            raise ValueError(
                f"the hook {hook} has no argument {one.name!r} to pass by name; it has "
                f"{', '.join(known)}"
            )
    return [one.name for one in named if one.name in known]


class _Guarded:
    """A function that observes: foreign code, which has no say, so that it cannot fail a call."""

    __slots__ = ("guarded", "hook")

    def __init__(self, hook: str, function: Callable[..., Any]) -> None:
        self.hook = hook
        self.guarded = function

    def __call__(self, *values: Any) -> Any:
        try:
            return self.guarded(*values)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            warn("A %s hook failed: %s", self.hook, error)
            return None
