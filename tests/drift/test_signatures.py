"""A handler is accepted exactly when its signature can take the arguments of its spec."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hermes_build.runtime.registry import ToolRegistry
from tests.drift.registering import coroutine, kinds, plain


class Callee:
    def __call__(self, args: dict[str, Any]) -> str:
        return ""

    def method(self, args: dict[str, Any], **context: Any) -> str:
        return ""


class AsyncCallee:
    async def __call__(self, args: dict[str, Any]) -> str:
        return ""


@functools.wraps(plain)
def wrapped(*args: Any, **kwargs: Any) -> str:
    return plain(*args, **kwargs)


def generator(args: dict[str, Any]) -> Iterator[str]:
    yield ""


async def async_generator(args: dict[str, Any]) -> Any:
    yield ""


def keyword(*, path: str, offset: int = 1, limit: int = 500) -> str:
    return ""


def spoken(path: str, offset: int = 1, limit: int = 500) -> str:
    return ""


def keyword_context(*, path: str, offset: int, limit: int, task_id: str = "") -> str:
    return ""


@pytest.mark.parametrize(
    "handler",
    [
        plain,
        wrapped,
        Callee(),
        Callee().method,
        functools.partial(plain, extra=1),
        lambda args, **kw: "",
        lambda args: "",
        lambda a, task_id=None: "",
        lambda *args, **kw: "",
        keyword,
        spoken,
        keyword_context,
        coroutine,
        AsyncCallee(),
        functools.partial(coroutine),
    ],
    ids=itertools.count(),
)
def test_every_honest_shape_is_accepted(make: Callable[..., ToolRegistry], handler: Any) -> None:
    assert kinds(make(), handler) == []


@pytest.mark.parametrize(
    ("handler", "found"),
    [
        (lambda *, path, offset=1: "", ["missing-parameter"]),
        (lambda *, path, ofset=1, limit=500: "", ["missing-parameter", "surplus-parameter"]),
        (lambda *, path, offset=2, limit=500: "", ["default"]),
        (lambda *, path, offset=True, limit=500: "", ["default"]),
        (lambda *, path="", offset=1, limit=500: "", ["required"]),
        (lambda *, path, offset=1, limit=500, other: "", ["surplus-parameter"]),
        (lambda path, /, offset=1, limit=500: "", ["positional-only"]),
        (lambda: "", ["missing-parameter"] * 3),
        (lambda **kwargs: "", ["missing-parameter"] * 3),
        (lambda args, other: "", ["surplus-parameter"]),
        (lambda args, *, other, **context: "", ["surplus-parameter"]),
        (generator, ["async"]),
        (async_generator, ["async"]),
        (None, ["not-callable"]),
        ("handler", ["not-callable"]),
    ],
    ids=itertools.count(),
)
def test_a_signature_that_does_not_fit_is_refused(
    make: Callable[..., ToolRegistry], handler: Any, found: list[str]
) -> None:
    assert kinds(make(), handler) == found


def test_an_optional_property_without_a_default_needs_one_in_the_handler(
    make: Callable[..., ToolRegistry],
) -> None:
    registry = make({"type": "object", "properties": {"a": {"type": "string"}}})
    assert kinds(registry, lambda *, a: "") == ["required"]
    assert kinds(registry, lambda *, a=None: "") == []


def test_a_default_that_is_never_filled_in_does_not_count(
    make: Callable[..., ToolRegistry],
) -> None:
    part = {"type": "string", "default": None}
    registry = make({"type": "object", "properties": {"a": part}})
    assert kinds(registry, lambda *, a: "") == ["required"]
    assert kinds(registry, lambda *, a=None: "") == []


@pytest.mark.parametrize("name", ["class", "a-b", "2nd", ""])
def test_a_property_that_is_no_python_name_calls_for_a_dict(
    make: Callable[..., ToolRegistry], name: str
) -> None:
    registry = make({"type": "object", "properties": {name: {"type": "string"}}})
    assert kinds(registry, lambda *, x=1: "") == ["keyword-name"]
    assert kinds(registry, plain) == []


@pytest.mark.parametrize("name", ["args", "kwargs", "self", "cls", "_path"])
def test_property_names_have_no_meaning_of_their_own(
    make: Callable[..., ToolRegistry], name: str
) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    registry = make(schema)
    registry.register("t", handler=lambda args, **kw: args[name])
    assert registry.call("t", {name: "x"}) == "x"
    namespace: dict[str, Any] = {}
    exec(f"def handler(*, {name}): return {name}", namespace)
    registry.register("t", handler=namespace["handler"], override=True)
    assert registry.call("t", {name: "x"}) == "x"
