"""Import and compile give back the surface of a published catalogue: names, schemas, toolsets."""

from __future__ import annotations

import collections
import json

import pytest

from tests.real.bfcl_data import DISTINCT, MEANINGS, may_be_called, meaning
from tests.real.conftest import Catalogue

pytestmark = pytest.mark.real

EMPTY_ON_PURPOSE = "context_engine"
"""The one toolset of hermes-agent that holds nothing until a plugin fills it at run time."""


def test_every_tool_of_hermes_agent_keeps_its_name_and_schema(hermes: Catalogue) -> None:
    theirs = hermes.source["schemas"]
    assert hermes.registry.get_all_tool_names() == sorted(theirs)
    for name, schema in theirs.items():
        # As text, so that the order of keys and the difference between 1 and 1.0 count.
        assert json.dumps(hermes.registry.get_schema(name)) == json.dumps(schema), name
    assert len(theirs) == 79
    print(f"\nhermes-agent: {len(theirs)} tools, {len(theirs)} schemas equal to the source's")


def test_every_toolset_of_hermes_agent_resolves_as_there(hermes: Catalogue) -> None:
    theirs = hermes.source["resolved"]
    assert len(theirs) == 57
    assert [name for name, tools in theirs.items() if not tools] == [EMPTY_ON_PURPOSE]
    assert set(hermes.registry.get_toolset_names()) >= set(theirs)
    for name, tools in theirs.items():
        assert hermes.registry.resolve_toolset(name) == sorted(tools), name
    members = sum(map(len, theirs.values()))
    print(
        f"\nhermes-agent: {len(theirs)} toolsets resolve to the same {members} members; "
        f"`{EMPTY_ON_PURPOSE}` is empty here as there"
    )


def test_what_hermes_agent_says_beside_the_schemas_is_kept(hermes: Catalogue) -> None:
    source, registry = hermes.source, hermes.registry
    assert registry.get_tool_to_toolset_map() == source["owners"]
    for name in source["schemas"]:
        record = registry.find(name)
        assert registry.get_emoji(name) == source["emoji"][name]
        assert record.get("max_result_chars") == source["limits"][name]
        assert bool(record.get("is_async")) == (name in source["async"])
        assert bool(record.get("requires", {}).get("check")) == (name in source["checked"])
        assert bool(record.get("dynamic")) == (name in source["rewritten"])
    for name, description in source["descriptions"].items():
        assert registry.get_toolset(name)["description"] == description


def test_definitions_are_those_of_hermes_agent(hermes: Catalogue) -> None:
    # As declared: what is available is decided by handlers that this process does not have, and
    # compared where they run, in `test_drop_in.py`.
    ours = [hermes.registry.get_definition(one) for one in hermes.registry.get_all_tool_names()]
    assert json.dumps(ours) == json.dumps(hermes.source["definitions"])
    print(f"\nhermes-agent: {len(ours)} definitions equal to the source's")


def test_importing_hermes_agent_finds_nothing_but_what_has_no_place(hermes: Catalogue) -> None:
    assert {one["code"] for one in hermes.imported} == {"HB1305"}


def test_every_distinct_function_of_bfcl_is_a_tool_with_its_schema(bfcl: Catalogue) -> None:
    assert len(bfcl.source) == DISTINCT
    expected: dict[str, list[str]] = collections.defaultdict(list)
    for one in bfcl.source:
        meant = [one["description"], meaning(one["parameters"]), meaning(one.get("response"))]
        if one["name"] not in expected[json.dumps(meant)]:
            expected[json.dumps(meant)].append(one["name"])
    names = bfcl.registry.get_all_tool_names()
    for name in names:
        record = bfcl.registry.find(name)
        frozen = record["schema"]
        assert frozen["name"] == name
        meant = [frozen["description"], frozen["parameters"], record.get("output_schema")]
        candidates = expected[json.dumps(meant)]
        (original,) = [one for one in candidates if may_be_called(one, name)][:1] or [None]
        assert original is not None, (name, candidates)
        candidates.remove(original)
    assert not [left for left in expected.values() if left]
    collapsed = [one for one in bfcl.imported if "left out" in one["message"]]
    assert len(names) + len(collapsed) == DISTINCT
    print(
        f"\nBFCL: {DISTINCT} distinct definitions, {len(names)} tools "
        f"({len(collapsed)} equal once their types are mapped), every schema equal to its source's"
    )


def test_every_foreign_type_of_bfcl_is_a_finding_of_its_own(bfcl: Catalogue) -> None:
    def count(schema: object) -> int:
        if not isinstance(schema, dict):
            return 0
        own = schema.get("type") in (*MEANINGS, "any", "")
        inner = list(schema.get("properties", {}).values())
        items = schema.get("items")
        inner += items if isinstance(items, list) else [items]
        return own + sum(map(count, [*inner, schema.get("additionalProperties")]))

    foreign = sum(count(one["parameters"]) + count(one.get("response")) for one in bfcl.source)
    codes = collections.Counter(one["code"] for one in bfcl.imported)
    assert codes["HB1301"] == foreign
    assert set(codes) == {"HB1301", "HB1302", "HB1303", "HB1305"}
    print(f"\nBFCL: {foreign} foreign types, {codes['HB1302']} names and "
          f"{codes['HB1303']} duplicates mapped, a finding each")  # fmt: skip


@pytest.mark.parametrize("which", ["hermes", "bfcl"])
def test_a_compiled_catalogue_is_fresh(which: str, request: pytest.FixtureRequest) -> None:
    catalogue: Catalogue = request.getfixturevalue(which)
    catalogue.program.run("compile", "--check", "--format", "concise")
