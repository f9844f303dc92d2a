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
