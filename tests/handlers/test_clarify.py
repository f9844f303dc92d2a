"""A question reaches the person by the host's way, by a terminal, or not at all, and says so."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from generated.registry import registry
from handlers.clarify import handler
from handlers.planning import asking
from handlers.refusal import Refusal
from tests.handlers.calling import HERE, answered, call

PROGRAM = """
import asyncio, json, signal, sys
from generated.registry import registry
from handlers.clarify import handler
from hermes_build.runtime import ToolFailure

def clarify(question, **args):
    try:
        return json.loads(asyncio.run(handler({"question": question, **args})))
    except ToolFailure as failure:
        return {"error": str(failure)}

def withdrawn(question):
    # The question is withdrawn when a signal comes; then the program reads a line itself.
    async def ask():
        task = asyncio.create_task(handler({"question": question}))
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, task.cancel)
        await asyncio.gather(task, return_exceptions=True)
    asyncio.run(ask())
    print("Now the program asks.", file=sys.stderr, flush=True)
    return sys.stdin.readline()

"""


def clarify(question: str = "Which one?", ask: Any = None, **args: Any) -> dict[str, Any]:
    whole: Any = {"question": question, **args}
    answer: dict[str, Any] = json.loads(answered(lambda: asyncio.run(handler(whole, ask=ask))))
    return answer


def test_the_host_is_asked_and_the_answer_comes_back() -> None:
    asked: list[tuple[str, list[str] | None]] = []

    def ask(question: str, choices: list[str] | None) -> str:
        asked.append((question, choices))
        return " blue \n"

    assert clarify(" Which one? ", ask, choices=["red ", "blue", " "]) == {
        "question": "Which one?",
        "choices_offered": ["red", "blue"],
        "user_response": "blue",
    }
    assert clarify("Why?", ask)["choices_offered"] is None
    assert clarify("Why?", ask, choices=[])["choices_offered"] is None
    assert asked == [("Which one?", ["red", "blue"]), ("Why?", None), ("Why?", None)]


def test_the_host_gives_its_way_with_the_call() -> None:
    answer = registry.call("clarify", {"question": "Why?"}, ask=lambda question, choices: "because")
    assert json.loads(answer)["user_response"] == "because"


def test_a_host_may_ask_on_its_own_loop() -> None:
    async def conversation() -> list[Any]:
        answers: asyncio.Queue[str] = asyncio.Queue()

        async def ask(question: str, choices: list[str] | None) -> str:
            return await answers.get()

        def later(question: str, choices: list[str] | None) -> Any:
            return ask(question, choices)

        calls = [handler({"question": "a"}, ask=ask), handler({"question": "b"}, ask=later)]
        tasks = [asyncio.create_task(call) for call in calls]
        for answer in ("yes", "no"):
            await answers.put(answer)
        return [json.loads(await task)["user_response"] for task in tasks]

    assert sorted(asyncio.run(conversation())) == ["no", "yes"]


def test_a_host_that_waits_does_not_hold_up_the_loop() -> None:
    async def conversation() -> str:
        answered = threading.Event()

        def ask(question: str, choices: list[str] | None) -> str:
            return "at last" if answered.wait(60) else "never"

        task = asyncio.create_task(handler({"question": "a"}, ask=ask))
        # The loop runs on while the person thinks; if it did not, nobody would answer.
        await asyncio.sleep(0)
        answered.set()
        return await task

    assert json.loads(asyncio.run(conversation()))["user_response"] == "at last"


def failing(question: str, choices: Any) -> str:
    raise OSError("the window at /home/me was closed")


def refusing(question: str, choices: Any) -> str:
    raise Refusal("The person is away.")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (failing, "could not be asked: OSError"),
        (refusing, "The person is away."),
        (lambda question, choices: None, "came as NoneType, not text"),
        (lambda question, choices: " \n", "gave no answer"),
    ],
)
def test_a_host_that_gets_no_answer_is_an_error(ask: Callable[..., Any], message: str) -> None:
    answer = clarify(ask=ask)
    assert message in answer["error"] and "/home/me" not in answer["error"]


def test_an_answer_has_a_bound() -> None:
    answer = clarify(ask=lambda question, choices: "x" * 50_000)
    assert len(answer["user_response"]) == asking.MOST_CHARACTERS


def test_a_blank_question_is_refused() -> None:
    assert "blank" in clarify("  \n", lambda question, choices: "x")["error"]


def test_without_a_host_and_a_terminal_the_model_is_told_to_go_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{PROGRAM}print(clarify('Why?'))"], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, cwd=HERE, timeout=60,
    )  # fmt: skip
    assert "gave no way to them" in done.stdout


def test_the_tool_works_from_the_command_line() -> None:
    assert "gave no way to them" in json.loads(call("clarify", '{"question": "Why?"}', {}))["error"]


class Terminal:
    """A program on a terminal of its own, standard output apart."""

    def __init__(self, call: str) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"{PROGRAM}print(json.dumps({call}))"], cwd=HERE,
            stdin=slave, stderr=slave, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONUTF8": "1"},
        )  # fmt: skip
        os.close(slave)
        self.shown = ""

    def wait_for(self, text: str) -> None:
        """Read what the program shows until it shows this; one minute is for ever."""
        deadline = time.monotonic() + 60
        while text not in self.shown:
            # `select` takes no descriptor beyond 1023, and other tests keep many files open.
            waiting = selectors.PollSelector()
            waiting.register(self.master, selectors.EVENT_READ)
            if not waiting.select(deadline - time.monotonic()):
                raise AssertionError(f"{text!r} is not shown, but {self.shown!r}")
            self.shown += os.read(self.master, 4096).decode()

    def type(self, text: str) -> None:
        self.shown = ""
        os.write(self.master, text.encode())

    def result(self) -> str:
        output, _ = self.process.communicate(timeout=60)
        return str(output)


@pytest.fixture
def terminal() -> Iterator[Callable[[str], Terminal]]:
    opened: list[Terminal] = []

    def start(call: str) -> Terminal:
        opened.append(Terminal(call))
        return opened[-1]

    yield start
    for one in opened:
        one.process.kill()
        one.process.wait()
        os.close(one.master)


def test_a_terminal_shows_the_choices_and_takes_a_number(
    terminal: Callable[[str], Terminal],
) -> None:
    one = terminal("clarify('Which one?', choices=['red', 'blue'])")
    one.wait_for("> ")
    assert "Which one?" in one.shown
    assert "1. red" in one.shown and "2. blue" in one.shown
    one.type("\n")
    one.wait_for("> ")
    one.type("2\n")
    assert json.loads(one.result())["user_response"] == "blue"


@pytest.mark.parametrize("typed", ["none of them", "3", "0", "²", "größer"])
def test_a_terminal_takes_an_answer_in_own_words(
    terminal: Callable[[str], Terminal], typed: str
) -> None:
    one = terminal("clarify('Which one?', choices=['red', 'blue'])")
    one.wait_for("> ")
    one.type(f"{typed}\n")
    assert json.loads(one.result())["user_response"] == typed


def test_the_end_of_the_input_is_no_answer(terminal: Callable[[str], Terminal]) -> None:
    one = terminal("clarify('Why?')")
    one.wait_for("> ")
    one.type("\x04")
    assert "ended the input" in json.loads(one.result())["error"]


def test_a_question_cannot_play_with_the_terminal(terminal: Callable[[str], Terminal]) -> None:
    one = terminal(r"clarify('\x1b[2J\x1b]0;root\x07 Sure\u202e?', choices=['y\x08es\r'])")
    one.wait_for("> ")
    assert not {"\x1b", "\x07", "\x08", "\u202e"} & set(one.shown)
    assert "\r" not in one.shown.replace("\r\n", "")
    one.type("1\n")
    assert json.loads(one.result())["user_response"] == "y\x08es"


def test_what_is_shown_keeps_every_script_and_emoji() -> None:
    text = "Größe? 用户 👩‍💻 می‌خواهم\n\tyes"
    assert asking.visible(text) == text


def test_a_question_that_is_withdrawn_leaves_the_terminal_to_others(
    terminal: Callable[[str], Terminal],
) -> None:
    one = terminal("withdrawn('Still there?')")
    one.wait_for("> ")
    one.process.send_signal(signal.SIGUSR1)
    one.wait_for("Now the program asks.")
    one.type("mine\n")
    assert json.loads(one.result()) == "mine\n"
