"""A finding in a schema says what was meant, and why a value is refused."""

from __future__ import annotations

import pytest

from tests.schema.world import check


@pytest.mark.parametrize(
    ("text", "help"),
    [
        (
            "{type: object, properties: {a: {$ref: '#/$defs/Pth'}}, $defs: {Path: {}}}",
            "`#/$defs/Path`",
        ),
        ("{type: object, properties: {a: {$ref: '#Path'}}, $defs: {Path: {}}}", "`#/$defs/Path`"),
        ("{type: object, properties: {a: {$ref: Path}}, $defs: {Path: {}}}", "`#/$defs/Path`"),
        (
            "{type: object, properties: {a: {$ref: /$defs/Path}}, $defs: {Path: {}}}",
            "`#/$defs/Path`",
        ),
        (
            "{type: object, properties: {a: {$ref: '#/definitions/Path'}}, $defs: {Path: {}}}",
            "`#/$defs/Path`",
        ),
        (
            "{type: object, properties: {a: {$ref: '#/parameters/$defs/Path'}}, $defs: {Path: {}}}",
            "`#/$defs/Path`",
        ),
        ("{type: object, properties: {a: {$ref: '#/$defs/A b'}}, $defs: {A b: {}}}", "%20"),
        ("{type: object, properties: {a: {$ref: 'comon.yaml#/$defs/A'}}}", "`common.yaml`"),
        (
            "{type: object, properties: {a: {$ref: 'common.yaml#/$defs/Aaa'}}}",
            "`common.yaml#/$defs/Aa`",
        ),
        ("{type: object, properties: {a: {type: ArrayList}}}", "`array`"),
        ("{type: object, properties: {a: {type: any}}}", "leave `type` out"),
        ("{type: object, properties: {a: {type: strnig}}}", "`string`"),
        ("{type: object, properties: {a: {discription: x}}}", "`description`"),
        ("{type: object, properties: {a: {items: [{type: string}]}}}", "`prefixItems`"),
        ("{type: object, properties: {path: true}, required: [paht]}", "`path`"),
        ("{type: object, properties: {a: {type: integer, minimum: '1'}}}", "without quotes"),
        ("{type: object, properties: {a: integer}}", "`{type: integer}`"),
    ],
)
def test_the_help_says_what_was_meant(text: str, help: str) -> None:
    files = {"tool_specs/common.yaml": "$defs: {Aa: {type: string}}"}
    assert help in check(f"parameters: {text}", files).help


def test_a_second_label_shows_what_a_default_contradicts() -> None:
    (one,) = check(
        "parameters: {type: object, properties: {a: {type: integer, minimum: 1, default: 0}}}"
    ).found
    assert one.label == "0 is less than the minimum of 1"
    assert [label.span.column for label in one.labels] == [69]


def test_a_circle_is_shown_hop_by_hop() -> None:
    (one,) = check(
        "parameters: {type: object, $defs: {A: {$ref: '#/$defs/B'}, B: {$ref: '#/$defs/A'}}}"
    ).found
    assert one.notes == ("#/$defs/A -> #/$defs/B -> #/$defs/A",)
    assert len(one.labels) == 1


@pytest.mark.parametrize(
    ("schema", "label"),
    [
        ("{type: [string, 'null'], default: 1}", "1 is not of type null or string"),
        ("{anyOf: [{type: string, maxLength: 1}, {type: integer}], default: ab}", "longer than 1"),
        ("{oneOf: [{minimum: 1}, {maximum: 3}], default: 2}", "2 fits more than one of the forms"),
        ("{anyOf: [{type: string}, {type: integer}], default: []}", "[] fits none of the forms"),
        ("{properties: {a: false}, default: {a: 1}}", "no value is allowed here"),
        ("{maxItems: 2, default: [" + "1," * 90 + "]}", "the value is refused by `maxItems`"),
    ],
)
def test_the_label_says_why_a_value_is_refused(schema: str, label: str) -> None:
    (one,) = check(f"parameters: {{type: object, properties: {{p: {schema}}}}}").found
    assert label in one.label
