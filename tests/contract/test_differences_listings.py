"""The differences from hermes-agent that are meant, in what is listed to a model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hermes_build.runtime import RegistrationError, Unavailable
from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import (
    INTEGER,
    OWNERS,
    Make,
    echo,
    error_of,
    fields_of,
    names_of,
    offer,
    says,
)


def test_difference_required_variables_decide(
    needy: ToolRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    needy.plugin("p").register(**offer("zoom", requires_env=["CONTRACT_KEY"]))
    for value in (None, "", "x"):
        if value is not None:
            monkeypatch.setenv("CONTRACT_KEY", value)
        names = names_of(needy.session().definitions())
        assert ("read" in names, "zoom" in names) == (bool(value), bool(value))


def test_difference_a_check_answers_true_or_false(registry: ToolRegistry) -> None:
    async def later() -> bool:
        return True

    plugin = registry.plugin("p")
    with pytest.raises(RegistrationError):
        plugin.register(**offer("zoom", check_fn=later))
    plugin.register(**offer("aim", check_fn=lambda: "yes"))
    assert registry.get_definitions(["aim"]) == []
    assert "must return a bool" in registry.why_unavailable("aim")[0]


def test_difference_a_check_may_say_why(registry: ToolRegistry) -> None:
    def check() -> bool:
        raise Unavailable("log in with `lens login`")

    registry.plugin("p").register(**offer("zoom", check_fn=check))
    assert registry.why_unavailable("zoom") == ("log in with `lens login`",)
    assert "log in with `lens login`" in error_of(registry.call("zoom", {}))


def test_difference_dynamic_schemas_change_what_their_spec_lists(make: Make) -> None:
    given: dict[str, Any] = {"name": "other", "parameters": {"type": "object"}}
    registry = make(says(""), INTEGER, dynamic=["/description"], overrides=lambda: given)
    assert registry.get_definitions(["t"])[0]["function"] == registry.get_schema("t")
    given.clear()
    given["description"] = "As it is now."
    assert registry.get_definitions(["t"])[0]["function"]["description"] == "As it is now."


def test_difference_a_listing_cannot_be_changed(registry: ToolRegistry) -> None:
    definitions = registry.session().definitions()
    with pytest.raises(TypeError):
        definitions[0]["function"]["parameters"]["type"] = "string"
    with pytest.raises(TypeError):
        definitions.append({})


def test_difference_schemas_are_not_cleaned_up_in_silence(make: Make) -> None:
    parameters = {
        "$defs": {"code": {"type": "string", "pattern": "^[A-Z]{2}$"}},
        "type": "object",
        "properties": {"code": {"anyOf": [{"$ref": "#/$defs/code"}, {"type": "null"}]}},
        "dependentRequired": {"code": []},
        "additionalProperties": False,
    }
    registry = make(echo, parameters)
    assert registry.get_definitions(["t"])[0]["function"]["parameters"] == parameters
    assert json.loads(registry.session().definitions_json())[0]["function"]["parameters"] == (
        parameters
    )
    assert "error" in fields_of(registry.call("t", {"code": "finland"}))
    assert "args" in fields_of(registry.call("t", {"code": "FI"}))


def test_difference_sessions_are_independent(registry: ToolRegistry) -> None:
    agent = registry.session(["coding"])
    before = agent.definitions()
    helper = agent.narrow(["file", "web"], ["write"])
    assert names_of(helper.definitions()) == ["read"]
    assert registry.session([]).definitions() == []
    assert agent.definitions() is before and agent.names == ("read", "run", "write")


def test_difference_deferring_is_said_and_not_measured(registry: ToolRegistry) -> None:
    plugin = registry.plugin("p")
    for number in range(200):
        plugin.register(**offer(f"tool_{number}"))
    assert len(registry.session().definitions()) == len(OWNERS) + 200
    listed = names_of(registry.session(deferred=["extra"]).definitions())
    assert listed == [*sorted(OWNERS), "tool_search", "tool_describe", "tool_call"]
