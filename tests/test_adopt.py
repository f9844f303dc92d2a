"""What was defined elsewhere becomes specs that say the same, or is refused by name."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_build.compiler.adopt import Adopted, Layout, adopt
from hermes_build.compiler.adopt.definitions import read_definitions
from hermes_build.compiler.adopt.live import RawToolset
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.load import document


def tool(name: str, /, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties}
    return {"name": name, "description": "Does it.", "parameters": parameters}


def take(
    *tools: Any, toolsets: tuple[RawToolset, ...] = (), **more: Any
) -> tuple[Adopted, Findings]:
    findings = Findings()
    definitions = read_definitions(json.dumps(list(tools)), "t.json", findings)
    return adopt(definitions, toolsets, findings=findings, **more), findings


def specs(adopted: Adopted) -> dict[str, Any]:
    return {path: document(path, text).value for path, text in adopted.files.items()}


def codes(findings: Findings) -> list[str]:
    return sorted(one.code for one in findings)


def toolset(name: str, tools: str = "", includes: str = "", **more: Any) -> RawToolset:
    return RawToolset(name, "", tuple(tools.split()), tuple(includes.split()), **more)


def test_a_definition_becomes_one_file_that_says_the_same() -> None:
    parameters = {
        "properties": {"z": {"type": "string"}, "a": {"enum": ["no", "1_0", None, 1.5, True]}},
        "type": "object",
        "required": ["z"],
        "x-odd": {"Content-Type": "a: b # c\n- d"},
    }
    adopted, findings = take(
        {"name": "find", "description": "Find it.\n  Well.", "parameters": parameters}
    )
    (spec,) = specs(adopted).values()
    assert list(adopted.files) == ["tool_specs/imported/find.yaml"]
    assert spec == {
        "name": "find",
        "description": "Find it.\n  Well.",
        "parameters": parameters,
        "handler": "external",
    }
    assert list(spec["parameters"]) == ["properties", "type", "required", "x-odd"]
    assert list(spec["parameters"]["properties"]) == ["z", "a"]
    assert adopted.tools == ("find",)
    assert not list(findings)


def test_everything_that_mcp_says_has_its_field() -> None:
    adopted, findings = take(
        {
            "name": "find",
            "title": "Find",
            "description": "Finds.",
            "inputSchema": {"type": "object"},
            "outputSchema": {"type": "dict"},
            "annotations": {"readOnlyHint": True, "idempotentHint": True},
        },
        toolset="files",
    )
    assert specs(adopted)["tool_specs/files/find.yaml"] == {
        "name": "find",
        "toolset": "files",
        "title": "Find",
        "description": "Finds.",
        "parameters": {"type": "object"},
        "output_schema": {"type": "object"},
        "annotations": {"read_only": True, "idempotent": True},
        "handler": "external",
    }
    assert codes(findings) == ["HB1301"]


def test_each_mapped_type_is_a_finding_that_names_the_place_and_both_types() -> None:
    _, findings = take(tool("find", x={"type": "float"}, y={"type": "any"}))
    assert [one.message for one in findings] == [
        "item 1 (`find`): `parameters/properties/x/type` is `float`, read as `number`",
        "item 1 (`find`): `parameters/properties/y/type` is `any`, read as any value",
    ]
    assert {one.tool for one in findings} == {"find"}
    assert {one.span.line for one in findings if one.span} == {1}


def test_an_unknown_type_refuses_its_tool_by_name_and_spares_the_others() -> None:
    adopted, findings = take(tool("bad", x={"type": "Wibble"}), tool("good"))
    assert adopted.tools == ("good",)
    (one,) = findings
    assert (one.code, one.tool) == ("HB1304", "bad")
    assert "Wibble" in one.message and "parameters/properties/x/type" in one.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"type": "object", "default": NaN}', "nan"),
        ('{"type": "object", "maximum": 9007199254740993}', "2^53"),
        ('{"type": "object", "description": "\\ud800"}', "surrogate"),
        ('{"type": "string"}', "not an object"),
        ('{"type": ["object", "null"]}', "not an object"),
        ("[" * 300 + "]" * 300, "not a schema"),
        ('{"type": "object", "x": ' + "[" * 300 + "]" * 300 + "}", "deeper"),
    ],
    ids=range(7),
)
def test_what_a_spec_cannot_hold_refuses_its_tool_by_name(text: str, words: str) -> None:
    findings = Findings()
    whole = '{"name": "a", "parameters": ' + text + "}"
    definitions = read_definitions(whole, "t.json", findings)
    adopted = adopt(definitions, findings=findings)
    assert not adopted.files
    assert codes(findings) == ["HB1304"]
    assert words in next(iter(findings)).message


def test_missing_parameters_and_a_missing_root_type_are_written_out() -> None:
    adopted, findings = take({"name": "a"}, {"name": "b", "parameters": {"properties": {}}})
    assert [one["parameters"] for one in specs(adopted).values()] == [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {}},
    ]
    assert codes(findings) == ["HB1305", "HB1305"]


def test_equal_definitions_become_one_and_different_ones_are_counted() -> None:
    same, other = tool("f", x={"type": "integer"}), tool("f", x={"type": "string"})
    adopted, findings = take(same, other, tool("f", x={"type": "long"}), other, tool("f_2"))
    assert adopted.tools == ("f", "f_3", "f_2")
    assert codes(findings) == ["HB1301", "HB1303", "HB1303", "HB1303"]
    assert [one.message for one in findings if one.code == "HB1303"] == [
        "item 3 (`f`) is left out: it is equal to item 1 (`f`)",
        "item 4 (`f`) is left out: it is equal to item 2 (`f`)",
        "item 2 (`f`) is imported as `f_3`: item 1 (`f`) has the same name and another definition",
    ]


def test_a_mapped_name_is_a_finding_that_says_what_it_gave_way_to() -> None:
    adopted, findings = take(tool("math.gcd"), tool("math_gcd"))
    assert adopted.tools == ("math_gcd_2", "math_gcd")
    assert [one.message for one in findings] == [
        "item 1 (`math.gcd`) is imported as `math_gcd_2`, because `math_gcd` is too like it"
    ]


def test_handlers_to_fill_in_are_typed_modules_that_say_what_is_missing() -> None:
    layout = Layout(source="src", handlers="app.tools", output="app.made")
    adopted, _ = take(tool("read-file"), tool("class"), handler="self", layout=layout)
    text = adopted.files["tool_specs/imported/read-file.yaml"]
    assert "handler" not in document("read-file.yaml", text).value
    typed = adopted.files["src/app/tools/read_file.py"]
    named = adopted.files["src/app/tools/class.py"]
    ast.parse(typed), ast.parse(named)
    assert "from app.made.tools import read_file\n" in typed
    assert "@read_file.implements\n" in typed
    assert "app/tools/read_file.py" in typed
    assert '@registry.handler("class")\n' in named
    assert sorted(adopted.companions) == ["src/app/__init__.py", "src/app/tools/__init__.py"]


def test_toolsets_keep_their_members_includes_and_order() -> None:
    adopted, findings = take(
        tool("b"),
        tool("a.x"),
        toolsets=(toolset("hermes-cli", "b a.x"), toolset("all of it", includes="hermes-cli")),
    )
    found = specs(adopted)
    assert found["toolsets/hermes-cli.yaml"]["tools"] == ["b", "a_x"]
    assert found["toolsets/all_of_it.yaml"] == {
        "name": "all_of_it",
        "description": "",
        "tools": [],
        "includes": ["hermes-cli"],
    }
    assert adopted.toolsets == ("hermes-cli", "all_of_it")
    assert codes(findings) == ["HB1302", "HB1302"]


def test_what_a_program_ignores_in_silence_is_left_out_aloud() -> None:
    adopted, findings = take(
        tool("a"),
        toolsets=(
            toolset("web", "a gone", "nowhere void"),
            toolset("void", "gone"),
            toolset("over", includes="void"),
            toolset("all", "a"),
            toolset("every", includes="all"),
        ),
    )
    found = specs(adopted)
    assert adopted.toolsets == ("web", "every")
    assert found["toolsets/web.yaml"]["tools"] == ["a"]
    assert "includes" not in found["toolsets/web.yaml"]
    assert found["toolsets/every.yaml"]["includes"] == ["*"]
    assert codes(findings) == ["HB1302"] + ["HB1305"] * 6


def test_a_toolset_that_waits_for_tools_of_plugins_is_kept() -> None:
    adopted, findings = take(
        tool("a"),
        toolsets=(
            toolset("engine", aliases=("motor",)),
            toolset("over", includes="engine"),
            toolset("web", "a", "engine"),
        ),
    )
    found = specs(adopted)
    assert found["toolsets/engine.yaml"] == {
        "name": "engine", "description": "", "tools": [], "aliases": ["motor"],
        "may_be_empty": True,
    }  # fmt: skip
    assert found["toolsets/over.yaml"]["includes"] == ["engine"]
    assert found["toolsets/over.yaml"]["may_be_empty"] is True
    assert found["toolsets/web.yaml"]["includes"] == ["engine"]
    assert "may_be_empty" not in found["toolsets/web.yaml"]
    assert not codes(findings)


def test_a_circle_of_includes_is_written_out_as_the_tools_that_it_holds() -> None:
    adopted, findings = take(
        tool("a"),
        tool("b"),
        tool("c"),
        toolsets=(toolset("x", "c", "y"), toolset("y", "b", "x"), toolset("z", "a", "x")),
    )
    found = specs(adopted)
    assert found["toolsets/x.yaml"]["tools"] == found["toolsets/y.yaml"]["tools"] == ["b", "c"]
    assert "includes" not in found["toolsets/x.yaml"]
    assert found["toolsets/z.yaml"]["includes"] == ["x"]
    assert codes(findings) == ["HB1305", "HB1305"]


def test_aliases_come_along_unless_a_toolset_has_the_name() -> None:
    adopted, findings = take(
        tool("a"), toolsets=(toolset("x", "a", aliases=("y", "net", "b d")), toolset("y", "a"))
    )
    assert specs(adopted)["toolsets/x.yaml"]["aliases"] == ["net"]
    assert codes(findings) == ["HB1305", "HB1305"]


names = st.sampled_from(["a", "b", "c", "d", "e", "all"])


@given(
    st.dictionaries(
        names,
        st.tuples(st.lists(st.sampled_from("uvwxyz"), max_size=3), st.lists(names, max_size=3)),
    )
)
def test_whatever_the_toolsets_they_resolve_to_the_same_tools(
    rows: dict[str, tuple[list[str], list[str]]],
) -> None:
    """Judged by the resolution of the program that they come from, which forgives everything."""
    raw = tuple(RawToolset(name, "", tuple(t), tuple(i)) for name, (t, i) in rows.items())
    tools = list("uvwxy")
    adopted, _ = take(*(tool(one) for one in tools), toolsets=raw)
    documents = {
        one["name"]: one for path, one in specs(adopted).items() if path.startswith("toolsets")
    }

    def theirs(name: str, seen: set[str]) -> set[str]:
        if name == "all":
            return set(tools)
        if name in seen or name not in rows:
            return set()
        seen.add(name)
        direct, includes = rows[name]
        return set(direct) & set(tools) | {t for i in includes for t in theirs(i, seen)}

    def names_a_tool(name: str, seen: set[str]) -> bool:
        if name in seen or name not in rows or name == "all":
            return False
        seen.add(name)
        direct, includes = rows[name]
        return bool(direct) or any(names_a_tool(one, seen) for one in includes)

    def ours(name: str) -> set[str]:
        one = documents[name]  # an unknown name or an endless circle fails the test
        included = [set(tools) if i == "*" else ours(i) for i in one.get("includes", ())]
        return set(one["tools"]).union(*included)

    for name in set(rows) - {"all"}:
        expected = theirs(name, set())
        assert (ours(name) if name in documents else set()) == expected
        assert (bool(expected) or not names_a_tool(name, set())) == (name in documents)
        if name in documents:
            assert bool(expected) != documents[name].get("may_be_empty", False)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"name": st.text(min_size=1, max_size=8)},
            optional={
                "description": st.text(),
                "title": st.text(),
                "parameters": st.fixed_dictionaries(
                    {"type": st.sampled_from(["object", "dict"])},
                    optional={
                        "properties": st.dictionaries(
                            st.text(), st.fixed_dictionaries({"default": st.text()})
                        )
                    },
                ),
            },
        ),
        min_size=1,
    )
)
def test_any_texts_come_back_from_the_files_as_they_went_in(tools: list[dict[str, Any]]) -> None:
    adopted, findings = take(*tools)
    refused = sum(one.code == "HB1304" for one in findings)
    found = list(specs(adopted).values())
    if refused == 0 and "HB1303" not in codes(findings):
        for raw, spec in zip(tools, found, strict=True):
            assert spec["description"] == raw.get("description", "")
            mine = raw.get("parameters", {"type": "object", "properties": {}})
            assert spec["parameters"] == {**mine, "type": "object"}
