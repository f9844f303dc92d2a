"""A key with a default is certain to be there only where filling it in cannot fail."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_build.compiler.emit.naming import Kind
from hermes_build.compiler.emit.stubs import Stub
from tests.stubs.written import hints, stub, thing


def test_defaults_that_validate_are_present_at_the_handler(
    made: dict[Kind, dict[str, Stub]],
) -> None:
    one = made["typed-dict"]["defaults"]
    present = {name for name, text in hints(one).items() if "NotRequired" not in text}
    assert present == {
        "text",
        "inner",
        "items",
        "nullable",
        "whole",
        "number",
        "by_ref",
        "anything",
    }
    assert hints(one, "DefaultsInner") == {"x": "int"}
    assert hints(one, "DefaultsItemsItem") == {"x": "Any"}
    # A handler writes its result itself, so that nothing in it is filled in.
    assert hints(one, one.result) == {"text": "NotRequired[str]"}


@pytest.mark.parametrize(
    "objection",
    [
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"not": {"required": ["a", "b"]}},
        {"maxProperties": 1},
        {"dependentRequired": {"a": ["b"]}},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"allOf": [{"properties": {"a": {"minimum": 9}}}]},
        {"patternProperties": {"a": {"minimum": 9}}},
    ],
)
def test_no_default_is_certain_where_filling_it_in_could_break_the_arguments(
    objection: dict[str, Any],
) -> None:
    schema = thing(a={"type": "integer", "default": 1}, b={"type": "string"})
    assert hints(stub(schema))["a"] == "int"
    assert "NotRequired" in hints(stub(schema | objection))["a"]


def test_no_default_is_certain_inside_a_branch() -> None:
    inner = thing(x={"type": "integer", "default": 1})
    one = stub(thing(a={"anyOf": [inner, {"type": "null"}]}, b=inner))
    assert hints(one, "ToolXA") == {"x": "NotRequired[int]"}
    assert hints(one, "ToolXB") == {"x": "int"}
