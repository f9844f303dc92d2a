"""Whatever objects a program passes to a call, it is answered: nothing of theirs gets out of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import FolderStore, ToolRegistry
from hermes_build.runtime.errors import Refusal
from tests.contract.programs import error_of, one_tool, says

Ask = Callable[..., Any]


def _fail(*_: object, **__: object) -> Any:
    raise RuntimeError("hostile")


def _exit(*_: object, **__: object) -> Any:
    raise SystemExit(9)


SPECIAL = (
    "__eq__", "__hash__", "__str__", "__repr__", "__format__", "__len__", "__bool__", "__iter__",
    "__contains__", "__getitem__", "__int__", "__float__", "__index__", "__lt__", "__or__",
    "__ror__", "__add__", "get", "items", "keys", "values", "encode", "isascii", "strip",
)  # fmt: skip


def hostile(base: type, act: Callable[..., Any], *values: Any) -> Any:
    """An object all of whose methods raise, and which says nothing of its own class either."""
    methods: dict[str, Any] = dict.fromkeys(SPECIAL, act)
    methods["__class__"] = property(act)
    return type("Hostile", (base,), methods)(*values)


KINDS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "an object": lambda act: hostile(object, act),
    "text": lambda act: hostile(str, act, "t"),
    "an object of JSON": lambda act: hostile(dict, act, {"a": 1}),
    "a list": lambda act: hostile(list, act, [1]),
    "an integer": lambda act: hostile(int, act, 1),
    "a float": lambda act: hostile(float, act, 1.5),
}
ACTS = {"fails": _fail, "exits": _exit}
HOSTILE = [f"{kind} that {act}" for kind in KINDS for act in ACTS]


@pytest.fixture(params=HOSTILE, name="value")
def fixture_value(request: pytest.FixtureRequest) -> Callable[[], Any]:
    """Made by the test, since pytest looks at what it is given."""
    kind, _, act = request.param.partition(" that ")
    return lambda: KINDS[kind](ACTS[act])


AROUND = ("nothing", "hooks", "a store", "deferred tools")


@pytest.fixture(params=AROUND, name="caller", scope="module")
def fixture_caller(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Any:
    tmp_path = tmp_path_factory.mktemp("program")
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "minimum": 0, "default": 1},
            "b": {"type": ["string", "null"]},
            "c": {"type": "array", "items": {"enum": ["x"]}},
        },
    }
    registry = one_tool(tmp_path, says("ran"), schema)
    registry.call("t", {})  # ready, so that the next call is the short way
    if request.param == "hooks":
        for hook in ("pre_tool_call", "post_tool_call"):
            registry.hooks.add(hook, lambda tool_name, args, session_id: None)
    if request.param == "a store":
        registry.store = FolderStore(tmp_path / "results")
    deferred = ["t"] if request.param == "deferred tools" else []
    return registry.session(deferred=deferred)


WAYS: dict[str, Callable[[Any], Ask]] = {
    "call": lambda caller: caller.call,
    "acall": lambda caller: lambda *args, **context: asyncio.run(caller.acall(*args, **context)),
    "registry": lambda caller: caller.registry.call,
    "async registry": lambda caller: (
        lambda *args, **context: asyncio.run(caller.registry.acall(*args, **context))
    ),
}


def test_no_name_gets_out_of_a_call(caller: Any, value: Callable[[], Any]) -> None:
    is_text = issubclass(type(value()), str)
    for way in WAYS.values():
        answer = way(caller)(value(), {})
        if is_text:  # it is the text that it holds
            assert answer == "ran"
        else:
            told = "Unknown tool: (a value of type Hostile, which is no name)."
            assert error_of(answer) == told


def test_no_arguments_get_out_of_a_call(caller: Any, value: Callable[[], Any]) -> None:
    one = value()
    for way in WAYS.values():
        for args in (one, {"a": one}, {"b": one}, {"c": [one]}, {"d": {"e": one}}):
            for name in ("t", "tool_search", "tool_call"):
                assert isinstance(way(caller)(name, args), str)


def test_no_context_gets_out_of_a_call(caller: Any, value: Callable[[], Any]) -> None:
    for way in WAYS.values():
        for key in ("session_id", "task_id", "tool_call_id", "turn_id", "other"):
            assert isinstance(way(caller)("t", {}, **{key: value()}), str)


async def dropping(registry: ToolRegistry) -> None:
    """A call whose result asyncio does not get to print."""
    await registry.acall("t", {})


def test_no_result_or_refusal_gets_out_of_a_call(tmp_path: Path, value: Callable[[], Any]) -> None:
    def refuses(args: dict[str, Any]) -> str:
        raise Refusal("no", field=value())

    def says_no(args: dict[str, Any]) -> str:
        raise Refusal(value())

    def returns(args: dict[str, Any]) -> Any:
        return value()

    def holds(args: dict[str, Any]) -> Any:
        return {"_multimodal": True, "content": [value()], "error": value()}

    for number, handler in enumerate((refuses, says_no, returns, holds)):
        registry = one_tool(tmp_path / str(number), handler)
        for hooks in (False, True):
            if hooks:
                registry.hooks.add("post_tool_call", lambda result: None)
            for _ in range(2):
                registry.call("t", {})
                asyncio.run(dropping(registry))


@pytest.mark.parametrize("name", [[], {}, set(), None, 5, 5.0, b"t", object()])
def test_what_is_no_name_is_told(tmp_path: Path, name: Any) -> None:
    registry = one_tool(tmp_path, says("ran"))
    for caller in (registry, registry.session(), registry.session(deferred=["t"])):
        told = error_of(caller.call(name, {}))
        assert told == f"Unknown tool: (a value of type {type(name).__name__}, which is no name)."
        assert error_of(asyncio.run(caller.acall(name, {}))) == told


def test_a_member_of_an_enum_of_names_is_a_name(tmp_path: Path) -> None:
    class Tool(StrEnum):
        T = "t"
        FIND = "tool_search"

    registry = one_tool(tmp_path, says("ran"))
    session = registry.session(deferred=["t"])
    heard: list[Any] = []
    registry.hooks.add("post_tool_call", lambda tool_name: heard.append(type(tool_name)))
    assert [one.call(Tool.T, {}) for one in (registry, session)] == ["ran", "ran"]
    assert "tools" in session.call(Tool.FIND, {"query": "tool"})
    assert heard == [str, str]


def test_an_interrupt_gets_out_of_a_call(tmp_path: Path) -> None:
    def interrupt(*_: object) -> Any:
        raise KeyboardInterrupt

    registry: ToolRegistry = one_tool(tmp_path, says("ran"))
    with pytest.raises(KeyboardInterrupt):
        registry.call(hostile(object, interrupt), {})
