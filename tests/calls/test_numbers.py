"""A number reaches a handler as the kind of number that its schema says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls.one_tool import Make, error_of

WHOLE = {
    "integer": {"type": "integer"},
    "bounded": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 5.0},
    "nullable": {"type": ["integer", "null"]},
    "enum": {"enum": ["auto", 1, 2]},
    "const": {"const": 3},
    "enum_of_numbers": {"type": "number", "enum": [1, 2]},
    "optional": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}]},
    "referred": {"$ref": "#/$defs/count"},
    "list": {"type": "array", "items": {"type": "integer"}},
    "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "nested": {"type": "object", "properties": {"n": {"allOf": [{"type": "integer"}]}}},
}

WHOLE_DEFS = {"count": {"type": "integer"}}


@pytest.mark.parametrize(
    ("name", "sent", "got"),
    [
        ("integer", 1.0, 1),
        ("integer", 1e3, 1000),
        ("integer", -0.0, 0),
        ("integer", 1e300, int(1e300)),
        ("bounded", 20.0, 20),
        ("nullable", 2.0, 2),
        ("enum", 2.0, 2),
        ("const", 3.0, 3),
        ("enum_of_numbers", 2.0, 2),
        ("optional", 4.0, 4),
        ("referred", 4.0, 4),
        ("list", [1, 2.0, 3], [1, 2, 3]),
        ("pair", ["x", 2.0], ["x", 2]),
        ("map", {"a": 1.0}, {"a": 1}),
        ("nested", {"n": 1.0}, {"n": 1}),
    ],
)
def test_a_whole_number_is_an_int_where_a_schema_admits_no_other(
    name: str, sent: Any, got: Any
) -> None:
    from hermes_build.runtime.validation import Arguments

    seen: list[dict[str, Any]] = []
    part = {name: WHOLE[name]}
    for closed in ({"additionalProperties": False}, {}):
        parameters = {"type": "object", "properties": part, "$defs": WHOLE_DEFS, **closed}
        gate = Arguments("t", parameters)
        args = {name: sent}
        assert not gate.fit_as_they_are(args)
        seen.append(gate.accept(args))
        assert repr(args) == repr({name: sent})
    assert [repr(one) for one in seen] == [repr({name: got})] * 2


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number"}, 1.0),
        ({"type": ["integer", "number"]}, 2.0),
        ({}, 1.0),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, 1.0),
        ({"enum": [1, 2.0]}, 1.0),
        ({"type": "array", "items": {"type": "number"}}, [1.0, 2.0]),
        ({"minimum": 0}, 3.0),
    ],
)
@pytest.mark.parametrize("closed", [{"additionalProperties": False}, {}])
def test_a_float_stays_a_float_where_any_number_would_do(
    make: Make, schema: Any, value: Any, closed: Any
) -> None:
    seen: list[Any] = []
    parameters = {"type": "object", "properties": {"a": schema}, **closed}
    registry = make(lambda args: seen.append(args) or "ok", parameters)
    args = {"a": value}
    assert registry.call("t", args) == "ok"
    assert seen[0] is args
    assert repr(seen[0]) == repr({"a": value})


def test_a_default_of_an_integer_arrives_as_int_however_it_was_written(make: Make) -> None:
    parameters = {"type": "object", "properties": {"bounded": WHOLE["bounded"]}}
    assert make(lambda args: repr(args), parameters).call("t", {}) == "{'bounded': 5}"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "number"},
        {"type": "integer"},
        {"type": ["number", "null"]},
        {"type": ["integer", "null"], "default": None},
        {"enum": [None, 1]},
        {"type": "array"},
    ],
)
@pytest.mark.parametrize("closed", [{"additionalProperties": False}, {}])
def test_what_is_no_number_of_json_is_refused(
    make: Make, schema: Any, number: float, closed: Any
) -> None:
    ran: list[object] = []
    parameters = {"type": "object", "properties": {"a": schema}, **closed}
    registry = make(lambda args: ran.append(args) or "ok", parameters)
    value, path = ([1, number], "a[1]") if schema == {"type": "array"} else (number, "a")
    message = error_of(registry.call("t", {"a": value}))
    assert f"{path}: must be a number that JSON can hold, but is {number}" in message
    assert not ran
    assert registry.call("t", {"a": None}) == "ok" or "null" not in str(schema)
