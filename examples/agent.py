"""An agent: a model, a session of tools, and the loop between them.

    python -m examples.agent "Which of these modules has no test?" --toolset coding

It works with every endpoint that speaks OpenAI's protocol: ``OPENAI_BASE_URL`` and
``OPENAI_API_KEY`` name it, ``HERMES_MODEL`` the model. Lists, checks, repairs, limits and errors of
tools are the session's work; what is left for an agent to do is this page.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hermes_build.runtime.result import utf8

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from hermes_build.runtime.session import Session

MODEL = "gpt-5.4-mini"
"""The model, unless ``HERMES_MODEL`` names another."""

SYSTEM = "You are a careful assistant. Use your tools to find things out rather than guess."
TURNS = 50


class Agent:
    """A conversation with a model that may use the tools of one session.

    Args:
        session: the tools that it may use.
        client: the endpoint; without one, the environment's.
        model: the model's name; without one, the environment's or `MODEL`.
        system: what the model is told before everything else.
        on_text: given the pieces of the model's text as they come.
        turns: how many answers of the model one prompt may take. The last one is asked for without
            tools, so that there always is an answer.
        context: what every tool call is told besides (``task_id``, ``ask``, ...).

    ``messages`` is the conversation so far, in the form that endpoints take.
    """

    def __init__(
        self,
        session: Session,
        *,
        client: AsyncOpenAI | None = None,
        model: str | None = None,
        system: str = SYSTEM,
        on_text: Callable[[str], object] | None = None,
        turns: int = TURNS,
        context: Mapping[str, Any] | None = None,
    ) -> None:
        from openai import AsyncOpenAI

        self.session = session
        self.client = client or AsyncOpenAI()
        self.model = model or os.environ.get("HERMES_MODEL") or MODEL
        self.on_text = on_text or (lambda piece: None)
        self.turns = turns
        self.context = dict(context or {})
        self.messages: list[Any] = [{"role": "system", "content": system}]

    async def run(self, prompt: str) -> str:
        """Ask, let the model use its tools for as long as it wants to, and return its answer.

        Raises:
            openai.OpenAIError: when the endpoint refuses, cannot be reached, or breaks off. The
                conversation then stands where it stood before that turn.
        """
        self.messages.append({"role": "user", "content": prompt})
        for _ in range(self.turns - 1):
            message = await self._answer("auto")
            if "tool_calls" not in message:
                break
            results = await asyncio.gather(*map(self._call, message["tool_calls"]))
            # All at once: a conversation in which a call has no result is refused by endpoints.
            self.messages += [message, *results, *_shown(results)]
        else:
            message = await self._answer("none")
            message.pop("tool_calls", None)
        self.messages.append(message)
        return str(message["content"])

    async def _answer(self, tool_choice: str) -> dict[str, Any]:
        """The model's next message, put together from the pieces in which it comes."""
        from openai import APIConnectionError

        tools = self.session.definitions()
        more: Any = {"tools": tools, "tool_choice": tool_choice} if tools else {}
        stream = await self.client.chat.completions.create(
            model=self.model, messages=self.messages, stream=True, **more
        )
        text, calls, finished = "", dict[int, dict[str, Any]](), False
        async with stream:
            async for chunk in stream:
                for choice in chunk.choices[:1]:
                    finished = finished or choice.finish_reason is not None
                    if piece := choice.delta.content:
                        text += piece
                        self.on_text(utf8(piece))
                    for part in choice.delta.tool_calls or ():
                        function = {"name": "", "arguments": ""}
                        fresh = {"id": "", "type": "function", "function": function}
                        call = calls.setdefault(part.index, fresh)
                        call["id"] = part.id or call["id"]
                        if part.function:
                            call["function"]["name"] += part.function.name or ""
                            call["function"]["arguments"] += part.function.arguments or ""
        if not finished:
            raise APIConnectionError(
                message="The answer broke off in the middle.", request=stream.response.request
            )
        # An endpoint may cut a character in two, and half of one cannot be sent back.
        message: dict[str, Any] = {"role": "assistant", "content": utf8(text)}
        for call in calls.values():
            call["function"] = {key: utf8(part) for key, part in call["function"].items()}
        if calls:
            message["tool_calls"] = [calls[index] for index in sorted(calls)]
        return message

    async def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        """The result of one tool call. It never fails: what goes wrong is said in the result."""
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        # The text goes on as it came: the session reads it, and answers what is no JSON with an
        # error that the model can act on.
        result = await self.session.acall(
            name, arguments or None, **self.context, tool_call_id=call["id"]
        )
        content = result if isinstance(result, str) else result["content"]
        return {"role": "tool", "tool_call_id": call["id"], "content": content}


def _shown(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Images among results go into a message of their own, since a tool's may hold text alone."""
    images = []
    for result in results:
        if not isinstance(result["content"], str):
            images += [part for part in result["content"] if part.get("type") != "text"]
            texts = [part for part in result["content"] if part.get("type") == "text"]
            result["content"] = texts or "The result is shown in the next message."
    return [{"role": "user", "content": images}] if images else []


def main() -> None:
    """Run one prompt from the command line."""
    from argparse import ArgumentParser

    from openai import OpenAIError

    from generated.registry import registry
    from hermes_build.runtime.errors import UnknownToolset
    from hermes_build.runtime.store import FolderStore

    parser = ArgumentParser(prog="python -m examples.agent", description="Ask an agent with tools.")
    parser.add_argument("prompt")
    parser.add_argument("--toolset", action="append", help="toolset or tool; repeat it for more")
    parser.add_argument("--model", help=f"the model (default: HERMES_MODEL, or {MODEL})")
    given = parser.parse_args()

    # What is too long for the model is kept where its read_file can reach it.
    workspace = os.environ.get("HERMES_WORKSPACE") or "."
    registry.store = FolderStore(os.path.join(workspace, ".results"), base=workspace)
    try:
        agent = Agent(
            registry.session(given.toolset),
            model=given.model,
            on_text=lambda piece: print(piece, end="", flush=True),
            context={"ask": ask},
        )
        asyncio.run(agent.run(given.prompt))
    except (OpenAIError, UnknownToolset) as error:
        sys.exit(f"{error}")
    except KeyboardInterrupt:
        sys.exit(130)
    print()


def ask(question: str, choices: list[str] | None) -> str:
    """Put a question of the model's to the person at the terminal."""
    print("", question, *(f"  - {choice}" for choice in choices or ()), sep="\n")
    return input("> ")


if __name__ == "__main__":
    main()
