"""Changes, listings and calls of many threads at once, in any order that hypothesis thinks of.

What may differ from one moment to the next, and does by design: a call that began before a change
may still run the tool as it was, and a tool that was listed may be gone when it is called. What may
never be seen: half of a batch, a batch that failed, a tool that a session denies or that nobody
registered, the answer of another call, a generation that goes back.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import logging
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_build.runtime import Plugin, Session, ToolRegistry
from tests.contract.programs import names_of, several

PAIR = ["left", "right"]
"""Two tools that every batch changes together."""

STEPS = [
    "batch",
    "failing batch",
    "take out",
    "loose",
    "denied",
    "server",
    "toolset",
    "hook",
    "list",
    "list",
    "call",
    "call",
    "acall",
    "resolve",
]
SCRIPTS = st.lists(
    st.lists(st.sampled_from(STEPS), min_size=3, max_size=12), min_size=6, max_size=6
)


@pytest.fixture(autouse=True)
def watchdog(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Show where every thread stands, and end, rather than hang."""
    with capfd.disabled():
        stderr = os.dup(2)
    faulthandler.dump_traceback_later(300, exit=True, file=stderr)
    logging.disable(logging.CRITICAL)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns in the middle of everything
    yield
    sys.setswitchinterval(interval)
    logging.disable(logging.NOTSET)
    faulthandler.cancel_dump_traceback_later()
    os.close(stderr)


@cache
def program() -> ToolRegistry:
    return several(Path(tempfile.mkdtemp()))


def answering(text: str) -> Callable[..., str]:
    """A handler that tells which it is, and for which call it ran."""

    def handler(args: dict[str, Any], **context: Any) -> str:
        return f"{text} {args.get('mark')}"

    return handler


def described(version: str) -> dict[str, Any]:
    return {"description": version, "parameters": {"type": "object"}}


