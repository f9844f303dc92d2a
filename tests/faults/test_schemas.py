"""Faults of schema checks that somebody reported: here each is found while compiling, or right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faults.world import KINDS, compiled, spec, thing, yaml

HANDLER = (
    "from {generated}.registry import registry\n\n\n"
    '@registry.handler("tool_x")\n'
    "def handler(args, **context):\n"
    '    return {"got": args}\n'
)

UNRESOLVED: dict[str, tuple[Any, str]] = {
    "jsonschema#917 a definition that is not there": ({"$ref": "#/$defs/nope"}, "HB1107"),
    "jsonschema#143 a ref that nothing uses": (
        {"type": "object", "$defs": {"A": {"$ref": "#/$defs/nope"}}},
        "HB1107",
    ),
    "jsonschema#917 deep inside a union": (
        {"anyOf": [{"type": "array", "items": {"not": {"$ref": "#/$defs/nope"}}}, {}]},
        "HB1107",
    ),
    "jsonschema#917 a list's entry that is not there": ({"$ref": "#/allOf/1"}, "HB1107"),
    "jsonschema#917 an anchor that is not there": ({"$ref": "#nope"}, "HB1107"),
    "jsonschema#917 an empty name": ({"$ref": "#/$defs/"}, "HB1107"),
    "jsonschema#917 a file that is not there": ({"$ref": "nope.yaml#/$defs/A"}, "HB1107"),
    "jsonschema#302 a sign before ref": ({"#ref": "#/$defs/A"}, "HB1109"),
    "jsonschema#302 ref without its sign": ({"ref": "#/$defs/A"}, "HB1109"),
    "jsonschema#302 ref in capitals": ({"$Ref": "#/$defs/A"}, "HB1109"),
    "jsonschema#302 a misspelt keyword": ({"propertes": {}}, "HB1109"),
    "jsonschema#302 another language's keyword": ({"type": "string", "nullable": True}, "HB1109"),
    "referencing#119 a ref to text": (
        {"$ref": "#/$defs/sub/foo", "$defs": {"sub": {"foo": "invalid"}}},
        "HB1109",
    ),
    "referencing#119 a ref to a property's description": (
        {"$ref": "#/properties/a/description"},
        "HB1107",
    ),
    "referencing#119 a ref to a map": ({"$ref": "#/properties"}, "HB1107"),
    "referencing#119 a ref to data": ({"$ref": "#/properties/d/default"}, "HB1107"),
    "referencing#119 a ref to a number": ({"$ref": "#/properties/d/minimum"}, "HB1107"),
    "referencing#119 a definition that is text": ({"$defs": {"foo": "invalid"}}, "HB1101"),
    "a ref that is no text": ({"$ref": 1}, "HB1101"),
    "a remote ref": ({"$ref": "https://example.org/schema.json"}, "HB1108"),
    "a ref out of the folder": ({"$ref": "../pyproject.toml"}, "HB1108"),
    "a ref out of the folder, escaped": ({"$ref": "%2E%2E/%2E%2E/etc/passwd"}, "HB1108"),
    "a ref to a file url": ({"$ref": "file:///etc/passwd"}, "HB1108"),
    "a circle of refs": (
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
        "HB1107",
    ),
}


@pytest.mark.parametrize(("part", "code"), UNRESOLVED.values(), ids=UNRESOLVED)
def test_a_reference_that_leads_nowhere_is_an_error(tmp_path: Path, part: Any, code: str) -> None:
    schema = thing(
        a={"description": "A text"}, d={"default": {"type": "string"}, "minimum": 1}, x=part
    )
    world = compiled(tmp_path, spec(schema, handler=None), handlers={"h": HANDLER})
    assert world.made.tree is None
    assert code in world.errors
    assert {one.span.path for one in world.made.findings if one.span} == {"tool_specs/a.yaml"}


@pytest.mark.parametrize("handler", ["external", "server"])
@pytest.mark.parametrize(
    "part",
    [
        {"$ref": "#/$defs/nope"},
        {"$ref": "https://example.org/schema.json"},
        {"$ref": "#/properties/a/description"},
    ],
)
def test_a_lost_reference_from_elsewhere_is_an_error_too(
    tmp_path: Path, part: Any, handler: str
) -> None:
    """After jsonschema#917: what cannot be validated must not be called."""
    world = compiled(tmp_path, spec(thing(a={"description": "x"}, x=part), handler=handler))
    assert world.made.tree is None


