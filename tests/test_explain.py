"""The pages behind `hermes-build explain`: each code has one, and its examples do what it says.

A fenced block with the words ``bad FILE`` or ``good FILE`` in its first line is a file of an
example. What an example does not show, it is given: settings, three tools, fitting handlers.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hermes_build.compiler.adopt import adopt
from hermes_build.compiler.adopt.definitions import read_definitions
from hermes_build.compiler.bundling.build import Judged, make_bundle
from hermes_build.compiler.codes import CODES
from hermes_build.compiler.diagnostics import Diagnostic, Findings
from hermes_build.compiler.explain import FOLDER, page
from hermes_build.compiler.judge import judge
from hermes_build.compiler.load import Source, parse
from hermes_build.compiler.memory import forgetful
from hermes_build.compiler.pipeline import build
from hermes_build.compiler.project import read_project
from hermes_build.compiler.tree import read_lock
from hermes_build.compiler.write import write
from hermes_build.lock import render

ROOT = Path(__file__).parents[1]

_STATES = "tests/test_states.py::"
_VERIFY = "tests/bundle/test_verify.py::"
_FITTING = "tests/bundle/test_fitting.py::"
_SIGNING = "tests/bundle/test_signing.py::"
_STORE = "tests/bundle/test_store.py::"
_CONTENTS = "tests/bundling/test_contents.py::"
_DEPENDENCIES = "tests/bundling/test_dependencies.py::"
ELSEWHERE = {
    "HB0001": _STATES + "test_bytes_that_are_not_utf8_are_refused",
    "HB0011": _STATES + "test_a_very_large_file_is_refused",
    "HB1115": "tests/schema/test_schema_findings.py::"
    "test_sixty_four_schemas_inside_each_other_are_enough",
    "HB5001": _STATES + "test_an_edited_file_is_stale_until_the_next_compile",
    "HB5002": _STATES + "test_a_deleted_file_is_missing_until_the_next_compile",
    "HB5004": _STATES + "test_a_changed_spec_makes_the_lock_stale_until_the_next_compile",
    "HB5005": _STATES + "test_a_lock_in_conflict_is_unreadable_until_it_is_deleted",
    "HB5008": "tests/test_tree.py::test_an_error_at_the_very_end_is_undone",
    "HB5009": _STATES + "test_the_module_of_a_deleted_spec_is_left_over_until_the_next_compile",
    "HB8010": _SIGNING + "test_a_bundle_that_nobody_signed_is_refused",
    "HB8011": _SIGNING + "test_an_envelope_that_is_none_is_refused",
    "HB8012": _SIGNING + "test_a_signature_by_a_stranger_is_refused",
    "HB8013": _SIGNING + "test_a_key_that_signs_under_the_id_of_another_is_refused",
    "HB8014": _SIGNING + "test_a_threshold_counts_keys_and_not_signatures",
    "HB8015": _SIGNING + "test_a_signature_of_another_bundle_is_refused_wherever_it_is_put",
    "HB8016": _SIGNING + "test_another_signed_document_is_no_statement",
    "HB8017": "tests/bundle/test_signing_keys.py::"
    "test_the_wrong_half_of_a_key_and_what_is_no_key_are_told_apart",
    "HB8020": _STORE + "test_a_list_that_cannot_be_read_stops_every_change",
    "HB8021": _STORE + "test_a_name_or_a_version_that_is_not_there_is_said",
    "HB8022": _STORE + "test_there_is_nothing_before_the_oldest_version",
    "HB8105": _CONTENTS + "test_a_file_outside_the_project_is_refused",
    "HB8106": _CONTENTS + "test_a_link_is_refused_wherever_it_stands",
    "HB8111": _CONTENTS + "test_a_file_that_is_too_large_is_refused",
    "HB8150": _DEPENDENCIES + "test_what_no_index_has_cannot_be_pinned",
    "HB8151": _DEPENDENCIES + "test_a_requirement_of_a_place_is_refused",
    "HB8152": "tests/bundling/test_wheel.py::test_a_version_that_is_none_is_refused",
    "HB8001": _VERIFY + "test_a_bundle_without_a_manifest_is_none",
    "HB8002": "tests/bundle/test_archive.py::test_a_field_that_the_writer_never_writes_is_refused",
    "HB8003": "tests/bundle/test_folders.py::test_links_are_refused_and_never_followed",
    "HB8004": _VERIFY + "test_a_missing_file_is_named",
    "HB8005": _VERIFY + "test_a_surplus_file_is_named",
    "HB8006": _VERIFY + "test_a_changed_file_is_named",
    "HB8007": _FITTING + "test_a_field_that_does_not_fit_is_refused_whatever_the_digests_say",
    "HB8008": "tests/bundle/test_archive_writing.py::test_too_many_files_are_refused",
}
"""Codes whose example no page can show as text, each with the test that covers it."""

FOLLOWS = {
    # A name that cannot be read is a warning, so the tool that it may be for is missing.
    "HB3005": {"HB3001"},
}
"""Errors that an example must also have."""

_BLOCK = re.compile(r"^```\w+ (bad|good) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

SETTINGS = '[tool.hermes-build]\nhandlers = ["handlers"]\n'
TOOLS = """\
name: read_file
toolset: file
description: Read a text file with line numbers.
tags: [filesystem]
annotations: {read_only: true}
parameters: {type: object, additionalProperties: false}
handler: external
---
name: write_file
toolset: file
description: Write a text file, whole.
tags: [filesystem]
annotations: {read_only: false, destructive: true}
parameters: {type: object, additionalProperties: false}
handler: external
---
name: terminal
toolset: terminal
description: Run a command line in a shell.
tags: [exec]
parameters: {type: object, additionalProperties: false}
handler: external
"""
HANDLER = """\
from generated.registry import registry