class Actor:
    """One thread, what it does, and what it must never see."""

    def __init__(self, number: int, registry: ToolRegistry, plugin: Plugin) -> None:
        self.number = number
        self.registry = registry
        self.plugin = plugin
        self.own = registry.plugin(f"own {number}")
        self.session = registry.session(None, ["forbidden", "tag:exec"])
        self.count = 0
        self.generation = 0

    def act(self, step: str) -> None:
        self.count += 1
        mark = f"{self.number}/{self.count}"
        getattr(self, step.replace(" ", "_"))(mark)
        generation = self.registry.generation
        assert generation >= self.generation
        self.generation = generation

    def enter_pair(self, version: str) -> None:
        for name in PAIR:
            schema = described(version)
            self.plugin.register(name, "pair", schema, answering(version), replace=True)

    def batch(self, mark: str) -> None:
        with self.registry.batch():
            self.enter_pair(f"v{mark}")

    def failing_batch(self, mark: str) -> None:
        with pytest.raises(ZeroDivisionError), self.registry.batch():
            self.enter_pair("never")
            self.own.register("never", "extra", described("never"), answering("never"))
            self.registry.create_custom_toolset("never", "Never.", tools=["read"])
            raise ZeroDivisionError

    def take_out(self, mark: str) -> None:
        with self.registry.batch():
            for name in PAIR:
                self.plugin.deregister(name)

    def loose(self, mark: str) -> None:
        name = f"loose{self.number}"
        before = self.registry.generation
        self.own.register(name, "extra", described(mark), answering(mark), replace=True)
        assert self.registry.generation > before
        # What a thread has registered itself, it can list and call from then on.
        assert self.registry.call(name, {"mark": mark}) == f"{mark} {mark}"
        assert name in names_of(self.session.definitions())
        assert self.session.call(name, {"mark": mark}) == f"{mark} {mark}"
        self.own.deregister(name)
        assert "Unknown tool" in self.registry.call(name, {})
        assert "Unknown tool" in self.session.call(name, {})
        assert name not in names_of(self.session.definitions())

    def denied(self, mark: str) -> None:
        """A name that is granted now and denied then; the two come from handlers of their own."""
        name = f"swings{self.number}"
        for toolset, tags in (("extra", []), ("forbidden", []), ("extra", ["exec"])):
            text = "denied" if toolset == "forbidden" or tags else "granted"
            schema, handler = described(text), answering(text)
            self.own.register(name, toolset, schema, handler, tags=tags, replace=True)

    def server(self, mark: str) -> None:
        server = self.registry._overlay.handles["server", "s"]
        offered = [{"name": f"remote{n}", "schema": described(mark)} for n in range(3)]
        for one in offered:
            one["handler"] = answering(mark)
        server.register_many(offered, replace=True)  # type: ignore[attr-defined]

    def toolset(self, mark: str) -> None:
        name = f"set{self.number}"
        self.registry.create_custom_toolset(name, "A set.", tools=["read"], includes=["web"])
        assert self.registry.session([name]).names == ("fetch", "read", "search")
        self.registry.remove_custom_toolset(name)
        assert not self.registry.validate_toolset(name)

    def hook(self, mark: str) -> None:
        heard: list[str] = []

        def listener(tool_call_id: str) -> None:
            heard.append(tool_call_id)

        self.registry.hooks.add("post_tool_call", listener)
        self.session.call("read", {}, tool_call_id=mark)
        self.registry.hooks.unregister(listener)
        assert heard.count(mark) == 1
        self.session.call("read", {}, tool_call_id=f"after {mark}")
        assert f"after {mark}" not in heard

    def list(self, mark: str) -> None:
        for listed in (self.session.definitions(), self.registry.get_definitions(PAIR)):
            shown = {one["function"]["name"]: one["function"]["description"] for one in listed}
            pair = {shown.get(name) for name in PAIR}
            assert len(pair) == 1, pair
            remote = {shown.get(f"remote{n}") for n in range(3)}
            assert len(remote) == 1, remote
            assert not {"never", "denied"} & {*shown.values()}
            assert len(shown) == len(listed)

    def call(self, mark: str) -> None:
        self.check(mark, self.session.call)
        self.check(mark, self.registry.call, may_be_denied=True)

    def acall(self, mark: str) -> None:
        self.check(mark, lambda *args: asyncio.run(self.session.acall(*args)))

    def check(self, mark: str, call: Callable[..., Any], may_be_denied: bool = False) -> None:
        others = [f"swings{number}" for number in range(6)]
        for name in [*PAIR, *others, "remote1", "never"]:
            answer = call(name, {"mark": mark})
            if answer.startswith("{"):
                error = json.loads(answer)["error"]
                assert "Unknown tool" in error or "not in this session" in error
                continue
            text, told = answer.split()
            assert told == mark
            assert text != "never"
            assert may_be_denied or text != "denied"
        for name in ("read", "run"):
            assert call(name, {}) == name

    def resolve(self, mark: str) -> None:
        resolved = self.registry.resolve_toolset("all")
        assert len({name in resolved for name in PAIR}) == 1
        owners = self.registry.get_tool_to_toolset_map()
        assert len({owners.get(name) for name in PAIR}) == 1
        assert "never" not in owners
        assert self.registry.resolve_toolset("full") == ["fetch", "read", "run", "search", "write"]


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(scripts=SCRIPTS)
def test_no_thread_sees_what_never_was(scripts: list[list[str]]) -> None:
    made = program()
    registry = ToolRegistry(made._catalogue, made._digest, made.root)
    for name in made.get_all_tool_names():
        registry.register(name, handler=lambda args, name=name: name)
    plugin = registry.plugin("p")
    plugin.register("held", "forbidden", described("denied"), answering("denied"), tags=["exec"])
    registry.server("s")
    actors = [Actor(number, registry, plugin) for number in range(len(scripts))]
    failures: list[BaseException] = []
    together = threading.Barrier(len(scripts))

    def run(actor: Actor, script: list[str]) -> None:
        together.wait()
        try:
            for step in script:
                actor.act(step)
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=run, args=pair) for pair in zip(actors, scripts, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    at_rest(registry, registry.session(None, ["forbidden", "tag:exec"]))


def at_rest(registry: ToolRegistry, session: Session) -> None:
    """When nothing changes any more, what is listed is what can be called."""
    granted = names_of(session.definitions())
    assert granted == sorted(session.names)
    for name in registry.get_all_tool_names():
        answer = session.call(name, {})
        assert ("not in this session" in answer) is (name not in granted)
        assert "denied" not in answer
    assert "never" not in registry.get_toolset_names()
