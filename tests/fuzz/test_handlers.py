"""Any handler, any hooks, any caller: a call is answered, and its answer is no lie."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_build.runtime import Plugin, ToolRegistry
from tests.fuzz.behaviours import BEHAVIOURS, ERRORS, NO_RESULTS, Behaviour, carried, raising
from tests.fuzz.json_data import ANYTHING
from tests.runtime_program import write_program

MANY = settings(
    max_examples=120,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

OPEN = {"type": "object", "properties": {"a": {"type": "integer"}}}

WAYS: dict[str, Callable[[ToolRegistry, Any, dict[str, Any]], Any]] = {
    "call": lambda registry, args, context: registry.call("t", args, **context),
    "acall": lambda registry, args, context: asyncio.run(registry.acall("t", args, **context)),
    "session": lambda registry, args, context: registry.session().call("t", args, **context),
    "in a loop": lambda registry, args, context: asyncio.run(_within(registry, args, context)),
    "deferred": lambda registry, args, context: registry.session(deferred=["extra"]).call(
        "tool_call", {"name": "t", "arguments": args}, **context
    ),
}


async def _within(registry: ToolRegistry, args: Any, context: dict[str, Any]) -> Any:
    return registry.call("t", args, **context)


@pytest.fixture(name="plugin")
def fixture_plugin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plugin]:
    logging.disable(logging.CRITICAL)  # a thousand tracebacks of handlers tell nobody anything
    yield write_program(tmp_path_factory.mktemp("program"), []).registry.plugin("p")
    logging.disable(logging.NOTSET)


def register(plugin: Plugin, act: Callable[[Any], Any], is_async: bool, **fields: Any) -> list[Any]:
    """Register the tool, and return the list of the arguments that it will be given."""
    seen: list[Any] = []

    def sync(args: dict[str, Any], **context: Any) -> Any:
        seen.append(copy.deepcopy(args))
        return act(args)

    async def asynchronous(args: dict[str, Any], **context: Any) -> Any:
        seen.append(copy.deepcopy(args))
        await asyncio.sleep(0)
        return act(args)

    schema = {"name": "t", "description": "A tool.", "parameters": OPEN}
    handler = asynchronous if is_async else sync
    plugin.register("t", "extra", schema, handler, replace=True, **fields)
    return seen


def is_error(answer: Any) -> bool:
    if type(answer) is not str:
        return False
    answer.encode()
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and isinstance(value.get("error"), str)


@pytest.mark.filterwarnings("error")
@MANY
@given(
    behaviour=BEHAVIOURS,
    is_async=st.booleans(),
    way=st.sampled_from([*WAYS]),
    has_limit=st.booleans(),
)
def test_an_answer_is_what_the_handler_returned_or_an_error(
    plugin: Plugin, behaviour: Behaviour, is_async: bool, way: str, has_limit: bool
) -> None:
    limit = {"timeout_seconds": 60} if has_limit else {}
    seen = register(plugin, behaviour.act, is_async, **limit)
    for _ in range(2):
        args = {"a": 1}
        answer = WAYS[way](plugin._registry, args, {"task_id": "x"})
        if behaviour.expected is None:
            assert is_error(answer), answer
        else:
            assert behaviour.expected(answer), answer
        if behaviour.label != "mutates":
            assert args == {"a": 1}
    assert seen == [{"a": 1}] * 2


def answering(value: Any) -> Callable[..., Any]:
    return lambda **_: value


def failing(make: Callable[[], BaseException]) -> Callable[..., Any]:
    def hook(**_: Any) -> Any:
        raise make()

    return hook


ALLOWED = [None, {"action": "allow"}]
MISBEHAVING = st.one_of(
    st.builds(failing, st.sampled_from(ERRORS)),
    st.builds(answering, ANYTHING),
    st.builds(lambda make: lambda **_: make(), st.sampled_from(NO_RESULTS[:12])),
)


@MANY
@given(data=st.data(), way=st.sampled_from([*WAYS]), is_async=st.booleans())
def test_hooks_that_misbehave_block_before_and_change_nothing_after(
    plugin: Plugin, data: st.DataObject, way: str, is_async: bool
) -> None:
    registry = plugin._registry
    before = data.draw(st.one_of(st.none(), MISBEHAVING))
    after = data.draw(st.lists(MISBEHAVING, max_size=2))
    changed = data.draw(st.one_of(st.none(), ANYTHING, st.sampled_from(ERRORS)))
    seen = register(plugin, lambda args: "ran", is_async)
    heard: list[tuple[str, str]] = []
    added: list[Callable[..., Any]] = []

    def add(hook: str, function: Callable[..., Any]) -> None:
        registry.hooks.add(hook, function)
        added.append(function)

    def transform(**_: Any) -> Any:
        if callable(changed):
            raise changed()
        return changed

    if before is not None:
        add("pre_tool_call", before)
    for one in after:
        add("post_tool_call", one)
    add("post_tool_call", lambda status, result: heard.append((status, result)))
    add("transform_tool_result", transform)
    try:
        answer = WAYS[way](registry, {"a": 1}, {})
    finally:
        for function in added:
            registry.hooks.unregister(function)
    ((status, result),) = heard
    assert status == ("ok" if seen else "blocked")
    assert result == "ran" if seen else is_error(result)
    assert bool(seen) is _lets_pass(before)
    assert answer == (carried(changed) if isinstance(changed, str) else result)
    assert registry.call("t", {"a": 2}) == "ran"


def _lets_pass(hook: Callable[..., Any] | None) -> bool:
    if hook is None:
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = hook()
    except BaseException:
        return False
    return answer is None or (isinstance(answer, dict) and answer.get("action") == "allow")


MIDDLE: dict[str, tuple[Callable[..., Any], bool]] = {
    "goes on": (lambda proceed, call: proceed(), True),
    "goes on with the arguments": (lambda proceed, call: proceed(call.arguments), True),
    "goes on with what does not fit": (lambda proceed, call: proceed({"a": "x"}), False),
    "goes on with no arguments": (lambda proceed, call: proceed([]), False),
    "does not go on": (lambda proceed, call: None, False),
    "answers by itself": (lambda proceed, call: {"a": float("nan")}, False),
}


@MANY
@given(data=st.data(), way=st.sampled_from([*WAYS]), is_async=st.booleans())
def test_middleware_that_misbehaves_makes_an_error(
    plugin: Plugin, data: st.DataObject, way: str, is_async: bool
) -> None:
    registry = plugin._registry
    hooks = registry.hooks
    kinds = data.draw(st.lists(st.sampled_from([*MIDDLE, "raises"]), max_size=3))
    sent = data.draw(st.one_of(st.none(), ANYTHING, st.sampled_from(ERRORS)))
    behaviour = data.draw(st.one_of(BEHAVIOURS, st.builds(raising, st.sampled_from(ERRORS))))
    seen = register(plugin, behaviour.act, is_async)

    def before(name: str, args: Any, call: Any) -> Any:
        if callable(sent):
            raise sent()
        return sent

    def around(proceed: Any, call: Any) -> Any:
        raise data.draw(st.sampled_from(ERRORS))()

    hooks.add_argument_middleware(before)
    for kind in kinds:
        hooks.add_execution_middleware(around if kind == "raises" else MIDDLE[kind][0])
    try:
        args = {"a": 1}
        answer = WAYS[way](registry, args, {})
        all_go_on = all(kind in MIDDLE and MIDDLE[kind][1] for kind in kinds)
        assert len(seen) <= 1
        assert all_go_on or not seen
        if not seen or behaviour.expected is None:
            assert is_error(answer)
        else:
            assert behaviour.expected(answer)
        assert all(isinstance(one.get("a", 0), int) for one in seen)
        if behaviour.label != "mutates":
            assert args == {"a": 1}
    finally:
        # There is no way to take middleware back, and the next example begins anew.
        hooks._arguments = hooks._execution = ()
        registry._changed()


@settings(MANY, max_examples=15)
@given(
    way=st.sampled_from([*WAYS]),
    is_async=st.booleans(),
    late=st.sampled_from(["waits", "waits, deaf to its cancelling"]),
)
def test_a_handler_that_hangs_is_answered_for_whatever_it_does_then(
    plugin: Plugin, way: str, is_async: bool, late: str
) -> None:
    over = threading.Event()

    def wait(args: dict[str, Any]) -> Any:
        over.wait()
        raise SystemExit(1)

    async def await_(args: dict[str, Any]) -> Any:
        while not over.is_set():
            try:
                await asyncio.sleep(0.001)
            except asyncio.CancelledError:
                if late == "waits":
                    raise
                over.set()
        raise SystemExit(1)

    handler = await_ if is_async else wait
    schema = {"name": "t", "description": "A tool.", "parameters": OPEN}
    plugin.register("t", "extra", schema, handler, timeout_seconds=0.02, replace=True)
    try:
        answer = WAYS[way](plugin._registry, {}, {})
    finally:
        over.set()
    assert is_error(answer)
    assert "timed out" in answer


@MANY
@given(name=ANYTHING, args=ANYTHING, context=st.dictionaries(st.text(max_size=3), ANYTHING))
def test_any_name_and_any_context_is_answered(
    plugin: Plugin, name: Any, args: Any, context: dict[str, Any]
) -> None:
    register(plugin, lambda args: "ran", False)
    registry = plugin._registry
    context.pop("name", None)
    context.pop("args", None)
    before = copy.deepcopy((name, args))
    session = registry.session(deferred=["extra"])
    ways = [registry.call, session.call]
    ways += [partial(_run, registry.acall), partial(_run, session.acall)]
    for call in ways:
        assert is_error(call(name, args, **context))
    assert repr((name, args)) == repr(before)
    ids = {"task_id": name, "session_id": args, "tool_call_id": name, "turn_id": args}
    assert registry.call("t", {}, **{**ids, **context}) == "ran"


def _run(call: Callable[..., Any], *args: Any, **context: Any) -> Any:
    return asyncio.run(call(*args, **context))
