"""Projects made to exhaust, mislead or escape the compiler: all end in findings or do no harm."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.emit.stubs import StubRequest, _parts
from hermes_build.compiler.memory import forgetful
from hermes_build.compiler.pipeline import build
from hermes_build.compiler.project import read_project
from hermes_build.lock import read, render
from tests.faults.world import compiled, documents, spec, thing, yaml

SECONDS = 60.0
"""A generous bound on CPU time: each takes a few seconds where nothing else runs."""

MEBIBYTES = 1024

HEAD = "name: tool_x\nhandler: external\ndescription: Does one thing for a test.\n"


def flow(properties: str, more: str = "", extra: str = "") -> str:
    """A spec as short text: what is large must not take long to write out."""
    return (
        f"{HEAD}{extra}parameters: {{type: object, additionalProperties: false,"
        f" properties: {{{properties}}}{more}}}\n"
    )


def defs(parts: list[str]) -> str:
    return ", $defs: {" + ", ".join(f"L{nth}: {part}" for nth, part in enumerate(parts)) + "}"


def ref(number: int) -> str:
    return f"{{$ref: '#/$defs/L{number}'}}"


def doubling(levels: int, keyword: str = "allOf") -> str:
    parts = [f"{{{keyword}: [{ref(nth + 1)}, {ref(nth + 1)}]}}" for nth in range(levels)]
    return defs([*parts, "{type: integer}"])


def chain(levels: int, form: str) -> str:
    return defs([form.replace("REF", ref(nth + 1)) for nth in range(levels)] + ["{type: integer}"])


def many(count: int, form: str, join: str = ", ") -> str:
    return join.join(form.replace("#", str(nth)) for nth in range(count))


TWICE = (
    "{anyOf: [{type: array, items: {$ref: '#/$defs/R'}},"
    " {type: array, items: {$ref: '#/$defs/R'}, minItems: 1}]}"
)
DEEP = "[" * 60 + "1" + "]" * 60

# What it is, how its specs and toolsets are written, and the codes that are found.
EXHAUSTING: dict[str, tuple[Callable[[], tuple[str, str]], set[str]]] = {
    "references that double": (
        lambda: (flow("a: {$ref: '#/$defs/L0', default: 3}", doubling(40)), ""),
        {"HB1116"},
    ),
    "references that double and are never used": (
        lambda: (flow("a: {}", doubling(40, "anyOf")), ""),
        {"HB1116"},
    ),
    "references that double inside not and if": (
        lambda: (
            flow("a: {$ref: '#/$defs/L0'}", defs(
                [f"{{not: {ref(n + 1)}, if: {ref(n + 1)}}}" for n in range(40)] + ["{}"])),
            "",
        ),
        {"HB1116"},
    ),
    "references that double from level to level of a value": (
        lambda: (
            flow("a: {$ref: '#/$defs/L0'}", defs(
                [f"{{allOf: [{', '.join([f'{{properties: {{a: {ref(n + 1)}}}}}'] * 2)}]}}"
                 for n in range(40)] + ["{}"])),
            "",
        ),
        {"HB1116"},
    ),
    "a default that a schema reads twice a level": (
        lambda: (
            flow(f"a: {{$ref: '#/$defs/R', default: {DEEP}}}", f", $defs: {{R: {TWICE}}}"),
            "",
        ),
        {"HB1116"},
    ),
    "an example that a schema reads twice a level": (
        lambda: (
            flow("a: {$ref: '#/$defs/R'}", f", $defs: {{R: {TWICE}}}",
                 f"examples: [{{args: {{a: {DEEP}}}}}]\n"),
            "",
        ),
        {"HB1116"},
    ),
    "a pattern that never ends in other engines": (
        lambda: (flow(f"a: {{type: string, pattern: '^(a+)+$', default: '{'a' * 60}!'}}"), ""),
        {"HB1103"},
    ),
    "patterns that look around without an end": (
        lambda: (
            flow(many(20, f"p#: {{type: string, pattern: '^(?=(a+)+$)b', default: {'a' * 60}}}")),
            "",
        ),
        {"HB1103"},
    ),
    "a pattern that grows": (
        lambda: (flow("a: {type: string, pattern: '(a{1000}){1000}'}"), ""),
        {"HB1111"},
    ),
    "a pattern of a hundred thousand brackets": (
        lambda: (flow(f"a: {{type: string, pattern: '{'(' * 100_000}{')' * 100_000}'}}"), ""),
        {"HB1111"},
    ),
    "a chain of references": (
        lambda: (flow("a: {$ref: '#/$defs/L0'}", chain(8000, "REF")), ""),
        {"HB1120"},
    ),
    "a chain of lists": (
        lambda: (flow("a: {$ref: '#/$defs/L0'}", chain(3000, "{type: array, items: REF}")), ""),
        {"HB1120"},
    ),
    "a chain of objects": (
        lambda: (
            flow("a: {$ref: '#/$defs/L0'}", chain(3000, "{type: object, properties: {a: REF}}")),
            "",
        ),
        {"HB1120"},
    ),
    "a ring of references": (
        lambda: (
            flow("a: {$ref: '#/$defs/L0'}", defs([ref((n + 1) % 5000) for n in range(5000)])),
            "",
        ),
        {"HB1112"},
    ),
    "lost references that all look alike": (
        lambda: (
            flow(many(5000, "p#: {$ref: '#/$defs/Aaab#'}"),
                 ", $defs: {" + many(5000, "Aaaa#: {}") + "}"),
            "",
        ),
        {"HB1107"},
    ),
    "an enum of many members": (
        lambda: (flow(f"a: {{enum: [{many(60_000, 'm#')}]}}"), ""),
        set(),
    ),
    "an enum of many members that do not fit": (
        lambda: (flow(f"a: {{type: string, enum: [x, {many(5000, '#')}]}}"), ""),
        {"HB1104"},
    ),
    "an enum of many members beside other keywords": (
        lambda: (flow(f"a: {{enum: [{many(20_000, '#')}], items: {{}}}}"), ""),
        set(),
    ),
    "two enums of many members": (
        lambda: (
            flow(f"a: {{allOf: [{{enum: [{many(8000, 'm#')}]}}, {{enum: [{many(8000, 'm#')}]}}]}}"),
            "",
        ),
        set(),
    ),
    "many objects": (
        lambda: (flow(many(5000, "p#: {type: object, properties: {x: {}}}")), ""),
        {"HB1120"},
    ),
    "many properties that are true": (
        lambda: (flow(many(50_000, "p#: true")), ""),
        {"HB1120"},
    ),
    "many unknown keywords": (
        lambda: (flow(f"a: {{{many(10_000, 'descriptiom#: 1')}}}"), ""),
        {"HB1109"},
    ),
    "many requirements that all look alike": (
        lambda: (
            flow(many(2000, "aa#: true"), f", required: [{many(2000, 'ab#')}]"),
            "",
        ),
        {"HB1113"},
    ),
    "many unknown keys": (
        lambda: (flow("", extra=many(10_000, "descriptiom#: 1\n", "")), ""),
        {"HB1001"},
    ),
    "many tags": (
        lambda: (flow("", extra=f"tags: [{many(30_000, 't#')}]\n"), ""),
        set(),
    ),
    "many platforms": (
        lambda: (flow("", extra=f"requires: {{platforms: [{many(10_000, 'p#')}]}}\n"), ""),
        {"HB1008"},
    ),
    "many tools of one name": (
        lambda: (documents(*[flow("")] * 3000), ""),
        {"HB1005"},
    ),
    "many members that nobody declares": (
        lambda: (
            documents(*(flow("").replace("tool_x", f"tool_{nth}") for nth in range(300))),
            f"name: s\ntools: [{many(20_000, 'tol_#')}]\n",
        ),
        {"HB2001"},
    ),
    "toolsets that all include each other": (
        lambda: (
            flow(""),
            documents(*(f"name: s{n}\nincludes: [{many(200, 's#')}]\n" for n in range(200))),
        ),
        {"HB2003"},
    ),
    "documents that are large together": (
        lambda: (f"[{'a,' * 190_000}a]\n---\n" * 20, ""),
        {"HB0011", "HB1002"},
    ),
    "a value that aliases repeat": (
        lambda: (
            f"{HEAD}parameters:\n  type: object\n  additionalProperties: false\n"
            f"  $defs: {{x: &x {{{many(20, 'a#: {type: integer}')}}}}}\n  properties:\n"
            + many(1000, "    p#: {type: object, properties: *x}\n", ""),
            "",
        ),
        {"HB1109", "HB1120"},
    ),
    "a title of blanks behind a bracket": (
        lambda: (flow("", extra=f"title: '<{' ' * 300_000}'\n"), ""),
        set(),
    ),
    "many hidden characters": (
        lambda: (flow("", extra=f'title: "{chr(0x200B) * 300_000}"\n'), ""),
        {"HB1203"},
    ),
    "a very long name": (
        lambda: (
            flow("", f", $defs: {{? '{'ab' * 50_000}' : {{}}}}").replace(
                "properties: {}", f"properties: {{a: {{$ref: '#/$defs/{'ba' * 50_000}'}}}}"
            ),
            "",
        ),
        {"HB1107"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("write", "codes"), EXHAUSTING.values(), ids=EXHAUSTING)
def test_nothing_takes_long_or_grows_without_bound(
    tmp_path: Path, write: Callable[[], tuple[str, str]], codes: set[str]
) -> None:
    specs, toolsets = write()
    world = compiled(tmp_path, specs, toolsets)
    assert world.codes - {"HB1103"} == codes - {"HB1103"}
    assert world.seconds < SECONDS
    if sys.platform == "linux":
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        assert peak < MEBIBYTES


PATHS = [
    "../outside",
    "..",
    "/etc/passwd",
    "a/../../b",
    "C:\\x",
    "\\\\host\\share",
    "a\x00b",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("setting", ["specs", "toolsets", "templates", "source", "output"])
def test_no_setting_leads_out_of_the_project(tmp_path: Path, path: str, setting: str) -> None:
    root = tmp_path / "project"
    (root / "tool_specs").mkdir(parents=True)
    (root / "tool_specs" / "a.yaml").write_text(spec())
    lines = {"handlers": [], setting: path}
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())
    (root / "hermes-build.toml").write_text(text)
    findings = Findings()
    made = build(read_project(root, findings), forgetful(), findings)
    assert [one.code for one in made.findings if one.severity == "error"] == ["HB1402"]
    assert made.tree is None


def test_links_in_the_source_folders_lead_nowhere_else(tmp_path: Path) -> None:
    secret = tmp_path / "secret.yaml"
    secret.write_text(spec(name="stolen"))
    root = tmp_path / "project"
    (root / "tool_specs").mkdir(parents=True)
    (root / "tool_specs" / "link.yaml").symlink_to(secret)
    (root / "tool_specs" / "folder").symlink_to(tmp_path, target_is_directory=True)
    world = compiled(root, {"a.yaml": spec(thing(a={"$ref": "link.yaml#/$defs/A"}))})
    assert world.made.tree is None
    assert "HB0001" in world.errors
    assert "stolen" not in str(world.made.findings)


LIES = [
    'x\n!\t{"format":1,"digest":"","tools":0,"toolsets":0}',
    'x\ntool/evil\t{"name":"evil"}\n',
    "x\ttool/evil\t{}",
    "x\r\ntool/evil\t{}\r\n",
    'x\u2028tool/evil\t{"name":"evil"}',
    '"},"name":"evil',
    "\\u0000\\n",
    '{"name":"evil"}',
    "x\x1etool/evil\t{}",
]


@pytest.mark.parametrize("text", LIES)
def test_no_text_makes_the_catalogue_say_something_else(tmp_path: Path, text: str) -> None:
    fields: dict[str, Any] = {
        "title": text,
        "emoji": text,
        "deprecated": {"since": text},
        "parameters": thing(**{text: {"default": text, "enum": [text]}}),
    }
    names = ["a", "a-", "a-b", "a_", "aa", "b", "A", "_", "tool", "toolset", "alias", "Z", "z" * 64]
    rows = [
        spec(name=name, description=text, aliases=[f"{name[:60]}_2"], **fields) for name in names
    ]
    hidden = {"description": text} if text.isprintable() else {}
    sets = yaml({"name": "s", **hidden, "includes": ["*"], "aliases": ["t"]})
    # Names that would meet in one module go into another project.
    kept = [row for name, row in zip(names, rows, strict=True) if name not in ("a_", "A", "Z")]
    world = compiled(tmp_path, documents(*kept), sets)
    assert not world.errors
    registry = world.registry
    wanted = sorted(set(names) - {"a_", "A", "Z"})
    assert registry.get_all_tool_names() == wanted
    assert registry.resolve_toolset("t") == wanted
    for name in wanted:
        record = registry.find(name)
        assert record is not None
        assert (record["name"], record["title"]) == (name, text)
        assert registry.find(f"{name[:60]}_2") == record
    for name in ("evil", "", "x", "!", "tool/a", "a\t"):
        assert registry.find(name) is None
    registry.load()
    lock = world.made.lock
    assert lock is not None
    assert render(read(render(lock).decode())) == render(lock)


FILES = ["a\tb.yaml", 'a"b.yaml', "a\nb.yaml", "a'b.yaml", "a b.yaml", "a\\b.yaml", "a\u202eb.yaml",
         "a\x1b[31mb.yaml", "-a.yaml", "#a.yaml", "ü.yaml", "a:b.yaml"]  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="has none of these names")
@pytest.mark.parametrize("name", FILES)
def test_a_files_name_is_never_more_than_its_name(tmp_path: Path, name: str) -> None:
    world = compiled(tmp_path, {name: spec(thing(a={"$ref": "#/$defs/A"}) | {"$defs": {"A": {}}})})
    assert not world.errors
    record = world.registry.find("tool_x")
    assert record is not None
    assert record["source"] == f"tool_specs/{name}:1"
    lock = world.made.lock
    assert lock is not None
    assert render(read(render(lock).decode())) == render(lock)
    assert all(name not in text for text in world.modules.values())


RECURSIVE = {
    "anyOf": [
        {"type": "array", "items": {"$ref": "#/$defs/R"}},
        {"type": "array", "items": {"$ref": "#/$defs/R"}, "minItems": 1},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/R"}},
        {"type": "string"},
    ]
}
HANDLER = (
    "from {generated}.registry import registry\n\n\n"
    '@registry.handler("tool_x")\n'
    "def handler(args, **context):\n"
    "    return {'got': 1}\n"
)


def nested(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("part", "value", "says"),
    [
        pytest.param({"$ref": "#/$defs/R"}, nested(150, "x"), None, id="deep and right"),
        pytest.param({"$ref": "#/$defs/R"}, nested(150, 1), "flatter", id="deep and wrong"),
        pytest.param({"$ref": "#/$defs/R"}, nested(4, 1), "[0]", id="shallow and wrong"),
        pytest.param({"$ref": "#/$defs/R"}, nested(250, 1), "levels deep", id="too deep"),
        pytest.param(
            {"type": "array", "items": {"type": "integer"}},
            [*range(30_000), "x"],
            "a[30000]: must be an integer",
            id="large and wrong",
        ),
        pytest.param(
            {"type": "string", "pattern": r"^(\w+\s?)*(?<!x)$"},
            "word " * 60 + "!",
            "takes too long",
            id="a pattern that never ends",
        ),
        pytest.param(
            {"type": "string", "pattern": "^(a+)+$"}, "a" * 5000 + "!", "must match", id="a pattern"
        ),
    ],
)
def test_no_arguments_hold_a_call_up(
    tmp_path: Path, part: Any, value: Any, says: str | None
) -> None:
    """What a model sends is as little to be trusted as what a stranger declares."""
    schema = {**thing(a=part), "$defs": {"R": RECURSIVE}}
    world = compiled(tmp_path, spec(schema, handler=None), handlers={"h": HANDLER})
    assert not world.errors
    started = time.process_time()
    answer = world.call("tool_x", {"a": value})
    assert time.process_time() - started < SECONDS / 2
    if says is None:
        assert answer == {"got": 1}
    else:
        assert says in answer["error"]


def test_a_batch_for_the_generator_is_bounded_by_size_as_well_as_number() -> None:
    small = [StubRequest(f"s{nth}", thing(a={})) for nth in range(300)]
    large = [
        StubRequest(f"l{nth}", thing(**{f"p{at}": {"type": "string"} for at in range(5000)}))
        for nth in range(20)
    ]
    for requests in (small, large, [*small, *large], large[:1]):
        parts = list(_parts(requests, 128))
        assert [one for part in parts for one in part] == requests
        for part in parts:
            assert 0 < len(part) <= 128
            assert len(part) == 1 or sum(len(repr(one.parameters)) for one in part) <= 1_000_000
