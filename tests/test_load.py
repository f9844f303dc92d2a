"""Texts to documents: each mistake is one finding with a code, a place and advice."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_build.compiler import load
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.yaml12 import dialect as yaml12
from hermes_build.compiler.yaml12 import reading as yaml_read

BOTH = sorted({yaml12.HAS_LIBYAML, False})


def parsed(text: str) -> tuple[list[Any], Findings]:
    findings = Findings()
    source = load.Source("p.yaml", text, "")
    return [one.value for one in load.parse(source, findings)], findings


def place(span: Span | None) -> tuple[int, int, int, int]:
    assert span is not None
    assert span.path == "p.yaml"
    return span.line, span.column, span.end_line, span.end_column


# text, code, place of the finding, place of its second label
MISTAKES = [
    ("a: 1\nb: 2\na: 3\n", "HB0003", (3, 1, 3, 2), (1, 1, 1, 2)),
    ("x: {é: 1, 'é': 2}\n", "HB0003", (1, 11, 1, 14), (1, 5, 1, 6)),
    ("a: !!str 1\n", "HB0004", (1, 4, 1, 9), None),
    ("a: ! 1\n", "HB0004", (1, 4, 1, 5), None),
    ("a: ! '1'\n", "HB0004", (1, 4, 1, 5), None),
    ("- ! {a: b}\n", "HB0004", (1, 3, 1, 4), None),
    ("- &x !!set {a}\n", "HB0004", (1, 6, 1, 11), None),
    ("!!binary k: 1\n", "HB0004", (1, 1, 1, 9), None),
    ("a: !<tag:x> 1\n", "HB0004", (1, 4, 1, 12), None),
    ("a: !un!known 1\n", "HB0004", (1, 4, 1, 5), None),
    ("a: {<<: {b: 1}}\n", "HB0005", (1, 5, 1, 7), None),
    ("a: &a {self: *a}\n", "HB0007", (1, 14, 1, 16), (1, 4, 1, 17)),
    ("a: &a\n  - - b: *a\n", "HB0007", (2, 10, 2, 12), (1, 4, 2, 12)),
    ("1: x\n", "HB0008", (1, 1, 1, 2), None),
    ("null: x\n", "HB0008", (1, 1, 1, 5), None),
    ("a: {true: x}\n", "HB0008", (1, 5, 1, 9), None),
    (".nan: x\n", "HB0008", (1, 1, 1, 5), None),
    ("? [a]\n: x\n", "HB0008", (1, 3, 1, 6), None),
    ("? {a: b}\n: x\n", "HB0008", (1, 3, 1, 9), None),
    ("{{name}}: x\n", "HB0008", (1, 1, 1, 9), None),
    ("?\n: x\n", "HB0008", (1, 2, 1, 2), None),
    ("a: .nan\n", "HB0009", (1, 4, 1, 8), None),
    ("日本: [-.inf]\n", "HB0009", (1, 6, 1, 11), None),
    ("a: 9007199254740993\n", "HB0009", (1, 4, 1, 20), None),
    ("# only\n", "HB0012", (1, 1, 1, 1), None),
    ("", "HB0012", (1, 1, 1, 1), None),
    ("description: see order #12\n", "HB0013", (1, 24, 1, 27), None),
    ("- fix #3 of five\n", "HB0013", (1, 7, 1, 17), None),
    ("a: #12\n", "HB0013", (1, 4, 1, 7), None),
    ("a: see\n  order #12\nb: 1\n", "HB0013", (2, 9, 2, 12), None),
]  # fmt: skip


@pytest.mark.parametrize("libyaml", BOTH)
@pytest.mark.parametrize(("text", "code", "span", "label"), MISTAKES)
def test_a_mistake_is_one_finding_at_its_place(
    text: str, code: str, span: tuple[int, ...], label: tuple[int, ...] | None, libyaml: bool
) -> None:
    findings = Findings()
    yaml_read.read("p.yaml", text, findings, libyaml=libyaml)
    assert [one.code for one in findings] == [code]
    one = next(iter(findings))
    assert place(one.span) == span
    assert [place(other.span) for other in one.labels] == ([label] if label else [])
    assert one.help


# text, a word of the message, the line and column, a word of the advice
SYNTAX = [
    ("a: 'x\nb: 1\n", "quote is never closed", (1, 4), "close"),
    ("a: [1, 2\nb: 1\n", "`[`", (1, 4), "]"),
    ("a: {b: 1\n", "`{`", (1, 4), "}"),
    ("a: b: c\n", "mapping cannot begin", (1, 5), "quotes"),
    ("a: 1\n  b: 2\n", "mapping cannot begin", (2, 4), "indentation"),
    ("\ta: 1\n", "tab", (1, 1), "spaces"),
    ("a:\n\tb: 1\n", "tab", (2, 1), "spaces"),
    ("a: @b\n", "`@`", (1, 4), "quotes"),
    ("a: `b`\n", "backtick", (1, 4), "quotes"),
    ("a: %b\n", "`%`", (1, 4), "quotes"),
    ("a: *b\n", "anchor", (1, 4), "quotes"),
    ("a: &x 1\nb: &x 2\n", "twice", (2, 4), "another name"),
    ("a: ]\n", "cannot begin", (1, 4), "quotes"),
    ('a: "\\d+"\n', "escape", (1, 5), "single quotes"),
    ('a: "\\xZ"\n', "escape", (1, 7), "single quotes"),
    ("a: x\nb\n", "key: value", (2, 1), "|"),
    ("a: - b\n", "list cannot begin", (1, 4), "line"),
    ("a: |x\n b\n", "`|`", (1, 5), "next line"),
    ("a: 'b' c\n", "does not fit", (1, 8), "quote"),
    ("- a\nb: c\n", "list around it", (2, 1), "`- `"),
    ("a: 1\n...\nb: 2\n", "end of a document", (3, 1), "---"),
    ("%YAML 3.0\n---\na: 1\n", "neither 1.1 nor 1.2", (1, 1), "take"),
    ("a: x\u2028y\n", "U+2028", (1, 5), "\\u2028"),
    ("a: x\x85y\n", "U+0085", (1, 5), "\\u0085"),
    ("a: \x07\n", "U+0007", (1, 4), "\\u0007"),
    ("a\0b\n", "U+0000", (1, 2), "\\u0000"),
    ("é: \ud800\n", "surrogate", (1, 4), "character"),
    ("a: see\n  order #12\n  or #13\n", "does not fit", (3, 3), "`#` in line"),
    ("a: [see #12, b]\nc: 1\n", "`[`", (1, 4), "`#` in line 1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "start", "advice"), SYNTAX)
def test_malformed_text_is_explained_where_it_breaks(
    text: str, message: str, start: tuple[int, int], advice: str
) -> None:
    values, findings = parsed(text)
    assert [one.code for one in findings if one.severity == "error"] == ["HB0002"]
    one = next(one for one in findings if one.severity == "error")
    assert message in one.message
    assert place(one.span)[:2] == start
    assert advice in " ".join(one.help)
    if "..." not in text:
        assert values == []


@pytest.mark.parametrize("text", ['"\\ud800"', 'a: "\\ud83d\\ude00"', '"\\U00110000"'])
@pytest.mark.parametrize("libyaml", BOTH)
def test_half_a_character_is_refused(text: str, libyaml: bool) -> None:
    findings = Findings()
    assert yaml_read.read("p.yaml", text, findings, libyaml=libyaml) == []
    assert [one.code for one in findings] == ["HB0009"]


def test_every_mistake_of_a_document_is_reported_and_the_others_are_kept() -> None:
    values, findings = parsed("a: 1\n---\na: 1\na: 2\nb: .nan\n1: x\n---\nc: 3\n")
    assert values == [{"a": 1}, {"c": 3}]
    assert [one.code for one in findings] == ["HB0003", "HB0009", "HB0008"]


def test_what_stands_before_a_syntax_error_is_kept() -> None:
    values, findings = parsed("a: 1\n---\nb: 2\n---\nc: [\n---\nd: 4\n")
    assert values == [{"a": 1}, {"b": 2}]
    assert [one.code for one in findings] == ["HB0002"]


def test_an_empty_document_is_a_warning_and_counts_in_the_stream() -> None:
    findings = Findings()
    text = "---\n# nothing\n---\na: 1\n---\n"
    documents = load.parse(load.Source("p.yaml", text, ""), findings)
    assert [(one.index, one.line, one.value) for one in documents] == [(1, 4, {"a": 1})]
    assert [(one.code, one.severity) for one in findings] == [("HB0012", "warning")] * 2


@pytest.mark.parametrize("text", ["{}", "[]", "''", "null", "~", "--- >\n", "&a"])
def test_an_empty_value_is_no_empty_document(text: str) -> None:
    values, findings = parsed(text)
    assert len(values) == 1
    assert list(findings) == []


def test_a_thousand_mistakes_are_not_all_listed() -> None:
    values, findings = parsed("a: 1\n" + "a: 2\n" * 1000)
    assert values == []
    assert len(findings) == yaml_read.MAX_FINDINGS


def test_warnings_past_the_bound_do_not_lose_documents() -> None:
    values, findings = parsed("---\n" * 500 + "a: 1\n" + "---\nb: c d #1\n" * 10)
    assert len(values) == 11
    assert len(findings) == yaml_read.MAX_FINDINGS


@pytest.mark.parametrize(
    "line",
    [
        "a: see order # 12", "a: 'see order #12'", "a: see order#12", "a: string #comment",
        "a: 5 #",
        "a: x y #!shebang", "a: x y #hermes-build: ignore[HB1201] why", "a: [b c] #12",
        "a: ## heading",
    ],
)  # fmt: skip
def test_an_ordinary_comment_is_no_cut_text(line: str) -> None:
    _, findings = parsed(line + "\n")
    assert list(findings) == []


def test_a_block_keeps_its_numbers_of_issues() -> None:
    values, findings = parsed("a: |\n  see order #12\nb: >\n  and #13\n")
    assert values == [{"a": "see order #12\n", "b": "and #13\n"}]
    assert list(findings) == []


def test_aliases_share_a_value_up_to_a_bound() -> None:
    values, findings = parsed("a: &a [x]\nb: [*a, *a]\nc: 1\n")
    assert values == [{"a": ["x"], "b": [["x"], ["x"]], "c": 1}]
    assert list(findings) == []


def test_a_scalar_alias_and_an_alias_as_a_key_are_read() -> None:
    values, findings = parsed("- &k name\n- *k : *k\n")
    assert values == [["name", {"name": "name"}]]
    assert list(findings) == []


def test_a_mistake_behind_an_alias_is_reported_once() -> None:
    _, findings = parsed("- &a .nan\n- &b {c: 1, c: 2}\n- [*a, *b, *a, *b]\n")
    assert [one.code for one in findings] == ["HB0009", "HB0003"]


def test_columns_count_characters_whatever_their_width() -> None:
    document = load.document("p.yaml", "'日本👨\u200d👩': {é: [ü, 👍, x]}\n")
    family = "日本👨\u200d👩"
    assert place(document.at(family, key=True)) == (1, 1, 1, 8)
    assert place(document.at(family, "é", 2)) == (1, 21, 1, 22)


TEXT = """\
# a comment
name: read
parameters:
  type: object
  properties:
    a: {type: string}   # said
    b:
      - one
      - |
        two

      # after
    c: >-
      folded
      text


  required: [a]
