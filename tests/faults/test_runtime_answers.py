"""Faults of answers that somebody reported, and their kin: whatever comes is answered truly."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from hermes_build.runtime import FolderStore, tool_error, tool_result
from hermes_build.runtime.errors import HandlerTimeout, Refusal
from tests.contract.programs import error_of, fields_of, one_tool, says
from tests.faults.asking import Ask, raises


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Exiting(Exception):
    def __str__(self) -> str:
        raise SystemExit(4)


class Classless(Exception):
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")

    @__class__.setter
    def __class__(self, _: Any) -> None: ...


class Liar(Exception):
    __class__ = Refusal  # type: ignore[assignment]


class LateLiar(Exception):
    __class__ = HandlerTimeout  # type: ignore[assignment]


class Nameless(type):
    @property
    def __name__(cls) -> str:
        raise RuntimeError("no name")


class OfNameless(Exception, metaclass=Nameless):
    pass


class Spoilt(HandlerTimeout):
    seconds = "soon"  # type: ignore[assignment]

    def __init__(self) -> None:
        Exception.__init__(self, "spoilt")


RAISED: dict[str, tuple[BaseException, str]] = {
    "SystemExit in a handler": (SystemExit(3), "SystemExit"),
    "CancelledError in a handler": (asyncio.CancelledError(), "CancelledError"),
    "GeneratorExit in a handler": (GeneratorExit(), "GeneratorExit"),
    "StopIteration in a handler": (StopIteration(1), "StopIteration"),
    "StopAsyncIteration in a handler": (StopAsyncIteration(), "StopAsyncIteration"),
    "a group with an interrupt": (BaseExceptionGroup("g", [KeyboardInterrupt()]), "Group: g"),
    "an exception whose text fails": (Mute(), "Mute"),
    "an exception whose text exits": (Exiting(), "Exiting"),
    "an exception whose class fails": (Classless("x"), "Classless: x"),
    "an exception that lies about its class": (Liar("x"), "Liar: x"),
    "an exception that lies about being late": (LateLiar("x"), "LateLiar: x"),
    "an exception whose class has no name": (OfNameless("x"), "OfNameless: x"),
    "a time-out without seconds": (Spoilt(), "Spoilt"),
    "a refusal with a field called error": (Refusal("no", error="yes"), "Refusal: no"),
    "a refusal with fields that JSON lacks": (Refusal("no", x=object()), "Refusal: no"),
    "a refusal with half a character": (Refusal("a\ud800b"), "a\ufffdb"),
    "half a character in the text": (ValueError("a\ud800b"), "a\ufffdb"),
    "hermes-agent#38073 a key": (RuntimeError("sk-abcdef1234567890abcdef12"), "RuntimeError"),
}


@pytest.mark.parametrize("around", ["nothing", "hooks", "middleware"])
@pytest.mark.parametrize(("error", "told"), RAISED.values(), ids=RAISED)
def test_whatever_is_raised_is_answered(
    tmp_path: Path, ask: Ask, error: BaseException, told: str, around: str
) -> None:
    registry = one_tool(tmp_path, raises(error))
    seen: list[str] = []
    if around == "middleware":
        registry.hooks.add_execution_middleware(lambda proceed, call: proceed())
    if around == "hooks":
        registry.hooks.add("post_tool_call", lambda status: seen.append(status))
    for _ in range(3):  # the long way first, the short way then
        answer = error_of(ask(registry, {}))
        assert told in answer
        assert "sk-abcdef" not in answer
    assert seen == ["error"] * 3 * (around == "hooks")


@pytest.mark.parametrize("name", [[], {}, set(), None, 5, b"t", "\ud800", "t\t{}", "x" * 99_999])
def test_whatever_is_called_is_answered(tmp_path: Path, name: Any) -> None:
    registry = one_tool(tmp_path, says("ran"))
    session = registry.session()
    assert session.call("t", {}) == "ran"
    for caller in (registry, session):
        error_of(caller.call(name, {}))
        error_of(asyncio.run(caller.acall(name, {})))


def coroutine() -> Any:
    async def never() -> None: ...

    return never()


class TextAtHeart:
    __class__ = str  # type: ignore[assignment]

    def __len__(self) -> int:
        return 0

    def isascii(self) -> bool:
        return True


NO_RESULTS: dict[str, Callable[[], Any]] = {
    "hermes-agent#19814 bytes": lambda: b"x",
    "hermes-agent#19814 nothing": lambda: None,
    "hermes-agent#19814 a number": lambda: 42,
    "hermes-agent#19814 a coroutine": coroutine,
    "a coroutine inside": lambda: {"a": [coroutine()]},
    "a generator": lambda: (one for one in "ab"),
    "a set": lambda: {1},
    "not a number": lambda: {"a": float("nan")},
    "not a number for a key": lambda: {float("nan"): 1},
    "a tuple for a key": lambda: {(1, 2): 3},
    "an integer beyond printing": lambda: {"a": 10**5000},
    "an envelope without content": lambda: {"_multimodal": True},
    "what only says that it is text": TextAtHeart,
    "a double of text": lambda: MagicMock(spec=str),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", NO_RESULTS.values(), ids=NO_RESULTS)
def test_what_is_no_result_breaks_the_contract(
    tmp_path: Path, ask: Ask, make: Callable[[], Any]
) -> None:
    registry = one_tool(tmp_path, lambda args: make())
    for _ in range(3):
        answer = fields_of(ask(registry, {}))
        assert answer["error_type"] == "tool_result_contract"
        assert answer["tool"] == "t"


def test_an_error_in_an_envelope_that_cannot_be_looked_at_leaves_the_envelope(
    tmp_path: Path, ask: Ask
) -> None:
    class Truthless:
        def __bool__(self) -> bool:
            raise RuntimeError("neither")

    envelope = {"_multimodal": True, "content": [], "error": Truthless()}
    registry = one_tool(tmp_path, lambda args: envelope)
    registry.hooks.add("post_tool_call", lambda result: None)
    assert ask(registry, {}) is envelope


SECRETS = {
    "hermes-agent#38073 a key": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789",
    "a url's password": "postgres://admin:hunter2hunter2@db/x",
    "a cloud's key": "AKIAIOSFODNN7EXAMPLE",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_credential_in_an_exception_is_masked(tmp_path: Path, ask: Ask, secret: str) -> None:
    answer = ask(one_tool(tmp_path, raises(RuntimeError(f"failed with {secret}"))), {})
    hidden = secret.partition("admin:")[2].partition("@")[0] or secret
    assert hidden not in answer
    assert "failed with" in answer


def test_helpers_never_lose_what_they_are_given() -> None:
    with pytest.raises(ValueError, match="error"):
        tool_error("real", error="other")
    with pytest.raises(ValueError, match="not both"):
        tool_result({"a": 1}, b=2)
    with pytest.raises(ValueError, match="JSON"):
        tool_result({"a": float("nan")})
    assert json.loads(tool_result(a="é")) == {"a": "é"}


@pytest.mark.parametrize("output", [{"type": ["object", "null"]}, {"type": "array"}, True])
def test_a_result_may_be_declared_of_any_type(tmp_path: Path, ask: Ask, output: Any) -> None:
    """After modelcontextprotocol/typescript-sdk#1308."""
    value = [1] if output == {"type": "array"} else None
    registry = one_tool(tmp_path, lambda args: value, output_schema=output)
    assert json.loads(ask(registry, {})) == value


