"""What the runtime logs holds no credential, wherever it comes from."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import compat, telemetry
from hermes_build.runtime.hookspecs import hookimpl
from hermes_build.runtime.registry import ToolRegistry
from tests.calls.one_tool import ANY, Make, error_of
from tests.runtime_program import tool, write_program

SECRET = "tigerlily99"


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """All that is logged, as the standard library writes it, tracebacks included."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter("%(levelname)s %(filename)s %(message)s"))
    logger = logging.getLogger("hermes_build.runtime")
    logger.addHandler(handler)
    yield text
    logger.removeHandler(handler)


def failing(*_: Any, **__: Any) -> Any:
    try:
        raise OSError(f"cannot log in with password={SECRET}")
    except OSError as error:
        raise RuntimeError(f"gone: postgres://ada:{SECRET}@db/x") from error


def test_a_failing_handler_leaves_its_whole_traceback_masked(make: Make, log: io.StringIO) -> None:
    registry = make(failing, ANY)
    assert SECRET not in error_of(registry.call("t", {}))
    written = log.getvalue()
    assert written.startswith("ERROR pipeline.py Tool t failed: RuntimeError: gone: postgres://ada")
    for part in ("Traceback", "OSError: cannot log in with password=[masked]", "in failing"):
        assert part in written
    assert "direct cause" in written and SECRET not in written


def test_a_record_holds_no_exception_that_something_else_might_format(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    make(failing, ANY).call("t", {})
    (record,) = caplog.records
    assert record.exc_info is None and SECRET not in repr(vars(record))


class Store:
    def save(self, *_: Any) -> Any:
        failing()


class Wrapper:
    @hookimpl(wrapper=True)
    def post_tool_call(self) -> Any:
        yield failing()

    @hookimpl(wrapper=True)
    def transform_tool_result(self) -> Any:
        yield failing()


def by_hook(name: str, registry: ToolRegistry) -> None:
    registry.hooks.add(name, failing)


def by_wrapper(name: str, registry: ToolRegistry) -> None:
    registry.hooks.register(Wrapper())


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda registry: by_hook("pre_tool_call", registry), "so t is blocked"),
        (lambda registry: by_hook("post_tool_call", registry), "A post_tool_call hook failed"),
        (lambda registry: by_hook("transform_tool_result", registry), "transform_tool_result hook"),
        (lambda registry: by_wrapper("post_tool_call", registry), "post_tool_call hook failed"),
        (lambda registry: setattr(registry, "store", Store()), "A result of t was not kept"),
    ],
    ids=["pre", "post", "transform", "wrapper", "store"],
)
def test_what_fails_around_a_handler_is_masked(
    make: Make, log: io.StringIO, prepare: Any, said: str
) -> None:
    registry = make(lambda args: "x" * 200_000, ANY)
    prepare(registry)
    registry.call("t", {})
    assert said in log.getvalue() and "[masked]" in log.getvalue()
    assert SECRET not in log.getvalue()


def test_failing_overrides_are_masked(tmp_path: Path, log: io.StringIO) -> None:
    record = tool("t", ANY, handler="external", dynamic=["/description"])
    registry = write_program(tmp_path, [record]).registry
    registry.register("t", handler=lambda args: "", dynamic_schema_overrides=failing)
    registry.session().definitions()
    assert "dynamic_schema_overrides of t" in log.getvalue() and SECRET not in log.getvalue()


def test_a_tool_module_that_fails_to_import_is_masked(
    tmp_path: Path, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = write_program(tmp_path, [tool("t", ANY, handler="external")]).registry
    folder = tmp_path / "masked_tools"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "broken.py").write_text(
        f"from masked_tools.registry import registry\nraise OSError('password={SECRET}')\n"
        "registry.register('t', handler=print)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = compat.install(registry, "masked_tools.registry")
    module.discover_builtin_tools()
    assert "masked_tools.broken cannot be imported" in log.getvalue()
    assert SECRET not in log.getvalue()


def test_failing_tracing_is_masked(log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "_warned", False)
    try:
        failing()
    except RuntimeError as error:
        telemetry._warn(error)
    assert "Tracing a tool call failed" in log.getvalue() and "Traceback" in log.getvalue()
    assert SECRET not in log.getvalue()


class Unprintable(Exception):
    def __str__(self) -> str:
        raise SystemExit


@pytest.mark.parametrize(
    "error", [Unprintable(), ValueError("half \ud83d of it")], ids=["", "half"]
)
def test_what_cannot_be_printed_is_logged_as_far_as_it_can(
    make: Make, log: io.StringIO, error: Exception
) -> None:
    def handler(args: dict[str, Any]) -> str:
        raise error

    error_of(make(handler, ANY).call("t", {}))
    log.getvalue().encode()
    assert f"Tool t failed: {type(error).__name__}" in log.getvalue()
    assert "in handler" in log.getvalue()
