"""A repair has an end, whatever is sent and whatever the schema: counted, not timed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hermes_build.runtime import repairs
from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.validation import Arguments

INTEGER = {"type": "integer"}


def object_of(**parts: Any) -> dict[str, Any]:
    return {"type": "object", "properties": parts}


def refused(gate: Arguments, args: Any) -> str:
    with pytest.raises(Refusal) as caught:
        gate.accept(args)
    assert caught.value.kind == "invalid_arguments"
    assert len(caught.value.message) < 3_000
    return caught.value.message


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps that were taken, one number a spending."""
    spent: list[int] = []
    spend = repairs._Attempt._spend

    def counted(self: Any, count: int) -> None:
        spent.append(count)
        spend(self, count)

    monkeypatch.setattr(repairs._Attempt, "_spend", counted)
    return spent


def branching(width: int, levels: int) -> dict[str, Any]:
    """Unions within unions, whose branches multiply at each level."""
    definitions: dict[str, Any] = {f"d{levels}": {"type": "object", "required": ["never"]}}
    for level in range(levels):
        inner = {"type": "array", "items": {"$ref": f"#/$defs/d{level + 1}"}}
        definitions[f"d{level}"] = {"anyOf": [inner] * width}
    return {**object_of(a={"$ref": "#/$defs/d0"}), "$defs": definitions}


def test_branches_that_multiply_are_given_up_on(steps: list[int]) -> None:
    gate = Arguments("t", branching(6, 12))
    refused(gate, {"a": "x"})
    assert sum(steps) < 2 * repairs._MOST_STEPS
    assert len(steps) < 2 * repairs._MOST_STEPS


def test_a_schema_that_holds_itself_twice_is_given_up_on(steps: list[int]) -> None:
    node = {
        "anyOf": [
            {**object_of(l={"$ref": "#/$defs/n"}, x=INTEGER), "required": ["x"]},
            {**object_of(l={"$ref": "#/$defs/n"}, y=INTEGER), "required": ["y"]},
        ]
    }
    gate = Arguments("t", {**object_of(a={"$ref": "#/$defs/n"}), "$defs": {"n": node}})
    deep: Any = {"x": "1"}
    for _ in range(30):
        deep = {"l": deep, "y": "1"}
    got = gate.accept({"a": deep})["a"]
    for _ in range(30):
        assert got["y"] == 1
        got = got["l"]
    assert got == {"x": 1}
    assert sum(steps) < repairs._MOST_STEPS
    for _ in range(100):
        deep = {"l": deep, "y": "z"}
    refused(gate, {"a": deep})


def test_a_long_list_is_repaired_and_one_without_end_is_not(steps: list[int]) -> None:
    gate = Arguments("t", object_of(a={"type": "array", "items": INTEGER}))
    texts = [str(number) for number in range(50_000)]
    assert gate.accept({"a": texts}) == {"a": list(range(50_000))}
    message = refused(gate, {"a": texts * 5})
    assert message.endswith('a[0]: must be an integer, but is the text "0"; and there may be more.')
    assert len(steps) < 2 * repairs._MOST_STEPS


def test_a_repair_does_not_depend_on_the_calls_before_it() -> None:
    schema = object_of(
        a={"type": "array", "items": {"anyOf": [object_of(x=INTEGER), object_of(y=INTEGER)]}}
    )
    used = Arguments("t", schema)
    for args in ({"a": [{"x": "1"}]}, {"a": [{"y": "1"}]}, {"a": '[{"x": "1", "y": "2"}]'}):
        assert used.accept(args) == used.accept(args) == Arguments("t", schema).accept(args)


def test_many_branches_and_many_properties_are_borne(steps: list[int]) -> None:
    union = {"anyOf": [{**object_of(x={"const": one}), "required": ["x"]} for one in range(50)]}
    parts = {f"p{number}": union for number in range(200)}
    gate = Arguments("t", object_of(**parts))
    assert gate.accept({"p7": {"x": "49"}}) == {"p7": {"x": 49}}
    refused(gate, {name: {"x": "x"} for name in parts})
    assert sum(steps) < 3 * repairs._MOST_STEPS


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1_000_000,
        '{"a":' * 100_000,
        "[" * 150 + "1" + "]" * 150,
        json.dumps("[" * 1_000),
        "[" + "1," * 100_000,
        "-" * 1_000_000,
        "9" * 1_000_000,
        "1" + "0" * 399 + "e400",
        " " * 1_000_000,
        "tRuE" * 100_000,
        '{"item":' * 200 + "1" + "}" * 200,
    ],
    ids=range(11),
)
def test_text_that_is_made_to_hurt_is_refused(text: str) -> None:
    wanted = [
        INTEGER,
        {"type": "boolean"},
        {"type": "array", "items": INTEGER},
        object_of(x=INTEGER),
    ]
    for schema in ({"anyOf": wanted[:3]}, *wanted[:3]):
        refused(Arguments("t", object_of(a=schema)), {"a": text})
    refused(Arguments("t", {**object_of(a=wanted[3]), "required": ["b"]}), {"a": text})


def test_what_a_text_holds_may_not_be_deeper_than_arguments_may_be() -> None:
    schema = object_of(a={"$ref": "#/$defs/o"}) | {
        "$defs": {"o": object_of(a={"$ref": "#/$defs/o"})}
    }
    inner = '{"a": ' * 150 + "{}" + "}" * 150
    assert Arguments("t", schema).accept({"a": inner})["a"]["a"]["a"]
    deep: Any = inner
    for _ in range(80):
        deep = {"a": deep}
    assert "must be an object" in refused(Arguments("t", schema), {"a": deep})


def test_a_deep_stack_of_the_caller_is_borne() -> None:
    gate = Arguments("t", object_of(a={"$ref": "#/$defs/o"}) | {
        "$defs": {"o": object_of(o={"$ref": "#/$defs/o"}, n=INTEGER)}
    })  # fmt: skip
    args: Any = {"n": "1"}
    for _ in range(90):
        args = {"o": args}

    def down(levels: int) -> Any:
        return gate.accept({"a": args}) if not levels else down(levels - 1)

    assert down(0)["a"]["o"]
    for levels in (500, 600, 700):
        try:
            down(levels)
        except (Refusal, RecursionError):
            continue
