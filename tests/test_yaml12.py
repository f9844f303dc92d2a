"""The dialect: what plain text means, and writing it so that no reader misreads it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.yaml12 import dialect as yaml12
from hermes_build.compiler.yaml12 import reading as yaml_read

PLAIN: dict[str, Any] = {
    # YAML 1.1 makes booleans, dates, times and octal numbers of these.
    "no": "no",
    "on": "on",
    "yes": "yes",
    "off": "off",
    "y": "y",
    "2024-01-01": "2024-01-01",
    "12:30": "12:30",
    "12:30:45": "12:30:45",
    "1_000": "1_000",
    "012": "012",
    "-012": "-012",
    "08.5": "08.5",
    "0b1": "0b1",
    "-0x1F": "-0x1F",
    "=": "=",
    "1.2.3": "1.2.3",
    "٤٢": "٤٢",
    "1e": "1e",
    ".": ".",
    "-": "-",
    "+": "+",
    "nan": "nan",
    "NULL": None,
    "Null": None,
    "null": None,
    "~": None,
    "": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "tRUE": "tRUE",
    "false": False,
    "0": 0,
    "-0": 0,
    "+3": 3,
    "-17": -17,
    "0o17": 15,
    "0x1F": 31,
    "9007199254740992": 2**53,
    "-9007199254740992": -(2**53),
    "1e3": 1000.0,
    "1e-5": 1e-5,
    "1E+2": 100.0,
    "1.": 1.0,
    ".5": 0.5,
    "-0.0": -0.0,
    "3.10": 3.1,
    "1e-400": 0.0,
}


@pytest.mark.parametrize(("text", "value"), PLAIN.items())
def test_plain_text_means_what_the_core_schema_says(text: str, value: Any) -> None:
    assert repr(yaml12.plain(text)) == repr(value)


@pytest.mark.parametrize(
    "text",
    [
        ".inf", "-.INF", "+.Inf", ".nan", ".NaN", "1e999", "-1e999", "9007199254740993",
        "-9007199254740993", "0x20000000000001", "1" * 5000, "0." + "1" * 5000, "0x" + "f" * 9999,
    ],
)  # fmt: skip
def test_a_number_that_json_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(yaml12.NotJson):
        yaml12.plain(text)


# What a dump must survive: text that is a number, a word, an indicator or a comment to some reader.
HOSTILE = [
    *PLAIN,
    " x", "x ", "a: b", "a #b", "#x", "x:", "- x", "? x", "* x", "&x", "!x", "%x", "@x", "`x",
    "|", ">",
    "[x", "{x", "a, b", "a]", "it's", 'say "x"', "c:\\x", "---", "...", "--- x", "<<", "null ",
    "a\tb", "\ta", "\n", "\n\n", "a\n", "a\n\n", "a\nb", " a\nb", "a\n b\n", "a \nb", "a\n\n\nb\n",
    "\na", "a\r\nb", "a\rb", "a\x85b", "a\u2028b", "\ufeffa", "\u00a0", "\u3000a", "a\u200bb",
    "\x00", "\x7f",
    "👨\u200d👩\u200d👧", "日本語\nテキスト\n", "\U0010ffff", "\uffff", "A?",
    "x" * 3000, "x y " * 900, "#\n#", "a\n#b\n",
    "key: |\n  x", "a\n---\nb\n", "a\n\tb",
]  # fmt: skip


def read(text: str, *, libyaml: bool) -> Any:
    findings = Findings()
    documents = yaml_read.read("p.yaml", text, findings, libyaml=libyaml)
    assert [one.message for one in findings] == []
    assert [index for index, _, _ in documents] == [0]
    return documents[0][2]


def assert_round_trip(value: Any) -> None:
    text = yaml12.dump(value)
    assert text.endswith("\n")
    for libyaml in {yaml12.HAS_LIBYAML, False}:
        assert repr(read(text, libyaml=libyaml)) == repr(value)
    assert repr(yaml.safe_load(text)) == repr(value)


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_survives_a_dump_wherever_it_stands(text: str) -> None:
    assert_round_trip(text)
    assert_round_trip([text, [text], {text: text, "z": [text]}])
    assert_round_trip({text: {text: [[text, {text: {"deep": {text: text}}}]]}})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(HOSTILE),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | st.sampled_from(HOSTILE), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(JSON)
@example([{"A?": None}])
@example([[], {}, [[]], [{}], {"": []}])
@example({"x" * 2000: {"y" * 2000: [1]}})
@example([1e300, 1e-7, 5e-324, -0.0, 1e16, 123456789.123])
def test_any_json_value_survives_a_dump_for_every_reader(value: Any) -> None:
    assert_round_trip(value)


def test_a_dump_reads_like_what_a_person_writes() -> None:
    spec = {
        "name": "read_file",
        "description": "Read a file.\n\nGives line numbers.\n",
        "emoji": "📖",
        "parameters": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path of the file", "minLength": 1},
                "mode": {"enum": ["no", "1", "plain"]},
                "when": {"type": "string", "description": "at 12: noon"},
            },
            "required": ["path"],
            "additionalProperties": False,
        },
        "tags": ["filesystem"],
        "examples": [{"args": {"path": "README.md"}}],
    }
    assert yaml12.dump(spec, comment="first\n\nlast") == (
        "# first\n"
        "#\n"
        "# last\n"
        "name: read_file\n"
        "description: |\n"
        "  Read a file.\n"
        "\n"
        "  Gives line numbers.\n"
        'emoji: "📖"\n'
        "parameters:\n"
        "  type: object\n"
        "  properties:\n"
        "    path: {type: string, description: Path of the file, minLength: 1}\n"
        '    mode: {enum: ["no", "1", plain]}\n'
        '    when: {type: string, description: "at 12: noon"}\n'
        "  required: [path]\n"
        "  additionalProperties: false\n"
        "tags: [filesystem]\n"
        "examples:\n"
        "  - {args: {path: README.md}}\n"
    )


def test_a_dump_has_no_aliases_for_what_is_shared() -> None:
    shared = {"type": "string"}
    assert yaml12.dump([shared, shared]) == "- {type: string}\n- {type: string}\n"


def test_a_comment_cannot_break_out_of_its_lines() -> None:
    text = yaml12.dump({"a": 1}, comment="x\u2028y: 1\x07\r\nb: 2\x85c: 3")
    assert read(text, libyaml=yaml12.HAS_LIBYAML) == {"a": 1}


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**53 + 1, -(2**63), "\ud800", {"a": b"x"}, {1, 2}]
)
def test_a_value_that_the_dialect_refuses_is_never_written(value: Any) -> None:
    with pytest.raises(ValueError):
        yaml12.dump({"key": [value]})


TEXTS = st.lists(
    st.sampled_from(
        [*" \n\t:-?,[]{}#&*!|>'\"%@`~<=019ex.é\u2028\ufeff\r", "\n  ", "\n- ", "a: ", "b: ",
         "- ", "&a ",
         "*a", "!!str ", "<<: ", "null", ".nan", "1e3", "---\n", "\\ud800", "| \n ", " #12",
         "? ", "{a: "]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@pytest.mark.skipif(not yaml12.HAS_LIBYAML, reason="compares the two ways of reading by libyaml")
@settings(max_examples=400, deadline=None)
@given(TEXTS)
@example("\ufeff\n- ")
@example("? [x]\n: y")
@example("~ -\t#x")
@example("0\r")
def test_the_quick_reader_sees_what_the_careful_one_sees_or_nothing(text: str) -> None:
    quick = yaml12.quick(text)
    if quick is not None:
        careful = []
        findings = Findings()
        reader = yaml_read.Reader(yaml_read.Lines("p.yaml", text), findings)
        for root in yaml12.nodes(text):
            careful.append((root.start_mark.line + 1, reader.document(root, 0)))
        assert repr(quick) == repr(careful)
        assert list(findings) == []


@pytest.mark.parametrize("libyaml", sorted({yaml12.HAS_LIBYAML, False}))
def test_with_and_without_libyaml_a_spec_reads_the_same(libyaml: bool) -> None:
    text = "a: &x [1, no, 'é']\nb: |\n  t\n\n  u\n? c d\n: {e: *x, f: }\n---\n- \"\\u00e9\"\n"
    findings = Findings()
    assert yaml_read.read("p.yaml", text, findings, libyaml=libyaml) == [
        (0, 1, {"a": [1, "no", "é"], "b": "t\n\nu\n", "c d": {"e": [1, "no", "é"], "f": None}}),
        (1, 9, ["é"]),
    ]
    assert list(findings) == []
