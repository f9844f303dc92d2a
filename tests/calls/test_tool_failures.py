"""A handler that raises `ToolFailure` answers with its message and fields, and no more."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime import FolderStore, ToolFailure
from tests.calls.one_tool import ANY, Make, error_of

Ways = pytest.mark.parametrize("is_async", [False, True])
Asked = pytest.mark.parametrize("with_hooks", [False, True])


def failing(message: str, is_async: bool = False, **fields: Any) -> Any:
    def handler(args: dict[str, Any]) -> str:
        raise ToolFailure(message, **fields)

    async def later(args: dict[str, Any]) -> str:
        return handler(args)

    return later if is_async else handler


@Ways
@Asked
def test_it_is_the_answer_as_it_stands(make: Make, is_async: bool, with_hooks: bool) -> None:
    registry = make(failing("No such café.", is_async, city="Åbo", error_type="lost"), ANY)
    seen: list[tuple[str, str | None, str | None]] = []
    if with_hooks:
        registry.hooks.add(
            "post_tool_call",
            lambda status, error_type, error_message: seen.append(
                (status, error_type, error_message)
            ),
        )
    wanted = {"error": "No such café.", "city": "Åbo", "error_type": "lost"}
    assert json.loads(registry.call("t", {})) == wanted
    assert json.loads(asyncio.run(registry.acall("t", {}))) == wanted
    assert json.loads(registry.session().call("t", {})) == wanted
    assert set(seen) == ({("error", "lost", "No such café.")} if with_hooks else set())


def test_hooks_see_what_they_see_of_a_returned_error(make: Make) -> None:
    registry = make(failing("No such city."), ANY)
    seen: list[str | None] = []
    registry.hooks.add("post_tool_call", lambda error_type: seen.append(error_type))
    registry.call("t", {})
    assert seen == ["tool_error"]


@Asked
def test_credentials_in_the_message_are_masked(make: Make, with_hooks: bool) -> None:
    registry = make(failing("login failed: password=tigerlily99 at https://a:hunter2@db/"), ANY)
    if with_hooks:
        registry.hooks.add("post_tool_call", lambda: None)
    answer = error_of(registry.call("t", {}))
    assert answer.startswith("login failed: ")
    assert "tigerlily99" not in answer and "hunter2" not in answer


@Ways
def test_one_that_is_too_long_is_kept_like_any_result(
    make: Make, tmp_path: Path, is_async: bool
) -> None:
    registry = make(failing("It stopped.", is_async, output="x" * 5_000), ANY, max_result_chars=900)
    registry.store = FolderStore(tmp_path / "kept")
    for answer in (registry.call("t", {}), asyncio.run(registry.acall("t", {}))):
        assert len(answer) < 2_000
    kept = [path.read_text() for path in (tmp_path / "kept").glob("*.txt")]
    whole = {"error": "It stopped.", "output": "x" * 5_000}
    assert [json.loads(one.replace("\n", "")) for one in kept] == [whole]  # long lines are folded


@Asked
@pytest.mark.parametrize(
    "fields", [{"error": "twice"}, {"value": object()}, {"value": float("nan")}]
)
def test_fields_that_cannot_be_told_do_not_lose_the_message(
    make: Make, with_hooks: bool, fields: dict[str, Any]
) -> None:
    registry = make(failing("It stopped.", **fields), ANY)
    if with_hooks:
        registry.hooks.add("post_tool_call", lambda: None)
    assert "It stopped." in error_of(registry.call("t", {}))


def test_a_field_may_have_any_other_name(make: Make) -> None:
    names = {"message": 1, "kind": 2, "fields": 3, "self": 4, "name": 5}

    def handler(args: dict[str, Any]) -> str:
        raise ToolFailure("no", **names)  # type: ignore[arg-type]

    answer = json.loads(make(handler, ANY).call("t", {}))
    assert answer == {"error": "no", **names}
