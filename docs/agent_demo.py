"""What `make demo` shows of an agent: two tools at once, and a helper with a tool of its own.

    python -m docs.agent_demo

The model's answers come from a script, by the same protocol and over a real connection; everything
else is what an agent with a real model does. Run it in the folder of the project.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from examples.agent import Agent
from examples.scripted_model import Call, ModelServer, Scripted, Text, tool_calls
from generated.registry import registry

ANSWERS: list[Scripted] = [
    tool_calls(
        Call("read_file", {"path": "pyproject.toml", "limit": 8}),
        Call("search_files", {"pattern": "*.yaml", "target": "files", "path": "toolsets"}),
        content="I look at the project and at its toolsets.",
    ),
    tool_calls(
        Call(
            "delegate_task",
            {"goal": "Say what guards the toolset `safe` has.", "toolsets": ["file"]},
        ),
        content="A helper is to read one of them closely. It gets the file tools alone.",
    ),
    # The helper's own conversation:
    tool_calls(Call("read_file", {"path": "toolsets/compositions.yaml"})),
    Text("No tool of `safe` runs code, and none is destructive."),
    # And the first agent again:
    Text("The project composes its toolsets in YAML, and the guards of `safe` are proved."),
]


class Transcript:
    """Prints what agents say and do, a line each."""

    def __init__(self) -> None:
        self._speaking = False

    def text(self, piece: str) -> None:
        """A piece of what the first agent says."""
        print(piece if self._speaking else f"agent: {piece}", end="", flush=True)
        self._speaking = True

    def call(
        self, tool_name: str, args: dict[str, Any], task_id: str, result: str, status: str
    ) -> None:
        """One call that is done; a hook of the registry sees those of all agents."""
        self.end()
        who = "helper" if task_id.startswith("helper_") else "agent"
        if tool_name == "delegate_task" and status == "ok":
            one = json.loads(result)["results"][0]
            result = f"{one['status']} after {one['tool_calls']}: {one['summary']}"
        print(f"  {who} -> {tool_name} {_short(json.dumps(args))}\n     {status}: {_short(result)}")

    def end(self) -> None:
        """Go to the next line, where one is begun."""
        if self._speaking:
            print()
        self._speaking = False


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else f"{line[:70]}…"


async def demonstrate(server: ModelServer) -> None:
    """Run one prompt, and say what happened."""
    transcript = Transcript()
    registry.hooks.add("post_tool_call", transcript.call)
    session = registry.session(["file", "delegation"])
    print(f"tools of the session: {', '.join(session.names)}")
    agent = Agent(session, on_text=transcript.text)
    prompt = "How does this project compose its toolsets, and what does `safe` promise?"
    print(f"user:  {prompt}")
    await agent.run(prompt)
    transcript.end()
    listed = [len(body["tools"]) for body in server.bodies]
    print(f"requests to the model: {len(listed)}, which listed {listed} tools")


def main() -> None:
    """Start the endpoint, and let the agent use it as it would use any other."""
    with ModelServer(ANSWERS) as server:
        os.environ.update(server.environment)
        asyncio.run(demonstrate(server))


if __name__ == "__main__":
    main()