@registry.handler("{name}")
def handler(args, **context):
    return "done"
"""


def _examples(code: str, kind: str) -> dict[str, str]:
    return {path: text for which, path, text in _BLOCK.findall(page(code)) if which == kind}


def _completed(files: dict[str, str]) -> dict[str, str]:
    """An example with what it does not show: settings, specs, a handler for each tool of ours."""
    whole = {"pyproject.toml": SETTINGS, "handlers/__init__.py": "", **files}
    if not any(path.startswith("tool_specs/") for path in files):
        whole["tool_specs/tools.yaml"] = TOOLS
    if not any(path.startswith("handlers/") for path in files):
        for path, text in files.items():
            if path.startswith("tool_specs/"):
                for document in parse(Source(path, text, ""), Findings()):
                    value = document.value
                    if isinstance(value, dict) and "handler" not in value and "name" in value:
                        name = str(value["name"])
                        module = re.sub(r"\W", "_", name)
                        whole[f"handlers/{module}_{document.line}.py"] = HANDLER.format(name=name)
    return whole


BUNDLED = {"HB8103": ["greetings"]}
"""The toolsets that an example is bundled with; with all of them, where it does not say."""


def _found(root: Path, files: dict[str, str], code: str = "") -> list[Diagnostic]:
    """Everything that importing, compiling and checking the example finds; or bundling it."""
    if "tools.json" in files:
        findings = Findings()
        adopt(read_definitions(files["tools.json"], "tools.json", findings), findings=findings)
        return list(findings)
    for path, text in _completed(files).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")
    findings = Findings()
    project = read_project(root, findings)
    made = build(project, forgetful(), findings)
    if made.tree is None or made.lock is None:
        return list(made.findings)
    writing = Findings()
    _, owned = read_lock(root, "hermes-build.lock", writing)
    text = render(made.lock)
    write(root, made.tree, owned, "hermes-build.lock", text, writing, project.output_folder)
    if len(writing):
        return [*made.findings, *writing]
    if code.startswith("HB81"):
        toolsets = BUNDLED.get(code, [])
        judged = judge(root, forgetful(), imports=True)
        return list(make_bundle(project, toolsets, Judged(judged.findings)).findings)
    if not any(path.startswith("handlers/") for path in files):
        return list(made.findings)
    return list(judge(root, forgetful(), imports=True).findings)


@pytest.mark.parametrize("code", CODES)
def test_a_code_has_its_page(code: str) -> None:
    text = page(code)
    assert text.startswith(f"# {code}: {CODES[code].name}\n\n")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert sections[:2] == ["Why it matters", "An example"]
    assert set(sections[2:]) <= {"The fix", "Living with it"}
    assert sections[2:], "a page says what to do"
    assert text.endswith("\n")
    assert max(len(line) for line in re.sub(_BLOCK, "", text).split("\n")) < 500


def test_a_page_has_its_code() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{code}.md" for code in CODES}


@pytest.mark.parametrize("code", [one for one in CODES if one not in ELSEWHERE])
def test_the_bad_example_has_the_finding(code: str, tmp_path: Path) -> None:
    files = _examples(code, "bad")
    assert files, "the page shows an example that fails"
    found = _found(tmp_path, files, code)
    assert code in {one.code for one in found}, [f"{one.code} {one.message}" for one in found]
    # One cause, one finding: an example shows its own fault and no other error.
    others = {one.code for one in found if one.severity == "error"} - {code}
    others -= FOLLOWS.get(code, set())
    assert not others, [f"{one.code} {one.message}" for one in found]


@pytest.mark.parametrize("code", [one for one in CODES if one not in ELSEWHERE])
def test_the_good_example_has_no_error(code: str, tmp_path: Path) -> None:
    files = _examples(code, "good")
    assert files, "the page shows the fix"
    found = _found(tmp_path, files, code)
    wrong = [one for one in found if one.code == code or one.severity == "error"]
    assert not wrong, [f"{one.code} {one.message}" for one in wrong]


@pytest.mark.parametrize("code", ELSEWHERE)
def test_a_code_without_a_shown_example_is_tested_elsewhere(code: str) -> None:
    path, _, name = ELSEWHERE[code].partition("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert f"def {name}(" in text
    assert code in text
