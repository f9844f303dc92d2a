"""Whatever fails in a call is told in its answer; of all exceptions only an interrupt escapes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.calls.one_tool import ANY, Make, echo, error_of
from tests.runtime_program import tool, write_program


def test_an_unknown_tool_names_the_nearest(make: Make) -> None:
    registry = make(echo)
    assert "Unknown tool: tt" in error_of(registry.call("tt", {}))
    assert "Did you mean 't'?" in error_of(registry.call("T", {}))
    error_of(registry.call("\ud800", {}))
    error_of(registry.call("x" * 100_000, {}))
    error_of(registry.call(["t"], {}))  # type: ignore[arg-type]
    error_of(registry.call(None, {}))  # type: ignore[arg-type]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class UnspeakableExit(BaseException):
    def __repr__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("wrong"),
        SystemExit(3),
        asyncio.CancelledError(),
        Unspeakable(),
        UnspeakableExit(),
        RecursionError(),
        GeneratorExit(),
    ],
)
def test_nothing_that_a_handler_raises_escapes(make: Make, error: BaseException) -> None:
    def handler(args: dict[str, Any]) -> str:
        raise error

    assert type(error).__name__ in error_of(make(handler, ANY).call("t", {}))


def test_keyboard_interrupt_escapes(make: Make) -> None:
    def handler(args: dict[str, Any]) -> str:
        raise KeyboardInterrupt

    registry = make(handler, ANY)
    with pytest.raises(KeyboardInterrupt):
        registry.call("t", {})


def test_a_tool_that_nobody_bound_says_so(tmp_path: Path) -> None:
    registry = write_program(tmp_path, [tool("t", handler="external"), tool("u")]).registry
    assert "`handler: external`" in error_of(registry.call("t", {}))
    assert "No handler module registers" in error_of(registry.call("u", {}))


def test_a_credential_in_the_failure_of_a_handler_module_is_masked(tmp_path: Path) -> None:
    source = "raise RuntimeError('postgres://u:hunter2hunter2@h/ is not there')"
    record = tool("t", ANY, module="broken")
    registry = write_program(tmp_path, [record], handlers={"broken": source}).registry
    error = error_of(registry.call("t", {}))
    assert "fails to import" in error and "hunter2" not in error


def test_a_name_of_any_length_is_answered_in_short(make: Make) -> None:
    assert len(registry_answer := make(echo).call("x" * 1_000_000, {})) < 1_000
    assert "Unknown tool" in error_of(registry_answer)


@pytest.mark.parametrize("limit", [None, 0, -5, float("nan"), "10"])
def test_a_limit_that_is_none_is_refused_where_it_is_set(make: Make, limit: Any) -> None:
    with pytest.raises(ValueError, match="number of characters"):
        make(echo).default_max_result_chars = limit
