"""What a schema refers to in other files is copied into it, and means the same there."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from hermes_build.compiler import load
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.examine import examine
from hermes_build.compiler.schema import check_schema
from hermes_build.compiler.sources import Sources
from hermes_build.keywords import subschemas
from tests.schema.world import check, siblings, unmarked

COMMON = "tool_specs/common.yaml"
OTHER = "tool_specs/sub/other.yaml"


def parameters(properties: str, rest: str = "") -> str:
    return f"parameters: {{type: object, properties: {properties}{rest}}}"


def test_a_definition_of_another_file_is_copied_under_its_name() -> None:
    outcome = check(
        parameters("{a: {description: mine, $ref: 'common.yaml#/$defs/Path'}}"),
        {COMMON: "$defs: {Path: {type: string}, Unused: {type: string}}"},
    )
    assert outcome.schema == {
        "type": "object",
        "properties": {"a": {"description": "mine", "$ref": "#/$defs/Path"}},
        "$defs": {"Path": {"type": "string"}},
    }
    assert list(outcome.schema["properties"]["a"]) == ["description", "$ref"]
    assert outcome.checked is not None
    assert outcome.checked.refs == (COMMON,)


def test_the_authored_schema_is_left_as_it_was() -> None:
    text = parameters("{a: {$ref: 'common.yaml#/$defs/A'}}", ", $defs: {B: true}")
    document = load.document("tool_specs/tool.yaml", text)
    before = json.dumps(document.value)
    check_schema(
        document,
        ("parameters",),
        document.value["parameters"],
        Findings(),
        root_object=True,
        ours=True,
        tool=None,
        siblings=siblings({COMMON: "$defs: {A: {type: string}}"}),
    )
    assert json.dumps(document.value) == before


def test_one_name_in_several_places_keeps_its_several_meanings() -> None:
    outcome = check(
        parameters(
            "{a: {$ref: 'common.yaml#/$defs/P'}, b: {$ref: 'sub/other.yaml#/$defs/P'},"
            " c: {$ref: '#/$defs/P'}}",
            ", $defs: {P: {type: boolean}}",
        ),
        {COMMON: "$defs: {P: {type: string}}", OTHER: "$defs: {P: {type: integer}}"},
    )
    assert outcome.found == []
    assert outcome.schema["$defs"] == {
        "P": {"type": "boolean"},
        "P_2": {"type": "string"},
        "P_3": {"type": "integer"},
    }
    refs = [one["$ref"] for one in outcome.schema["properties"].values()]
    assert refs == ["#/$defs/P_2", "#/$defs/P_3", "#/$defs/P"]


def test_a_number_never_takes_a_name_that_is_there() -> None:
    outcome = check(
        parameters("{a: {$ref: 'common.yaml#/$defs/P'}}", ", $defs: {P: true, P_2: true}"),
        {COMMON: "$defs: {P: {type: string}}"},
    )
    assert outcome.schema["properties"]["a"]["$ref"] == "#/$defs/P_3"


def test_names_do_not_depend_on_the_order_of_the_refs() -> None:
    files = {COMMON: "$defs: {P: {type: string}}", OTHER: "$defs: {P: {type: integer}}"}
    refs = ["{$ref: 'common.yaml#/$defs/P'}", "{$ref: 'sub/other.yaml#/$defs/P'}"]
    one = check(parameters(f"{{a: {refs[0]}, b: {refs[1]}}}"), files).schema
    two = check(parameters(f"{{b: {refs[1]}, a: {refs[0]}}}"), files).schema
    assert list(one["$defs"].items()) == list(two["$defs"].items())
    assert one == two


def test_refs_go_on_from_the_file_that_they_stand_in_and_may_come_back() -> None:
    outcome = check(
        parameters("{a: {$ref: 'sub/other.yaml#/$defs/Tree'}}"),
        {
            OTHER: "$defs: {Tree: {properties: {leaf: {$ref: '../common.yaml#/$defs/Leaf'}}}}",
            COMMON: (
                "$defs: {Leaf: {properties: {tree: {$ref: 'sub/other.yaml#/$defs/Tree'},"
                " me: {$ref: '#/$defs/Leaf'}}}}"
            ),
        },
    )
    assert outcome.schema["$defs"] == {
        "Leaf": {"properties": {"tree": {"$ref": "#/$defs/Tree"}, "me": {"$ref": "#/$defs/Leaf"}}},
        "Tree": {"properties": {"leaf": {"$ref": "#/$defs/Leaf"}}},
    }
    assert outcome.checked is not None
    assert outcome.checked.refs == (COMMON, OTHER)


def test_a_ref_into_a_definition_is_named_by_its_way() -> None:
    outcome = check(
        parameters("{a: {$ref: 'common.yaml#/$defs/A/properties/x'}}"),
        {COMMON: "$defs: {A: {properties: {x: {type: string}}}}"},
    )
    assert outcome.schema["$defs"] == {"A_x": {"type": "string"}}


def test_names_that_a_pointer_must_escape_are_escaped() -> None:
    outcome = check(
        parameters("{a: {$ref: 'common.yaml#/$defs/a~1b%20~0%25'}}"),
        {COMMON: "$defs: {'a/b ~%': {type: string}}"},
    )
    assert outcome.schema["properties"]["a"]["$ref"] == "#/$defs/a~1b%20~0%25"
    assert jsonschema_rs.is_valid(outcome.schema, {"a": "x"})
    assert not jsonschema_rs.is_valid(outcome.schema, {"a": 1})


def test_anchors_of_two_files_do_not_meet() -> None:
    outcome = check(
        parameters("{a: {$ref: 'common.yaml#x'}, b: {$ref: '#x'}, c: {$anchor: x, type: string}}"),
        {COMMON: "$defs: {A: {$anchor: x, type: integer}}"},
    )
    assert outcome.found == []
    assert jsonschema_rs.is_valid(outcome.schema, {"a": 1, "b": "x"})
    assert not jsonschema_rs.is_valid(outcome.schema, {"a": "x"})


def test_data_that_looks_like_a_ref_is_not_touched() -> None:
    outcome = check(
        parameters(
            "{a: {$ref: 'common.yaml#/$defs/A'}, $ref: {default: {$ref: 'common.yaml#/x'}}}"
        ),
        {COMMON: "$defs: {A: {enum: [{$ref: 'common.yaml#/$defs/A'}]}}"},
    )
    assert outcome.schema["properties"]["$ref"] == {"default": {"$ref": "common.yaml#/x"}}
    assert outcome.schema["$defs"]["A"] == {"enum": [{"$ref": "common.yaml#/$defs/A"}]}


SHARED_MISTAKES = {
    "in the middle of a chain": ("HB1107", "$defs: {A: {$ref: «'#/$defs/B'»}}"),
    "a remote ref": ("HB1108", "$defs: {A: {$ref: «'http://example.com'»}}"),
    "out of the folder": ("HB1108", "$defs: {A: {$ref: «'../x.yaml#/$defs/A'»}}"),
    "a type": ("HB1114", "$defs: {A: {type: «float»}}"),
    "no schema": ("HB1107", "$defs: {A: text}"),
    "a part of it": ("HB1101", "$defs: {A: {properties: {a: «text»}}}"),
    "a default": ("HB1103", "$defs: {A: {type: string, default: «1»}}"),
    "bounds": ("HB1110", "$defs: {A: {minimum: 2, maximum: «1»}}"),
    "a circle": ("HB1112", "$defs: {A: {$ref: «'common.yaml#/$defs/A'»}}"),
}


@pytest.mark.parametrize(("code", "text"), SHARED_MISTAKES.values(), ids=SHARED_MISTAKES)
def test_a_mistake_in_a_shared_file_is_shown_there(code: str, text: str) -> None:
    shared, marked = unmarked(text)
    outcome = check(parameters("{a: {$ref: 'common.yaml#/$defs/A'}}"), {COMMON: shared})
    (one,) = outcome.found
    assert one.code == code
    assert one.span is not None
    if marked:
        assert (one.span.path, one.tool) == (COMMON, None)
        assert (one.span.line, one.span.column, one.span.end_column) == marked[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tool_specs/other.yaml", "name: other\nparameters: {type: object, $defs: {A: {}}}"),
        ("tool_specs/other.yaml", "$defs: {A: {}}\n---\n$defs: {B: {}}"),
        ("tool_specs/other.yaml", "[]"),
        ("tool_specs/tool.yaml", "name: tool\nparameters: {type: object, $defs: {A: {}}}"),
    ],
)
def test_only_files_of_definitions_alone_can_be_referred_to(name: str, text: str) -> None:
    outcome = check(
        parameters(f"{{a: {{$ref: '{name.rpartition('/')[2]}#/parameters/$defs/A'}}}}"),
        {name: text},
    )
    assert outcome.codes == ["HB1107"]


def test_a_whole_file_is_no_schema() -> None:
    for ref in ("common.yaml", "common.yaml#"):
        outcome = check(parameters(f"{{a: {{$ref: '{ref}'}}}}"), {COMMON: "$defs: {A: {}}"})
        assert outcome.codes == ["HB1107"]


def test_watching_tells_every_file_that_a_verdict_hangs_on() -> None:
    files = siblings({COMMON: "$defs: {A: {$ref: 'none.yaml#/$defs/B'}}"})
    watched, seen = files.watched()
    document = load.document(
        "tool_specs/tool.yaml", parameters("{a: {$ref: 'common.yaml#/$defs/A'}}")
    )
    findings = Findings()
    check_schema(
        document,
        ("parameters",),
        document.value["parameters"],
        findings,
        root_object=True,
        ours=True,
        tool=None,
        siblings=watched,
    )
    assert [one.code for one in findings] == ["HB1107"]
    assert {COMMON, "tool_specs/none.yaml"} <= seen


def test_a_verdict_is_forgotten_when_a_file_changes_that_a_mistake_hangs_on() -> None:
    spec = "name: t\n" + parameters("{a: {$ref: 'common.yaml#/$defs/A'}}")
    documents = {
        path: load.document(path, text)
        for path, text in [("tool_specs/t.yaml", spec), (COMMON, "$defs: {B: {type: string}}")]
    }
    sources = Sources(document.source for document in documents.values())
    source = documents["tool_specs/t.yaml"].source
    declared = examine(source, "specs", sources, sources.siblings("tool_specs"))
    assert "HB1107" in [one.code for one in declared.findings]
    assert (COMMON, documents[COMMON].source.digest) in declared.refs


# Random files that refer to each other, against an independent resolver.

PATHS = ("tool_specs/tool.yaml", COMMON, OTHER)
NAMES = ("A", "A_2", "B", "a/b ~%")
RELATIVE = {
    (PATHS[0], COMMON): "common.yaml",
    (PATHS[0], OTHER): "sub/other.yaml",
    (COMMON, COMMON): "",
    (COMMON, OTHER): "sub/other.yaml",
    (OTHER, COMMON): "../common.yaml",
    (OTHER, OTHER): "",
    (PATHS[0], PATHS[0]): "",
}
POINTERS = {name: "#/$defs/" + name.replace("~", "~0").replace("/", "~1") for name in NAMES}


def schemas(path: str) -> st.SearchStrategy[Any]:
    targets = [other for here, other in RELATIVE if here == path]
    refs = st.builds(
        lambda other, name: {
            "$ref": RELATIVE[path, other] + POINTERS[name].replace("%", "%25").replace(" ", "%20")
        },
        st.sampled_from(targets),
        st.sampled_from(NAMES),
    )
    leaves = st.sampled_from(
        [
            True,
            {"type": "string"},
            {"type": "integer"},
            {"type": "null"},
            {"const": {"$ref": "#/x"}},
        ]
    )
    return st.recursive(
        refs | leaves,
        lambda inner: st.one_of(
            st.builds(lambda one: {"type": "array", "items": one}, inner),
            st.builds(
                lambda one, two: {"properties": {"$ref": one, "b": two}, "required": ["$ref"]},
                inner,
                inner,
            ),
            st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
            st.builds(lambda one: {"additionalProperties": one}, inner),
        ),
        max_leaves=4,
    )


worlds = st.fixed_dictionaries(
    {path: st.fixed_dictionaries({name: schemas(path) for name in NAMES}) for path in PATHS}
)
values = st.recursive(
    st.sampled_from([None, "x", 1, {"$ref": "#/x"}]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["$ref", "b", "c"]), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(max_examples=40, deadline=None)
@given(worlds, schemas(PATHS[0]), st.lists(values, min_size=5, max_size=12))
def test_a_bundle_accepts_what_its_files_accept(
    world: dict[str, Any], first: Any, examples: list[Any]
) -> None:
    own = {"type": "object", "properties": {"a": first}, "$defs": world[PATHS[0]]}
    text = json.dumps({"parameters": own})
    files = {path: json.dumps({"$defs": world[path]}) for path in PATHS[1:]}
    outcome = check(text, files)
    assume("HB1112" not in outcome.codes)
    assert outcome.found == []
    registry = Registry().with_resources(
        (f"http://specs/{path}", DRAFT202012.create_resource(content))
        for path, content in [
            (PATHS[0], own),
            *((path, {"$defs": world[path]}) for path in PATHS[1:]),
        ]
    )
    unbundled = Draft202012Validator({"$ref": f"http://specs/{PATHS[0]}"}, registry=registry)
    bundled = jsonschema_rs.Draft202012Validator(outcome.schema, offline=True)
    for value in examples:
        assert bundled.is_valid({"a": value}) == unbundled.is_valid({"a": value}), value
    for _, node in subschemas(outcome.schema):
        if isinstance(node, dict) and "$ref" in node:
            assert node["$ref"].startswith("#")
