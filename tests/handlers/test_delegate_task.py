"""Helpers do their tasks within their parent's tools and the limits, each for itself."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from examples.scripted_model import (
    KEY,
    Call,
    Failure,
    ModelServer,
    Reply,
    Request,
    Silence,
    Text,
    tool_calls,
)
from generated.registry import registry
from handlers.agents import delegation
from hermes_build.runtime.plugins import Plugin
from tests.handlers.calling import call

PATIENCE = 60.0  # only what hangs ever takes so long
pytestmark = pytest.mark.usefixtures("two_files")


def delegate(granted: Sequence[str] = ("file", "delegation"), /, **args: Any) -> Any:
    """The answer of a call in a session of these toolsets."""
    session = registry.session(granted)
    called = session.acall("delegate_task", args, tool_call_id="call_1")
    return json.loads(asyncio.run(asyncio.wait_for(called, PATIENCE)))


def results(**args: Any) -> list[dict[str, Any]]:
    answer = delegate(**args)
    assert "results" in answer, answer
    found: list[dict[str, Any]] = answer["results"]
    return found


def listed(server: ModelServer, request: int = 0) -> list[str]:
    return [one["function"]["name"] for one in server.bodies[request]["tools"]]


def asked(request: Request) -> str:
    """What the helper that sends a request was told."""
    text: str = request.body["messages"][1]["content"]
    return text


def test_a_helper_uses_a_tool_and_its_answer_comes_back(serve: Any) -> None:
    server = serve(tool_calls(Call("read_file", {"path": "a.txt"})), Text("It is the first."))
    [one] = results(goal="Read a.txt.", context="It is short.")
    assert (one["task_index"], one["status"], one["summary"]) == (
        0,
        "completed",
        "It is the first.",
    )
    assert one["tool_calls"] == {"read_file": 1}
    assert one["duration_seconds"] >= 0
    first, second = server.bodies
    prompt = first["messages"][1]["content"]
    assert prompt.startswith("Read a.txt.") and prompt.endswith("It is short.")
    assert "the first file" in second["messages"][-1]["content"]


def test_a_helper_has_its_parents_tools_without_questions_and_further_helpers(serve: Any) -> None:
    server = serve(Text("Done."))
    delegate(["file", "planning", "delegation"], goal="Do it.")
    parents = set(registry.session(["file", "planning"]).names)
    assert set(listed(server)) == parents - {"clarify"}


def test_a_task_may_ask_for_less_and_never_for_more(serve: Any) -> None:
    server = serve(Text("Done."))
    results(goal="Read.", toolsets=["read_file"])
    assert listed(server) == ["read_file"]
    lacking = delegate(goal="Run.", toolsets=["terminal"])
    assert "no tool of 'terminal'" in lacking["error"]
    assert "read_file" in lacking["your_tools"]
    unknown = delegate(goal="Run.", toolsets=["fiel"])
    assert "fiel" in unknown["error"] and "file" in unknown["error"]
    # Neither of them cost a request.
    assert len(server.requests) == 1


def test_what_the_parent_has_to_find_a_helper_finds_too_unless_it_is_named(serve: Any) -> None:
    server = serve(Text("Done."), Text("Done."))
    session = registry.session(["file", "delegation"], deferred=["file"])
    for task in ({"goal": "Find."}, {"goal": "Read.", "toolsets": ["read_file"]}):
        asyncio.run(asyncio.wait_for(session.acall("delegate_task", task), PATIENCE))
    assert set(listed(server, 0)) == {"tool_search", "tool_describe", "tool_call"}
    assert listed(server, 1) == ["read_file"]


def test_a_helper_that_calls_what_its_parent_lacks_is_refused(serve: Any) -> None:
    server = serve(tool_calls(Call("terminal", {"command": "id"})), Text("I may not."))
    [one] = results(goal="Run id.")
    assert one["status"] == "completed"
    [refused] = [m["content"] for m in server.bodies[1]["messages"] if m["role"] == "tool"]
    assert "not in this session" in json.loads(refused)["error"]


def test_at_the_depth_limit_a_helper_has_no_helpers_whatever_it_calls(serve: Any) -> None:
    further = tool_calls(Call("delegate_task", {"goal": "Further."}))
    server = serve(
        further, further, Text("I may not."), Text("Neither did mine."), HERMES_MAX_DEPTH="2"
    )
    [one] = results(goal="Go deep.")
    assert one["summary"] == "Neither did mine."
    assert "delegate_task" in listed(server, 0)
    assert "delegate_task" not in listed(server, 1)
    refused = server.bodies[2]["messages"][-1]["content"]
    assert "not in this session" in json.loads(refused)["error"]


def test_depth_is_counted_through_tools_that_go_around_the_session(
    serve: Any, plugin: Plugin
) -> None:
    async def handler(args: dict[str, Any], **context: Any) -> str:
        answer: str = await registry.acall("delegate_task", {"goal": "Around."})
        return answer

    schema = {
        "description": "Go around.",
        "parameters": {"type": "object", "properties": {}},
    }
    plugin.register("around", "going_around", schema, handler, is_async=True)
    server = serve(tool_calls(Call("around")), Text("No way."))
    delegate(["going_around", "delegation"], goal="Try.")
    assert "1 deep" in json.loads(server.bodies[1]["messages"][-1]["content"])["error"]


class Crowd:
    """A reply that waits for so many requests at once, and knows how many there were at most."""

    def __init__(self, together: int) -> None:
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self._barrier = threading.Barrier(together)

    def __call__(self, request: Request) -> Reply:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self._barrier.wait(PATIENCE)
        with self._lock:
            self._now -= 1
        return Text(f"Done: {asked(request)}")


def test_helpers_work_side_by_side_as_many_as_the_limit_allows(serve: Any) -> None:
    crowd = Crowd(2)
    serve(*[crowd] * 4, HERMES_MAX_CHILDREN="2")
    found = results(tasks=[{"goal": f"task {number}"} for number in range(4)])
    assert crowd.most == 2
    # In the order of the tasks, whichever was done first.
    assert [one["summary"] for one in found] == [f"Done: task {number}" for number in range(4)]


def test_the_limit_holds_for_all_calls_of_one_agent_together(serve: Any) -> None:
    crowd = Crowd(1)
    serve(*[crowd] * 4, HERMES_MAX_CHILDREN="1")
    session = registry.session(["delegation", "file"])

    async def several() -> list[Any]:
        calls = [session.acall("delegate_task", {"goal": f"task {one}"}) for one in range(4)]
        return await asyncio.wait_for(asyncio.gather(*calls), PATIENCE)

    answers = [json.loads(one)["results"][0]["summary"] for one in asyncio.run(several())]
    assert answers == [f"Done: task {number}" for number in range(4)]
    assert crowd.most == 1


def test_what_the_call_says_besides_its_tasks_holds_for_all_of_them(serve: Any) -> None:
    server = serve(*[lambda request: Text(asked(request))] * 2, HERMES_MAX_CHILDREN="1")
    first, second = results(
        context="Change nothing.",
        toolsets=["read_file"],
        tasks=[{"goal": "one", "context": "Be brief."}, {"goal": "two", "toolsets": ["patch"]}],
    )
    assert "Change nothing.\n\nBe brief." in first["summary"]
    assert "Change nothing." in second["summary"]
    assert [listed(server, 0), listed(server, 1)] == [["read_file"], ["patch"]]


def test_a_helper_that_fails_spoils_nothing_for_the_others(serve: Any) -> None:
    def reply(request: Request) -> Reply:
        if asked(request) == "fail":
            return Failure(403, f"no, {KEY} may not")
        return Text("Done.")

    serve(*[reply] * 3)
    first, second, third = results(tasks=[{"goal": goal} for goal in ("a", "fail", "b")])
    assert (first["summary"], third["summary"]) == ("Done.", "Done.")
    assert second["status"] == "failed"
    assert "may not" in second["error"]
    assert KEY not in json.dumps(second)


def test_a_helper_whose_time_is_up_says_what_it_did_until_then(serve: Any) -> None:
    serve(tool_calls(Call("read_file", {"path": "a.txt"})), Silence(), HERMES_CHILD_SECONDS="1")
    [one] = results(goal="Wait.")
    assert one["status"] == "timed_out"
    assert one["tool_calls"] in ({"read_file": 1}, {})  # {} where even that took a second


def test_a_helper_that_used_up_its_turns_is_told_apart(serve: Any) -> None:
    look = tool_calls(Call("read_file", {"path": "a.txt"}))
    serve(look, Text("I got this far."), HERMES_CHILD_TURNS="2")
    [one] = results(goal="Read for ever.")
    assert (one["status"], one["summary"]) == ("out_of_turns", "I got this far.")


def test_long_answers_are_cut_to_what_they_may_have_together(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delegation, "MOST_ROOM", 200)
    serve(*[Text("word " * 30)] * 2)
    for one in results(tasks=[{"goal": "talk"}, {"goal": "talk too"}]):
        assert one["summary"] == "word " * 20 + "\n[... 50 characters left out ...]"


def test_cancelling_the_parent_cancels_the_helpers(serve: Any, plugin: Plugin) -> None:
    serve(*[tool_calls(Call("wait_for_ever"))] * 2)
    happened: list[str] = []

    async def cancelled() -> None:
        both = asyncio.Event()

        async def handler(args: dict[str, Any], **context: Any) -> str:
            happened.append("begun")
            if len(happened) == 2:
                both.set()
            try:
                await asyncio.Event().wait()
            finally:
                happened.append("cancelled")
            return ""

        schema = {
            "description": "Wait.",
            "parameters": {"type": "object", "properties": {}},
        }
        plugin.register("wait_for_ever", "waiting", schema, handler, is_async=True)
        session = registry.session(["waiting", "delegation"])
        args = {"tasks": [{"goal": "one"}, {"goal": "two"}]}
        task = asyncio.create_task(session.acall("delegate_task", args))
        await both.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(cancelled(), PATIENCE))
    assert happened == ["begun", "begun", "cancelled", "cancelled"]


def test_the_description_states_the_limits_of_now(serve: Any) -> None:
    def description() -> str:
        [one] = registry.session(["delegate_task"]).definitions()
        tasks = one["function"]["parameters"]["properties"]["tasks"]["description"]
        return f"{one['function']['description']} {tasks}"

    serve()
    assert "3 of your helpers work at once" in description()
    assert "helpers cannot delegate" in description()
    serve(HERMES_MAX_CHILDREN="7", HERMES_MAX_DEPTH="2", HERMES_CHILD_TURNS="9")
    assert "7 of your helpers" in description()
    assert "9 answers" in description()
    assert "2 levels deep" in description()
    assert "; 7 of them work at once" in description()


def test_a_limit_that_is_no_number_is_refused_and_the_declared_description_stands(
    serve: Any,
) -> None:
    server = serve(HERMES_MAX_CHILDREN="many")
    assert "HERMES_MAX_CHILDREN must be a whole number" in delegate(goal="Do it.")["error"]
    [one] = registry.session(["delegate_task"]).definitions()
    assert "At present" not in one["function"]["description"]
    assert not server.requests


def test_one_goal_and_a_list_of_tasks_exclude_each_other(serve: Any) -> None:
    server = serve()
    assert "tasks" in delegate(goal="One.", tasks=[{"goal": "two"}])["error"]
    assert "Give goal" in delegate(context="Alone.")["error"]
    assert not server.requests


def test_it_is_unavailable_without_a_key(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    serve()
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "OPENAI_API_KEY" in delegate(goal="Do it.")["error"]


def test_without_a_session_a_helper_has_all_tools_but_itself(serve: Any) -> None:
    server = serve(tool_calls(Call("read_file", {"path": "a.txt"})), Text("Done."))
    answer = json.loads(call("delegate_task", '{"goal": "Read a.txt."}', {}))
    assert answer["results"][0]["summary"] == "Done."
    names = set(listed(server))
    assert {"read_file", "terminal", "execute_code"} <= names
    assert not names & {"delegate_task", "clarify"}
