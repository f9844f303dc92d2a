"""What `clarify` does: put a question to the person, and wait for the answer.

How the person is reached is the host's affair: it gives ``ask=`` to the call. Without that, a
terminal is asked where there is one.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import selectors
import sys
import unicodedata
from collections.abc import Awaitable, Callable
from threading import Event
from typing import Any

from handlers.refusal import Refusal
from handlers.room import fitting

Ask = Callable[[str, list[str] | None], str | Awaitable[str]]
"""``ask(question, choices)`` gives the answer, or an awaitable of it.

``choices`` is None for an open question; the answer need not be one of them.
"""

MOST_CHARACTERS = 10_000
"""How much room an answer may take."""

_PROMPT = "> "
# The two joiners are invisible, and part of emoji and of words in some scripts.
_HARMLESS = "\n\t\u200c\u200d"
_POLL_SECONDS = 0.2


async def clarify(question: str, choices: list[str] | None, ask: Ask | None) -> dict[str, Any]:
    """Ask, and answer with ``question``, ``choices_offered`` and ``user_response``.

    Args:
        question: the question.
        choices: answers to pick from; None or empty for an open question.
        ask: the host's way to the person. A function that is not async runs in a thread, so that
            it may wait as long as it likes; a coroutine runs on the loop that runs this.

    Raises:
        Refusal: when there is no way to the person, or no answer came.
    """
    question = question.strip()
    choices = [choice.strip() for choice in choices or () if choice.strip()] or None
    if not question:
        raise Refusal("The question is blank.")
    if ask is not None:
        answer = await _ask(ask, question, choices)
    elif _is_terminal(sys.stdin) and _is_terminal(sys.stderr):
        answer = await _ask_terminal(question, choices)
    else:
        raise Refusal(
            "The person cannot be asked here: the program that runs this gave no way to them. Go "
            "on with the most sensible assumption and say which one you made, or end with the "
            "question."
        )
    return {"question": question, "choices_offered": choices, "user_response": answer}


async def _ask(ask: Ask, question: str, choices: list[str] | None) -> str:
    offered = list(choices) if choices else None
    try:
        if inspect.iscoroutinefunction(ask):
            answer = await ask(question, offered)
        else:
            answer = await asyncio.to_thread(ask, question, offered)
            if inspect.isawaitable(answer):
                answer = await answer
    except Refusal:
        raise
    except Exception as error:  # the host's own code
        raise Refusal(f"The person could not be asked: {type(error).__name__}.") from error
    if not isinstance(answer, str):
        raise Refusal(
            f"The person could not be asked: the answer came as {type(answer).__name__}, not text."
        )
    if not answer.strip():
        raise Refusal("The person gave no answer.")
    answer = answer.strip()
    return answer[: fitting(answer, MOST_CHARACTERS)]


async def _ask_terminal(question: str, choices: list[str] | None) -> str:
    stop = Event()
    try:
        return await asyncio.to_thread(_converse, question, choices, stop)
    finally:
        # A call that is cancelled leaves no thread behind to swallow what the person types next.
        stop.set()


def _converse(question: str, choices: list[str] | None, stop: Event) -> str:
    lines = ["", visible(question)]
    lines += [f"  {number}. {visible(choice)}" for number, choice in enumerate(choices or (), 1)]
    if choices:
        lines.append("Type a number, or an answer of your own.")
    print("\n".join(lines), file=sys.stderr)
    while True:
        print(_PROMPT, end="", file=sys.stderr, flush=True)
        answer = _read_line(stop).strip()
        if choices and answer.isdecimal() and answer.isascii() and 1 <= int(answer) <= len(choices):
            return choices[int(answer) - 1]
        if answer:
            return answer[: fitting(answer, MOST_CHARACTERS)]


def _read_line(stop: Event) -> str:
    """A line from the terminal, which hands one over when it is complete.

    Raises:
        Refusal: when the input ends, or the call does.
    """
    descriptor, typed = sys.stdin.fileno(), bytearray()
    # The one that takes every descriptor, however many files the program has open.
    waiting = selectors.PollSelector()
    waiting.register(descriptor, selectors.EVENT_READ)
    while not typed.endswith(b"\n"):
        try:
            while not waiting.select(_POLL_SECONDS):
                if stop.is_set():
                    raise Refusal("The question was withdrawn.")
            block = os.read(descriptor, 4096)
        except OSError as error:
            raise Refusal(
                f"The terminal cannot be read: {os.strerror(error.errno or 0)}."
            ) from None
        if not block:
            raise Refusal("The person ended the input without an answer.")
        typed += block
    return typed.decode(sys.stdin.encoding or "utf-8", "replace")


def visible(text: str) -> str:
    """Text that does nothing to a terminal but show: without escapes and turns of direction."""
    return "".join(
        char if char in _HARMLESS or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else "�"
        for char in text
    )


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and bool(stream.isatty())
    except (ValueError, OSError):  # it was closed
        return False
