"""Whatever a schema says, its stub is accepted, importable, independent and true."""

from __future__ import annotations

import json
import sys
import types
import typing
from typing import Any, Literal, NotRequired

import jsonschema_rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_build.compiler.emit.gate import check_stub
from hermes_build.compiler.emit.naming import Kind
from hermes_build.compiler.emit.stubs import StubRequest, make_stubs
from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.validation import Arguments

NAMES = st.sampled_from(
    ["a", "b", "A", "T", "from", "x-y", "x.y", "__z", "_z", "µ", "int", "Any", "list", "TArgs", ""]
) | st.text(max_size=4)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.5, 2.0])
    | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
KINDS = ["string", "integer", "number", "boolean", "null", "array", "object"]
REFS = st.sampled_from(["#", "#/$defs/x", "#/$defs/y", "#/properties/a", "#/$defs/nope"])


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    many = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(KINDS)
            | st.lists(st.sampled_from(KINDS), min_size=1, unique=True),
            "properties": st.dictionaries(NAMES, inner, max_size=4),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": inner,
            "items": inner,
            "default": VALUES,
            "description": st.text(max_size=12),
            "minimum": st.integers(-2, 2),
            "minLength": st.integers(0, 2),
        },
    ).flatmap(
        lambda base: st.fixed_dictionaries(
            {},
            optional={
                "prefixItems": many,
                "patternProperties": st.dictionaries(st.sampled_from(["a", "^x"]), inner),
                "allOf": many,
                "anyOf": many,
                "oneOf": many,
                "not": inner,
                "maxProperties": st.integers(0, 3),
                "enum": st.lists(VALUES, min_size=1, max_size=3),
                "const": VALUES,
                "$ref": REFS,
                "title": st.text(max_size=3),
                "customTypePath": st.just("os.system"),
            },
        ).map(lambda more: base | dict(list(more.items())[:2]))
    )


SCHEMAS = st.recursive(st.booleans() | keywords(st.just({})), keywords, max_leaves=6)
ROOTS = st.tuples(
    st.dictionaries(NAMES, SCHEMAS, max_size=4), keywords(SCHEMAS), SCHEMAS, SCHEMAS
).map(
    lambda parts: (
        parts[1]
        | {"type": "object", "properties": parts[0], "$defs": {"x": parts[2], "y": parts[3]}}
    )
)
SETTINGS = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def load(text: str) -> dict[str, Any]:
    module = sys.modules["generated_stub"] = types.ModuleType("generated_stub")
    exec(compile(text, "<stub>", "exec"), module.__dict__)
    return module.__dict__


@SETTINGS
@given(
    st.lists(st.tuples(ROOTS, st.none() | SCHEMAS), min_size=2, max_size=4),
    st.sampled_from(["typed-dict", "pydantic"]),
)
def test_any_schema_has_an_importable_stub_of_its_own(
    schemas: list[tuple[Any, Any]], kind: Kind
) -> None:
    requests = [StubRequest(f"t{at}", *pair) for at, pair in enumerate(schemas)]
    before = json.dumps(schemas)
    made = make_stubs(requests, kind)
    assert json.dumps(schemas) == before
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


def untyped_means_typed(schema: Any) -> bool:
    """Whether every schema with properties or items says which type it is."""
    if isinstance(schema, list):
        return all(map(untyped_means_typed, schema))
    if not isinstance(schema, dict):
        return True
    shaped = schema.keys() & {
        "properties",
        "items",
        "prefixItems",
        "additionalProperties",
        "patternProperties",
    }
    if shaped and isinstance(schema.get("properties", {}), dict) and "type" not in schema:
        return False
    return all(map(untyped_means_typed, schema.values()))


@settings(SETTINGS, max_examples=150)
@given(
    ROOTS.filter(untyped_means_typed),
    st.lists(st.dictionaries(NAMES, VALUES, max_size=3), min_size=1, max_size=8),
)
def test_a_handler_finds_what_its_types_say(schema: dict[str, Any], values: list[Any]) -> None:
    try:
        arguments = Arguments("t", schema)
    except (ValueError, jsonschema_rs.ReferencingError):
        return
    one = make_stubs([StubRequest("t", schema)], "typed-dict")["t"]
    space = load(one.text)
    for value in [{}, *values]:
        try:
            found = arguments.accept(value)
        except Refusal:
            continue
        assert says(space[one.args], found, space), (found, one.text)
