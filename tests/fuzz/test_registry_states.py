"""Any sequence of changes: what is listed can be called, what is gone or denied cannot.

A model keeps what each name is to answer, and who owns it; after every step, the registry and all
its sessions have to agree with it. What is refused has to leave everything as it was.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hermes_build.runtime import Plugin, Server, ToolRegistry
from tests.contract.programs import OWNERS, error_of, names_of, says, several
from tests.fuzz.registry_model import DECLARED, Held, Model, Tool

NEW = ["t0", "t1", "t2"]
NAMES = st.sampled_from([*NEW, *OWNERS])
LEAVES = ["left", "right", "web", "file"]
CUSTOM = ["mine", "yours", "left"]
SETS = st.sampled_from(
    [*LEAVES, *CUSTOM, "terminal", "coding", "safe", "full", "net", "mcp-s", "s"]
)
REFUSALS = (ValueError, LookupError, PermissionError, TypeError)


@cache
def program() -> ToolRegistry:
    return several(Path(tempfile.mkdtemp()))


class Registry(RuleBasedStateMachine):
    """A registry, and a model of it."""

    def __init__(self) -> None:
        super().__init__()
        made = program()
        self.registry = ToolRegistry(made._catalogue, made._digest, made.root)
        self.model = Model({})
        self.plugins: list[Plugin] = []
        self.closed: list[Plugin] = []
        self.sessions: list[Held] = []
        self.server: Server | None = None
        self.numbers = itertools.count()
        self.heard: list[str] = []
        self.listener: Callable[..., Any] | None = None

    @initialize()
    def bind(self) -> None:
        for name in OWNERS:
            self.registry.register(name, handler=says(name))

    # Changing.

    def change(self, operation: Callable[[], None], *, grows: bool = True) -> bool:
        """Make a change that may be refused; what is refused has changed nothing."""
        before, model, generation = self.state(), self.model.copy(), self.registry.generation
        try:
            operation()
        except REFUSALS:
            self.model = model
            assert self.registry.generation == generation
            assert self.state() == before
            return False
        assert self.registry.generation >= generation
        if grows and self.state() != before:
            assert self.registry.generation > generation
        return True

    def state(self) -> tuple[Any, ...]:
        registry = self.registry
        return (
            registry.get_all_tool_names(),
            registry.get_tool_to_toolset_map(),
            registry.get_all_toolsets(),
            registry.get_registered_toolset_aliases(),
            {name: id(one) for name, one in registry._overlay.handles.items()},
            [handle.names for handle in self.plugins],
        )

    def enter(
        self, plugin: Plugin, name: str, toolset: str, override: bool, again: bool, tag: bool
    ) -> None:
        answer = f"{name} #{next(self.numbers)}"
        present = self.model.there(name)
        tags = ["exec"] if tag else []
        plugin.register(
            name,
            toolset,
            {"parameters": {"type": "object"}},
            says(answer),
            override=override,
            replace=again,
            tags=tags,
        )
        assert plugin not in self.closed
        if present is not None:
            if present.owner is plugin:
                assert again
            else:
                assert override
                assert plugin.allow_override
                assert not isinstance(present.owner, Server)
        elif name in OWNERS:
            assert plugin.allow_override  # the host took it out: nobody brings it back unasked
        self.model.tools[name] = Tool(answer, toolset, plugin, frozenset(tags))

    def leave(self, plugin: Plugin, name: str) -> None:
        present = self.model.there(name)
        plugin.deregister(name)
        if present is None:
            return
        if present.owner is not plugin:
            assert plugin.allow_override
            assert not isinstance(present.owner, Server)
            self.take_out(name)
        else:
            del self.model.tools[name]

    def take_out(self, name: str) -> None:
        self.model.tools.pop(name, None)
        if name in OWNERS:
            self.model.hidden.add(name)

    def any_plugin(self, data: st.DataObject) -> Plugin | None:
        known = [*self.plugins, *self.closed]
        return data.draw(st.sampled_from(known)) if known else None

    @rule(consents=st.booleans(), name=st.sampled_from("pqr"))
    def issue(self, consents: bool, name: str) -> None:
        def operation() -> None:
            self.plugins.append(self.registry.plugin(name, allow_override=consents))

        self.change(operation)

    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        if not self.plugins:
            return
        plugin = data.draw(st.sampled_from(self.plugins))
        plugin.close()
        self.plugins.remove(plugin)
        self.closed.append(plugin)
        self.model.tools = {
            name: one for name, one in self.model.tools.items() if one.owner is not plugin
        }

    @rule(
        data=st.data(),
        name=NAMES,
        toolset=st.sampled_from([*LEAVES, "net", "mcp-s", "s", "all"]),
        override=st.booleans(),
        again=st.booleans(),
        tag=st.booleans(),
    )
    def register(
        self,
        data: st.DataObject,
        name: str,
        toolset: str,
        override: bool,
        again: bool,
        tag: bool,
    ) -> None:
        plugin = self.any_plugin(data)
        if plugin is not None:
            self.change(lambda: self.enter(plugin, name, toolset, override, again, tag))

    @rule(data=st.data(), name=NAMES)
    def deregister(self, data: st.DataObject, name: str) -> None:
        plugin = self.any_plugin(data)
        if plugin is not None:
            self.change(lambda: self.leave(plugin, name))

    @rule(name=NAMES)
    def deregister_by_the_host(self, name: str) -> None:
        def operation() -> None:
            present = self.model.there(name)
            self.registry.deregister(name)
            assert present is None or not isinstance(present.owner, Server)
            self.take_out(name)

        self.change(operation)

    @rule(name=st.sampled_from([*OWNERS]))
    def bring_back(self, name: str) -> None:
        # Another handler of the same tool needs the word, and says the same here.
        self.registry.register(name, handler=says(name), override=True)
        self.model.hidden.discard(name)

    @rule(names=st.lists(NAMES, max_size=3), only=st.booleans())
    def offer(self, names: list[str], only: bool) -> None:
        def operation() -> None:
            if self.server is None:
                self.server = self.registry.server("s")

        if self.server is None and not self.change(operation):
            return
        assert self.server is not None
        server, number = self.server, next(self.numbers)
        tools = [
            {"name": name, "schema": {"parameters": {"type": "object"}}, "handler": says(answer)}
            for name in names
            for answer in (f"{name} #{number}",)
        ]
        report = server.register_many(tools, replace=only)
        taken = {one for skipped in report.skipped for one in skipped.names}
        assert taken | set(report.registered) == set(names)
        if only:
            self.model.tools = {
                name: one
                for name, one in self.model.tools.items()
                if one.owner is not server or name in names
            }
        for name in report.registered:
            present = self.model.there(name)
            assert present is None or (present.owner is server and only)
            self.model.tools[name] = Tool(f"{name} #{number}", "mcp-s", server)
        if only:  # what the server offers twice under one name is not offered
            for name in taken:
                one = self.model.tools.get(name)
                if one is not None and one.owner is server:
                    del self.model.tools[name]

    @rule(
        name=st.sampled_from(CUSTOM),
        tools=st.lists(NAMES, max_size=2),
        includes=st.lists(st.sampled_from([*LEAVES, *CUSTOM, "coding"]), max_size=2),
        excludes=st.lists(NAMES, max_size=1),
    )
    def make_toolset(
        self, name: str, tools: list[str], includes: list[str], excludes: list[str]
    ) -> None:
        def operation() -> None:
            registry = self.registry
            registry.create_custom_toolset(name, "A set.", tools, includes, excludes=excludes)
            self.model.customs[name] = (tools, includes, excludes)
            assert self.model.resolve(name)

        self.change(operation)

    @rule(name=st.sampled_from(CUSTOM))
    def remove_toolset(self, name: str) -> None:
        def operation() -> None:
            self.registry.remove_custom_toolset(name)
            self.model.customs.pop(name, None)

        self.change(operation)

    @rule(data=st.data(), count=st.integers(0, 4), fails=st.booleans())
    def batch(self, data: st.DataObject, count: int, fails: bool) -> None:
        """Several changes at once, of which some may be refused, and which may all fail."""
        plugin = self.any_plugin(data)
        if plugin is None:
            return
        seen_before = self.state()
        model, generation = self.model.copy(), self.registry.generation

        def steps() -> Iterator[Callable[[], None]]:
            for _ in range(count):
                name, kind = data.draw(NAMES), data.draw(st.integers(0, 3))
                if kind == 0:
                    yield lambda name=name: self.leave(plugin, name)
                else:
                    options = (kind == 1, kind > 1, False)
                    yield lambda name=name, options=options: self.enter(
                        plugin, name, data.draw(st.sampled_from(LEAVES)), *options
                    )

        try:
            with self.registry.batch():
                for step in steps():
                    inner = self.model.copy()
                    try:
                        step()
                    except REFUSALS:
                        self.model = inner
                assert self.state() == seen_before  # nobody sees a change before the end
                if fails:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            self.model = model
            assert self.registry.generation == generation
            assert self.state() == seen_before
        else:
            assert self.registry.generation <= generation + 1
            assert (self.state() == seen_before) or self.registry.generation == generation + 1

    # Sessions.

    @rule(
        data=st.data(),
        enabled=st.one_of(st.none(), st.lists(st.one_of(SETS, NAMES), max_size=3)),
        disabled=st.lists(st.one_of(SETS, NAMES, st.just("tag:exec")), max_size=2),
        narrows=st.booleans(),
    )
    def open_session(
        self,
        data: st.DataObject,
        enabled: list[str] | None,
        disabled: list[str],
        narrows: bool,
    ) -> None:
        within = data.draw(st.sampled_from(self.sessions)) if narrows and self.sessions else None
        make = self.registry.session if within is None else within.session.narrow
        known = [*(enabled or ()), *disabled]
        is_known = all(self.model.meant(one) or self.is_name(one) for one in known)
        try:
            session = make(enabled, disabled)
        except LookupError:
            assert not is_known
        else:
            assert is_known
            self.sessions.append(Held(session, enabled, disabled, within))
            del self.sessions[:-4]

    def is_name(self, name: str) -> bool:
        return self.model.is_toolset({"net": "web"}.get(name, name)) or (
            name == "s" and self.model.is_toolset("mcp-s")
        )

    @rule()
    def listen(self) -> None:
        if self.listener is None:
            self.listener = lambda tool_name, status: self.heard.append(f"{tool_name} {status}")
            self.registry.hooks.add("post_tool_call", self.listener)
        else:
            self.registry.hooks.unregister(self.listener)
            self.listener = None

    # What has to hold after every step.

    @invariant()
    def the_registry_is_as_the_model_says(self) -> None:
        registry, model = self.registry, self.model
        names = model.names()
        assert registry.get_all_tool_names() == names
        assert names_of(registry.get_definitions([*NEW, *OWNERS])) == names
        for name in {*NEW, *OWNERS}:
            tool = model.there(name)
            answer = registry.call(name, {})
            if tool is None:
                assert "Unknown tool" in error_of(answer)
                assert registry.get_entry(name) is None
            else:
                assert answer == tool.answer
                assert registry.get_toolset_for_tool(name) == tool.toolset
        for toolset in {*DECLARED, *CUSTOM, *LEAVES, "mcp-s"}:
            assert registry.validate_toolset(toolset) is model.is_toolset(toolset)
            if model.is_toolset(toolset):
                assert registry.resolve_toolset(toolset) == sorted(model.resolve(toolset))
        for alias, target in registry.get_registered_toolset_aliases().items():
            assert model.is_toolset(target), alias

    @invariant()
    def every_session_lists_what_it_can_call_and_calls_nothing_else(self) -> None:
        for held in self.sessions:
            granted = held.granted(self.model)
            session = held.session
            assert set(session.names) == granted
            assert names_of(session.definitions()) == sorted(granted)
            for name in {*NEW, *OWNERS}:
                tool = self.model.there(name)
                answer = session.call(name, {})
                if name in granted:
                    assert tool is not None
                    assert answer == tool.answer
                elif tool is None:
                    assert "Unknown tool" in error_of(answer)
                else:
                    assert "not in this session" in error_of(answer)
                    assert not session.explain(name).granted

    @invariant()
    def hooks_hear_of_every_call_and_only_while_they_are_there(self) -> None:
        self.heard.clear()
        name = (self.model.names() or ["t0"])[0]
        self.registry.call(name, {})
        asyncio.run(self.registry.acall(name, {}))
        status = "ok" if self.model.there(name) else "error"
        assert self.heard == ([f"{name} {status}"] * 2 if self.listener else [])


@pytest.mark.usefixtures("quiet")
class TestRegistry(Registry.TestCase):  # type: ignore[misc, valid-type]
    settings = settings(
        max_examples=60,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


@pytest.fixture(name="quiet")
def fixture_quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
