"""Faults of YAML readers that somebody reported: here a spec means what it says, or is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.faults.world import compiled

HEAD = "name: tool_x\nhandler: external\ndescription: Does one thing for a test.\n"
REST = "\nparameters: {type: object, additionalProperties: false}\n"


def parameters_of(tmp_path: Path, part: str) -> dict[str, Any]:
    """The properties that a model sees, from the text of the first one."""
    text = (
        f"parameters:\n  type: object\n  additionalProperties: false\n  properties:\n    {part}\n"
    )
    world = compiled(tmp_path, HEAD + text)
    assert not world.errors, world.made.findings
    schema = world.registry.get_schema("tool_x")
    assert schema is not None
    found: dict[str, Any] = schema["parameters"]["properties"]
    return found


MEANINGS: dict[str, tuple[str, Any]] = {
    "pyyaml#613 no, on and yes are words": (
        "a: {enum: [no, on, yes, Off, y, N, NO]}",
        {"a": {"enum": ["no", "on", "yes", "Off", "y", "N", "NO"]}},
    ),
    "pyyaml#52 no, on and yes are keys": (
        "{on: {type: string}, yes: true, n: true, off: false}",
        {"on": {"type": "string"}, "yes": True, "n": True, "off": False},
    ),
    "pyyaml#744 only true and false are booleans": (
        "a: {enum: [true, False, TRUE, tRUE, yes]}",
        {"a": {"enum": [True, False, True, "tRUE", "yes"]}},
    ),
    "pyyaml#613 digits behind a zero are text": (
        "a: {enum: [010, 08, 0777, -007, 1_000, 0b1]}",
        {"a": {"enum": ["010", "08", "0777", "-007", "1_000", "0b1"]}},
    ),
    "pyyaml#173 an exponent makes a number": (
        "a: {type: number, maximum: 1e3, minimum: -1E-2, default: 1e+2}",
        {"a": {"type": "number", "maximum": 1000.0, "minimum": -0.01, "default": 100.0}},
    ),
    "pyyaml#272 a time is text": (
        "a: {type: string, enum: [12:30:45, 12:30, 190:20:30.15], default: 12:30}",
        {
            "a": {
                "type": "string",
                "enum": ["12:30:45", "12:30", "190:20:30.15"],
                "default": "12:30",
            }
        },
    ),
    "pyyaml#395 an address is text": (
        "a: {type: string, default: 1:2:3:4}",
        {"a": {"type": "string", "default": "1:2:3:4"}},
    ),
    "datamodel-code-generator#1955 a small number is a number": (
        "a: {type: number, default: 1e-5, examples: [.5, 5., 0.1e1]}",
        {"a": {"type": "number", "default": 1e-5, "examples": [0.5, 5.0, 1.0]}},
    ),
    "a date is text": (
        "a: {type: string, enum: [2024-01-01, 2001-12-14t21:59:43.10-05:00, 2024-1-1]}",
        {
            "a": {
                "type": "string",
                "enum": ["2024-01-01", "2001-12-14t21:59:43.10-05:00", "2024-1-1"],
            }
        },
    ),
    "a version is text where it has two dots": (
        "a: {type: string, enum: [1.2.3, 1.2.x, v1], default: 1.2.3}",
        {"a": {"type": "string", "enum": ["1.2.3", "1.2.x", "v1"], "default": "1.2.3"}},
    ),
    "a sign, an equals sign and a dot are text": (
        "a: {enum: [=, ., +, -a, ~a, nullx]}",
        {"a": {"enum": ["=", ".", "+", "-a", "~a", "nullx"]}},
    ),
    "two forms of null": ("a: {enum: [Null, 'null']}", {"a": {"enum": [None, "null"]}}),
    "large whole numbers are exact": (
        "a: {enum: [9007199254740992, -9007199254740992]}",
        {"a": {"enum": [2**53, -(2**53)]}},
    ),
    "escapes": (
        r'a: {const: "\x41\u00e9\U0001F600\/\t\"\\"}',
        {"a": {"const": 'Aé😀/\t"\\'}},
    ),
}


@pytest.mark.parametrize(("part", "wanted"), MEANINGS.values(), ids=MEANINGS)
def test_a_model_sees_what_was_written(tmp_path: Path, part: str, wanted: dict[str, Any]) -> None:
    found = parameters_of(tmp_path, part)
    assert found == wanted
    # JSON tells 1 from true where Python's comparison does not.
    assert repr(found) == repr(wanted)


REFUSED: dict[str, tuple[str, str]] = {
    "pyyaml#896 an alias to what holds it": ("&a {type: object, properties: {x: *a}}", "HB0007"),
    "pyyaml#896 a list that holds itself": ("{type: object, default: &a [*a]}", "HB0007"),
    "pyyaml#604 brackets": ("[" * 5000, "HB0010"),
    "pyyaml#604 closed brackets": ("[" * 5000 + "]" * 5000, "HB0010"),
    "pyyaml#604 braces": ("{a: " * 5000, "HB0010"),
    "pyyaml#613 a number as a key": ("{type: object, properties: {1: true}}", "HB0008"),
    "pyyaml#613 a boolean as a key": ("{type: object, properties: {true: true}}", "HB0008"),
    "pyyaml#613 null as a key": ("{type: object, properties: {~: true}}", "HB0008"),
    "pyyaml#613 a list as a key": ("{type: object, properties: {[a]: true}}", "HB0008"),
    "a set": ("{default: !!set {a, b}}", "HB0004"),
    "bytes": ("{default: !!binary aGk=}", "HB0004"),
    "a timestamp": ("{default: !!timestamp 2001-01-01}", "HB0004"),
    "an object of Python's": ("{default: !!python/object/apply:os.system [x]}", "HB0004"),
    "a name of Python's": ("{default: !!python/name:os.system }", "HB0004"),
    "a tag of somebody's": ("{default: !thing x}", "HB0004"),
    "a long tag": ("{default: !<tag:yaml.org,2002:str> x}", "HB0004"),
    "infinity": ("{default: .inf}", "HB0009"),
    "minus infinity": ("{default: -.INF}", "HB0009"),
    "not a number": ("{default: .nan}", "HB0009"),
    "a number beyond floats": ("{default: 1e999}", "HB0009"),
    "a number that readers round": ("{default: 9007199254740993}", "HB0009"),
    "half a character": (r'{default: "\ud800"}', "HB0009"),
    "a merge key": ("{$defs: {a: &a {type: string}, b: {<<: *a}}}", "HB0005"),
    "a key twice": ("{type: object, type: string}", "HB0003"),
    "a key twice, once in quotes": ('{type: object, "type": string}', "HB0003"),
    "a bomb of aliases": (
        "{a0: &a0 [x, x], "
        + ", ".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))
        + "}",
        "HB0006",
    ),
}


@pytest.mark.parametrize(("value", "code"), REFUSED.values(), ids=REFUSED)
def test_what_json_cannot_hold_is_refused_with_its_line(
    tmp_path: Path, value: str, code: str
) -> None:
    world = compiled(tmp_path, f"{HEAD}parameters:\n  {value}\n")
    assert world.errors[:1] == [code]
    assert world.made.tree is None
    span = world.finding(code).span
    assert span is not None
    assert (span.path, span.line) == ("tool_specs/a.yaml", 5)
    assert world.seconds < 5


@pytest.mark.parametrize(
    ("field", "codes"),
    [
        ("title: 1.0", {"HB1002"}),
        ("title: yes", set()),
        ("title: true", {"HB1002"}),
        ("title:", {"HB1002"}),
        ("title: see order #12", {"HB0013"}),
        ("title: C#, F# and A#", set()),
        ("title: a # b", set()),
        ("deprecated: {since: 1.10}", {"HB1002"}),
        ("requires: {env: API_KEY}", {"HB1002"}),
        ("requires: {platforms: linux}", {"HB1002"}),
        ("tags: exec", {"HB1002"}),
        ("aliases: other", {"HB1002"}),
        ("dynamic: /description", {"HB1002"}),
        ("examples: {args: {}}", {"HB1002"}),
        ("is_async: on", {"HB1002"}),
        ('is_async: "true"', {"HB1002"}),
        ("max_result_chars: 1e5", {"HB1002"}),
        ("max_result_chars: 100_000", {"HB1002"}),
        ("timeout_seconds: 1:30", {"HB1002"}),
        ("timeout_seconds: 1e2", set()),
    ],
)
def test_a_field_of_another_type_is_never_guessed_at(
    tmp_path: Path, field: str, codes: set[str]
) -> None:
    """A text is not taken apart into letters, nor a number or a word for what it is not."""
    world = compiled(tmp_path, HEAD + field + REST)
    assert world.codes == codes
    span = world.made.findings[0].span if codes else None
    assert span is None or span.line == 4


@pytest.mark.parametrize("name", ["no", "on", "y", "null", "true", "1.0", "1e3", "0x1", "~"])
def test_a_name_is_a_word_or_refused(tmp_path: Path, name: str) -> None:
    """A name that YAML could take for another value is that word, or an error."""
    world = compiled(tmp_path, HEAD.replace("tool_x", name) + REST)
    if name in ("no", "on", "y"):
        assert list(world.tools) == [name]
    else:
        assert world.errors == ["HB1002"]


def test_line_ends_and_byte_order_marks_mean_nothing(tmp_path: Path) -> None:
    text = HEAD + "title: >-\n  one\n  two\n" + REST
    plain = compiled(tmp_path / "a", text)
    other = compiled(
        tmp_path / "b", {"a.yaml": b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()}
    )
    assert plain.tools["tool_x"] == other.tools["tool_x"]
    assert plain.tools["tool_x"].title == "one two"
