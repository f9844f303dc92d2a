"""Each mistake in a schema has its code, at the place that is marked in the spec."""

from __future__ import annotations

import pytest

from tests.schema.world import check, check_file, places, unmarked

# What is wrong: the codes in order of place, and the spec with their places marked.
MISTAKES: dict[str, tuple[str, str]] = {
    "the default is below the minimum": (
        "HB1103",
        (
            "parameters:\n"
            "  type: object\n"
            "  properties:\n"
            "    limit: {type: integer, minimum: 1, default: «0»}"
        ),
    ),
    "the default is null and null is not allowed": (
        "HB1103",
        "parameters: {type: object, properties: {a: {type: string, default: «null»}}}",
    ),
    "the default fits no branch of a union": (
        "HB1103",
        (
            "parameters: {type: object, properties: {a: {anyOf: [{type: string}, {type: 'null'}],"
            " default: «3»}}}"
        ),
    ),
    "the default is refused through a ref": (
        "HB1103",
        (
            "parameters: {type: object, properties: {a: {$ref: '#/$defs/A', default: «x»}},"
            " $defs: {A: {type: integer}}}"
        ),
    ),
    "a part of the default is refused": (
        "HB1103",
        (
            "parameters: {type: object, properties: {a: {type: array, items: {type: integer},"
            " default: [1, «two»]}}}"
        ),
    ),
    "one member of an enum is of another type": (
        "HB1104",
        "parameters: {type: object, properties: {a: {type: string, enum: [a, «2», c]}}}",
    ),
    "the constant is of another type": (
        "HB1104",
        "parameters: {type: object, properties: {a: {type: string, const: «2»}}}",
    ),
    "an example inside a schema does not fit": (
        "HB1105",
        "parameters: {type: object, properties: {a: {type: string, examples: [a, «2»]}}}",
    ),
    "an example of the tool does not fit": (
        "HB1105",
        (
            "parameters: {type: object, properties: {a: {type: string}}}\n"
            "examples: [{args: {a: x}}, {args: {a: «2»}}]"
        ),
    ),
    "required and default": (
        "HB1106",
        "parameters: {type: object, properties: {a: {type: string, «default»: x}}, required: [a]}",
    ),
    "a misspelt definition": (
        "HB1107",
        (
            "parameters: {type: object, properties: {a: {$ref: «'#/$defs/Pth'»}},"
            " $defs: {Path: {type: string}}}"
        ),
    ),
    "a ref to the map of definitions": (
        "HB1107",
        "parameters: {type: object, properties: {a: {$ref: «'#/$defs'»}}, $defs: {A: {}}}",
    ),
    "a ref to data": (
        "HB1107",
        (
            "parameters: {type: object, properties: {a: {$ref: «'#/properties/b/default'»},"
            " b: {default: {type: string}}}}"
        ),
    ),
    "a ref to a plain value": (
        "HB1107",
        (
            "parameters: {type: object, properties: {a: {$ref: «'#/properties/b/description'»},"
            " b: {description: x}}}"
        ),
    ),
    "a ref with a character that must be escaped": (
        "HB1107",
        "parameters: {type: object, properties: {a: {$ref: «'#/$defs/A b'»}}, $defs: {A b: {}}}",
    ),
    "a ref with a wrong tilde": (
        "HB1107",
        "parameters: {type: object, properties: {a: {$ref: «'#/$defs/a~2'»}}, $defs: {a~2: {}}}",
    ),
    "an unknown anchor": (
        "HB1107",
        "parameters: {type: object, properties: {a: {$ref: «'#nowhere'»}}}",
    ),
    "a file that is not there": (
        "HB1107",
        "parameters: {type: object, properties: {a: {$ref: «'none.yaml#/$defs/A'»}}}",
    ),
    "a remote ref": (
        "HB1108",
        "parameters: {type: object, properties: {a: {$ref: «'https://example.com/a.json'»}}}",
    ),
    "a ref to an urn": (
        "HB1108",
        "parameters: {type: object, properties: {a: {$ref: «'urn:example:a'»}}}",
    ),
    "a ref to a network path": (
        "HB1108",
        "parameters: {type: object, properties: {a: {$ref: «'//example.com/a'»}}}",
    ),
    "a ref to an absolute path": (
        "HB1108",
        "parameters: {type: object, properties: {a: {$ref: «/etc/passwd»}}}",
    ),
    "a ref to a drive": (
        "HB1108",
        "parameters: {type: object, properties: {a: {$ref: «'C:/common.yaml#/$defs/A'»}}}",
    ),
    "a ref out of the folder": (
        "HB1108",
        "parameters: {type: object, properties: {a: {$ref: «'../common.yaml#/$defs/A'»}}}",
    ),
    "a ref out of the folder, escaped": (
        "HB1108",
        "parameters: {type: object, properties: {a: {$ref: «'%2e%2e/common.yaml#/$defs/A'»}}}",
    ),
    "a misspelt ref": (
        "HB1109",
        "parameters: {type: object, properties: {a: {«'#ref'»: '#/$defs/A'}}}",
    ),
    "OpenAPI's nullable": (
        "HB1109",
        "parameters: {type: object, properties: {a: {type: string, «nullable»: true}}}",
    ),
    "an extension that chooses imports": (
        "HB1109",
        "parameters: {type: object, properties: {a: {type: string, «x-python-type»: os}}}",
    ),
    "an id": ("HB1109", "parameters: {type: object, «$id»: 'http://example.com/a'}"),
    "a dynamic ref": (
        "HB1109",
        "parameters: {type: object, properties: {a: {«$dynamicRef»: '#a'}}}",
    ),
    "dependencies, which 2020-12 ignores": (
        "HB1109",
        "parameters: {type: object, «dependencies»: {a: [b]}}",
    ),
    "bounds of a number that cross": (
        "HB1110",
        "parameters: {type: object, properties: {a: {minimum: 3, maximum: «2»}}}",
    ),
    "exclusive bounds that meet": (
        "HB1110",
        "parameters: {type: object, properties: {a: {minimum: 3, exclusiveMaximum: «3»}}}",
    ),
    "no integer between the bounds": (
        "HB1110",
        (
            "parameters: {type: object, properties: {a: {type: integer, minimum: 1.2,"
            " maximum: «1.8»}}}"
        ),
    ),
    "bounds of a text that cross": (
        "HB1110",
        "parameters: {type: object, properties: {a: {minLength: 3, maxLength: «2»}}}",
    ),
    "bounds of a list that cross": (
        "HB1110",
        "parameters: {type: object, properties: {a: {minItems: 3, maxItems: «2»}}}",
    ),
    "bounds of an object that cross": (
        "HB1110",
        "parameters: {type: object, properties: {a: {minProperties: 3, maxProperties: «2»}}}",
    ),
    "an empty enum": ("HB1110", "parameters: {type: object, properties: {a: {enum: «[]»}}}"),
    "no member of the enum is of the type": (
        "HB1110",
        "parameters: {type: object, properties: {a: {type: string, «enum»: [1, 2]}}}",
    ),
    "branches that are all false": (
        "HB1110",
        "parameters: {type: object, properties: {a: {«anyOf»: [false]}}}".replace(
            "«anyOf»: [false]", "anyOf: «[false]»"
        ),
    ),
    "a conjunction of two types": (
        "HB1110",
        "parameters: {type: object, properties: {a: {allOf: [{type: string}, «{type: integer}»]}}}",
    ),
    "a conjunction of two types through a ref": (
        "HB1110",
        (
            "parameters: {type: object, properties: {a: {type: string,"
            " allOf: [«{$ref: '#/$defs/N'}»]}}, $defs: {N: {type: number}}}"
        ),
    ),
    "a list that may have no item and must have one": (
        "HB1110",
        "parameters: {type: object, properties: {a: {items: false, minItems: «1»}}}",
    ),
    "a required property that is false": (
        "HB1110",
        "parameters: {type: object, properties: {a: false}, required: [«a»]}",
    ),
    "a pattern that does not end": (
        "HB1111",
        "parameters: {type: object, properties: {a: {pattern: «'('»}}}",
    ),
    "Python's end of text in a pattern": (
        "HB1111",
        "parameters: {type: object, properties: {a: {pattern: «'a\\Z'»}}}",
    ),
    "a pattern of property names": (
        "HB1111",
        "parameters: {type: object, patternProperties: {«'['»: {}}}",
    ),
    "a pattern in a definition that nothing uses": (
        "HB1111",
        "parameters: {type: object, $defs: {A: {pattern: «'('»}}}",
    ),
    "a ref to itself": ("HB1112", "parameters: {type: object, $ref: «'#'»}"),
    "refs in a circle": (
        "HB1112",
        (
            "parameters: {type: object, properties: {a: {$ref: '#/$defs/A'}},"
            " $defs: {A: {$ref: «'#/$defs/B'»}, B: {$ref: '#/$defs/A'}}}"
        ),
    ),
    "refs in a circle through a conjunction": (
        "HB1112",
        "parameters: {type: object, $defs: {A: {allOf: [{$ref: «'#/$defs/A'»}]}}}",
    ),
    "a required property that is not declared": (
        "HB1113",
        "parameters: {type: object, properties: {path: {type: string}}, required: [«pth»]}",
    ),
    "a required property that a closed object forbids": (
        "HB1113",
        "parameters: {type: object, required: [«a»], additionalProperties: false}",
    ),
    "Python's dict": ("HB1114", "parameters: {type: object, properties: {a: {type: «dict»}}}"),
    "Java's String": ("HB1114", "parameters: {type: object, properties: {a: {type: «String»}}}"),
    "null without quotes among types": (
        "HB1114",
        "parameters: {type: object, properties: {a: {type: [string, «null»]}}}",
    ),
    "a root of Python's type": ("HB1114", "parameters: {type: «dict»}"),
    "a root of another type": ("HB1102", "parameters: {type: «string»}"),
    "a root of no type": ("HB1102", "parameters: {type: «null»}"),
    "a root of several types": ("HB1102", "parameters: {type: «[object, 'null']»}"),
    "a root that is empty": ("HB1102", "parameters: «{}»"),
    "a root that is a union": ("HB1102", "parameters: {«anyOf»: [{type: object}]}"),
    "a root that is a boolean": ("HB1102", "parameters: «true»"),
    "a bare word for a schema": (
        "HB1101",
        "parameters: {type: object, properties: {a: «string»}}",
    ),
    "a list of items": (
        "HB1101",
        "parameters: {type: object, properties: {a: {items: «[{type: string}]»}}}",
    ),
    "an exclusive bound of draft-04": (
        "HB1101",
        "parameters: {type: object, properties: {a: {minimum: 1, exclusiveMinimum: «true»}}}",
    ),
    "required in the property itself": (
        "HB1101",
        "parameters: {type: object, properties: {a: {type: string, required: «true»}}}",
    ),
    "a description of null": (
        "HB1101",
        "parameters: {type: object, properties: {a: {description: «null»}}}",
    ),
    "a dialect of long ago": (
        "HB1101",
        "parameters: {type: object, $schema: «'http://json-schema.org/draft-07/schema#'»}",
    ),
    "a dialect that is no text": ("HB1101", "parameters: {type: object, $schema: «3»}"),
    "a dialect inside a schema": (
        "HB1109",
        "parameters: {type: object, properties: {a: {«$schema»: 'http://example.com'}}}",
    ),
    "a property called type with a wrong schema": (
        "HB1101",
        "parameters: {type: object, properties: {type: «dict»}}",
    ),
    "several at once, each its own": (
        "HB1114 HB1101 HB1107 HB1109",
        (
            "parameters:\n"
            "  type: object\n"
            "  properties:\n"
            "    a: {type: «float»}\n"
            "    b: «text»\n"
            "    c: {$ref: «'#/$defs/C'»}\n"
            "    d: {«optional»: true}\n"
        ),
    ),
}


