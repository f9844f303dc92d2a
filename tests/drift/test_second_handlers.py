"""A tool has one handler; another takes its place only where that is meant."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.errors import SchemaDriftError
from hermes_build.runtime.registry import ToolRegistry
from tests.drift.registering import EMPTY, kinds, plain
from tests.runtime_program import tool, write_program


def test_a_second_handler_is_refused_and_the_first_stays(
    make: Callable[..., ToolRegistry],
) -> None:
    registry = make(EMPTY)
    registry.register("t", handler=lambda args: "first")
    with pytest.raises(SchemaDriftError) as caught:
        registry.register("t", handler=lambda args: "second")
    [mismatch] = caught.value.mismatches
    assert (mismatch.kind, mismatch.code) == ("duplicate", "HB3003")
    assert __file__ in mismatch.message
    assert registry.call("t", {}) == "first"


def test_two_functions_of_one_name_in_one_module_are_two_handlers(
    make: Callable[..., ToolRegistry],
) -> None:
    registry = make(EMPTY)

    def factory(text: str) -> Any:
        def handler(args: dict[str, Any]) -> str:
            return text

        return handler

    registry.register("t", handler=factory("first"))
    assert kinds(registry, factory("second")) == ["duplicate"]


def test_the_very_same_function_may_register_again(make: Callable[..., ToolRegistry]) -> None:
    registry = make()
    assert kinds(registry, plain) == kinds(registry, plain) == []


def test_override_replaces_and_is_logged(
    make: Callable[..., ToolRegistry], caplog: pytest.LogCaptureFixture
) -> None:
    registry = make(EMPTY)
    registry.register("t", handler=lambda args: "first")
    assert registry.call("t", {}) == "first"
    registry.register("t", handler=lambda args: "second", override=True)
    assert registry.call("t", {}) == "second"
    assert "handler of t is replaced" in caplog.text
    assert kinds(registry, lambda *, x: "", override=True) == ["surplus-parameter"]
    assert registry.call("t", {}) == "second"


def test_a_reloaded_module_replaces_its_own_handlers(tmp_path: Path) -> None:
    source = (
        "from {generated}.tools import a\n\n@a.implements\ndef handler(args):\n    return 'old'\n"
    )
    program = write_program(tmp_path, [tool("a", EMPTY, module="m")], handlers={"m": source})
    registry = program.registry
    assert registry.call("a", {}) == "old"
    path = tmp_path / program.handlers / "m.py"
    path.write_text(path.read_text().replace("'old'", "'newer'"))
    importlib.reload(sys.modules[f"{program.handlers}.m"])
    assert registry.call("a", {}) == "newer"
