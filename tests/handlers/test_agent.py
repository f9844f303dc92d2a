"""The loop of an agent: what it sends, what it does with the answers, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import openai
import pytest

from examples.agent import MODEL, Agent
from examples.scripted_model import (
    Broken,
    Call,
    Failure,
    ModelServer,
    Raw,
    Text,
    tool_calls,
)
from generated.registry import registry
from hermes_build.runtime.plugins import Plugin
from tests.handlers.calling import HERE

PATIENCE = 60.0  # only a loop that hangs ever takes so long
pytestmark = pytest.mark.usefixtures("two_files")


def run(agent: Agent, *prompts: str) -> str:
    """The answer to the last prompt; a client cannot outlive its loop, so that one has to do."""

    async def all_of_them() -> str:
        async with agent.client:
            answers = [await agent.run(prompt) for prompt in prompts or ("Look.",)]
        return answers[-1]

    return asyncio.run(asyncio.wait_for(all_of_them(), PATIENCE))


def described(description: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties}
    return {"description": description, "parameters": parameters}


def results(server: ModelServer, request: int = -1) -> list[Any]:
    """What the tool messages of a request hold."""
    messages = server.bodies[request]["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def test_an_answer_without_tool_calls_is_the_result(serve: Any) -> None:
    server = serve(Text("It is noon."))
    assert run(Agent(registry.session(["file"]), system="Be brief."), "What time is it?") == (
        "It is noon."
    )
    [body] = server.bodies
    assert body["model"] == MODEL
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What time is it?"},
    ]
    assert body["tools"] == registry.session(["file"]).definitions()


def test_text_is_handed_on_while_it_comes(serve: Any) -> None:
    serve(Text("A sentence in several pieces."))
    pieces: list[str] = []
    answer = run(Agent(registry.session([]), on_text=pieces.append))
    assert "".join(pieces) == answer == "A sentence in several pieces."
    assert len(pieces) > 1


def test_calls_of_one_turn_run_side_by_side_and_their_results_keep_the_order(serve: Any) -> None:
    server = serve(
        tool_calls(
            Call("clarify", {"question": "first"}),
            Call("clarify", {"question": "second"}),
            content="Two questions.",
        ),
        Text("Done."),
    )
    second_is_answered = asyncio.Event()

    async def ask(question: str, choices: list[str] | None) -> str:
        if question == "first":  # which waits for the other one: one after the other, it would hang
            await second_is_answered.wait()
        second_is_answered.set()
        return f"the answer to {question}"

    agent = Agent(registry.session(["clarify"]), context={"ask": ask})
    assert run(agent) == "Done."
    assert [json.loads(one)["user_response"] for one in results(server)] == [
        "the answer to first",
        "the answer to second",
    ]
    call = agent.messages[2]
    assert call["content"] == "Two questions."
    assert [one["tool_call_id"] for one in agent.messages[3:5]] == [
        one["id"] for one in call["tool_calls"]
    ]


def test_each_call_is_told_its_id_and_the_context(serve: Any, plugin: Plugin) -> None:
    told: list[dict[str, Any]] = []

    def handler(args: dict[str, Any], **context: Any) -> str:
        told.append(context)
        return "seen"

    plugin.register("observe", "observing", described("Observe."), handler)
    serve(tool_calls(Call("observe", id="call_7")), Text("Done."))
    session = registry.session(["observing"], session_id="s1")
    run(Agent(session, context={"task_id": "t1"}))
    [context] = told
    assert context["tool_call_id"] == "call_7"
    assert (context["task_id"], context["session_id"]) == ("t1", "s1")
    assert context["session"] is session


def test_malformed_arguments_come_back_as_an_error_that_the_model_can_mend(serve: Any) -> None:
    server = serve(
        tool_calls(Call("read_file", '{"path": "a.t')),
        tool_calls(Call("read_file", {"path": "a.txt"})),
        Text("Read."),
    )
    assert run(Agent(registry.session(["file"]))) == "Read."
    broken, mended = results(server)
    assert "must be a JSON object" in json.loads(broken)["error"]
    assert "the first file" in mended


def test_no_arguments_at_all_are_taken_for_none(serve: Any, plugin: Plugin) -> None:
    plugin.register("ping", "pinging", described("Ping."), lambda args, **context: "pong")
    server = serve(tool_calls(Call("ping", "")), Text("Done."))
    run(Agent(registry.session(["pinging"])))
    assert results(server) == ["pong"]


def test_a_tool_that_the_session_lacks_is_refused_in_the_conversation(serve: Any) -> None:
    server = serve(tool_calls(Call("terminal", {"command": "id"}), Call("no_tool")), Text("Well."))
    assert run(Agent(registry.session(["file"]))) == "Well."
    denied, unknown = (json.loads(one)["error"] for one in results(server))
    assert "not in this session" in denied
    assert "Unknown tool" in unknown


def test_images_of_a_result_go_into_a_message_that_may_hold_them(
    serve: Any, plugin: Plugin
) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    envelopes = {
        "described": [{"type": "text", "text": "a red square"}, image],
        "bare": [image],
    }

    def handler(args: dict[str, Any], **context: Any) -> dict[str, Any]:
        return {"_multimodal": True, "content": envelopes[args["which"]]}

    plugin.register("look", "looking", described("Look.", which={"type": "string"}), handler)
    server = serve(
        tool_calls(Call("look", {"which": "described"}), Call("look", {"which": "bare"})),
        Text("Red."),
    )
    assert run(Agent(registry.session(["looking"]))) == "Red."
    with_text, bare = results(server)
    assert with_text == [{"type": "text", "text": "a red square"}]
    assert isinstance(bare, str)
    assert server.bodies[-1]["messages"][-1] == {"role": "user", "content": [image, image]}


def test_the_last_turn_is_asked_for_without_tools(serve: Any) -> None:
    look = Call("read_file", {"path": "a.txt"})
    server = serve(
        tool_calls(look),
        tool_calls(look),
        tool_calls(look, content="As far as I got."),  # it calls all the same
        Text("More."),
    )
    agent = Agent(registry.session(["file"]), turns=3)
    assert run(agent, "Look.", "Go on.") == "More."
    assert [body["tool_choice"] for body in server.bodies] == ["auto", "auto", "none", "auto"]
    # The call that has no result is not in the conversation.
    *_, last, prompt = server.bodies[3]["messages"]
    assert last == {"role": "assistant", "content": "As far as I got."}
    assert prompt == {"role": "user", "content": "Go on."}


def test_a_conversation_goes_on_with_the_next_prompt(serve: Any) -> None:
    server = serve(Text("One."), Text("Two."))
    agent = Agent(registry.session([]))
    assert run(agent, "First.", "Second.") == "Two."
    assert [one["content"] for one in server.bodies[1]["messages"][1:]] == [
        "First.",
        "One.",
        "Second.",
    ]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (Failure(401), openai.AuthenticationError),
        (Failure(500, headers={"x-should-retry": "false"}), openai.InternalServerError),
        (Broken(Text("It breaks in the middle."), after=3), openai.APIConnectionError),
        (Broken(tool_calls(Call("read_file", {"path": "a.txt"})), 3), openai.APIConnectionError),
        (
            Raw(b'data: {"choices": []}\n\n', content_type="text/event-stream"),
            openai.APIConnectionError,
        ),
    ],
    ids=["401", "500", "text-cut", "call-cut", "ended-early"],
)
def test_an_endpoint_that_fails_raises_and_the_conversation_can_go_on(
    serve: Any, reply: Any, error: type[Exception]
) -> None:
    look = tool_calls(Call("read_file", {"path": "a.txt"}))
    server = serve(look, reply, Text("There again."))
    agent = Agent(registry.session(["file"]))

    async def twice() -> str:
        async with agent.client:
            with pytest.raises(error):
                await agent.run("Look.")
            assert agent.messages[-1]["role"] == "tool"
            return await agent.run("Go on.")

    assert asyncio.run(asyncio.wait_for(twice(), PATIENCE)) == "There again."
    assert server.left == server.surplus == 0


def test_cancelling_cancels_the_tools_and_leaves_no_call_without_a_result(serve: Any) -> None:
    serve(tool_calls(Call("clarify", {"question": "Well?"})), Text("There again."))
    happened: list[str] = []

    async def cancelled() -> None:
        asked = asyncio.Event()

        async def ask(question: str, choices: list[str] | None) -> str:
            asked.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                happened.append("withdrawn")
                raise
            return ""

        agent = Agent(registry.session(["clarify"]), context={"ask": ask})
        task = asyncio.create_task(agent.run("Ask me."))
        await asyncio.wait_for(asked.wait(), PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert [message["role"] for message in agent.messages] == ["system", "user"]
        async with agent.client:
            assert await agent.run("Never mind.") == "There again."

    asyncio.run(asyncio.wait_for(cancelled(), PATIENCE))
    assert happened == ["withdrawn"]


def command_line(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.agent", *arguments],
        cwd=HERE, env=dict(os.environ), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip


def test_the_command_line_prints_the_answer(serve: Any) -> None:
    server = serve(tool_calls(Call("read_file", {"path": "a.txt"})), Text("It is the first file."))
    done = command_line("Look.", "--toolset", "file", "--model", "m")
    assert (done.stdout, done.returncode) == ("It is the first file.\n", 0), done.stderr
    assert {body["model"] for body in server.bodies} == {"m"}
    assert len(server.bodies[0]["tools"]) == 4


@pytest.mark.parametrize(
    ("arguments", "said"), [(("--toolset", "fiel"), "Did you mean 'file'?"), ((), "key provided")]
)
def test_the_command_line_says_in_a_line_what_is_wrong(
    serve: Any, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    serve()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    done = command_line("Look.", *arguments)
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
