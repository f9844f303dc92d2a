"""Whatever a schema says, its stub is accepted, importable, independent and true."""

from __future__ import annotations

import ast
import random
import sys
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, NotRequired

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_build.compiler.emit.gate import check_stub
from hermes_build.compiler.emit.naming import Kind
from hermes_build.compiler.emit.render import docstring, quoted
from hermes_build.compiler.emit.stubs import StubRequest, make_stubs
from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.validation import Arguments

NAMES = ["a", "b", "c", "A", "T", "from", "x-y", "x.y", "__z", "_z", "µ", "int", "Any", "TArgs", ""]
TEXTS = ["", "a", "b", 'x"""', "\\", "\u2028", "{{ a }}", "\ue000", "\r\n"]
KINDS = ["string", "integer", "number", "boolean", "null", "array", "object"]
REFS = ["#", "#/$defs/x", "#/$defs/y", "#/$defs/x", "#/properties/a", "#/$defs/nope"]
SEEDS = st.integers(0, 2**32)
SETTINGS = settings(deadline=None, derandomize=True, database=None)


class Maker:
    """Makes schemas and values by a seed: far quicker than strategies that nest this deep."""

    def __init__(self, seed: int, *, typed: bool = False) -> None:
        self.chance = random.Random(seed)
        self.typed = typed

    def value(self, depth: int = 2) -> Any:
        draw = self.chance.random()
        if depth and draw < 0.12:
            return [self.value(depth - 1) for _ in range(self.chance.randint(0, 2))]
        if depth and draw < 0.3:
            return self.record(depth - 1)
        return self.chance.choice([None, True, False, 0, 1, -2, 1.0, 1.5, "", "a", "b"])

    def record(self, depth: int = 2) -> dict[str, Any]:
        names = self.chance.sample(NAMES, self.chance.randint(0, 3))
        return {name: self.value(depth) for name in names}

    def many(self, depth: int) -> list[Any]:
        return [self.schema(depth) for _ in range(self.chance.randint(1, 3))]

    def named(self, depth: int) -> dict[str, Any]:
        names = self.chance.sample(NAMES, self.chance.randint(0, 4))
        return {name: self.schema(depth) for name in names}

    def schema(self, depth: int = 3) -> Any:
        chance = self.chance
        if chance.random() < 0.06:
            return chance.random() < 0.7
        made: dict[str, Any] = {}
        if chance.random() < 0.8:
            made["type"] = chance.choice(KINDS)
            if chance.random() < 0.2:
                made["type"] = chance.sample(KINDS, chance.randint(1, 3))
        inner = depth - 1
        makers: dict[str, Callable[[], Any]] = {
            "default": self.value,
            "enum": lambda: [self.value() for _ in range(chance.randint(1, 3))],
            "const": self.value,
            "description": lambda: chance.choice(TEXTS),
            "minimum": lambda: chance.randint(-2, 2),
            "minLength": lambda: chance.randint(0, 2),
            "maxProperties": lambda: chance.randint(0, 3),
            "required": lambda: chance.sample(NAMES, chance.randint(0, 2)),
            "customTypePath": lambda: "os.system",
            "$ref": lambda: chance.choice(REFS),
        }
        if depth:
            makers |= {
                "properties": lambda: self.named(inner),
                "additionalProperties": lambda: self.schema(inner),
                "items": lambda: self.schema(inner),
                "prefixItems": lambda: self.many(inner),
                "patternProperties": lambda: {"a": self.schema(inner)},
                "allOf": lambda: self.many(inner),
                "anyOf": lambda: self.many(inner),
                "oneOf": lambda: self.many(inner),
                "not": lambda: self.schema(inner),
            }
        for name in chance.sample(sorted(makers), chance.randint(0, 3)):
            made[name] = makers[name]()
        shaped = made.keys() & {"properties", "additionalProperties", "patternProperties"}
        if self.typed and "type" not in made and (shaped or "required" in made):
            made["type"] = "object"
        if self.typed and "type" not in made and made.keys() & {"items", "prefixItems"}:
            made["type"] = "array"
        return made

    def root(self) -> dict[str, Any]:
        more = self.schema()
        made = more if isinstance(more, dict) else {}
        made["type"] = "object"
        made["properties"] = self.named(2) | {"a": self.schema(2)}
        made["$defs"] = {"x": self.schema(2), "y": self.schema(2)}
        return made


def load(text: str) -> dict[str, Any]:
    module = sys.modules["generated_stub"] = types.ModuleType("generated_stub")
    exec(compile(text, "<stub>", "exec"), module.__dict__)
    return module.__dict__


@settings(SETTINGS, max_examples=25)
@given(SEEDS, st.sampled_from(["typed-dict", "pydantic"]))
def test_any_schema_has_an_importable_stub_of_its_own(seed: int, kind: Kind) -> None:
    make = Maker(seed)
    requests = [
        StubRequest(f"t{at}", make.root(), make.schema() if make.chance.random() < 0.5 else None)
        for at in range(10)
    ]
    before = repr(requests)
    made = make_stubs(requests, kind)
    assert repr(requests) == before
    for request in requests:
        one = made[request.name]
        assert check_stub(one.text, kind).definitions.keys() >= {one.args, one.result} - {None}
        one.text.encode()
        load(one.text)
    assert make_stubs(requests[:1], kind)["t0"] == made["t0"]
    assert make_stubs(requests[::-1], kind) == made


def says(hint: Any, value: Any, space: dict[str, Any]) -> bool:
    """Whether a value is of a type, as far as types made of JSON go."""
    if isinstance(hint, str):
        return says(space[hint], value, space)
    if isinstance(hint, typing.ForwardRef):
        return says(space[hint.__forward_arg__], value, space)
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin is Literal:
        return any(
            value == one and isinstance(value, bool) == isinstance(one, bool) for one in inner
        )
    if origin in (typing.Union, types.UnionType):
        return any(says(one, value, space) for one in inner)
    if origin is list:
        return isinstance(value, list) and all(says(inner[0], one, space) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(says(inner[1], one, space) for one in value.values())
    if typing.is_typeddict(hint):
        return isinstance(value, dict) and all(
            says(
                typing.get_args(one)[0] if typing.get_origin(one) is NotRequired else one,
                value[name],
                space,
            )
            if name in value
            else typing.get_origin(one) is NotRequired
            for name, one in typing.get_type_hints(hint, include_extras=True).items()
        )
    if hint in (float, int):
        # In JSON, 1.0 is a whole number; in Python's types, an int is a float.
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, hint)


@settings(SETTINGS, max_examples=40)
@given(SEEDS)
def test_a_handler_finds_what_its_types_say(seed: int) -> None:
    make = Maker(seed, typed=True)
    requests = [StubRequest(f"t{at}", make.root()) for at in range(10)]
    made = make_stubs(requests, "typed-dict")
    for request in requests:
        try:
            arguments = Arguments("t", request.parameters)
        except (ValueError, jsonschema_rs.ReferencingError):
            continue
        one = made[request.name]
        space = load(one.text)
        for value in [{}, *(make.record() for _ in range(12))]:
            try:
                found = arguments.accept(value)
            except Refusal:
                continue
            assert says(space[one.args], found, space), (request.parameters, found, one.text)


@SETTINGS
@given(st.text() | st.text("\\'\"a\n"))
def test_a_text_is_itself_again_as_a_literal_of_one_line(text: str) -> None:
    for made in (quoted(text), docstring(text)):
        assert ast.literal_eval(made) == text
        assert made.isascii()
        assert made.isprintable()
