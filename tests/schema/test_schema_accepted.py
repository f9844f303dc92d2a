"""A schema without a mistake has no finding, whatever it looks like, and is kept as it is."""

from __future__ import annotations

import pytest

from tests.schema.world import check

CLEAN = {
    "properties named like keywords": (
        "{$ref: {type: string}, definitions: {type: string}, default: {type: integer},"
        " type: {type: string}, properties: {type: object, properties: {not: {type: string}}},"
        " required: {type: boolean}, $id: {type: string}, enum: {type: string}, '#ref': true}"
    ),
    "data that looks like a schema": (
        "{a: {type: object, default: {$ref: nowhere, type: float}, examples: [{pattern: '('}],"
        " additionalProperties: true}, b: {enum: [{type: dict, $ref: x}]},"
        " c: {const: {$ref: nowhere, type: float}}}"
    ),
    "definitions of a definition called definitions": (
        "{a: {$ref: '#/properties/b/definitions/definitions'},"
        " b: {definitions: {definitions: {type: string}}}}"
    ),
    "a ref to a sibling property": "{a: {$ref: '#/properties/b'}, b: {type: string}}",
    "escaped refs": "{a: {$ref: '#/properties/b~1c~0%25%20d'}, 'b/c~% d': {type: string}}",
    "an anchor": "{a: {$ref: '#here'}, b: {$anchor: here, type: string}}",
    "a schema inside itself": "{a: {$ref: '#'}, b: {type: array, items: {$ref: '#/properties/b'}}}",
    "boolean schemas": "{a: true, b: false, c: {items: false}, d: {additionalProperties: true}}",
    "what not and if say": (
        "{a: {not: {required: [x]}}, b: {type: object, if: {required: [x]}, then: {}},"
        " c: {not: {enum: []}}}"
    ),
    "requirements of branches": (
        "{o: {type: object, properties: {a: true, b: true},"
        " anyOf: [{required: [a]}, {required: [b]}]}}"
    ),
    "a declaration in a branch": (
        "{o: {type: object, required: [a], allOf: [{properties: {a: true}}]}}"
    ),
    "a declaration by pattern": (
        "{o: {type: object, required: [x-a], patternProperties: {'^x-': true},"
        " additionalProperties: false}}"
    ),
    "a requirement of a map": (
        "{o: {type: object, required: [a], additionalProperties: {type: string}}}"
    ),
    "integers are numbers": "{a: {type: number, allOf: [{type: integer}], default: 3}}",
    "defaults that need the engine": (
        "{a: {type: [string, 'null'], default: null}, b: {oneOf: [{type: string}], default: x},"
        " c: {type: string, pattern: '^a', default: a}, d: {type: array, default: []},"
        " e: {type: integer, default: 1.0}, f: {enum: [1, null], default: null}}"
    ),
    "patterns of ECMA-262": (
        r"{a: {pattern: '^\p{Lu}\cA\/\-(?<!x)(?=y)\u0041$'}, b: {pattern: '(?<n>a)\d'}}"
    ),
    "the extensions that are listed": "{a: {x-order: 1, type: string}}",
}


@pytest.mark.parametrize("properties", CLEAN.values(), ids=CLEAN)
def test_what_only_looks_like_a_mistake_is_none(properties: str) -> None:
    outcome = check(f"parameters: {{type: object, properties: {properties}}}")
    assert outcome.found == []
    assert outcome.checked is not None


def test_a_clean_schema_is_returned_as_it_is() -> None:
    text = "parameters: {properties: {b: {type: string}, a: true}, type: object}"
    assert list(check(text).schema) == ["properties", "type"]


def test_output_may_be_any_schema() -> None:
    for schema in ("true", "{type: string}", "{anyOf: [{type: string}, {type: 'null'}]}"):
        assert check(f"output_schema: {schema}", key="output_schema").found == []