WORDS = {
    "hermes-agent#55081 parameters called like keywords": thing(
        **{
            "$ref": {"type": "string"},
            "$defs": {"type": "string"},
            "definitions": {"type": "string"},
            "properties": {"type": "integer"},
            "required": {"type": "boolean"},
            "additionalProperties": {"type": "null"},
            "type": {"type": "string"},
            "title": {"type": "string"},
            "description": {"type": "string"},
            "default": {"type": "string"},
            "enum": {"type": "string"},
            "not": {"type": "string"},
            "$id": {"type": "string"},
            "$schema": {"type": "string"},
            "x-y": {"type": "string"},
        }
    ),
    "hermes-agent#55081 definitions called like keywords": {
        **thing(
            a={"$ref": "#/$defs/$defs"},
            b={"$ref": "#/$defs/properties"},
            c={"$ref": "#/$defs/definitions/properties/definitions"},
            d={"$ref": "#/$defs/$ref"},
        ),
        "$defs": {
            "$defs": {"type": "string"},
            "properties": {"type": "integer"},
            "definitions": thing(definitions={"type": "string"}),
            "$ref": {"type": "null"},
        },
    },
    "hermes-agent#27180 refs to siblings": thing(
        a={"type": "string"},
        b={"$ref": "#/properties/a"},
        c={"type": "array", "items": {"$ref": "#/properties/b"}},
        **{"a/b~c %": {"$ref": "#/properties/a~1b~0c%20%25/properties/d"} | thing(d={})},
    ),
    "hermes-agent#26439 boolean schemas": thing(
        v=True,
        w=False,
        x={"type": "array", "items": True},
        y={"type": "array", "prefixItems": [True, False], "items": False},
        z={"anyOf": [True, {"type": "string"}]},
    ),
    "fastmcp#4024 title beside type": {
        **thing(type={"type": "string"}, title={"type": "string"}, summary={"type": "string"}),
        "required": ["type", "title", "summary"],
    },
    "fastmcp#1435 a definition for a definition": {
        **thing(a={"$ref": "#/$defs/B"}),
        "$defs": {
            "A": {"type": "string"},
            "B": {"type": "array", "items": {"$ref": "#/$defs/A"}},
            "C": {"type": "null"},
        },
    },
    "hermes-agent#64587 lists of names in a map": {
        **thing(a={}, b={}),
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"b": {"required": ["a"]}},
    },
    "data that looks like schemas": thing(
        a={"default": {"type": ["x", None], "$ref": "nowhere", "properties": {"a": "string"}}},
        b={"enum": [{"$ref": "#/nope"}, {"$defs": {}}]},
        c={"const": {"type": "strin"}},
        d={"examples": [{"pattern": "("}]},
    ),
    "typescript-sdk#1143 descriptions everywhere": {
        **thing(
            a={"type": "string", "description": "One.", "title": "T", "$comment": "C"},
            b={"$ref": "#/$defs/B", "description": "Two."},
            c={"anyOf": [{"type": "null", "description": "Three."}, {"type": "string"}]},
        ),
        "description": "Root.",
        "$defs": {
            "B": {"type": "array", "items": {"description": "Four."}, "description": "Five."}
        },
    },
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("schema", WORDS.values(), ids=WORDS)
def test_a_schema_is_published_as_written(
    tmp_path: Path, schema: dict[str, Any], kind: str
) -> None:
    world = compiled(tmp_path, spec(schema, handler=None), handlers={"h": HANDLER}, models=kind)
    assert not world.errors and "HB1120" not in world.codes
    published = world.registry.get_schema("tool_x")
    assert published is not None
    # The order of keys is part of what a model reads.
    assert list(map(repr, published["parameters"].items())) == list(map(repr, schema.items()))
    root = world.module("tool_x").ToolXArgs
    if kind == "pydantic":
        keys = {one.alias or name for name, one in root.model_fields.items()}
    else:
        keys = set(root.__annotations__)
    assert keys == {name for name, one in schema["properties"].items() if one is not False}