empty:
last: 'quoted'
---
- x: &x {y: 1}
- *x
"""


def test_every_part_of_a_document_knows_its_place() -> None:
    findings = Findings()
    first, second = load.parse(load.Source("p.yaml", TEXT, ""), findings)
    assert (first.line, second.line) == (2, 22)
    properties = ("parameters", "properties")
    assert place(first.at()) == (2, 1, 20, 15)
    assert place(first.at("name")) == (2, 7, 2, 11)
    assert place(first.at("name", key=True)) == (2, 1, 2, 5)
    assert place(first.at("parameters")) == (4, 3, 18, 16)
    assert place(first.at(*properties, "a")) == (6, 8, 6, 22)
    assert place(first.at(*properties, "a", "type", key=True)) == (6, 9, 6, 13)
    assert place(first.at(*properties, "b")) == (8, 7, 10, 12)
    assert place(first.at(*properties, "b", 1)) == (9, 9, 10, 12)
    assert place(first.at(*properties, "c")) == (13, 8, 15, 11)
    assert place(first.at("empty")) == (19, 7, 19, 7)
    assert place(first.at("last")) == (20, 7, 20, 15)
    assert place(second.at(0, "x", "y")) == (22, 13, 22, 14)
    assert place(second.at(1, "y", key=True)) == (22, 10, 22, 11)


def test_a_pointer_that_leaves_the_document_ends_at_what_is_around() -> None:
    document = load.document("p.yaml", TEXT.partition("---")[0])
    around = document.at("parameters", "properties", "b")
    assert document.at("parameters", "properties", "b", 7) == around
    assert document.at("parameters", "properties", "b", -1) == around
    assert document.at("parameters", "properties", "b", "x", "y", key=True) == around
    assert document.at("nowhere", 0) == document.at()


def test_places_survive_a_syntax_error_further_down() -> None:
    findings = Findings()
    (document,) = load.parse(load.Source("p.yaml", "a: 1\nb: 2\n---\n[\n", ""), findings)
    assert place(document.at("b")) == (2, 4, 2, 5)


def test_the_convenience_for_tests_refuses_what_has_findings() -> None:
    assert load.document("p.yaml", "\ufeffa: 1\r\nb: 2\r\n").value == {"a": 1, "b": 2}
    for text in ("a: 1\na: 2\n", "", "a: [\n"):
        with pytest.raises(ValueError, match=r"p\.yaml"):
            load.document("p.yaml", text)


DIRECTIVES = """\
# hermes-build: ignore[HB1201] the header is for the first line of content
# another comment

