"""Plugins and functions that listen come in order, leave without a trace, and fit their hooks."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_build.runtime.hookspecs import hookimpl
from tests.calls.one_tool import ANY, Make, echo


class Plugin:
    def __init__(self, name: str, seen: list[str]) -> None:
        self.name = name
        self.seen = seen

    @hookimpl
    def pre_tool_call(self, tool_name: str) -> None:
        self.seen.append(self.name)


class Urgent:
    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    @hookimpl(tryfirst=True)
    def pre_tool_call(self) -> None:
        self.seen.append("urgent")


def test_pluggy_plugins_are_called_in_the_order_of_registration_and_can_leave(make: Make) -> None:
    registry = make(lambda args: "done", ANY)
    seen: list[str] = []
    first, second = Plugin("first", seen), Plugin("second", seen)
    registry.hooks.register(first)
    registry.hooks.register(second)
    registry.hooks.register(Urgent(seen))
    registry.call("t", {})
    assert seen == ["urgent", "first", "second"]
    registry.hooks.unregister(first)
    seen.clear()
    registry.call("t", {})
    assert seen == ["urgent", "second"]
    with pytest.raises(ValueError, match="already registered"):
        registry.hooks.register(second)


class Around:
    """Wraps all others, as plugins of pluggy may."""

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    @hookimpl(wrapper=True)
    def post_tool_call(self, tool_name: str) -> Any:
        self.seen.append("before")
        answers = yield
        self.seen.append("after")
        return answers

    @hookimpl(wrapper=True)
    def transform_tool_result(self) -> Any:
        answers = yield
        return [f"<{one}>" for one in answers]


def test_a_wrapper_is_around_all_others_and_one_that_fails_does_not_silence_them(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    registry = make(lambda args: "done", ANY)
    seen: list[Any] = []

    def failing() -> None:
        raise RuntimeError("audit is down")

    registry.hooks.add("post_tool_call", failing)
    registry.hooks.add("transform_tool_result", failing)
    registry.hooks.add("post_tool_call", lambda tool_name: seen.append(tool_name))
    registry.hooks.add("transform_tool_result", lambda result: f"({result})")
    registry.hooks.register(Around(seen))
    assert registry.call("t", {}) == "<(done)>"
    assert seen == ["before", "t", "after"]
    assert [one for one in caplog.messages if "audit is down" in one] == [
        f"A {hook} hook failed: RuntimeError: audit is down"
        for hook in ("post_tool_call", "transform_tool_result")
    ]


def test_a_function_that_was_added_can_be_taken_back(make: Make) -> None:
    registry = make(lambda args: "done", ANY)
    seen: list[str] = []

    def hook(tool_name: str) -> None:
        seen.append(tool_name)

    registry.hooks.add("pre_tool_call", hook)
    registry.hooks.unregister(hook)
    registry.call("t", {})
    assert not seen and registry.hooks.is_idle


class Counter:
    """A listener with a method for hooks, and one for middleware of either kind."""

    def __init__(self) -> None:
        self.seen = 0

    def hear(self, tool_name: str) -> None:
        self.seen += 1

    def change(self, *_: Any) -> None:
        self.seen += 1

    def wrap(self, proceed: Any, call: Any) -> Any:
        self.seen += 1
        return proceed()


def test_bound_methods_and_middleware_can_be_taken_back(make: Make) -> None:
    registry = make(lambda args: "done", ANY)
    mine, other = Counter(), Counter()
    for one in (mine, other):
        for hook in ("pre_tool_call", "post_tool_call"):
            registry.hooks.add(hook, one.hear)
        registry.hooks.add_argument_middleware(one.change)
        registry.hooks.add_execution_middleware(one.wrap)
    registry.call("t", {})
    assert mine.seen == other.seen == 4
    for method in (mine.hear, mine.change, mine.wrap):
        assert registry.hooks.unregister(method) == method
    registry.call("t", {})
    assert (mine.seen, other.seen) == (4, 8)
    for method in (other.hear, other.change, other.wrap):
        registry.hooks.unregister(method)
    assert registry.hooks.is_idle


def test_taking_back_what_is_not_there_says_so(make: Make) -> None:
    registry = make(lambda args: "done", ANY)
    assert registry.hooks.unregister(Counter().hear) is None
    plugin = Plugin("a", [])
    registry.hooks.register(plugin)
    generation = registry.generation
    assert registry.hooks.unregister(Plugin("a", [])) is None
    assert registry.generation == generation
    assert registry.hooks.unregister(plugin) is plugin
    assert registry.hooks.unregister(plugin) is None


@pytest.mark.parametrize("hook", ["post_tool_call", "transform_tool_result"])
def test_a_listener_that_leaves_during_a_call_breaks_nothing(
    make: Make, hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    def listener() -> None:
        seen.append(hook)

    class Leaving:
        """What is asked for its text between the look for listeners and the call of them."""

        def __str__(self) -> str:
            registry.hooks.unregister(listener)
            return "left"

    seen: list[str] = []
    envelope = {"_multimodal": True, "content": [], "error": Leaving()}
    registry = make(lambda args: envelope, ANY)
    registry.hooks.add(hook, listener)
    assert registry.call("t", {}) is envelope
    assert (seen, caplog.messages) == ([hook], [])
    assert registry.hooks.is_idle


class Misspelt:
    @hookimpl
    def pre_tol_call(self) -> None: ...


class Empty:
    def pre_tool_call(self) -> None:
        """Lacks the mark."""


class Strange:
    @hookimpl
    def pre_tool_call(self, arguments: Any) -> None: ...


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (Misspelt(), "'pre_tol_call' is no hook"),
        (Empty(), "implements no hook"),
        (Strange(), "arguments"),
    ],
)
def test_a_plugin_that_could_never_be_called_is_refused(
    make: Make, plugin: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(echo).hooks.register(plugin)


def test_a_coroutine_function_is_no_hook(make: Make) -> None:
    async def hook() -> None: ...

    registry = make(echo)
    for register in (
        lambda: registry.hooks.add("pre_tool_call", hook),
        lambda: registry.hooks.add_argument_middleware(hook),  # type: ignore[arg-type]
        lambda: registry.hooks.add_execution_middleware(hook),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="plain function"):
            register()