CALLS: dict[str, tuple[Any, list[Any], list[Any]]] = {
    # A schema; values that fit; values that do not.
    "1.0 is an integer": ({"type": "integer"}, [1, 0, -3, 1.0, 2**53], [1.5, True, "x", None]),
    "true is not 1": ({"enum": [1, "a"]}, [1, "a"], [True, "b"]),
    "false is not 0": ({"const": False}, [False], [0, None, ""]),
    "0.07 is a multiple of 0.01": (
        {"type": "number", "multipleOf": 0.01, "default": 0.07},
        [0.07, 19.99, 1.1, 4.35, 1],
        [0.075, 0.001],
    ),
    "format is a note": ({"type": "string", "format": "email"}, ["x", "a@b"], [1]),
    "length counts characters": ({"type": "string", "maxLength": 1}, ["é", "😀"], ["ab"]),
    "a pattern ends at the end": ({"type": "string", "pattern": "^a$"}, ["a"], ["a\n", "b"]),
    "a pattern is searched for": ({"type": "string", "pattern": "b"}, ["abc"], ["ac"]),
    "digits are ASCII in a pattern": ({"type": "string", "pattern": "^\\d$"}, ["3"], ["٣"]),
    "items differ as JSON does": (
        {"type": "array", "uniqueItems": True},
        [[1, True], [0, False, "", None], [[1], [True]]],
        [[1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1}]],
    ),
    "claudlos/hermes-katana#28 unions": (
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        [1, None],
        ["x", []],
    ),
    "a schema inside itself": (
        {"$ref": "#/$defs/N"},
        [{}, {"n": {"n": {}}}, {"n": {"l": [{}, {"n": {}}]}}],
        [1, {"n": 1}, {"n": {"l": [1]}}],
    ),
}


@pytest.mark.parametrize(("part", "good", "bad"), CALLS.values(), ids=CALLS)
def test_what_fits_is_decided_once(
    tmp_path: Path, part: Any, good: list[Any], bad: list[Any]
) -> None:
    """A default and an example are judged while compiling exactly as an argument is in a call."""
    defs = {
        "N": thing(n={"$ref": "#/$defs/N"}, l={"type": "array", "items": {"$ref": "#/$defs/N"}})
    }
    schema = {**thing(a=part), "$defs": defs}
    examples = [{"args": {"a": value}} for value in good]
    fine = spec(schema, handler=None, examples=examples)
    world = compiled(tmp_path / "good", fine, handlers={"h": HANDLER})
    assert not world.errors
    for value in good:
        assert world.call("tool_x", {"a": value}) == {"got": {"a": value}}
    for value in bad:
        assert "Invalid arguments" in world.call("tool_x", {"a": value})["error"]
    wrong = spec(schema, handler=None, examples=[{"args": {"a": value}} for value in bad])
    refused = compiled(tmp_path / "bad", wrong, handlers={"h": HANDLER})
    assert refused.errors == ["HB1105"] * len(bad)