def test_what_fails_at_being_logged_is_answered(
    tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After hermes-agent#50892: a line in a log ends no call."""

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(logging.getLogger("hermes_build.runtime"), "handle", fail)
    assert "no space left" in error_of(ask(one_tool(tmp_path, raises(ValueError("x"))), {}))


# Long results.


def test_a_long_result_is_kept_whole_and_the_preview_names_its_reader(
    tmp_path: Path, ask: Ask
) -> None:
    """After hermes-agent#22913 and hermes-agent#58009."""
    text = "a line of text\n" * 14_000
    registry = one_tool(tmp_path / "program", says(text), max_result_chars=2_000)
    registry.store = FolderStore(tmp_path / "results", reader="read_file")
    answer = ask(registry, {})
    assert len(answer) <= 2_000
    assert "read_file" in answer
    (kept,) = (tmp_path / "results").iterdir()
    assert kept.name in answer
    assert kept.read_text() == text


def test_a_limit_that_is_set_later_is_the_limit(tmp_path: Path) -> None:
    """After hermes-agent#18946: a setting that is changed has its effect in this process."""
    registry = one_tool(tmp_path, says("x" * 5_000))
    session = registry.session()
    for caller in (registry, session):
        registry.default_max_result_chars = 100_000
        assert [len(caller.call("t", {})) for _ in range(3)] == [5_000] * 3
        registry.default_max_result_chars = 1_000
        assert registry.get_max_result_size("t") == 1_000
        assert len(caller.call("t", {})) <= 1_000
        registry.shortens_results = False
        assert len(caller.call("t", {})) == 5_000
        registry.shortens_results = True
        assert len(caller.call("t", {})) <= 1_000
