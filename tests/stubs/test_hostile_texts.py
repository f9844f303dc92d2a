"""A text of a schema stays that text in its stub, whatever it holds."""

from __future__ import annotations

import ast
import inspect
import typing

from tests.stubs.written import load, stub, thing

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
