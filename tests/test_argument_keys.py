"""The keys that a handler reads of its arguments, held against the properties of its tool."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_build.compiler.argument_keys import read_keys
from hermes_build.compiler.bindings import check_bindings, find_bindings
from hermes_build.compiler.diagnostics import Diagnostic, Findings, Span
from hermes_build.compiler.project import Project
from hermes_build.ir import JsonObject, Place, Tool

CLOSED: JsonObject = {
    "type": "object",
    "properties": {"place": {"type": "string"}, "units": {"type": "string"}},
    "additionalProperties": False,
}


def keys(body: str, signature: str = "args: dict") -> list[str]:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    (function,) = ast.parse(f"def handler({signature}):\n{lines}").body
    assert isinstance(function, ast.FunctionDef)
    return sorted(read_keys(function))


@pytest.mark.parametrize(
    "body",
    [
        'return args["city"]',
        'return args.get("city")',
        'return args.get("city", "Rome")',
        'return "city" in args',
        'return "city" not in args',
        'def inner():\n    return args["city"]\nreturn inner()',
        'return [args["city"] for _ in range(3)]',
        'return lambda: args["city"]',
        "return f\"{args!r} {args['city']}\"",
        'for key, value in args.items():\n    print(key, value)\nreturn args["city"]',
        'helper(**args)\nreturn args["city"]',
        'args["other"] = 1\nreturn args["city"]',
        'return args[name] + args["city"]',
        'if args.get("city"):\n    return args["city"]',
    ],
)
def test_a_key_in_plain_words_is_read(body: str) -> None:
    assert keys(body) == ["city"]


@pytest.mark.parametrize(
    "body",
    [
        'helper(args)\nreturn args["city"]',
        'args = clean(args)\nreturn args["city"]',
        'args = {}\nreturn args["city"]',
        'args.update(city=1)\nreturn args["city"]',
        'args.setdefault("city", 1)\nreturn args["city"]',
        'args["city"] = 1\nreturn args["city"]',
        'args[name] = 1\nreturn args["city"]',
        'other = args\nother["city"] = 1\nreturn args["city"]',
        'for args in rows:\n    print(args["city"])',
        'with open(x) as args:\n    print(args["city"])',
        'return [args["city"] for args in rows]',
        'def inner(args):\n    return args["city"]\nreturn inner({})',
        'return (lambda args: args["city"])({})',
        'import args\nreturn args["city"]',
        'try:\n    pass\nexcept Exception as args:\n    print(args["city"])',
        'match rows:\n    case [*args]:\n        print(args["city"])',
        'match rows:\n    case {"a": 1, **args}:\n        print(args["city"])',
        'def args(): ...\nreturn args["city"]',
        'if (args := rows):\n    return args["city"]',
        'args |= {"city": 1}\nreturn args["city"]',
        'return args[0] + args[f"{x}"] + args["a" + "b"]',
        'return other["city"]',
    ],
)
def test_what_may_be_other_arguments_is_left_alone(body: str) -> None:
    assert keys(body) == []


@pytest.mark.parametrize(
    "signature",
    [
        "args",
        "params, **context",
        "a: dict",
        "a: dict[str, Any], /",
        "a: 'dict[str, Any]'",
        "a: weather.Args",
        "a: Args, *, task_id: str = ''",
        "a: typing.Mapping[str, object]",
    ],
)
def test_the_first_parameter_holds_the_arguments(signature: str) -> None:
    name = signature.partition(",")[0].partition(":")[0]
    assert keys(f'return {name}["city"]', signature) == ["city"]


@pytest.mark.parametrize("signature", ["text", "text: str", "*, args", "*args", "**args", ""])
def test_a_handler_of_another_shape_reads_no_keys(signature: str) -> None:
    assert keys('return args["city"], text["city"]', signature) == []


@given(st.text(alphabet='args["city"].get()=:, \n    def', max_size=60))
def test_no_body_breaks_the_reader(body: str) -> None:
    try:
        tree = ast.parse(f"def handler(args):\n    pass\n    {body}")
    except (SyntaxError, ValueError):
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            read_keys(node)


def found(
    root: Path, body: str, parameters: JsonObject = CLOSED, head: str = "@weather.implements"
) -> list[Diagnostic]:
    folder = root / "handlers"
    folder.mkdir()
    (folder / "weather.py").write_text(
        "from generated.registry import registry\n"
        "from generated.tools import weather\n\n\n"
        f"{head}\ndef handler(args, **context):\n    {body}\n"
    )
    findings = Findings()
    bindings = find_bindings(Project(root, "pyproject.toml"), findings)
    tool = Tool("weather", Place("tool_specs/weather.yaml", 1), "", parameters)
    other = Tool("other", Place("tool_specs/weather.yaml", 9), "", parameters, handler="external")
    check_bindings(bindings, [tool, other], _place, findings)
    return findings.sorted()


def _place(place: Place, *pointer: str | int, key: bool = False) -> Span:
    return Span(f"{place.path}#{'/'.join(map(str, pointer))}", place.line)


def test_a_key_that_a_closed_root_does_not_have_is_an_error_with_both_places(
    tmp_path: Path,
) -> None:
    (one,) = found(tmp_path, 'return args["plcae"] + args.get("units") + args["plcae"]')
    assert (one.code, one.severity, one.tool) == ("HB3010", "error", "weather")
    assert one.span == Span("handlers/weather.py", 7, 17, 7, 24)
    assert one.labels[0].span.path == "tool_specs/weather.yaml#parameters/properties"
    assert one.help == ("did you mean `place`?",)


@pytest.mark.parametrize(
    "parameters",
    [
        {**CLOSED, "additionalProperties": True},
        {**CLOSED, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {}},
        {**CLOSED, "patternProperties": {"^x-": {}, "cit": {}}},
        {**CLOSED, "$ref": "#/$defs/more"},
        {**CLOSED, "allOf": [{"properties": {"city": {}}}]},
        {**CLOSED, "properties": {"city": {}}},
    ],
)
def test_a_key_that_could_come_is_fine(tmp_path: Path, parameters: JsonObject) -> None:
    assert found(tmp_path, 'return args["city"]', parameters) == []


def test_a_pattern_that_does_not_match_lets_nothing_in(tmp_path: Path) -> None:
    parameters = {**CLOSED, "patternProperties": {"^x-": {}}}
    (one,) = found(tmp_path, 'return args["city"] + args["x-city"]', parameters)
    assert "`city`" in one.message


def test_without_properties_the_label_stands_at_the_parameters(tmp_path: Path) -> None:
    (one,) = found(tmp_path, 'return args["a"]', {"type": "object", "additionalProperties": False})
    assert one.labels[0].span.path == "tool_specs/weather.yaml#parameters"


@pytest.mark.parametrize(
    "head",
    [
        "@weather.implements\n@functools.cache",  # it may be given other arguments
        "@registry.handler('other')\n@weather.implements",  # one function for two tools
    ],
)
def test_a_function_that_may_get_other_arguments_is_left_alone(tmp_path: Path, head: str) -> None:
    assert found(tmp_path, 'return args["city"]', head=head) == []


@pytest.mark.parametrize(
    "call",
    [
        "weather.implements(handler)",
        "done = registry.handler('weather')(handler)",
        "registry.register(name='weather', toolset='t', handler=handler)",
    ],
)
def test_a_function_that_is_registered_by_a_call_is_read_too(tmp_path: Path, call: str) -> None:
    (one,) = found(tmp_path, f'return args["city"]\n\n\n{call}', head="")
    assert one.code == "HB3010"