name: a  # hermes-build: ignore[HB1204, HB1205] it is quoted
description: |  # hermes-build: ignore[HB1202] behind the sign of a block
  text # hermes-build: ignore[HB1] inside a block
quoted: "a # hermes-build: ignore[HB2] inside quotes"
'single # hermes-build: ignore[HB3]': x
plain: a#hermes-build: ignore[HB4] no comment
  # hermes-build: ignore[HB1206]
---
list:
  - x #hermes-build:ignore[HB1207]reason
  - y # hermes-build: ignore
# hermes-build: ignore[HB1208] nothing follows
"""


def test_directives_are_found_in_comments_alone() -> None:
    # Without the line that is no comment, and so no plain text either.
    text = "".join(line for line in DIRECTIVES.splitlines(True) if not line.startswith("plain"))
    found = load.Source("p.yaml", text, "").suppressions()
    assert [(one.line, one.codes, one.reason) for one in found] == [
        (4, ("HB1201",), "the header is for the first line of content"),
        (4, ("HB1204", "HB1205"), "it is quoted"),
        (5, ("HB1202",), "behind the sign of a block"),
        (11, ("HB1206",), ""),
        (12, ("HB1207",), "reason"),
        (13, (), ""),
        (14, ("HB1208",), "nothing follows"),
    ]
    assert place(found[1].span) == (4, 10, 4, 61)


BYTES = st.binary(max_size=60) | st.text(max_size=60).map(
    lambda text: text.encode("utf-8", "replace")
)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80) | BYTES.map(lambda data: data.decode("latin-1")))
def test_any_text_gives_documents_or_findings_that_point_into_it(text: str) -> None:
    findings = Findings()
    source = load.Source("p.yaml", text, "")
    documents = load.parse(source, findings)
    assert documents or len(findings)
    for document in documents:
        document.at("a", 0, key=True)
    source.suppressions()
    rows = text.split("\n")
    for one in findings:
        line, column, end_line, end_column = place(one.span)
        assert (1, 1) <= (line, column) <= (end_line, end_column)
        assert end_line <= len(rows)
        assert column <= len(rows[line - 1]) + 1
        assert end_column <= len(rows[end_line - 1]) + 1
