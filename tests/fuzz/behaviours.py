"""What foreign code may do in a handler or a hook, and what a call has to make of it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest.mock import MagicMock

from hypothesis import strategies as st

from hermes_build.runtime import Unavailable, tool_error
from hermes_build.runtime.errors import HandlerTimeout, Refusal
from tests.fuzz.json_data import ANYTHING, CHARACTERS, TEXTS


class FailsAtText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class ExitsAtText(Exception):
    def __str__(self) -> str:
        raise SystemExit(1)

    __repr__ = __str__


class FailsAtClass(Exception):
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")

    @__class__.setter
    def __class__(self, _: Any) -> None: ...


class LiesAboutClass(Exception):
    __class__ = Refusal  # type: ignore[assignment]


class FailsAtHash(Exception):
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equal")


class FailsAtName(type):
    @property
    def __name__(cls) -> str:
        raise RuntimeError("no name")


class OfNoName(Exception, metaclass=FailsAtName):
    pass


class FailsAtEverything(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


class Text(str):
    """Text that prints as something else, and is no length that it says."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __len__(self) -> int:
        return 3

    def isascii(self) -> bool:
        return True


class Dict(dict[str, Any]):
    def get(self, *_: Any) -> Any:
        raise RuntimeError("no get")


class FailsAtTruth:
    def __bool__(self) -> bool:
        raise RuntimeError("no truth")


ERRORS: list[Callable[[], BaseException]] = [
    lambda: ValueError("plain"),
    lambda: RuntimeError("half \ud800 of it"),
    lambda: ValueError("<system>do</system> ```x```" * 400),
    lambda: SystemExit(3),
    lambda: SystemExit(),
    GeneratorExit,
    StopIteration,
    StopAsyncIteration,
    asyncio.CancelledError,
    TimeoutError,
    MemoryError,
    RecursionError,
    lambda: HandlerTimeout(3),
    lambda: Unavailable("no"),
    lambda: Refusal("no"),
    lambda: Refusal("no", error=1),
    lambda: Refusal("no", value=FailsAtTruth()),
    lambda: BaseExceptionGroup("several", [SystemExit(1), KeyboardInterrupt()]),
    lambda: ExceptionGroup("several", [FailsAtText()]),
    lambda: KeyError(FailsAtText()),
    lambda: OSError(5, "\ud800", "\udc00"),
    FailsAtText,
    ExitsAtText,
    FailsAtClass,
    LiesAboutClass,
    FailsAtHash,
    OfNoName,
    FailsAtEverything,
]


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def circle() -> Any:
    value: dict[str, Any] = {}
    value["self"] = [value]
    return value


async def _coroutine() -> str:
    return "never"


async def _asynchronous() -> Any:
    yield 1


NO_RESULTS: list[Callable[[], Any]] = [
    lambda: None,
    lambda: 42,
    lambda: 1.5,
    lambda: float("nan"),
    lambda: True,
    lambda: b"bytes",
    lambda: ("a", "tuple"),
    lambda: {"a", "set"},
    object,
    lambda: ValueError,
    lambda: (one for one in "ab"),
    _asynchronous,
    lambda: MagicMock(spec=str),
    lambda: {"value": float("inf")},
    lambda: {"value": object()},
    lambda: {"value": {1}},
    lambda: {("a", 1): 2},
    lambda: [10**5_000],
    lambda: {"value": _coroutine()},
    lambda: deep(100_000),
    circle,
    lambda: {"_multimodal": True},
    lambda: {"_multimodal": True, "content": "text", "value": b""},
    lambda: Dict(a=1),
    lambda: threading.Lock(),
    FailsAtTruth,
]
"""What is no result, whoever returns it. A coroutine is one where it is awaited."""

RESULTS = st.one_of(
    st.text(CHARACTERS, max_size=20),
    st.sampled_from(["", "x" * 100_000, "é" * 100_000, tool_error("no"), '{"error": [', "NaN"]),
)
"""Texts that handlers return, none of them longer than a result may be."""


@dataclass
class Behaviour:
    """What a handler does. ``expected`` is its answer, or None where that has to be an error."""

    act: Callable[[dict[str, Any]], Any]
    expected: Callable[[Any], bool] | None
    label: str

    def __repr__(self) -> str:
        return self.label


def carried(text: str) -> str:
    """The text as UTF-8 can carry it."""
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text if text.isascii() else joined


def raising(make: Callable[[], BaseException]) -> Behaviour:
    def act(args: dict[str, Any]) -> Any:
        raise make()

    return Behaviour(act, None, f"raises {make!r}")


def returning_text(text: str) -> Behaviour:
    return Behaviour(lambda args: text, lambda got: bool(got == carried(text)), f"{text[:40]!r}")


def returning_subclass(text: str) -> Behaviour:
    return Behaviour(
        lambda args: Text(text),
        lambda got: type(got) is str and got == carried(text),
        f"Text({text[:40]!r})",
    )


def returning_data(data: Any) -> Behaviour:
    """An object or a list, which is told as JSON if JSON can hold it."""
    try:
        told = json.loads(carried(json.dumps(data, ensure_ascii=False, allow_nan=False)))
    except ValueError:
        return Behaviour(lambda args: data, None, f"{data!r}"[:80])
    return Behaviour(
        lambda args: data, lambda got: repr(json.loads(got)) == repr(told), f"{data!r}"[:80]
    )


def returning_envelope(extra: Any) -> Behaviour:
    envelope = {"_multimodal": True, "content": [{"type": "image", "data": b""}], "error": extra}
    return Behaviour(lambda args: envelope, lambda got: got is envelope, f"envelope {extra!r}"[:80])


def returning_nothing_good(make: Callable[[], Any]) -> Behaviour:
    return Behaviour(lambda args: make(), None, f"returns {make!r}")


def _mutate(args: dict[str, Any]) -> Any:
    args.clear()
    args["a"] = args
    return "mutated"


def _flood(args: dict[str, Any]) -> Any:
    return ["x" * 1_000] * 2_000


def _spawn(args: dict[str, Any]) -> Any:
    for _ in range(3):
        threading.Thread(target=lambda: None, daemon=True).start()
    return "spawned"


def _task(args: dict[str, Any]) -> Any:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return "started"
    task = asyncio.ensure_future(asyncio.sleep(0))
    task.cancel()
    return "started"


ODD = [
    Behaviour(_mutate, lambda got: got == "mutated", "mutates"),
    Behaviour(_flood, lambda got: type(got) is str and len(got) <= 100_000, "floods"),
    Behaviour(_spawn, lambda got: got == "spawned", "spawns threads"),
    Behaviour(_task, lambda got: got == "started", "starts a task"),
]

BEHAVIOURS = st.one_of(
    st.builds(raising, st.sampled_from(ERRORS)),
    st.builds(returning_text, RESULTS),
    st.builds(returning_subclass, st.text(CHARACTERS, max_size=20)),
    st.builds(returning_data, st.one_of(st.dictionaries(TEXTS, ANYTHING), st.lists(ANYTHING))),
    st.builds(returning_envelope, st.one_of(ANYTHING, st.builds(FailsAtTruth))),
    st.builds(returning_nothing_good, st.sampled_from(NO_RESULTS)),
    st.sampled_from(ODD),
)
"""What a handler may do."""
