"""What a registration says of its tool must be what the spec says."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from hermes_build.runtime.errors import SchemaDriftError
from hermes_build.runtime.registry import ToolRegistry
from tests.drift.registering import coroutine, kinds, plain
from tests.runtime_program import READ_FILE


def test_an_unknown_tool_is_refused_with_the_nearest_name(
    make: Callable[..., ToolRegistry],
) -> None:
    registry = make(aliases=["tea"])
    with pytest.raises(SchemaDriftError, match="Did you mean 't'") as caught:
        registry.register("T", handler=plain)
    [mismatch] = caught.value.mismatches
    assert (mismatch.kind, mismatch.code, mismatch.spec) == ("unknown-tool", "HB3002", None)
    with pytest.raises(SchemaDriftError, match="alias of 't'"):
        registry.register("tea", handler=plain)


def test_a_servers_tool_is_not_ours_to_handle(make: Callable[..., ToolRegistry]) -> None:
    with pytest.raises(SchemaDriftError) as caught:
        make(handler="server").register("t", handler=plain)
    assert [one.code for one in caught.value.mismatches] == ["HB3006"]


def test_the_toolset_must_be_the_declared_one(make: Callable[..., ToolRegistry]) -> None:
    registry = make()
    assert kinds(registry, plain, toolset="files") == ["toolset"]
    assert kinds(registry, plain, toolset="file") == []


def test_a_passed_schema_is_compared_as_a_value(make: Callable[..., ToolRegistry]) -> None:
    registry = make()
    ours = {
        "parameters": {**READ_FILE, "properties": dict(reversed(READ_FILE["properties"].items()))},  # type: ignore[attr-defined]
        "description": "The tool t.",
        "name": "t",
    }
    assert kinds(registry, plain, schema=ours) == []


@pytest.mark.parametrize(
    ("schema", "found", "says"),
    [
        (READ_FILE, ["bare-schema"], "bare JSON Schema"),
        ({"type": "function", "function": {}}, ["schema"], "whole definition"),
        ("schema", ["schema"], "must be a dict"),
        (
            {"name": "b", "description": "The tool t.", "parameters": READ_FILE},
            ["schema"],
            "at /name: 'b' in the handler, 't' in the spec",
        ),
        (
            {"name": "t", "description": "The tool t.", "parameters": READ_FILE, "strict": True},
            ["schema"],
            "at /strict: True in the handler, nothing in the spec",
        ),
        (
            {
                "name": "t",
                "description": "The tool t.",
                "parameters": {**READ_FILE, "additionalProperties": 0, "required": ["path", "x"]},
            },
            ["schema", "schema"],
            "at /parameters/additionalProperties: 0 in the handler, False in the spec",
        ),
    ],
)
def test_a_passed_schema_that_differs_says_where(
    make: Callable[..., ToolRegistry], schema: Any, found: list[str], says: str
) -> None:
    registry = make()
    assert kinds(registry, plain, schema=schema) == found
    with pytest.raises(SchemaDriftError) as caught:
        registry.register("t", schema=schema, handler=plain)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("declared", "handler", "said", "found"),
    [
        (True, coroutine, False, []),
        (True, plain, False, ["async"]),
        (True, plain, True, []),
        (False, plain, False, []),
        (False, coroutine, False, ["async"]),
        (False, plain, True, ["async"]),
        (None, plain, False, []),
        (None, coroutine, True, []),
    ],
)
def test_sync_or_async_must_be_as_declared(
    make: Callable[..., ToolRegistry],
    declared: bool | None,
    handler: Any,
    said: bool,
    found: list[str],
) -> None:
    assert kinds(make(is_async=declared), handler, is_async=said) == found


async def async_check() -> bool:
    return True


@pytest.mark.parametrize(
    ("declared", "check", "found"),
    [
        (True, lambda: True, []),
        (True, None, ["check-missing"]),
        (False, None, []),
        (False, lambda: True, ["check-surplus"]),
        (True, async_check, ["check-fn"]),
        (True, functools.partial(async_check), ["check-fn"]),
        (True, lambda tool: True, ["check-fn"]),
        (True, "yes", ["check-fn"]),
    ],
    ids=itertools.count(),
)
def test_a_check_function_is_there_exactly_where_the_spec_promises_one(
    make: Callable[..., ToolRegistry], declared: bool, check: Any, found: list[str]
) -> None:
    registry = make(requires={"check": True} if declared else None)
    assert kinds(registry, plain, check_fn=check) == found


def test_dynamic_overrides_need_a_dynamic_field(make: Callable[..., ToolRegistry]) -> None:
    found = kinds(make(), plain, dynamic_schema_overrides=dict)
    assert found == ["dynamic-surplus"]
    dynamic = make(dynamic=["/description"])
    assert kinds(dynamic, plain, dynamic_schema_overrides=lambda x: {}) == [
        "dynamic-schema-overrides"
    ]
    assert kinds(dynamic, plain, dynamic_schema_overrides=dict) == []


def test_requires_env_as_text_is_refused(make: Callable[..., ToolRegistry]) -> None:
    registry = make()
    assert kinds(registry, plain, requires_env="API_KEY") == ["requires-env"]
    assert kinds(registry, plain, requires_env=["API_KEY"]) == []


def test_all_mismatches_of_a_registration_come_together_with_both_places(
    make: Callable[..., ToolRegistry],
) -> None:
    registry = make(is_async=True, requires={"check": True})
    handler = lambda *, path, limit=1: ""  # noqa: E731 (its line is what is looked at)
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    with pytest.raises(SchemaDriftError) as caught:
        registry.register("t", toolset="web", handler=handler)
    error = caught.value
    assert [one.kind for one in error.mismatches] == [
        "toolset",
        "async",
        "check-missing",
        "missing-parameter",
        "default",
    ]
    for one in error.mismatches:
        assert one.spec == ("tool_specs/t.yaml", 1)
        assert one.handler == (__file__, line)
        assert one.message in str(error)
    assert f"{__file__}:{line}" in str(error)
    assert "tool_specs/t.yaml:1" in str(error)


def test_the_call_of_hermes_agent_registers_unchanged(
    make: Callable[..., ToolRegistry], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "x")
    registry = make(requires={"check": True, "env": ["KEY"]}, emoji="📖")
    schema = {"name": "t", "description": "The tool t.", "parameters": READ_FILE}
    registry.register(
        name="t",
        toolset="file",
        schema=schema,
        handler=lambda args, **kw: args["path"] + kw.get("task_id", ""),
        check_fn=lambda: True,
        requires_env=["KEY"],
        is_async=False,
        description="",
        emoji="📖",
        max_result_size_chars=float("inf"),
    )
    assert registry.dispatch("t", {"path": "a"}, task_id="b") == "ab"
