"""Whatever a document says: compiling ends in findings, or in modules that can be imported."""

from __future__ import annotations

import copy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_build.compiler.emit.gate import check_module, check_package, check_registry
from hermes_build.keywords import KNOWN
from tests.faults.world import KINDS, World, compiled, documents, thing, yaml

QUICK = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

WORDS = [
    *sorted(KNOWN),
    *("name", "toolset", "description", "parameters", "output_schema", "handler", "examples"),
    *("args", "requires", "env", "annotations", "read_only", "tags", "dynamic", "aliases", "use"),
    *("deprecated", "mcp_servers", "command", "url", "tools", "includes", "excludes", "guards"),
    *("tool_x", "all", "*", "object", "string", "integer", "array", "null", "a", "b", "class"),
    *("__init__", "$id", "x-order"),
]
REFS = ["#", "#/$defs/A", "#/$defs/B", "#/properties/a", "#/$defs/A/properties/b", "#/nope", "#a",
        "shared.yaml#/$defs/S", "../x.yaml#/a", "http://example.org/"]  # fmt: skip

texts = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(REFS),
    st.text(max_size=6),
    st.sampled_from(['"""', "\\", "\n", "\u202e", "^(a+)+$", "(", "{{x}}", "1e3", "no", "-0"]),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=5)),
    max_leaves=12,
)

