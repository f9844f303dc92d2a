"""The types in a stub are those of the JSON values that fit its schema."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_build.compiler.emit.naming import Kind
from hermes_build.compiler.emit.stubs import Stub
from tests.stubs.written import hints, stub, thing


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": ["string", "null"]}, "str | None"),
        ({"enum": ["a", None, 1]}, "Literal['a', 1] | None"),
        ({"enum": [1.5, "a"]}, "Literal['a'] | float"),
        ({"enum": [{"a": 1}]}, "dict[str, Any]"),
        ({"type": "string", "enum": ["a", 1]}, "Literal['a']"),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, "Literal['a', 'b']"),
        ({"type": "array", "items": {"type": "number"}}, "list[float]"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "list[Any]"),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, True], "items": False},
            "list[Any]",
        ),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": False}, "list[str]"),
        ({"type": "array", "items": [{"type": "string"}], "additionalItems": False}, "list[str]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"type": "object", "patternProperties": {"a": {"type": "integer"}}}, "dict[str, Any]"),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "str"),
        ({"allOf": [{"type": ["string", "null"]}, {"type": ["string", "integer"]}]}, "str"),
        ({"type": "string", "format": "binary"}, "str"),
        ({"anyOf": [{"type": "string"}, True]}, "Any"),
        ({"type": "string", "nullable": True}, "str"),
        ({}, "Any"),
        (True, "Any"),
    ],
)
def test_types_are_those_of_the_json_values(schema: Any, written: str) -> None:
    one = stub({**thing(a=schema), "required": ["a"]})
    assert hints(one)["a"] == written


def test_a_conjunction_is_one_class_with_all_properties(
    made: dict[Kind, dict[str, Stub]],
) -> None:
    one = made["typed-dict"]["unions"]
    assert hints(one, "UnionsMerged") == {"x": "NotRequired[int]", "y": "int"}
    assert hints(one, "UnionsSiblings") == {"x": "int", "y": "int"}
    assert hints(one)["either"] == "NotRequired[UnionsEither]"
    assert hints(one)["tagged"] == "NotRequired[UnionsTagged | UnionsTagged2]"
