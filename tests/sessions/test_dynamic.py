"""Overrides change what the spec lets them change, and nothing else."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.runtime_program import tool, write_program

PARAMETERS = {
    "type": "object",
    "properties": {"model": {"type": "string", "enum": ["a"], "description": "Which."}},
    "required": ["model"],
    "additionalProperties": False,
}


def make(folder: Path, overrides: Any, dynamic: list[str]) -> Any:
    registry = write_program(
        folder, [tool("t", PARAMETERS, handler="external", dynamic=dynamic)]
    ).registry
    registry.register(
        "t", handler=lambda args: json.dumps(args), dynamic_schema_overrides=overrides
    )
    return registry


def schema(registry: Any) -> Any:
    return registry.session().definitions()[0]["function"]


def test_by_pointer_and_by_part_alike(tmp_path: Path) -> None:
    pointer = "/parameters/properties/model/description"
    one = make(tmp_path / "one", lambda: {pointer: "New."}, [pointer])
    assert schema(one)["parameters"]["properties"]["model"]["description"] == "New."
    parts = {"description": "Now.", "parameters": PARAMETERS}
    two = make(tmp_path / "two", lambda: parts, ["/description"])
    assert schema(two)["description"] == "Now."


def raising() -> Any:
    raise RuntimeError("no settings")


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (raising, "RuntimeError"),
        (lambda: {"name": "evil"}, "/name"),
        (lambda: {"parameters": "oops"}, "/parameters"),
        (lambda: {"parameters": {"type": "object"}}, "/parameters/properties"),
        (lambda: {"/parameters/required": []}, "/parameters/required"),
        (lambda: {"description": 3}, "no text"),
        (lambda: {"strict": True}, "/strict"),
        (lambda: None, "NoneType"),
        (lambda: ["description"], "list"),
        (lambda: {"/parameters/properties/model/enum/x/y": 1}, "there is no place"),
        (lambda: {"/description/zz": 1}, "no place /description/zz"),
        (lambda: {"description": "half \ud83d of it"}, "surrogate"),
        (lambda: {"/parameters/default": float("nan")}, "no number"),
        (lambda: {"/parameters/default": {1}}, "type set"),
        (lambda: {3: "x"}, "key 3"),
    ],
)
def test_what_breaks_the_rule_leaves_the_declared_schema_and_warns(
    tmp_path: Path, overrides: Any, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    registry = make(tmp_path, overrides, ["/description"])
    with caplog.at_level(logging.WARNING):
        assert schema(registry) == registry.get_schema("t")
        schema(registry)
    (record,) = [one for one in caplog.records if "dynamic_schema_overrides of t" in one.message]
    assert why in record.message


UNITS = {
    "type": "object",
    "properties": {
        "value": {"type": "integer", "description": "How many."},
        "to": {"enum": ["ft", "m"], "default": "ft", "description": "The unit."},
    },
    "required": ["value"],
    "additionalProperties": False,
}
AT_TO = "/parameters/properties/to"


@pytest.mark.parametrize(
    ("overrides", "to"),
    [
        ({f"{AT_TO}/enum": ["m"]}, "ft"),
        ({AT_TO: {"enum": ["ft", "m"]}}, "ft"),
        ({"/parameters/properties": {"value": {"type": "integer"}}}, "ft"),
        ({f"{AT_TO}/enum": ["m"], f"{AT_TO}/default": "m"}, "m"),
        ({f"{AT_TO}/enum": ["ft"]}, "ft"),
        ({f"{AT_TO}/enum": ["m"], "/parameters/required": ["value", "to"]}, None),
    ],
    ids=["enum narrowed", "default dropped", "property dropped", "both", "still fits", "required"],
)
def test_a_property_with_a_declared_default_always_reaches_the_handler(
    tmp_path: Path, overrides: Any, to: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    dynamic = ["/parameters/properties", "/parameters/required"]
    registry = write_program(
        tmp_path, [tool("t", UNITS, handler="external", dynamic=dynamic)]
    ).registry
    registry.register(
        "t", handler=lambda args: args["to"], dynamic_schema_overrides=lambda: overrides
    )
    with caplog.at_level(logging.WARNING):
        answer = registry.call("t", {"value": 1})
    passed_over = schema(registry) == registry.get_schema("t")
    if to is None:
        assert '\\"to\\" is a required property' in answer
    else:
        assert answer == to
    assert passed_over == ("`to` without a default that fits" in caplog.text)


def test_pointers_and_whole_members_may_stand_side_by_side(tmp_path: Path) -> None:
    at = "/parameters/properties/model/enum"
    registry = make(tmp_path, lambda: {at: ["b"], "description": "Now."}, ["/description", at])
    assert schema(registry)["description"] == "Now."
    assert schema(registry)["parameters"]["properties"]["model"]["enum"] == ["b"]


def test_what_comes_out_must_be_a_schema(tmp_path: Path) -> None:
    at = "/parameters/properties/model"
    for broken in ({"type": "nonsense"}, {"pattern": "("}, {"$ref": "#/$defs/none"}):
        registry = make(tmp_path / str(abs(hash(str(broken)))), lambda one=broken: {at: one}, [at])
        assert schema(registry) == registry.get_schema("t")


def test_a_call_is_held_against_the_schema_that_was_listed(tmp_path: Path) -> None:
    models = ["a"]
    at = "/parameters/properties/model/enum"
    registry = make(tmp_path, lambda: {at: models}, [at])
    session = registry.session()
    assert "error" in json.loads(session.call("t", {"model": "b"}))
    models.append("b")
    assert schema(registry)["parameters"]["properties"]["model"]["enum"] == ["a", "b"]
    assert json.loads(session.call("t", {"model": "b"})) == {"model": "b"}
    models.remove("a")
    assert "error" in json.loads(session.call("t", {"model": "a"}))


def test_changing_what_overrides_returned_later_changes_nothing_before(tmp_path: Path) -> None:
    given = {"description": "One."}
    registry = make(tmp_path, lambda: given, ["/description"])
    first = registry.session().definitions()
    given["description"] = "Two."
    assert first[0]["function"]["description"] == "One."
    assert schema(registry)["description"] == "Two."


def test_a_listing_tells_one_and_true_apart(tmp_path: Path) -> None:
    at = "/parameters/properties/model/default"
    default: list[Any] = [1]
    registry = make(tmp_path, lambda: {at: default[0]}, [at])
    session = registry.session()
    for one in (1, True, 1, False, 0):
        default[0] = one
        listed = session.definitions()[0]["function"]["parameters"]["properties"]["model"]
        assert listed["default"] is one
        assert json.loads(session.definitions_json()) == session.definitions()
        assert session.definitions() is session.definitions()


def test_a_tool_that_took_the_place_of_another_is_listed_with_its_own_schema(
    tmp_path: Path,
) -> None:
    def overrides() -> Any:
        return {"description": "The same words."}

    registry = make(tmp_path, overrides, ["/description"])
    session = registry.session()
    before = session.definitions()[0]["function"]
    parameters = {"type": "object", "properties": {"other": {"type": "string"}}}
    registry.plugin("p", allow_override=True).register(
        "t",
        "words",
        {"description": "Another tool.", "parameters": parameters},
        lambda args: "other",
        dynamic_schema_overrides=overrides,
        override=True,
    )
    after = session.definitions()[0]["function"]
    assert before["parameters"] == PARAMETERS and after["parameters"] == parameters
    assert before["description"] == after["description"] == "The same words."
