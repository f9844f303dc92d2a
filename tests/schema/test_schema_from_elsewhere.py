"""A schema from elsewhere is kept with a warning as long as it can validate."""

from __future__ import annotations

import pytest

from tests.schema.world import check, places, unmarked

WARNINGS = [
    "{type: object, properties: {a: {type: string, default: null}}}",
    "{type: object, properties: {a: {type: string, enum: [a, 1]}}}",
    "{type: object, properties: {a: {type: string, examples: [1]}}}",
    "{type: object, properties: {a: {type: string, default: a}}, required: [a]}",
    "{type: object, properties: {a: {nullable: true}}}",
    "{type: object, properties: {a: {minimum: 3, maximum: 2}}}",
    "{type: object, required: [a]}",
    "{anyOf: [{type: object}, {type: object}]}",
    "{}",
]


@pytest.mark.parametrize("schema", WARNINGS)
def test_a_schema_from_elsewhere_is_kept_with_a_warning(schema: str) -> None:
    outcome = check(f"parameters: {schema}", ours=False)
    assert [one.severity for one in outcome.found] == ["warning"]
    assert outcome.checked is not None


@pytest.mark.parametrize(
    ("code", "schema"),
    [
        ("HB1101", "{type: object, properties: {a: text}}"),
        ("HB1102", "{type: string}"),
        ("HB1107", "{type: object, properties: {a: {$ref: '#/$defs/A'}}}"),
        ("HB1108", "{type: object, properties: {a: {$ref: 'http://example.com'}}}"),
        ("HB1111", "{type: object, properties: {a: {pattern: '('}}}"),
        ("HB1112", "{type: object, allOf: [{$ref: '#'}]}"),
        ("HB1114", "{type: object, properties: {a: {type: float}}}"),
        ("HB1109", "{type: object, properties: {a: {$id: 'x', $ref: '#/b'}}, b: {}}"),
    ],
)
def test_a_schema_from_elsewhere_that_cannot_validate_is_refused(code: str, schema: str) -> None:
    outcome = check(f"parameters: {schema}", ours=False)
    assert code in [one.code for one in outcome.found if one.severity == "error"]


def test_extensions_of_others_are_none_of_our_business() -> None:
    assert check("parameters: {type: object, x-anything: {type: float}}", ours=False).found == []


def test_an_older_dialect_from_elsewhere_is_judged_by_its_own_rules() -> None:
    text = (
        "parameters: {type: object, $schema: 'http://json-schema.org/draft-07/schema#',"
        " properties: {a: {type: array, items: [{type: string}], additionalItems: false,"
        " default: [«1»]}}, dependencies: {a: [b]}}"
    )
    spec, marked = unmarked(text)
    outcome = check(spec, ours=False)
    assert [(one.code, one.severity) for one in outcome.found] == [
        ("HB1101", "info"),
        ("HB1103", "warning"),
    ]
    assert places(outcome.found[1:]) == marked


def test_an_old_document_may_point_into_what_is_no_keyword() -> None:
    text = (
        "parameters: {type: object, properties: {a: {$ref: '#/models/M'}}, models: {M: {type: %s}}}"
    )
    outcome = check(text % "string", ours=False)
    assert outcome.codes == ["HB1109"]
    assert outcome.checked is not None
