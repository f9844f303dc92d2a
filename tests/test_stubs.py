"""Typed stubs say what a handler finds, whatever a schema says and however it is written."""

from __future__ import annotations

import ast
import http.server
import inspect
import json
import os
import subprocess
import sys
import threading
import time
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from datamodel_code_generator import Formatter

from hermes_build.compiler.emit import generator
from hermes_build.compiler.emit.naming import Kind
from hermes_build.compiler.emit.stubs import Stub, StubRequest, make_stubs

KINDS: tuple[Kind, ...] = ("typed-dict", "pydantic")


def thing(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def stub(schema: dict[str, Any], output: Any = None, kind: Kind = "typed-dict") -> Stub:
    return make_stubs([StubRequest("tool_x", schema, output)], kind)["tool_x"]


def load(text: str) -> dict[str, Any]:
    # Types are looked up in the module that a class names as its own.
    module = sys.modules["generated_stub"] = types.ModuleType("generated_stub")
    exec(compile(text, "<stub>", "exec"), module.__dict__)
    return module.__dict__


def hints(one: Stub, name: str | None = None) -> dict[str, Any]:
    """Return the types of a class's keys as written; a functional class's as their repr."""
    for node in ast.parse(one.text).body:
        if isinstance(node, ast.ClassDef) and node.name == (name or one.args):
            return {
                each.target.id: ast.unparse(each.annotation)
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            }
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == (name or one.args):
            assert isinstance(node.value, ast.Call)
            shape = node.value.args[1]
            assert isinstance(shape, ast.Dict)
            return {
                ast.literal_eval(key): ast.unparse(value)
                for key, value in zip(shape.keys, shape.values, strict=True)
                if key is not None
            }
    raise AssertionError(f"no class {name or one.args} in\n{one.text}")


ODD: dict[str, tuple[dict[str, Any], Any]] = {
    "plain": ({**thing(a={"type": "string"}), "required": ["a"]}, thing(b={"type": "integer"})),
    "no_args": (thing(), None),
    "closed": ({"type": "object", "additionalProperties": False}, {"type": "null"}),
    "open": ({"type": "object"}, True),
    "mapping": ({"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "array"}),
    "shadowing": (
        thing(
            int={"type": "integer"},
            b={"type": "integer"},
            str={"type": "string"},
            list={"type": "array", "items": {"type": "string"}},
            type={"type": "string"},
            Any={},
            Literal={"enum": ["a"]},
            NotRequired={},
            BaseModel={},
            Field={"type": "string", "description": "Text."},
            ShadowingArgs={"type": "string"},
        ),
        None,
    ),
    "keys": (
        {
            **thing(
                **{
                    "from": {"$ref": "#"},
                    "a-b": {},
                    "a.b": {"type": "string"},
                    "a/b": {},
                    "": {},
                    " ": {},
                    "é": {"type": "string"},
                    "__x": {"type": "string"},
                    "__init__": {"type": "integer"},
                    "_y": {"type": "integer"},
                    "µ": {"type": "string"},
                    "μ": {"type": "integer"},
                    "ﬁ": {"type": "string"},
                    'quo"te\n': {},
                    "\ue000": {},
                    "\ue000int": {},
                    "\u2028": {},
                    "None": {},
                    "self": {},
                }
            ),
            "required": ["from", "undeclared"],
        },
        None,
    ),
    "models": (
        thing(
            model_dump={"type": "string"},
            model_config={},
            root={},
            schema={},
            copy={},
            json={},
            dict={"type": "object"},
            _x={"type": "string"},
            field_x={},
            field_dict={},
            construct={},
            __slots__={},
            args={},
            kwargs={},
            cls={},
        ),
        None,
    ),
    "enums": (
        thing(
            mixed={"enum": ["x", 1, None, True, "x"]},
            floats={"enum": [1.5, 2]},
            objects={"enum": [{"a": 1}, "x", [1]]},
            null={"const": None},
            number={"const": 1.5},
            text={"enum": ["é", "😀", "a\"b'\\", "\n\x00\u2028", '"""', ""]},
            negative={"enum": [-1, 0, 2**60]},
            titled={"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}, {"type": "null"}]},
            misfit={"type": "integer", "enum": ["a"]},
            filtered={"type": "string", "enum": ["a", 1, None]},
        ),
        {"enum": ["a", 1]},
    ),
    "types": (
        thing(
            several={"type": ["string", "integer", "null"]},
            either={
                "type": ["object", "array", "null"],
                "items": {"type": "string"},
                "properties": {"q": {"type": "string"}},
            },
            yes=True,
            never=False,
            pattern={
                "type": "object",
                "patternProperties": {"^x": {"type": "integer"}, "y": {"type": "string"}},
                "additionalProperties": False,
            },
            pair={"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            closed_pair={
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "items": False,
            },
            limited={"type": "array", "items": {"type": "string", "minLength": 2}},
            nested={"type": "array", "items": {"type": "array", "items": thing(x={})}},
            nullable={"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
            conditional={"type": "string", "if": {"const": "a"}, "then": False, "else": True},
            formatted={"type": "string", "format": "binary"},
            negated={"not": {"type": "string"}},
        ),
        {"type": ["string", "integer"]},
    ),
    "refs": (
        {
            **thing(
                dotted={"$ref": "#/$defs/a.b~1c"},
                again={"$ref": "#/properties/c", "description": "Again."},
                c=thing(c=thing(c={"type": "integer"})),
                definitions={"$ref": "#/definitions/definitions"},
                node={"$ref": "#/$defs/node"},
                tree={"$ref": "#/$defs/tree"},
                percent={"$ref": "#/$defs/a%20b"},
            ),
            "definitions": {"definitions": {"type": "string"}},
            "$defs": {
                "a.b/c": {"type": "array", "items": {"type": "number"}},
                "a b": {"enum": ["x"]},
                "node": {
                    "anyOf": [
                        {"type": "string"},
                        {"type": "array", "items": {"$ref": "#/$defs/node"}},
                    ]
                },
                "tree": thing(
                    children={"type": "array", "items": {"$ref": "#/$defs/tree"}},
                    up={"$ref": "#"},
                ),
            },
        },
        {"type": "array", "items": {"$ref": "#/items/properties/a"}}
        | {"items": thing(a={"type": "array", "items": {"$ref": "#/items"}})},
    ),
    "unions": (
        thing(
            tagged={"anyOf": [thing(k={"const": "a"}, x={}), thing(k={"const": "b"}, y={})]},
            either={
                **thing(p={"type": "string"}, q={"type": "string"}),
                "anyOf": [{"required": ["p"]}, {"required": ["q"]}],
            },
            merged={
                "allOf": [
                    thing(x={"type": "integer"}),
                    {**thing(y={"type": "integer"}), "required": ["y"]},
                ]
            },
            wrapped={"allOf": [{"$ref": "#/properties/merged"}], "description": "Wrapped."},
            siblings={"$ref": "#/properties/merged", "required": ["x"]},
            spread={**thing(z={"type": "integer"}), "oneOf": [thing(m={"const": 1}), thing(n={})]},
            knot={"$ref": "#/$defs/knot"},
        )
        | {"$defs": {"knot": thing(r={"allOf": [{"$ref": "#/$defs/knot"}, thing(x={})]})}},
        {"anyOf": [thing(a={}), {"type": "null"}]},
    ),
    "root_union": (
        {"type": "object", "anyOf": [thing(root_union_args={}), thing(b=thing(c={}))]},
        None,
    ),
    "root_ref": (
        {"$ref": "#/$defs/X", "$defs": {"X": thing(a={"type": "string"})}},
        {"type": "string", "description": "A text."},
    ),
    "foreign": (
        thing(
            a={
                "type": "string",
                "customTypePath": "os.system",
                "x-python-type": "os.system",
                "x-python-import": {"module": "os", "name": "system"},
            },
            b={**thing(x={"title": "Evil", "enum": ["z"]}), "customBasePath": "os.system"},
        ),
        None,
    ),
    "tool": (thing(result=thing(x={}), args=thing(y={}), registry=thing(z={})), thing(a={})),
    "x": (thing(input_args=thing(a={})), None),
    "x_input": (thing(a={}), None),
    "_": (thing(a=thing(b={})), thing(a=thing(b={}))),
    "with-dash": (thing(a={}), None),
    "literal": (thing(a={"enum": ["a"]}), thing(a={"enum": ["a"]})),
    "any": (thing(a={}), None),
    "same": (thing(same=thing(same=thing(same=thing(same={"type": "integer"})))), None),
    "defaults": (
        thing(
            null_on_text={"type": "string", "default": None},
            text={"type": "string", "default": "x"},
            inner={**thing(x={"type": "integer", "default": 1}), "default": {}},
            items={"type": "array", "items": thing(x={"default": 1}), "default": [{}]},
            nullable={"type": ["string", "null"], "default": None},
            no_member={"enum": ["a", "b"], "default": "c"},
            too_small={"type": "integer", "minimum": 3, "default": 1},
            whole={"type": "integer", "default": 2.0},
            number={"type": "number", "default": 2},
            not_bool={"type": "boolean", "default": 1},
            by_ref={"$ref": "#/properties/text", "default": "k"},
            anything={"default": {"q": [1, None, -2]}},
        ),
        thing(text={"type": "string", "default": "x"}),
    ),
}
HONEST: dict[str, tuple[dict[str, Any], str]] = {
    "cycle": (
        thing(a={"$ref": "#/$defs/A"})
        | {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
        "refers to itself",
    ),
    "self": ({"$ref": "#"}, "refers to itself"),
    "conjunction": (
        thing(a={"$ref": "#/$defs/A"})
        | {"$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}, {"type": "object"}]}}},
        "its own conjunction",
    ),
    "dangling": (thing(a={"$ref": "#/$defs/nope"}), "leads to nothing"),
    "remote": (thing(a={"$ref": "https://example.org/x"}), "does not lead into this schema"),
    "no_schema": (thing(a={"$ref": "#/required"}) | {"required": ["a"]}, "not a schema"),
    "no_type": (thing(a={"type": "strin"}), "not a type"),
    "no_object": ({"type": "object", "properties": 5}, "not valid JSON Schema"),
    "impossible": ({"type": "object", "allOf": [{"type": "string"}]}, "no value can fit"),
    "surrogate": (thing(a={"enum": ["\ud800"]}), ""),
}


def requests() -> list[StubRequest]:
    return [StubRequest(name, *schemas) for name, schemas in ODD.items()]


@pytest.fixture(scope="module")
def made() -> dict[Kind, dict[str, Stub]]:
    return {kind: make_stubs(requests(), kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ODD)
def test_an_odd_schema_has_an_importable_stub_without_problems(
    made: dict[Kind, dict[str, Stub]], name: str, kind: Kind
) -> None:
    one = made[kind][name]
    assert one.problems == ()
    space = load(one.text)
    assert one.args in space
    assert one.result is None or one.result in space
    if kind == "typed-dict":
        assert {line.split()[1] for line in one.imports} == {"typing"}


def test_all_stubs_pass_strict_type_checking(
    made: dict[Kind, dict[str, Stub]], tmp_path: Path
) -> None:
    for kind, stubs in made.items():
        folder = tmp_path / f"kind_{kind.replace('-', '_')}"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        for name, one in stubs.items():
            (folder / f"t_{name.replace('-', '_')}.py").write_text(one.text, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir=c"]
    done = subprocess.run(
        [
            *command,
            f"--cache-dir={tmp_path / 'cache'}",
            "-p",
            "kind_typed_dict",
            "-p",
            "kind_pydantic",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_depends_on_its_tool_alone(made: dict[Kind, dict[str, Stub]], kind: Kind) -> None:
    bad = [StubRequest(f"bad_{name}", schema) for name, (schema, _) in HONEST.items()]
    mixed = [*bad[:5], *reversed(requests()), *bad[5:]]
    together = make_stubs(mixed, kind, jobs=2)
    for name, one in made[kind].items():
        assert together[name] == one
    for request in requests()[:8]:
        assert make_stubs([request], kind)[request.name] == made[kind][request.name]


def test_a_text_does_not_depend_on_the_hash_seed(made: dict[Kind, dict[str, Stub]]) -> None:
    code = (
        "import sys, json\n"
        "from hermes_build.compiler.emit.stubs import StubRequest, make_stubs\n"
        "asked = [StubRequest(*one) for one in json.load(sys.stdin)]\n"
        "print(json.dumps([one.text for one in make_stubs(asked, 'typed-dict').values()]))"
    )
    asked = [(one.name, one.parameters, one.output_schema) for one in requests()]
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(asked),
        env=os.environ | {"PYTHONHASHSEED": "42"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [one.text for one in made["typed-dict"].values()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", HONEST)
def test_what_cannot_be_expressed_is_an_honest_any(name: str, kind: Kind) -> None:
    schema, reason = HONEST[name]
    one = stub(schema, thing(a={"type": "string"}), kind)
    if not one.problems:
        assert name == "surrogate"
        one.text.encode()
        return
    assert len(one.problems) == 1
    assert one.problems[0].startswith("parameters: ")
    assert reason in one.problems[0]
    assert load(one.text)[one.args] == dict[str, Any]
    assert hints(one, one.result).keys() == {"a"}


def test_a_result_that_cannot_be_expressed_leaves_the_arguments_alone() -> None:
    one = stub(thing(a={"type": "string"}), {"$ref": "#/nope"})
    assert one.problems == ("output_schema: `$ref` '#/nope' leads to nothing",)
    assert load(one.text)["ToolXResult"] is Any
    assert hints(one) == {"a": "NotRequired[str]"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_of_itself_is_an_honest_any(kind: Kind) -> None:
    # The generator writes a bare `list` here, which would say less than it seems to.
    (problem,) = stub(thing(), {"type": "array", "items": {"$ref": "#"}}, kind).problems
    assert "list without its parameters" in problem


def test_root_names_follow_from_the_tools_name(made: dict[Kind, dict[str, Stub]]) -> None:
    stubs = made["typed-dict"]
    assert (stubs["plain"].args, stubs["plain"].result) == ("PlainArgs", "PlainResult")
    assert stubs["no_args"].result is None
    assert stubs["with-dash"].args == "WithDashArgs"
    assert stubs["x"].args == "XArgs"
    assert stubs["x_input"].args == "XInputArgs"
    # The tail of every module imports a class of this name.
    assert stubs["tool"].result == "ToolResult2"


def test_keys_reach_the_class_as_they_are(made: dict[Kind, dict[str, Stub]]) -> None:
    keys = {*ODD["keys"][0]["properties"], "undeclared"}
    one = made["typed-dict"]["keys"]
    assert hints(one).keys() == keys
    made_class = load(one.text)[one.args]
    assert made_class.__total__ is True
    assert set(made_class.__annotations__) == keys
    model = load(made["pydantic"]["keys"].text)["KeysArgs"]
    assert {
        name if field.alias is None else field.alias for name, field in model.model_fields.items()
    } == keys


def test_defaults_that_validate_are_present_at_the_handler(
    made: dict[Kind, dict[str, Stub]],
) -> None:
    one = made["typed-dict"]["defaults"]
    present = {name for name, text in hints(one).items() if "NotRequired" not in text}
    assert present == {
        "text",
        "inner",
        "items",
        "nullable",
        "whole",
        "number",
        "by_ref",
        "anything",
    }
    assert hints(one, "DefaultsInner") == {"x": "int"}
    assert hints(one, "DefaultsItemsItem") == {"x": "Any"}
    # A handler writes its result itself, so that nothing in it is filled in.
    assert hints(one, one.result) == {"text": "NotRequired[str]"}


@pytest.mark.parametrize(
    "objection",
    [
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"not": {"required": ["a", "b"]}},
        {"maxProperties": 1},
        {"dependentRequired": {"a": ["b"]}},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"allOf": [{"properties": {"a": {"minimum": 9}}}]},
        {"patternProperties": {"a": {"minimum": 9}}},
    ],
)
def test_no_default_is_certain_where_filling_it_in_could_break_the_arguments(
    objection: dict[str, Any],
) -> None:
    schema = thing(a={"type": "integer", "default": 1}, b={"type": "string"})
    assert hints(stub(schema))["a"] == "int"
    assert "NotRequired" in hints(stub(schema | objection))["a"]


def test_no_default_is_certain_inside_a_branch() -> None:
    inner = thing(x={"type": "integer", "default": 1})
    one = stub(thing(a={"anyOf": [inner, {"type": "null"}]}, b=inner))
    assert hints(one, "ToolXA") == {"x": "NotRequired[int]"}
    assert hints(one, "ToolXB") == {"x": "int"}


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"type": ["string", "null"]}, "str | None"),
        ({"enum": ["a", None, 1]}, "Literal['a', 1] | None"),
        ({"enum": [1.5, "a"]}, "Literal['a'] | float"),
        ({"enum": [{"a": 1}]}, "dict[str, Any]"),
        ({"type": "string", "enum": ["a", 1]}, "Literal['a']"),
        ({"oneOf": [{"const": "a"}, {"const": "b"}]}, "Literal['a', 'b']"),
        ({"type": "array", "items": {"type": "number"}}, "list[float]"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "list[Any]"),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, True], "items": False},
            "list[Any]",
        ),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": False}, "list[str]"),
        ({"type": "array", "items": [{"type": "string"}], "additionalItems": False}, "list[str]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"type": "object", "patternProperties": {"a": {"type": "integer"}}}, "dict[str, Any]"),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "str"),
        ({"allOf": [{"type": ["string", "null"]}, {"type": ["string", "integer"]}]}, "str"),
        ({"type": "string", "format": "binary"}, "str"),
        ({"anyOf": [{"type": "string"}, True]}, "Any"),
        ({"type": "string", "nullable": True}, "str"),
        ({}, "Any"),
        (True, "Any"),
    ],
)
def test_types_are_those_of_the_json_values(schema: Any, written: str) -> None:
    one = stub({**thing(a=schema), "required": ["a"]})
    assert hints(one)["a"] == written


def test_a_conjunction_is_one_class_with_all_properties(
    made: dict[Kind, dict[str, Stub]],
) -> None:
    one = made["typed-dict"]["unions"]
    assert hints(one, "UnionsMerged") == {"x": "NotRequired[int]", "y": "int"}
    assert hints(one, "UnionsSiblings") == {"x": "int", "y": "int"}
    assert hints(one)["either"] == "NotRequired[UnionsEither]"
    assert hints(one)["tagged"] == "NotRequired[UnionsTagged | UnionsTagged2]"


HOSTILE = [
    'x """\nimport os\nprint(1)\n"""',
    "back \\",
    "\\",
    '"',
    '"""',
    'ends "',
    "a\rb",
    "nul\x00x",
    "ff\x0cx",
    "nel\x85x",
    "ls\u2028x",
    "rtl\u202ex",
    "{{ x }} {% raw %} {# #}",
    "  lead",
    "trail  ",
    "a\\nb \\N{DEGREE SIGN} \\u1234",
    "multi\n  indented\n line",
    "'''",
    "# coding: utf-7",
    "é😀",
    "%s {0} ${x}",
    "\ue000",
]


def test_hostile_descriptions_stay_texts() -> None:
    schema = thing(**{f"p{at}": {"description": text} for at, text in enumerate(HOSTILE)})
    one = stub(schema | {"description": HOSTILE[0]})
    assert one.problems == ()
    body = next(node for node in ast.parse(one.text).body if isinstance(node, ast.ClassDef)).body
    texts = [ast.literal_eval(node.value) for node in body if isinstance(node, ast.Expr)]
    expected = [HOSTILE[0], *(text.replace("\r", "\n") for text in HOSTILE)]
    for got, text in zip(texts, expected, strict=True):
        assert got == text or inspect.cleandoc(got) == inspect.cleandoc("\n" + text)
    # Nothing in the source is hidden from a reader or read as a line's end.
    assert all(char.isprintable() or char == "\n" for char in one.text)


def test_descriptions_of_keys_that_are_no_identifiers_stand_below_their_class() -> None:
    schema = thing(**{f"p-{at}": {"description": text} for at, text in enumerate(HOSTILE)})
    one = stub(schema | {"description": "The whole."})
    assert one.problems == ()
    nodes = ast.parse(one.text).body
    at = next(at for at, node in enumerate(nodes) if isinstance(node, ast.Assign))
    below = nodes[at + 1]
    assert isinstance(below, ast.Expr)
    said = "\n".join(f"p-{at}: {text}" for at, text in enumerate(HOSTILE)).replace("\r", "\n")
    assert ast.literal_eval(below.value) == f"\nThe whole.\n\n{said}\n"


def test_hostile_descriptions_stay_texts_in_pydantic() -> None:
    schema = thing(**{f"p{at}": {"description": text} for at, text in enumerate(HOSTILE)})
    one = stub(schema, kind="pydantic")
    fields = load(one.text)[one.args].model_fields
    for at, text in enumerate(HOSTILE):
        assert fields[f"p{at}"].description == text.replace("\r", "\n")


def test_hostile_enum_members_keep_their_values() -> None:
    one = stub(thing(a={"enum": HOSTILE}))
    hint = typing.get_type_hints(load(one.text)[one.args])["a"]
    assert typing.get_args(hint) == tuple(HOSTILE)


@pytest.mark.parametrize("kind", KINDS)
def test_large_schemas_take_bounded_time(kind: Kind) -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(60):
        deep = thing(a=deep)
    too_deep = deep
    for _ in range(10):
        too_deep = thing(a=too_deep)
    # Each level refers twice to the next, so that merging it doubles at every level.
    doubling: dict[str, Any] = {"L40": thing(x={})}
    for level in range(40):
        ref = {"$ref": f"#/$defs/L{level + 1}"}
        doubling[f"L{level}"] = {"allOf": [ref, ref, thing(**{f"p{level}": {}})]}
    began = time.monotonic()
    made = make_stubs(
        [
            StubRequest("wide", thing(**{f"p{at}": {"type": "string"} for at in range(2000)})),
            StubRequest("members", thing(a={"enum": [f"m{at}" for at in range(10_000)]})),
            StubRequest(
                "constants", thing(a={"oneOf": [{"const": f"m{at}"} for at in range(10_000)]})
            ),
            StubRequest("deep", deep),
            StubRequest("too_deep", too_deep),
            StubRequest("doubling", thing(a={"$ref": "#/$defs/L0"}) | {"$defs": doubling}),
        ],
        kind,
    )
    assert time.monotonic() - began < 20
    problems = {name: one.problems for name, one in made.items() if one.problems}
    assert problems.pop("too_deep") == ("parameters: nested deeper than 64 levels",)
    assert set(problems) <= {"doubling"}


def test_nothing_is_ever_fetched() -> None:
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/x"
        for schema in (
            thing(a={"$ref": url}),
            thing(a={"enum": ["x"], "default": "x", "$ref": "#/$defs/s"}) | {"$defs": {"s": {}}},
            thing(a={"type": "string", "minLength": 1, "default": "x"}, b={"not": {"$ref": url}}),
            thing(a={"$ref": "#/$defs/s"}) | {"$schema": url, "$defs": {"s": {"$schema": url}}},
            {"$schema": url, "type": "object", "properties": 5},
        ):
            stub(schema, schema)
        server.shutdown()
    assert asked == []


def test_nothing_asked_is_nothing_made() -> None:
    assert make_stubs([], "typed-dict") == {}


def test_the_generator_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys, hermes_build.compiler.emit.stubs\n"
        "assert 'datamodel_code_generator' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_texts_that_skip_the_formatter_are_as_it_would_have_left_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["plain", "it's", 'say "so"', "x" * 120, "two\nlines", "back\\slash", ""]
    schemas: list[dict[str, Any]] = [
        {
            "type": "object",
            **({"description": text} if described else {}),
            "properties": {
                "a": {"type": "string", "description": text, **({"enum": [text]} if named else {})},
                "b": {"type": ["integer", "null"]},
                **({"c": {"type": "object", "properties": {"d": {}}}} if nested else {}),
            },
        }
        for text in texts
        for described in (False, True)
        for named in (False, True)
        for nested in (False, True)
    ]
    requests = [
        StubRequest(f"t{nth}", schema, None if nth % 3 else {"type": "integer"})
        for nth, schema in enumerate([*schemas, {"type": "object"}])
    ]
    quick = make_stubs(requests, "typed-dict")
    whole = generator.configuration("typed-dict").model_copy(
        update={"formatters": [Formatter.BUILTIN]}
    )
    monkeypatch.setattr(generator, "configuration", lambda kind: whole)
    assert make_stubs(requests, "typed-dict") == quick
