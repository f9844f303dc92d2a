"""Any schema, any arguments: the handler runs with what fits, or not at all."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from hermes_build.runtime import Plugin, ToolRegistry
from tests.fuzz.json_data import ANYTHING, PARAMETERS, near
from tests.runtime_program import write_program

MANY = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module", name="plugin")
def fixture_plugin(tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    """The handle of the one plugin of a program without tools."""
    root: Path = tmp_path_factory.mktemp("program")
    registry: ToolRegistry = write_program(root, []).registry
    return registry.plugin("p")


def is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, UnicodeEncodeError):
        return False
    return True


def same(one: Any, other: Any) -> bool:
    """Equal as JSON text is, where 1, 1.0 and true are three things, and NaN is itself."""
    return repr(one) == repr(other)


class Arguments:
    """What a handler was given, call by call."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, args: dict[str, Any], **context: Any) -> str:
        self.seen.append(copy.deepcopy(args))
        return "ran"


def register(plugin: Plugin, parameters: dict[str, Any]) -> tuple[ToolRegistry, Arguments]:
    handler = Arguments()
    schema = {"name": "t", "description": "A tool.", "parameters": parameters}
    plugin.register("t", "extra", schema, handler, replace=True)
    return plugin._registry, handler


def answers(registry: ToolRegistry, args: Any) -> list[Any]:
    """The answers to one call on every way, the long one and the short one."""
    session = registry.session()
    return [
        registry.call("t", args),
        registry.call("t", args),
        session.call("t", args),
        session.call("t", args),
        asyncio.run(registry.acall("t", args)),
    ]


@MANY
@given(data=st.data())
def test_a_handler_runs_with_arguments_that_fit_or_not_at_all(
    plugin: Plugin, data: st.DataObject
) -> None:
    parameters = data.draw(PARAMETERS)
    sent = data.draw(near(parameters))
    before = copy.deepcopy(sent)
    registry, handler = register(plugin, parameters)
    fits = Draft202012Validator(parameters).is_valid
    told = answers(registry, sent)
    assert same(sent, before)
    assert len(set(told)) == 1
    if told[0] == "ran":
        assert len(handler.seen) == len(told)
        assert all(same(one, handler.seen[0]) for one in handler.seen)
        assert fits(handler.seen[0])
        assert is_json(handler.seen[0])
    else:
        assert not handler.seen
        told[0].encode()
        assert isinstance(json.loads(told[0])["error"], str)
        # What is refused as it stands must not fit as it stands.
        assert not (isinstance(sent, dict) and is_json(sent) and fits(sent))


@MANY
@given(data=st.data())
def test_what_fits_is_handed_on_with_nothing_but_defaults(
    plugin: Plugin, data: st.DataObject
) -> None:
    parameters = data.draw(PARAMETERS)
    sent = data.draw(near(parameters))
    if not (isinstance(sent, dict) and is_json(sent)):
        return
    registry, handler = register(plugin, parameters)
    if not Draft202012Validator(parameters).is_valid(sent):
        return
    assert answers(registry, sent)[0] == "ran"
    for got in handler.seen:
        assert within(sent, got), got


def within(sent: Any, got: Any) -> bool:
    """Whether a value is another with more properties, and with int for whole numbers."""
    if isinstance(sent, dict):
        return (
            isinstance(got, dict)
            and list(got)[: len(sent)] == list(sent)
            and all(within(one, got[name]) for name, one in sent.items())
        )
    if isinstance(sent, list):
        return isinstance(got, list) and len(sent) == len(got) and all(map(within, sent, got))
    if isinstance(sent, float) and sent.is_integer() and type(got) is int:
        return sent == got
    return same(sent, got)


@MANY
@given(parameters=PARAMETERS, sent=ANYTHING)
def test_whatever_is_sent_is_answered_and_stays_as_it_was(
    plugin: Plugin, parameters: dict[str, Any], sent: Any
) -> None:
    before = copy.deepcopy(sent)
    registry, handler = register(plugin, parameters)
    for answer in answers(registry, sent):
        answer.encode()
        assert answer == "ran" or isinstance(json.loads(answer)["error"], str)
    assert same(sent, before)
    assert all(Draft202012Validator(parameters).is_valid(one) for one in handler.seen)
