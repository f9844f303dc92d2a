"""The printers of findings. Each folder of ``tests/report`` is a case: findings, sources, output.

``UPDATE_GOLDEN=1`` writes the expected files from what is printed now.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_build.compiler.diagnostics import Diagnostic, Label, Span
from hermes_build.compiler.report import as_json, concise, full, summary
from hermes_build.compiler.report.glyphs import Line, visible

CASES = sorted(path.parent for path in (Path(__file__).parent / "report").glob("*/case.json"))


def _sources(folder: Path):
    def text(path: str) -> str | None:
        file = folder / "sources" / path
        return file.read_bytes().decode() if file.is_file() else None

    return text


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_a_case_is_printed_as_its_folder_says(folder: Path) -> None:
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    findings = [Diagnostic.from_json(one) for one in case["findings"]]
    options = case.get("options", {})
    printed = {
        "full.golden": full(findings, _sources(folder), **options),
        "concise.golden": concise(findings, colour=options.get("colour", False)),
    }
    for name, text in printed.items():
        golden = folder / name
        if os.environ.get("UPDATE_GOLDEN"):
            golden.write_bytes(text.encode())
        assert text == golden.read_bytes().decode()


def test_there_are_cases() -> None:
    assert len(CASES) >= 10


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_the_json_report_gives_back_equal_findings(folder: Path) -> None:
    case = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    findings = [Diagnostic.from_json(one) for one in case["findings"]]
    text = as_json(findings, files=3)
    report = json.loads(text)
    assert text.isascii()
    assert report["version"] == 1
    assert [Diagnostic.from_json(one) for one in report["findings"]] == findings
    counts = report["summary"]
    assert counts["errors"] + counts["warnings"] + counts["infos"] == len(findings)
    assert counts["files"] == 3


@pytest.mark.parametrize(
    ("severities", "files", "sentence"),
    [
        ("", None, "Found nothing to report."),
        ("", 12, "Found nothing to report in 12 files."),
        ("e", 1, "Found 1 error in 1 file."),
        ("eeew", 12, "Found 3 errors and 1 warning in 12 files."),
        ("ewwi", None, "Found 1 error, 2 warnings and 1 remark."),
        ("w", 0, "Found 1 warning in 0 files."),
    ],
)
def test_the_summary_counts_by_severity(severities: str, files: int | None, sentence: str) -> None:
    names = {"e": "error", "w": "warning", "i": "info"}
    findings = [Diagnostic("HB1103", names[one], "m") for one in severities]  # type: ignore[arg-type]
    assert summary(findings, files=files) == sentence


ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@given(
    text=st.text(st.characters(), max_size=300),
    message=st.text(st.characters(), max_size=60),
    spans=st.lists(st.tuples(*[st.integers(0, 40)] * 4), min_size=1, max_size=4),
    colour=st.booleans(),
    width=st.integers(1, 130),
)
def test_no_text_reaches_the_terminal_raw(
    text: str, message: str, spans: list[tuple[int, int, int, int]], colour: bool, width: int
) -> None:
    first, *others = [Span("a\x1b.yaml", *span) for span in spans]
    finding = Diagnostic(
        "HB1203",
        "error",
        message,
        first,
        message,
        tuple(Label(span, message) for span in others),
        (message,),
        (message,),
    )
    printed = full([finding], lambda _: text, colour=colour, width=width)
    printed += concise([finding], colour=colour)
    if colour:
        printed = ESCAPES.sub("", printed)
    printed.encode()
    assert all(line == visible(line) for line in printed.split("\n"))


@given(st.text(st.sampled_from("ab\t日é\u0301👋🏽✂\ufe0f\x1b\u202e "), max_size=60), st.data())
def test_a_marker_stands_below_its_character(text: str, data: st.DataObject) -> None:
    line = Line(text)
    assert line.starts == sorted(line.starts)
    assert len(line.pieces) == len(text)
    at = data.draw(st.integers(0, max(len(text) - 1, 0)))
    finding = Diagnostic("HB1203", "error", "m", Span("a", 1, at + 1, 1, at + 2))
    rows = full([finding], lambda _: text, width=10_000).split("\n")
    shown, marker = rows[3], rows[4]
    assert shown == (" 1 | " + "".join(line.pieces)).rstrip()
    assert marker.index("^") == len(" 1 | ") + line.starts[at]


@given(
    st.text(st.sampled_from("ab\t日\x1b"), max_size=200),
    st.lists(st.tuples(st.integers(0, 199), st.integers(1, 40)), max_size=4),
    st.integers(20, 100),
)
def test_every_marked_place_of_a_long_line_is_in_a_window(
    text: str, places: list[tuple[int, int]], limit: int
) -> None:
    line = Line(text)
    ranges = [(at, at + size) for at, size in places if at < len(text)]
    windows = line.windows(ranges, limit)
    assert all(line.starts[end] - line.starts[begin] <= limit for begin, end in windows)
    assert all(any(begin <= at < end for begin, end in windows) for at, _ in ranges)


def test_a_source_is_read_once_for_all_its_findings() -> None:
    asked: list[str] = []

    def sources(path: str) -> str:
        asked.append(path)
        return "a: 1\n"

    full([Diagnostic("HB1001", "error", "m", Span("a.yaml", 1, 1, 1, 2))] * 5, sources)
    assert asked == ["a.yaml"]