CONDITIONS: dict[str, tuple[dict[str, Any], list[Any], list[Any]]] = {
    "hermes-agent#32376 if and then": (
        {
            **thing(action={"enum": ["send", "list"]}, target={}, message={}),
            "required": ["action"],
            "if": {"properties": {"action": {"const": "send"}}},
            "then": {"required": ["target", "message"]},
        },
        [{"action": "list"}, {"action": "send", "target": 1, "message": 2}],
        [{"action": "send"}, {"action": "send", "target": 1}, {}],
    ),
    "hermes-agent#32376 one of two": (
        {**thing(a={}, b={}), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        [{"a": 1}, {"a": 1, "b": 2}],
        [{}],
    ),
    "hermes-agent#32376 one with another": (
        {**thing(a={}, b={}), "dependentRequired": {"a": ["b"]}},
        [{}, {"b": 1}, {"a": 1, "b": 2}],
        [{"a": 1}],
    ),
    "hermes-agent#32376 at least so many": (
        {**thing(a={}, b={}), "minProperties": 1},
        [{"a": 1}],
        [{}],
    ),
}


@pytest.mark.parametrize(("schema", "good", "bad"), CONDITIONS.values(), ids=CONDITIONS)
def test_a_condition_holds_before_the_handler_runs(
    tmp_path: Path, schema: dict[str, Any], good: list[Any], bad: list[Any]
) -> None:
    world = compiled(tmp_path, spec(schema, handler=None), handlers={"h": HANDLER})
    assert not world.errors
    for args in good:
        assert world.call("tool_x", args) == {"got": args}
    for args in bad:
        assert "Invalid arguments" in world.call("tool_x", args)["error"]


ROOTS: dict[str, tuple[Any, list[str]]] = {
    "WebMCP-org/npm-packages#117 an empty schema": ({}, ["HB1102"]),
    "hermes-agent#4897 a type of null": ({"type": None}, ["HB1102"]),
    "hermes-agent#4897 no type": ({"properties": {"a": True}}, ["HB1102"]),
    "typescript-sdk#1643 a union": (
        {"oneOf": [{"type": "object"}, {"type": "object"}]},
        ["HB1102"],
    ),
    "a list of types": ({"type": ["object", "null"]}, ["HB1102"]),
    "a list": ({"type": "array"}, ["HB1102"]),
    "true": (True, ["HB1002"]),
    "text": ("object", ["HB1002"]),
    "hermes-agent#15032 a bare word for a property": (
        {"type": "object", "properties": {"meta": "object"}},
        ["HB1101"],
    ),
    "hermes-agent#15032 a list of properties": (
        {"type": "object", "properties": [{"name": "a"}]},
        ["HB1101"],
    ),
    "required in a property": (
        {"type": "object", "properties": {"a": {"type": "string", "required": True}}},
        ["HB1101"],
    ),
    "required that is text": (
        {"type": "object", "properties": {"a": True}, "required": "a"},
        ["HB1101"],
    ),
    "a type of another language": (
        {"type": "object", "properties": {"a": {"type": "str"}}},
        ["HB1114"],
    ),
}


@pytest.mark.parametrize(("schema", "codes"), ROOTS.values(), ids=ROOTS)
def test_parameters_are_an_object_of_schemas(tmp_path: Path, schema: Any, codes: list[str]) -> None:
    world = compiled(
        tmp_path, yaml({"name": "tool_x", "description": "Does.", "parameters": schema})
    )
    assert world.errors == codes
    assert world.made.tree is None


@pytest.mark.parametrize("output", [{"type": ["object", "null"]}, True, {}, {"type": "array"}])
def test_a_result_may_be_of_any_type(tmp_path: Path, output: Any) -> None:
    """After modelcontextprotocol/typescript-sdk#1308."""
    handler = HANDLER.replace('{"got": args}', "[1]" if output == {"type": "array"} else "None")
    world = compiled(tmp_path, spec(handler=None, output_schema=output), handlers={"h": handler})
    assert not world.errors
    assert world.call("tool_x") == ([1] if output == {"type": "array"} else None)
