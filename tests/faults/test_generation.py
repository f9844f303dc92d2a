"""Faults of code generators that somebody reported: here the generated modules are right."""

from __future__ import annotations

import ast
import builtins
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

from tests.faults.world import KINDS, World, compiled, documents, spec, thing, yaml

BREAKOUTS = [
    'x """\nimport sys\nsys.fault = 1\n"""',
    '"""+exec("import sys; sys.fault = 1")+"""',
    "x\\",
    'x\\"',
    "'); import sys; sys.fault = 1; ('",
    "x\r\nimport sys\nsys.fault = 1",
    "x\x0cimport sys; sys.fault = 1",
    "x\x85import sys; sys.fault = 1",
    "x\u2028import sys; sys.fault = 1",
    "x\x00y",
    "{{ cycler.__init__.__globals__.os }}{% set x = 1 %}{# #}",
    "\\N{LATIN SMALL LETTER A}\\x41\\u0041\\",
    "#coding:utf-7\n+AGkAbQBwAG8AcgB0-",
    "]; import sys; sys.fault = 1 #",
]


def everywhere(text: str) -> dict[str, Any]:
    """A spec's fields, with one text in every place that takes any text."""
    part = {"type": "string", "description": text, "title": text, "default": text}
    return {
        "title": text,
        "emoji": text,
        "parameters": {
            **thing(
                a={**part, "examples": [text], "$comment": text},
                b={"enum": [text, "other"], "default": text},
                c={"const": text},
                d={"type": "object", "default": {text: [text]}},
                e={"$ref": "#/$defs/E"},
            ),
            "description": text,
            "properties": {
                "a": {**part, "examples": [text], "$comment": text},
                "b": {"enum": [text, "other"], "default": text, "description": text},
                "c": {"const": text},
                "d": {"type": "object", "default": {text: [text]}, "format": text},
                "e": {"$ref": "#/$defs/E"},
                text: {"type": "integer", "description": text},
            },
            "required": [text],
            "$defs": {"E": {**thing(**{text: {"enum": [text]}}), "description": text}},
        },
        "output_schema": {**thing(**{text: {"const": text, "description": text}}), "title": text},
        "examples": [{"args": {text: 1, "c": text}, "description": text, "result": text}],
        "deprecated": {"since": text},
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", BREAKOUTS)
def test_texts_stay_texts(tmp_path: Path, text: str, kind: str) -> None:
    """After datamodel-code-generator#1808, coleifer/peewee#3079."""
    world = compiled(tmp_path, spec(**everywhere(text), description=text), models=kind)
    assert not world.errors
    # What a model reads is what was written, to the last character.
    assert world.tools["tool_x"].parameters == everywhere(text)["parameters"]
    definition = world.registry.get_schema("tool_x")
    assert definition is not None
    assert (definition["description"], definition["parameters"]) == (
        text,
        everywhere(text)["parameters"],
    )
    module = world.module("tool_x")
    assert not hasattr(sys, "fault")
    assert not any(name in module.__dict__ for name in ("sys", "os", "exec"))
    if kind == "pydantic":
        fields = module.ToolXArgs.model_fields
        keys = {name if one.alias is None else one.alias for name, one in fields.items()}
    else:
        keys = set(module.ToolXArgs.__annotations__)
    assert keys == {"a", "b", "c", "d", "e", text}
    for generated in world.modules.values():
        assert all(char == "\n" or char.isprintable() for char in generated)


NAMES = [
    "t'; import os; x='",
    't"; import os',
    "a\nimport os",
    "a b",
    "a.b",
    "a/b",
    "../a",
    "",
    " ",
    "-a",
    "1a",
    "ünï",
    "a\n",
    "a\x00",
    "a" * 65,
    "{{x}}",
    "\N{FULLWIDTH LATIN SMALL LETTER A}",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_could_be_code_or_a_path_goes_nowhere(tmp_path: Path, name: str) -> None:
    """After coleifer/peewee#3079: tools, toolsets, aliases, servers, owners, requirements."""
    servers = {"mcp_servers": {name: {"command": "x"}}}
    world = compiled(
        tmp_path,
        documents(
            spec(name=name),
            spec(name="b", toolset=name),
            spec(name="c", aliases=[name]),
            spec(name="d", requires={"python": [name]}),
            spec(name="e", requires={"env": [name]}),
            spec(name="f", tags=[name]),
            spec(name="g", handler=name),
            yaml(servers),
        ),
        {"a.yaml": yaml({"name": name, "tools": ["b"]}), "b.yaml": yaml({"aliases": [name]})},
    )
    assert world.made.tree is None
    lines = {one.span.line for one in world.made.findings if one.span is not None}
    assert len(world.errors) >= 7
    assert len(lines) >= 6
    # What is said of it is harmless: the printers escape, and the tree has no such file.
    assert not any(path.name.startswith("faults_") for path in tmp_path.iterdir())


BUILTINS = [name for name in dir(builtins) if name.isidentifier() and not name.startswith("__")]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(["int", "str", "float", "bool", "list", "dict", "b"], id="builtins in use"),
        pytest.param(["Any", "Literal", "NotRequired", "TypedDict", "TypeAlias"], id="imports"),
        pytest.param(["BaseModel", "Field", "ConfigDict", "RootModel", "Annotated"], id="pydantic"),
        pytest.param(["ToolXArgs", "ToolXResult", "ToolXInner", "inner"], id="our own classes"),
        pytest.param(["Args", "Result", "implements", "registry", "ToolResult"], id="the tail"),
        pytest.param(["args", "kwargs", "self", "cls", "context", "name"], id="handlers"),
        pytest.param(["class", "from", "None", "True", "async", "match", "_"], id="keywords"),
        pytest.param(["_a", "__a", "__a__", "__init__", "__dict__", "_abc"], id="underscores"),
        pytest.param(["model_dump", "model_config", "schema", "json", "copy", "root"], id="models"),
        pytest.param(["keys", "items", "get", "pop", "update", "clear"], id="methods of dict"),
        pytest.param(["ﬁ", "fi", "µ", "μ", "K", "K", "é", "é"], id="one after NFKC"),
        pytest.param(["a-b", "a.b", "a b", "a/b", "a_b", "aB", "ab", "AB"], id="one in snake case"),
        pytest.param(["1", "1a", "-", "$ref", "@x", "#", "%", "~", "/"], id="no letters"),
        pytest.param(BUILTINS, id="every builtin"),
    ],
)
def test_a_key_may_be_called_anything(tmp_path: Path, keys: list[str], kind: str) -> None:
    """After datamodel-code-generator#2431, #2091, langchain#35796, openai-agents-python#4107."""
    schema: dict[str, Any] = thing(**{key: {"type": "integer"} for key in keys})
    schema["properties"]["nested"] = thing(**{key: {"type": "array"} for key in keys})
    schema["required"] = [keys[0]]
    world = compiled(tmp_path, spec(schema, output_schema=schema), models=kind)
    assert not world.errors and "HB1120" not in world.codes
    module = world.module("tool_x")
    for root in (module.ToolXArgs, module.ToolXResult):
        if kind == "pydantic":
            value = dict.fromkeys(keys, 1) | {"nested": {key: [2] for key in keys}}
            assert root.model_validate(value).model_dump(by_alias=True) == value
        else:
            hints = typing.get_type_hints(root, include_extras=True)
            wanted: dict[str, Any] = dict.fromkeys(keys, typing.NotRequired[int])
            wanted[keys[0]] = int
            assert {key: hints[key] for key in keys} == wanted


