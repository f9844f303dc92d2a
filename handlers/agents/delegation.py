"""What `delegate_task` does: give tasks to helpers, each an agent with a narrower session."""

from __future__ import annotations

import asyncio
import os
import time
from asyncio import AbstractEventLoop, Semaphore
from collections import Counter
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from handlers.agents.granting import ASK, DELEGATE, handed_on, narrowed, whole_number
from handlers.models.endpoint import Endpoint
from handlers.refusal import Refusal
from handlers.room import fitting

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from examples.agent import Agent
    from hermes_build.runtime.session import Session

SYSTEM = (
    "You are a helper of another agent, which gave you one task. Do it with your tools, without "
    "asking back. Your last message is all that the other agent reads of your work: say what you "
    "found out or did, with paths and lines, and what is left open."
)

ALL_SECONDS = 3500.0
"""How long a call takes at most; less than its spec allows, so that what is done gets reported."""

MOST_ROOM = 80_000
"""How many characters the answers of all helpers take together; below the tool's
`max_result_chars`."""

_depth: ContextVar[int] = ContextVar("delegation_depth", default=0)
"""How many helpers stand between this one and the first agent."""

_places: WeakKeyDictionary[AbstractEventLoop, WeakKeyDictionary[Session, tuple[int, Semaphore]]]
_places = WeakKeyDictionary()
"""The places for helpers of each session; a semaphore belongs to the loop that waits for it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many helpers of one agent work at once, how deep, and what each may take."""

    children: int
    depth: int
    turns: int
    seconds: int

    @staticmethod
    def from_environment() -> Limits:
        """The limits that the environment sets.

        Raises:
            Refusal: for a variable that is no whole number in its range.
        """
        return Limits(
            whole_number("HERMES_MAX_CHILDREN", 3, 16),
            whole_number("HERMES_MAX_DEPTH", 1, 8),
            whole_number("HERMES_CHILD_TURNS", 25, 1000),
            whole_number("HERMES_CHILD_SECONDS", 600, int(ALL_SECONDS)),
        )


@dataclass(frozen=True, slots=True)
class Task:
    """What one helper is to do; ``toolsets`` is None for all that its parent has."""

    goal: str
    context: str
    toolsets: tuple[str, ...] | None

    @property
    def prompt(self) -> str:
        """What the helper is told first."""
        return f"{self.goal}\n\nWhat you must know:\n{self.context}" if self.context else self.goal


def tasks_of(
    goal: str | None,
    context: str | None,
    toolsets: Iterable[str] | None,
    tasks: Iterable[Mapping[str, Any]] | None,
) -> list[Task]:
    """The tasks of a call: the one it states, or its list.

    What the call says besides a list holds for all of it: each task is told the call's context
    before its own, and has the call's toolsets unless it names some.

    Raises:
        Refusal: when there is no task.
    """
    shared = None if toolsets is None else tuple(toolsets)
    if tasks is None:
        if goal is None:
            raise Refusal("Give goal for one task, or tasks for several.")
        return [Task(goal, context or "", shared)]
    return [
        Task(
            one["goal"],
            "\n\n".join(text for text in (context, one.get("context")) if text),
            tuple(one["toolsets"]) if "toolsets" in one else shared,
        )
        for one in tasks
    ]


def with_limits(schema: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The descriptions of a schema with the limits, by JSON pointer."""
    tasks = schema["parameters"]["properties"]["tasks"]["description"]
    if limits.depth == 1:
        nesting = "helpers cannot delegate"
    else:
        nesting = f"helpers can delegate in turn, {limits.depth} levels deep in all"
    return {
        "/description": (
            f"{schema['description']} At present {limits.children} of your helpers work at once, "
            f"each for {limits.seconds} s and {limits.turns} answers at most; {nesting}."
        ),
        "/parameters/properties/tasks/description": (
            f"{tasks}; {limits.children} of them work at once, and the others wait"
        ),
    }


async def delegate(
    tasks: list[Task], session: Session, context: Mapping[str, Any], limits: Limits
) -> list[dict[str, Any]]:
    """Let helpers do the tasks, and tell what came of each, in the order of the tasks.

    A helper that fails spoils nothing for the others. When this is cancelled, so are they.

    Raises:
        Refusal: when no helper may be started, or a task asks for tools that the parent lacks.
    """
    from examples.agent import Agent

    depth = _depth.get() + 1
    if depth > limits.depth:
        raise Refusal(f"Helpers may be {limits.depth} deep, and this agent is at that depth.")
    without = [ASK, DELEGATE] if depth == limits.depth else [ASK]
    # What a helper finds by itself stays out of its list too, unless it is named for the task.
    sessions = [
        narrowed(session, without, task.toolsets, () if task.toolsets else session.deferred_names)
        for task in tasks
    ]
    endpoint = Endpoint.from_environment()
    # Importing the package and reading certificates take long enough to hold up a loop.
    client = await asyncio.to_thread(_client, endpoint)
    places = _places_of(session, limits.children)
    until = asyncio.get_running_loop().time() + ALL_SECONDS
    room = MOST_ROOM // len(tasks)

    async def helper(index: int) -> dict[str, Any]:
        _depth.set(depth)  # of this helper's own task, and of all that comes of it
        agent = Agent(
            sessions[index],
            client=client,
            system=SYSTEM,
            turns=limits.turns,
            context={**handed_on(context), "task_id": f"helper_{os.urandom(4).hex()}"},
        )
        began = time.monotonic()
        try:
            async with asyncio.timeout_at(until), places:
                began = time.monotonic()
                async with asyncio.timeout(limits.seconds):
                    summary = await agent.run(tasks[index].prompt)
            outcome = _done(agent, summary, limits, room)
        except TimeoutError:
            outcome = {"status": "timed_out", "error": "The helper's time was up."}
        except Exception as error:  # whatever befalls one helper, the others go on
            said = endpoint.quote(f"{type(error).__name__}: {error}")
            outcome = {"status": "failed", "error": said}
        seconds = round(time.monotonic() - began, 3)
        calls = dict(_calls(agent))
        return {"task_index": index, **outcome, "tool_calls": calls, "duration_seconds": seconds}

    async with client:
        return await asyncio.gather(*map(helper, range(len(tasks))))


def _client(endpoint: Endpoint) -> AsyncOpenAI:
    from openai import AsyncOpenAI

    return AsyncOpenAI(api_key=endpoint.key, base_url=endpoint.address)


def _places_of(session: Session, children: int) -> Semaphore:
    """The places for this session's helpers, however many of its calls ask for some at once."""
    mine = _places.setdefault(asyncio.get_running_loop(), WeakKeyDictionary())
    limit, places = mine.get(session, (0, None))
    if places is None or limit != children:
        places = Semaphore(children)
        mine[session] = (children, places)
    return places


def _done(agent: Agent, summary: str, limits: Limits, room: int) -> dict[str, Any]:
    answers = sum(message["role"] == "assistant" for message in agent.messages)
    # In its last answer a helper is given no choice: it may have wanted to go on.
    status = "completed" if answers < limits.turns or not _calls(agent) else "out_of_turns"
    shown = fitting(summary, room)
    if shown < len(summary):
        summary = f"{summary[:shown]}\n[... {len(summary) - shown:,} characters left out ...]"
    return {"status": status, "summary": summary}


def _calls(agent: Agent) -> Counter[str]:
    """How often an agent called each tool."""
    return Counter(
        call["function"]["name"]
        for message in agent.messages
        for call in message.get("tool_calls", ())
    )