@pytest.mark.parametrize(("codes", "text"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_reported_once_where_it_stands(codes: str, text: str) -> None:
    spec, marked = unmarked(text)
    outcome = check(spec)
    assert (outcome.codes, places(outcome.found)) == (codes.split(), marked)
    assert {one.severity for one in outcome.found} == {"error"}
    assert {one.tool for one in outcome.found} == {"tool"}


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


def test_output_may_be_any_schema() -> None:
    for schema in ("true", "{type: string}", "{anyOf: [{type: string}, {type: 'null'}]}"):
        assert check(f"output_schema: {schema}", key="output_schema").found == []


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


def nested(levels: int) -> str:
    return "parameters: {type: object, properties: " + (
        "{a: {properties: " * levels + "{}" + "}}" * levels + "}"
    )


def test_sixty_four_schemas_inside_each_other_are_enough() -> None:
    assert check(nested(64)).found == []
    assert check(nested(65)).codes == ["HB1115"]


def test_a_file_of_shared_schemas_is_checked_whether_used_or_not() -> None:
    text, marked = unmarked(
        "description: shared\n"
        "$defs:\n"
        "  A: {type: «float»}\n"
        "  B: {$ref: «'#/$defs/C'»}\n"
        "  D: {type: string, default: x, pattern: «'('»}\n"
        "  E: {$ref: '#/$defs/E2', description: fine}\n"
        "  E2: {$ref: 'shared.yaml#/$defs/D'}\n"
    )
    found = check_file(text)
    assert [one.code for one in found] == ["HB1114", "HB1107", "HB1111"]
    assert places(found) == marked
    assert {one.tool for one in found} == {None}


@pytest.mark.parametrize("pattern", ["(x+x+)+y", r"(?!z)(x+x+)+y\1", "^(?=x)(x+)+$"])
def test_a_pattern_that_backtracks_without_end_ends(pattern: str) -> None:
    node = f"{{pattern: '{pattern}', default: {'x' * 60}!}}"
    assert check(f"parameters: {{type: object, properties: {{a: {node}}}}}").codes == ["HB1103"]


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
