"""The published JSON Schemas agree with the readers of the documents that they describe."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_build.compiler import spec
from hermes_build.compiler.diagnostics import Diagnostic, Findings, Label, Span
from hermes_build.compiler.load import Source, parse
from hermes_build.compiler.project import Ignore, Lint, Project, read_project
from hermes_build.compiler.publish import SCHEMAS, schema_text
from hermes_build.compiler.report import as_json
from hermes_build.keywords import KNOWN

ROOT = Path(__file__).parents[1]
TOOL = SCHEMAS["tool"]()
TOOLSET = SCHEMAS["toolset"]()
CONFIG = SCHEMAS["config"]()
VALIDATORS = {name: jsonschema_rs.Draft202012Validator(make()) for name, make in SCHEMAS.items()}


def _keys(node: dict[str, Any]) -> set[str]:
    assert node["additionalProperties"] is False
    return set(node["properties"])


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_published_schema_is_itself_valid(name: str) -> None:
    schema = json.loads(schema_text(name))
    assert schema == SCHEMAS[name]()
    jsonschema_rs.meta.validate(schema)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_copies_for_editors_are_fresh(name: str) -> None:
    copy = (ROOT / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    assert copy == schema_text(name), f"hermes-build schema {name} > schemas/{name}.json"


def test_every_node_of_our_own_fields_tells_what_it_is() -> None:
    for document, start in ((TOOL["$defs"]["tool"], "tool"), (TOOLSET, "toolset"), (CONFIG, "")):
        for name, node in document["properties"].items():
            assert node.get("description"), f"{start} {name}"
            for inner, value in node.get("properties", {}).items():
                assert value.get("description"), f"{start} {name}.{inner}"


def test_the_fields_are_those_that_the_readers_know() -> None:
    tool = TOOL["$defs"]["tool"]
    assert _keys(tool) == set(spec.TOOL_KEYS)
    assert _keys(tool["properties"]["requires"]) == set(spec.REQUIRES_KEYS)
    assert _keys(tool["properties"]["annotations"]) == set(spec.ANNOTATION_KEYS)
    servers = TOOL["$defs"]["servers"]["properties"]["mcp_servers"]
    assert _keys(servers["additionalProperties"]) == set(spec.SERVER_KEYS)
    assert _keys(TOOL["$defs"]["shared"]) == set(spec.SHARED_KEYS)
    assert _keys(TOOLSET) == set(spec.TOOLSET_KEYS)
    guards = TOOLSET["properties"]["guards"]
    assert _keys(guards) == set(spec.GUARD_KEYS)
    assert _keys(guards["properties"]["require"]) == set(spec.ANNOTATION_KEYS)
    assert set(TOOL["$defs"]["keywords"]["properties"]) == KNOWN


def test_the_settings_are_those_that_the_project_reads() -> None:
    names = {one.name.replace("_", "-") for one in fields(Project)}
    assert _keys(CONFIG) == names - {"root", "file"}
    lint = CONFIG["properties"]["lint"]
    assert _keys(lint) == {one.name for one in fields(Lint)}
    assert _keys(lint["properties"]["ignore"]["items"]) == {one.name for one in fields(Ignore)} - {
        "span"
    }


def test_the_published_defaults_are_the_real_ones() -> None:
    project = Project(ROOT, "pyproject.toml")
    for name, node in CONFIG["properties"].items():
        if name != "lint":
            real = getattr(project, name.replace("-", "_"))
            assert node["default"] == (list(real) if isinstance(real, tuple) else real), name
    assert CONFIG["properties"]["lint"]["properties"]["select"]["default"] == list(Lint().select)


@pytest.mark.parametrize(("folder", "name"), [("tool_specs", "tool"), ("toolsets", "toolset")])
def test_the_reference_specs_fit(folder: str, name: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.yaml")):
        findings = Findings()
        source = spec_source(path.read_text(encoding="utf-8"))
        for document in parse(source, findings):
            VALIDATORS[name].validate(document.value)
        assert not len(findings)


def spec_source(text: str) -> Source:
    return Source("tool_specs/a.yaml", text, "0" * 64)


NAMES = st.sampled_from(
    ["read_file", "a-b", "_x", "1a", "", "a b", "all", "*", "é", "a" * 65, "a\n"]
)
TEXTS = st.sampled_from(["", "x", "filesystem", "UPPER", "a.b", "a/b", "/description", "/title"])
JUNK = st.one_of(st.none(), st.booleans(), st.integers(-2, 3), TEXTS, st.just([]), st.just({}))


def _lists(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=2, unique=True) | JUNK


def _tables(keys: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    known = st.fixed_dictionaries({}, optional={**keys, "surprise": JUNK})
    return known | JUNK


HINTS = {key: st.booleans() | JUNK for key in spec.ANNOTATION_KEYS}
NUMBERS = st.sampled_from([-1, 0, 1, 0.5, 100, True, "1", None])
TOOLS = st.fixed_dictionaries(
    {"name": NAMES, "parameters": st.just({"type": "object"}) | JUNK},
    optional={
        "toolset": NAMES | JUNK,
        "title": TEXTS | JUNK,
        "description": TEXTS | JUNK,
        "emoji": JUNK,
        "output_schema": JUNK,
        "is_async": JUNK,
        "requires": _tables(
            {
                "env": _lists(st.sampled_from(["A", "a_1", "1A", "A B", ""])),
                "any_env": _lists(TEXTS),
                "python": _lists(st.sampled_from(["a", "a.b", "a..b", ".a", "a-b"])),
                "commands": _lists(st.sampled_from(["rg", "a b", "a/b", "a\\b", ""])),
                "platforms": _lists(st.sampled_from([*spec.PLATFORMS, "dos"])),
                "check": JUNK,
            }
        ),
        "max_result_chars": NUMBERS.filter(lambda one: one != 0.5),
        "timeout_seconds": NUMBERS,
        "annotations": _tables(HINTS),
        "tags": _lists(st.sampled_from(["a", "a.b:c-d_e", "A", "", "-a", "a" * 65])),
        "aliases": _lists(NAMES),
        "deprecated": _tables({"since": JUNK, "use": JUNK}),
        "examples": _lists(JUNK.filter(lambda one: one not in ([], {}))),
        "handler": st.sampled_from([*spec.HANDLERS, "other", None, 1]),
        "surprise": JUNK,
    },
)
TOOLSETS = st.fixed_dictionaries(
    {},
    optional={
        "name": NAMES | JUNK,
        "description": JUNK,
        "tools": _lists(TEXTS),
        "includes": _lists(TEXTS),
        "excludes": _lists(TEXTS),
        "guards": _tables(
            {
                "forbid_tags": _lists(TEXTS),
                "require": _tables(HINTS),
                "max_tools": NUMBERS.filter(lambda one: one != 0.5),
                "max_tokens": NUMBERS.filter(lambda one: one != 0.5),
            }
        ),
        "aliases": _lists(NAMES),
        "surprise": JUNK,
    },
)
SERVERS = st.fixed_dictionaries(
    {
        "mcp_servers": st.dictionaries(
            NAMES,
            _tables(
                {
                    "command": JUNK,
                    "args": _lists(TEXTS),
                    "env": st.dictionaries(TEXTS, JUNK, max_size=2) | JUNK,
                    "url": st.sampled_from(["https://a.b/c", "http://a", "ftp://a", "x y", ""]),
                    "headers": JUNK,
                    "timeout": NUMBERS,
                }
            ),
            max_size=2,
        )
    },
    optional={"surprise": JUNK},
)


def _read(reader: Any, value: Any) -> Findings:
    findings = Findings()
    # JSON is YAML, so the document goes through the real reader, places and all.
    (document,) = parse(spec_source(json.dumps(value)), findings)
    assert not len(findings)
    reader(document, findings)
    return findings


@pytest.mark.parametrize(
    ("name", "reader", "values"),
    [
        ("tool", spec.read_tool, TOOLS),
        ("tool", spec.read_servers, SERVERS),
        ("toolset", spec.read_toolset, TOOLSETS),
    ],
    ids=["tools", "servers", "toolsets"],
)
@given(data=st.data())
def test_a_document_fits_the_schema_just_when_the_reader_takes_it(
    name: str, reader: Any, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    value = data.draw(values)
    assert VALIDATORS[name].is_valid(value) == (not _read(reader, value).has_errors)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("", True),
        ('output = "my_agent.tools.generated"\nsource = "src"', True),
        ('lint = {ignore = [{code = "HB1205", reason = "legacy"}]}', True),
        ('lint = {ignore = [{code = "HB12", reason = "legacy", files = "old/**"}]}', True),
        ('lint = {ignore = [{code = "HB1205"}]}', False),
        ('lint = {select = ["HB9"]}', False),
        ('specs = "../elsewhere"', False),
        ('specs = "/etc"', False),
        ('specs = "a/.../b"', True),
        ('handlers = "handlers"', False),
        ('handlers = ["a-b"]', False),
        ('models = "dataclass"', False),
        ('bundle-modules = ["handlers.plugins.*", "handlers.one"]', True),
        ('bundle-modules = ["*"]', False),
        ('bundle-modules = ["handlers.*.more"]', False),
        ('bundle-data = ["handlers/data/*.json", "a/**/b?.txt"]', True),
        ('bundle-data = ["../secrets/*"]', False),
        ('bundle-data = ["data\\\\*"]', False),
        ("surprise = 1", False),
    ],
)
def test_settings_fit_the_schema_just_when_the_project_takes_them(
    text: str, fits: bool, tmp_path: Path
) -> None:
    (tmp_path / "hermes-build.toml").write_text(text)
    findings = Findings()
    read_project(tmp_path, findings)
    assert (not findings.has_errors) == fits
    assert VALIDATORS["config"].is_valid(tomllib.loads(text)) == fits


def test_a_report_fits_the_schema_of_reports() -> None:
    here = Span("a.yaml", 1, 2, 3, 4)
    found = [
        Diagnostic("HB1103", "error", "m", here, "l", (Label(here, "x"),), ("n",), ("h",), "t"),
        Diagnostic("HB1007", "warning", "m"),
    ]
    VALIDATORS["output"].validate(json.loads(as_json(found, files=3)))
    VALIDATORS["output"].validate(json.loads(as_json([])))


@pytest.mark.parametrize(
    "value",
    [
        {"$defs": {"Path": {"type": "string"}}, "description": "shared"},
        {"mcp_servers": {"files": {"command": "npx", "args": ["x"], "env": {"K": "${K}"}}}},
        {"name": "a", "parameters": {"type": "object", "$defs": {"x": True}}},
    ],
)
def test_each_kind_of_document_fits(value: Any) -> None:
    VALIDATORS["tool"].validate(value)


@pytest.mark.parametrize(
    "value",
    [
        {"$defs": {"Path": {"type": "text"}}},
        {"mcp_servers": {"files": {"command": "npx", "url": "https://a.b"}}},
        {"name": "a", "parameters": {"type": "object", "required": "path"}},
        {"name": "a", "parameters": {"properties": {"x": {"type": "strnig"}}}},
    ],
)
def test_each_kind_of_document_can_fail(value: Any) -> None:
    assert not VALIDATORS["tool"].is_valid(value)