def hints_of(world: World, tool: str, name: str) -> dict[str, Any]:
    return typing.get_type_hints(getattr(world.module(tool), name), include_extras=True)


def test_one_name_at_several_depths_is_several_classes(tmp_path: Path) -> None:
    """After datamodel-code-generator#168."""
    inner = thing(recursive=thing(value={"type": "integer"}), sub=thing(recursive={}))
    world = compiled(tmp_path, spec(thing(recursive=thing(sub=inner), sub=inner)))
    hints = hints_of(world, "tool_x", "ToolXArgs")
    deep = hints["recursive"].__args__[0].__annotations__
    assert set(deep) == {"sub"}
    assert set(hints["sub"].__args__[0].__annotations__) == {"recursive", "sub"}


def test_one_name_in_two_files_keeps_its_two_meanings(tmp_path: Path) -> None:
    """After NVIDIA-NeMo/nemo-platform#737, datamodel-code-generator#1806."""
    own = {
        number: {
            **thing(local={"$ref": "#/$defs/Training"}, shared={"$ref": f"{number}.yaml#/$defs/T"}),
            "$defs": {"Training": thing(**{f"local_{number}": {"type": "integer"}})},
        }
        for number in ("one", "two")
    }
    world = compiled(
        tmp_path,
        {f"tool_{number}.yaml": spec(own[number], name=f"tool_{number}") for number in own}
        | {
            f"{number}.yaml": yaml({"$defs": {"T": thing(**{f"shared_{number}": True})}})
            for number in own
        },
    )
    for number in own:
        hints = hints_of(world, f"tool_{number}", f"Tool{number.title()}Args")
        assert set(hints["local"].__args__[0].__annotations__) == {f"local_{number}"}
        assert set(hints["shared"].__args__[0].__annotations__) == {f"shared_{number}"}
        parameters = world.tools[f"tool_{number}"].parameters
        assert parameters["$defs"]["T"] == thing(**{f"shared_{number}": True})


