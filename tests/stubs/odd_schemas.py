"""Schemas that are odd in one way each, and those that no type can express."""

from __future__ import annotations

from typing import Any

from hermes_build.compiler.emit.stubs import StubRequest
from tests.stubs.written import thing

ODD: dict[str, tuple[dict[str, Any], Any]] = {
    "plain": ({**thing(a={"type": "string"}), "required": ["a"]}, thing(b={"type": "integer"})),
    "no_args": (thing(), None),
    "closed": ({"type": "object", "additionalProperties": False}, {"type": "null"}),
    "open": ({"type": "object"}, True),
    "mapping": ({"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "array"}),
    "shadowing": (
        thing(
            int={"type": "integer"},
            b={"type": "integer"},
            str={"type": "string"},
            list={"type": "array", "items": {"type": "string"}},
            type={"type": "string"},
            Any={},
            Literal={"enum": ["a"]},
            NotRequired={},
            BaseModel={},
            Field={"type": "string", "description": "Text."},
            ShadowingArgs={"type": "string"},
        ),
        None,
    ),
    "keys": (
        {
            **thing(
                **{
                    "from": {"$ref": "#"},
                    "a-b": {},
                    "a.b": {"type": "string"},
                    "a/b": {},
                    "": {},
                    " ": {},
                    "é": {"type": "string"},
                    "__x": {"type": "string"},
                    "__init__": {"type": "integer"},
                    "_y": {"type": "integer"},
                    "µ": {"type": "string"},
                    "μ": {"type": "integer"},
                    "ﬁ": {"type": "string"},
                    'quo"te\n': {},
                    "\ue000": {},
                    "\ue000int": {},
                    "\u2028": {},
                    "None": {},
                    "self": {},
                }
            ),
            "required": ["from", "undeclared"],
        },
        None,
    ),
    "models": (
        thing(
            model_dump={"type": "string"},
            model_config={},
            root={},
            schema={},
            copy={},
            json={},
            dict={"type": "object"},
            _x={"type": "string"},
            field_x={},
            field_dict={},
            construct={},
            __slots__={},
            args={},
            kwargs={},
            cls={},
        ),
        None,
    ),
    "enums": (
        thing(
            mixed={"enum": ["x", 1, None, True, "x"]},
            floats={"enum": [1.5, 2]},
            objects={"enum": [{"a": 1}, "x", [1]]},
            null={"const": None},
            number={"const": 1.5},
            text={"enum": ["é", "😀", "a\"b'\\", "\n\x00\u2028", '"""', ""]},
            negative={"enum": [-1, 0, 2**60]},
            titled={"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}, {"type": "null"}]},
            misfit={"type": "integer", "enum": ["a"]},
            filtered={"type": "string", "enum": ["a", 1, None]},
        ),
        {"enum": ["a", 1]},
    ),
    "types": (
        thing(
            several={"type": ["string", "integer", "null"]},
            either={
                "type": ["object", "array", "null"],
                "items": {"type": "string"},
                "properties": {"q": {"type": "string"}},
            },
            yes=True,
            never=False,
            pattern={
                "type": "object",
                "patternProperties": {"^x": {"type": "integer"}, "y": {"type": "string"}},
                "additionalProperties": False,
            },
            pair={"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            closed_pair={
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "items": False,
            },
            limited={"type": "array", "items": {"type": "string", "minLength": 2}},
            nested={"type": "array", "items": {"type": "array", "items": thing(x={})}},
            nullable={"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
            conditional={"type": "string", "if": {"const": "a"}, "then": False, "else": True},
            formatted={"type": "string", "format": "binary"},
            negated={"not": {"type": "string"}},
        ),
        {"type": ["string", "integer"]},
    ),
    "refs": (
        {
            **thing(
                dotted={"$ref": "#/$defs/a.b~1c"},
                again={"$ref": "#/properties/c", "description": "Again."},
                c=thing(c=thing(c={"type": "integer"})),
                definitions={"$ref": "#/definitions/definitions"},
                node={"$ref": "#/$defs/node"},
                tree={"$ref": "#/$defs/tree"},
                percent={"$ref": "#/$defs/a%20b"},
            ),
            "definitions": {"definitions": {"type": "string"}},
            "$defs": {
                "a.b/c": {"type": "array", "items": {"type": "number"}},
                "a b": {"enum": ["x"]},
                "node": {
                    "anyOf": [
                        {"type": "string"},
                        {"type": "array", "items": {"$ref": "#/$defs/node"}},
                    ]
                },
                "tree": thing(
                    children={"type": "array", "items": {"$ref": "#/$defs/tree"}},
                    up={"$ref": "#"},
                ),
            },
        },
        {"type": "array", "items": {"$ref": "#/items/properties/a"}}
        | {"items": thing(a={"type": "array", "items": {"$ref": "#/items"}})},
    ),
    "unions": (
        thing(
            tagged={"anyOf": [thing(k={"const": "a"}, x={}), thing(k={"const": "b"}, y={})]},
            either={
                **thing(p={"type": "string"}, q={"type": "string"}),
                "anyOf": [{"required": ["p"]}, {"required": ["q"]}],
            },
            merged={
                "allOf": [
                    thing(x={"type": "integer"}),
                    {**thing(y={"type": "integer"}), "required": ["y"]},
                ]
            },
            wrapped={"allOf": [{"$ref": "#/properties/merged"}], "description": "Wrapped."},
            siblings={"$ref": "#/properties/merged", "required": ["x"]},
            spread={**thing(z={"type": "integer"}), "oneOf": [thing(m={"const": 1}), thing(n={})]},
            knot={"$ref": "#/$defs/knot"},
        )
        | {"$defs": {"knot": thing(r={"allOf": [{"$ref": "#/$defs/knot"}, thing(x={})]})}},
        {"anyOf": [thing(a={}), {"type": "null"}]},
    ),
    "root_union": (
        {"type": "object", "anyOf": [thing(root_union_args={}), thing(b=thing(c={}))]},
        None,
    ),
    "root_ref": (
        {"$ref": "#/$defs/X", "$defs": {"X": thing(a={"type": "string"})}},
        {"type": "string", "description": "A text."},
    ),
    "foreign": (
        thing(
            a={
                "type": "string",
                "customTypePath": "os.system",
                "x-python-type": "os.system",
                "x-python-import": {"module": "os", "name": "system"},
            },
            b={**thing(x={"title": "Evil", "enum": ["z"]}), "customBasePath": "os.system"},
        ),
        None,
    ),
    "tool": (thing(result=thing(x={}), args=thing(y={}), registry=thing(z={})), thing(a={})),
    "x": (thing(input_args=thing(a={})), None),
    "x_input": (thing(a={}), None),
    "_": (thing(a=thing(b={})), thing(a=thing(b={}))),
    "with-dash": (thing(a={}), None),
    "literal": (thing(a={"enum": ["a"]}), thing(a={"enum": ["a"]})),
    "any": (thing(a={}), None),
    "same": (thing(same=thing(same=thing(same=thing(same={"type": "integer"})))), None),
    "defaults": (
        thing(
            null_on_text={"type": "string", "default": None},
            text={"type": "string", "default": "x"},
            inner={**thing(x={"type": "integer", "default": 1}), "default": {}},
            items={"type": "array", "items": thing(x={"default": 1}), "default": [{}]},
            nullable={"type": ["string", "null"], "default": None},
            no_member={"enum": ["a", "b"], "default": "c"},
            too_small={"type": "integer", "minimum": 3, "default": 1},
            whole={"type": "integer", "default": 2.0},
            number={"type": "number", "default": 2},
            not_bool={"type": "boolean", "default": 1},
            by_ref={"$ref": "#/properties/text", "default": "k"},
            anything={"default": {"q": [1, None, -2]}},
        ),
        thing(text={"type": "string", "default": "x"}),
    ),
}

HONEST: dict[str, tuple[dict[str, Any], str]] = {
    "cycle": (
        thing(a={"$ref": "#/$defs/A"})
        | {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
        "refers to itself",
    ),
    "self": ({"$ref": "#"}, "refers to itself"),
    "conjunction": (
        thing(a={"$ref": "#/$defs/A"})
        | {"$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}, {"type": "object"}]}}},
        "its own conjunction",
    ),
    "dangling": (thing(a={"$ref": "#/$defs/nope"}), "leads to nothing"),
    "remote": (thing(a={"$ref": "https://example.org/x"}), "does not lead into this schema"),
    "no_schema": (thing(a={"$ref": "#/required"}) | {"required": ["a"]}, "not a schema"),
    "no_type": (thing(a={"type": "strin"}), "not a type"),
    "no_object": ({"type": "object", "properties": 5}, "not valid JSON Schema"),
    "impossible": ({"type": "object", "allOf": [{"type": "string"}]}, "no value can fit"),
    "surrogate": (thing(a={"enum": ["\ud800"]}), ""),
}


def requests() -> list[StubRequest]:
    return [StubRequest(name, *schemas) for name, schemas in ODD.items()]