names = st.one_of(
    st.sampled_from(["a", "b", "A", "class", "int", "a-b", "é", "", "$ref", "__x"]), texts
)
kinds = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Schemas whose keywords have values of the right kind, whether they make sense or not."""
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.one_of(kinds, st.lists(kinds, min_size=1, max_size=3, unique=True)),
            "properties": st.dictionaries(names, inner, max_size=4),
            "required": st.lists(names, max_size=2, unique=True),
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), inner, max_size=2),
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=3),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=3),
            "not": inner,
            "if": inner,
            "then": inner,
            "enum": st.lists(values, min_size=1, max_size=3),
            "const": values,
            "default": values,
            "description": texts,
            "minimum": st.integers(-2, 2),
            "maxLength": st.integers(0, 2),
            "minItems": st.integers(0, 2),
            "pattern": st.sampled_from(["^a", "[0-9]+", "(?=a)b"]),
            "$ref": st.sampled_from(REFS[:5]),
            "$defs": st.dictionaries(st.sampled_from(["A", "B"]), inner, max_size=2),
            "dependentRequired": st.dictionaries(names, st.lists(names, max_size=2, unique=True)),
        },
    )


schemas = st.recursive(st.one_of(st.booleans(), st.just({})), objects, max_leaves=8)

RICH: list[dict[str, Any]] = [
    {
        "name": "tool_x",
        "toolset": "file",
        "title": "A title",
        "description": "Does one thing for a test.",
        "emoji": "📖",
        "parameters": {
            **thing(
                a={"type": "string", "description": "A.", "minLength": 1, "default": "x"},
                b={"$ref": "#/$defs/A"},
                c={"type": "array", "items": {"$ref": "#/$defs/B"}, "default": []},
                d={"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
                e={"enum": ["x", 1, None]},
                f={"$ref": "shared.yaml#/$defs/S"},
            ),
            "required": ["b"],
            "$defs": {
                "A": {**thing(b={"$ref": "#/$defs/A"}, n={"type": "number"}), "required": ["n"]},
                "B": {"allOf": [thing(x=True), {"required": ["x"]}]},
            },
            "if": {"properties": {"a": {"const": "y"}}},
            "then": {"required": ["d"]},
        },
        "output_schema": {"type": ["object", "null"], "properties": {"r": {"type": "string"}}},
        "is_async": False,
        "requires": {"env": ["KEY"], "python": ["json"], "platforms": ["linux"], "check": True},
        "max_result_chars": 100,
        "timeout_seconds": 1.5,
        "annotations": {"read_only": True, "open_world": False},
        "tags": ["exec"],
        "dynamic": ["/description", "/parameters/properties/a/description"],
        "aliases": ["other"],
        "deprecated": {"since": "1.2", "use": "tool_y"},
        "examples": [{"args": {"b": {"n": 1}}}],
        "handler": "external",
    },
    {"name": "tool_y", "description": "Another.", "parameters": thing(), "handler": "external"},
    {"$defs": {"S": thing(s={"$ref": "#/$defs/T"}), "T": {"type": "string"}}},
    {"mcp_servers": {"files": {"command": "x", "args": ["-y"], "env": {"A": "${B}"}}}},
]  # fmt: skip
SET = {
    "name": "composed",
    "description": "Two tools.",
    "tools": ["tool_y"],
    "includes": ["file"],
    "excludes": [],
    "guards": {"max_tools": 3, "forbid_tags": ["net"]},
    "aliases": ["c"],
}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value with each of its keys or positions."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


@st.composite
def mutated(draw: st.DrawFn) -> list[Any]:
    """The documents above, changed in a few places."""
    changed: list[Any] = copy.deepcopy([*RICH, SET])
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(list(places(changed))))
        how = draw(st.sampled_from(["replace", "drop", "rename", "add", "copy", "wrap"]))
        if how == "replace":
            holder[key] = draw(st.one_of(schemas, values))
        elif how == "drop" and holder is not changed:
            del holder[key]
        elif how == "rename" and isinstance(holder, dict):
            holder[draw(texts)] = holder.pop(key)
        elif how == "add" and isinstance(holder, dict):
            holder[draw(st.one_of(names, texts))] = draw(st.one_of(schemas, values))
        elif how == "copy":
            source, where = draw(st.sampled_from(list(places(changed))))
            holder[key] = copy.deepcopy(source[where])
        elif how == "wrap":
            word = draw(st.sampled_from(["allOf", "anyOf", "oneOf", "not", "items", "if"]))
            holder[key] = {word: [holder[key]] if word.endswith("Of") else holder[key]}
    return changed


def written(value: Any) -> str:
    """YAML for a value, or for null where the dialect has no text for it."""
    try:
        return yaml(value)
    except (ValueError, TypeError, RecursionError):
        return "null\n"


def check(world: World) -> None:
    """Hold a compile to its promise, and leave no module behind."""
    errors = [one for one in world.made.findings if one.severity == "error"]
    assert (world.made.tree is None) == bool(errors)
    for one in world.made.findings:
        assert one.message
        assert one.span is None or (world.root / one.span.path).exists()
    if world.made.tree is None:
        return
    try:
        for path, text in world.modules.items():
            if path.endswith("registry.py"):
                check_registry(text)
            elif path.endswith("__init__.py"):
                check_package(text)
        registry = world.registry
        registry.load()
        assert registry.get_all_tool_names() == sorted(world.tools)
        for name, tool in world.tools.items():
            check_module(
                world.text(f"tools/{name.replace('-', '_')}.py"), KIND[world.package], name
            )
            assert world.module(name).implements.tool == name
            definition = registry.get_schema(name)
            assert definition is not None
            assert definition["parameters"] == tool.parameters
            if tool.handler == "external" and not tool.requires.check:
                registry.register(name, handler=lambda args, **context: {"got": args})
            for example in ({}, None, *(one["args"] for one in tool.examples)):
                assert isinstance(registry.call(name, example), str)
        for name, toolset in world.toolsets.items():
            assert registry.resolve_toolset(name) == list(toolset.resolved)
    finally:
        for module in [one for one in sys.modules if one.split(".")[0] == world.package]:
            del sys.modules[module]


KIND: dict[str, Any] = {}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any")


def run(root: Path, specs: dict[str, str], sets: str, kind: str) -> None:
    for folder in ("tool_specs", "toolsets"):
        shutil.rmtree(root / folder, ignore_errors=True)
    world = compiled(root, specs, sets, models=kind)
    KIND[world.package] = kind
    check(world)


@QUICK
@given(value=values, other=values, kind=st.sampled_from(KINDS))
def test_any_values_end_in_findings(root: Path, value: Any, other: Any, kind: str) -> None:
    run(root, {"a.yaml": documents(written(value), written(other))}, written(other), kind)


@QUICK
@given(part=schemas, output=schemas, name=names, kind=st.sampled_from(KINDS))
def test_any_schema_ends_in_findings_or_in_a_module(
    root: Path, part: Any, output: Any, name: str, kind: str
) -> None:
    tool = copy.deepcopy(RICH[0])
    tool["parameters"]["properties"][name] = part
    tool["parameters"]["$defs"].update(part.pop("$defs", {}) if isinstance(part, dict) else {})
    tool["output_schema"] = output
    text = documents(written(tool), written(RICH[1]))
    run(root, {"a.yaml": text, "shared.yaml": written(RICH[2])}, "", kind)


@QUICK
@given(changed=mutated(), kind=st.sampled_from(KINDS))
def test_any_change_to_a_program_ends_in_findings_or_in_modules(
    root: Path, changed: list[Any], kind: str
) -> None:
    tool_x, tool_y, shared, servers, composed = map(written, changed)
    specs = {"a.yaml": documents(tool_x, tool_y, servers), "shared.yaml": shared}
    run(root, specs, composed, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_program_that_is_changed_is_right(root: Path, kind: str) -> None:
    texts = [written(one) for one in RICH]
    specs = {"a.yaml": documents(*texts[:2], texts[3]), "shared.yaml": texts[2]}
    world = compiled(root, specs, yaml(SET), models=kind)
    assert not world.found or {severity for _, severity in world.found} == {"warning"}
    KIND[world.package] = kind
    check(world)


@settings(max_examples=25, deadline=None)
@given(
    text=st.text(alphabet=st.sampled_from("ab:-[]{}#&*!|>'\"%@`,? \n\t0.\ufeff\u2028"), max_size=60)
)
def test_any_text_ends_in_findings(root: Path, text: str) -> None:
    run(root, {"a.yaml": text}, text, "typed-dict")