@pytest.mark.parametrize("kind", KINDS)
def test_names_that_grow_into_each_other_stay_apart(tmp_path: Path, kind: str) -> None:
    """After pydantic/pydantic#7098: each module is its own, and says whose it is."""
    names = ["x", "x_input", "x_args", "x_result", "xargs", "X2", "x_2", "args", "result", "tool"]
    schemas = {
        name: thing(**{f"of_{name}": thing(a={}), "args": thing(b={}), "input": thing(c={})})
        for name in names
    }
    world = compiled(
        tmp_path,
        documents(*(spec(schemas[one], name=one, output_schema=schemas[one]) for one in names)),
        models=kind,
    )
    for name in names:
        module = world.module(name)
        assert module.implements.tool == name
        for root in (module.Args, module.Result):
            fields = root.model_fields if kind == "pydantic" else root.__annotations__
            assert set(fields) == {f"of_{name}", "args", "input"}


CYCLES = {
    "a union and an object": {
        **thing(a={"$ref": "#/$defs/U"}),
        "$defs": {
            "U": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/O"}]},
            "O": thing(u={"$ref": "#/$defs/U"}, o={"$ref": "#/$defs/O"}),
        },
    },
    "two objects": {
        **thing(a={"$ref": "#/$defs/A"}),
        "$defs": {"A": thing(b={"$ref": "#/$defs/B"}), "B": thing(a={"$ref": "#/$defs/A"})},
    },
    "keys that are no identifiers": {
        **thing(a={"$ref": "#/$defs/A"}),
        "$defs": {
            "A": thing(**{"a-b": {"$ref": "#/$defs/B"}, "class": {"$ref": "#/$defs/A"}}),
            "B": thing(**{"from": {"type": "array", "items": {"$ref": "#/$defs/A"}}}),
        },
    },
    "lists and maps of themselves": {
        **thing(a={"$ref": "#/$defs/L"}),
        "$defs": {
            "L": {"type": "array", "items": {"$ref": "#/$defs/M"}},
            "M": {"type": "object", "additionalProperties": {"$ref": "#/$defs/L"}},
        },
    },
    "pointers to siblings": thing(
        nodes={
            "type": "array",
            "items": thing(
                children={"type": "array", "items": {"$ref": "#/properties/nodes/items"}},
                first={"$ref": "#/properties/nodes/items"},
            ),
        }
    ),
    "the root": thing(a={"$ref": "#"}, b={"type": "array", "items": {"$ref": "#"}}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("schema", CYCLES.values(), ids=CYCLES)
def test_circles_of_references_can_be_imported(
    tmp_path: Path, schema: dict[str, Any], kind: str
) -> None:
    """After datamodel-code-generator#2523, #392, fastmcp#3893."""
    world = compiled(tmp_path, spec(schema, output_schema=schema), models=kind)
    assert not world.errors and "HB1120" not in world.codes
    module = world.module("tool_x")
    if kind == "pydantic":
        assert module.ToolXArgs.model_validate({}).model_dump(exclude_unset=True) == {}
        assert module.ToolXArgs.model_json_schema()
    else:
        for name, value in list(module.__dict__.items()):
            if isinstance(value, type) and name.startswith("ToolX"):
                typing.get_type_hints(value)
    definition = world.registry.get_schema("tool_x")
    assert definition is not None and definition["parameters"] == schema


DEFAULTS = {
    "a member of an enum": {"enum": ["a", "b"], "default": "b"},
    "a member through a ref": {"$ref": "#/$defs/E", "default": "b"},
    "a list of members": {"type": "array", "items": {"$ref": "#/$defs/E"}, "default": ["a", "b"]},
    "an object": {"type": "object", "properties": {"q": {}}, "default": {"q": [1, None]}},
    "null": {"type": ["string", "null"], "default": None},
    "a whole number as a float": {"type": "integer", "default": 2.0},
    "a small number": {"type": "number", "default": 1e-5},
    "a negative number": {"type": "number", "default": -0.5},
    "a large number": {"type": "integer", "default": 2**53},
    "text that looks like code": {"type": "string", "default": "__import__('os')"},
    "text in a union": {"anyOf": [{"type": "integer"}, {"type": "string"}], "default": "1"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_are_plain_values(tmp_path: Path, kind: str) -> None:
    """After datamodel-code-generator#2384, #1955."""
    schema = thing(**{f"p{nth}": one for nth, one in enumerate(DEFAULTS.values())})
    schema["$defs"] = {"E": {"enum": ["a", "b"]}}
    handler = (
        "from {generated}.tools import tool_x\n\n\n@tool_x.implements\n"
        "def handler(args: tool_x.Args):\n"
        + (
            "    return args.model_dump(by_alias=True)\n"
            if kind == "pydantic"
            else "    return dict(args)\n"
        )
    )
    world = compiled(tmp_path, spec(schema, handler=None), handlers={"h": handler}, models=kind)
    assert not world.errors and "HB1120" not in world.codes
    wanted = {f"p{nth}": one["default"] for nth, one in enumerate(DEFAULTS.values())}
    assert world.call("tool_x", {}) == wanted


@pytest.mark.parametrize(
    "part",
    [
        {"type": "string", "pattern": "("},
        {"type": "string", "pattern": "[a-"},
        {"type": "string", "pattern": "*a"},
        {"type": "string", "pattern": "(?P<n>a)(?P=n)"},
        {"type": "string", "pattern": "a{2,1}"},
        {"type": "string", "pattern": "\\"},
        {"type": "object", "patternProperties": {"(": {}}},
        {"type": "object", "propertyNames": {"pattern": "["}},
        {"anyOf": [{"type": "array", "items": {"pattern": "("}}, {}]},
    ],
    ids=str,
)
def test_a_broken_pattern_is_found_while_compiling(tmp_path: Path, part: dict[str, Any]) -> None:
    """After datamodel-code-generator#3972."""
    world = compiled(tmp_path, spec(thing(a=part)))
    assert world.errors == ["HB1111"]


def test_no_module_imports_another_tool(tmp_path: Path) -> None:
    """After datamodel-code-generator#392: there is nothing that could go in a circle."""
    shared = yaml({"$defs": {"A": thing(b={"$ref": "#/$defs/B"}), "B": thing(a=True)}})
    refs = thing(x={"$ref": "shared.yaml#/$defs/A"})
    world = compiled(
        tmp_path,
        {
            "s/shared.yaml": shared,
            "s/a.yaml": spec(refs, name="a"),
            "s/b.yaml": spec(refs, name="b"),
        },
    )
    for path, text in world.modules.items():
        for node in ast.walk(ast.parse(text)):
            assert not isinstance(node, ast.Import)
            if isinstance(node, ast.ImportFrom):
                assert (node.level, node.module) in {
                    (0, "__future__"),
                    (0, "typing"),
                    (0, "hermes_build.runtime.binding"),
                    (0, "hermes_build.runtime.registry"),
                    (2, "registry"),
                }, path


def test_a_modules_text_depends_on_its_own_tool_alone(tmp_path: Path) -> None:
    """Neighbours of the same words, of none, and such as cannot be expressed change nothing."""
    mine = spec(thing(a=thing(a={"enum": ["x"]}), args={"$ref": "#/properties/a"}), name="mine")
    others = [
        spec(thing(a=thing(a={"enum": ["y"]})), name="mine_a", output_schema=thing(mine={})),
        spec({**thing(MineArgs=thing(x={}), Mine=thing(y={})), "description": "Mine"}, name="m"),
        spec({**thing(a={"$ref": "#/$defs/m0.MineArgs"}), "$defs": {"m0.MineArgs": thing(z={})}},
             name="n"),
        spec(thing(a={"not": {}}, b={"allOf": [{"type": "string"}, {"maxLength": 2}]}), name="o"),
        spec({**thing(), "properties": {f"p{at}": thing(x={}) for at in range(1100)}}, name="p"),
    ]  # fmt: skip
    alone = compiled(tmp_path / "alone", mine)
    among = compiled(tmp_path / "among", documents(*others[:3], mine, *others[3:]))
    assert not among.errors
    assert among.text("tools/mine.py") == alone.text("tools/mine.py")
