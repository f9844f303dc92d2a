"""What holds for the repair of any value by any schema."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.repairs import Repairer
from hermes_build.runtime.validation import Arguments

_properties = settings(
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
_CLOSED = {"additionalProperties": False}
_seeds = st.integers(0, 10_000)
_names = st.sampled_from(["a", "b", "item"])


def _objects(
    inner: st.SearchStrategy[Any], *more: dict[str, Any]
) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda parts, more: {"type": "object", "properties": parts, **more},
        st.dictionaries(_names, inner, max_size=3),
        st.sampled_from(more or ({}, _CLOSED, {"required": ["a"]})),
    )


def _arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return inner.map(lambda one: {"type": "array", "items": one, "maxItems": 3})


_plain = st.sampled_from([{"type": "integer"}, {"type": "boolean"}])
_leaves = _plain | st.sampled_from(
    [
        {"type": "string", "maxLength": 3},
        {"type": ["integer", "null"]},
        {"type": "null"},
        {"type": "integer", "minimum": 0, "maximum": 9},
        {"enum": ["x", 1, True, None]},
        {"type": ["array", "string"]},
        {"$ref": "#/$defs/d"},
        {},
        True,
    ]
)
_schemas = st.recursive(
    _leaves,
    lambda inner: (
        _objects(inner)
        | _arrays(inner)
        | st.builds(
            lambda keyword, branches: {keyword: branches},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=3),
        )
    ),
    max_leaves=8,
)
# Without text and without a choice, what was meant can be told from its text alone.
_clear = _objects(
    st.recursive(_plain, lambda inner: _objects(inner, _CLOSED) | _arrays(inner), max_leaves=8),
    _CLOSED,
)
_anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["1", "1.0", "true", "null", "[1]", '{"a": "1"}', '["a"', "x"]),
    lambda inner: (
        st.dictionaries(_names, inner, max_size=3) | st.lists(inner, max_size=3).map(list)
    ),
    max_leaves=8,
)


_roots = st.builds(
    lambda root, inner: {**root, "$defs": {"d": inner}},
    _objects(_schemas),
    _objects(_schemas) | _arrays(_schemas),
)


def as_text(value: Any, chance: random.Random, often: float) -> Any:
    """A value of which some parts were sent as text."""
    if isinstance(value, dict):
        inner: Any = {key: as_text(one, chance, often) for key, one in value.items()}
    elif isinstance(value, list):
        inner = [as_text(one, chance, often) for one in value]
    else:
        inner = value
    if isinstance(value, str) or chance.random() > often:
        return inner
    return json.dumps(inner)


class Maker:
    """Makes a value that most likely fits a schema of those above."""

    def __init__(self, root: dict[str, Any], seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)

    def make(self, schema: Any, depth: int = 0) -> Any:
        pick = self.random.choice
        if schema is True or not schema or depth > 5:
            return pick([None, True, 0, 1, -7, 2.5, "1", "x", "[1]", [1, "2"], {"a": "1"}])
        if "enum" in schema:
            return pick(schema["enum"])
        if "$ref" in schema:
            return self.make(self.root["$defs"]["d"], depth + 1)
        for keyword in ("anyOf", "oneOf", "allOf"):
            if keyword in schema:
                return self.make(pick(schema[keyword]), depth + 1)
        kind = schema["type"] if isinstance(schema["type"], str) else pick(schema["type"])
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            count = self.random.randint(0, 3)
            return [self.make(schema.get("items"), depth + 1) for _ in range(count)]
        return {
            "string": pick(["", "1", "[1]", "éx"]),
            "boolean": pick([True, False]),
            "integer": pick([0, 1, 9, -5, 2**70, 3.0]) if "minimum" not in schema else pick([0, 9]),
            "null": None,
        }[kind]

    def object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        made = {
            name: self.make(one, depth + 1)
            for name, one in schema["properties"].items()
            if name in schema.get("required", ()) or self.random.random() < 0.8
        }
        for name in schema.get("required", ()):
            made.setdefault(name, self.make(True))
        return made


def fitting(schema: Any, seed: int) -> dict[str, Any]:
    """Arguments that fit; the end of the example where none were made."""
    check = Draft202012Validator(schema)
    maker = Maker(schema, seed)
    for _ in range(10):
        value = maker.make({key: one for key, one in schema.items() if key != "$defs"})
        if check.is_valid(value):
            return dict(value)
    assume(False)
    raise AssertionError


@_properties
@given(schema=_roots, seed=_seeds)
def test_what_fits_comes_back_as_it_was_sent(schema: Any, seed: int) -> None:
    args = fitting(schema, seed)
    before = copy.deepcopy(args)
    got, repairs = Arguments("t", schema).accept_reporting(args)
    assert repairs == ()
    assert repr(args) == repr(before)
    # 3.0 becomes 3 where an integer is wanted; nothing else is new.
    assert got == args
    assert got is args or "3.0" in repr(args)


@_properties
@given(schema=_roots, seed=_seeds)
def test_what_was_sent_as_text_fits_afterwards_or_is_refused(schema: Any, seed: int) -> None:
    meant = fitting(schema, seed)
    _check(schema, as_text(meant, random.Random(seed), 0.3))


@_properties
@given(schema=_roots, args=st.dictionaries(_names, _anything, max_size=3))
def test_whatever_is_sent_fits_afterwards_or_is_refused(schema: Any, args: Any) -> None:
    _check(schema, args)


@_properties
@given(schema=_clear, seed=_seeds)
def test_what_can_be_told_from_its_text_is_what_was_meant(schema: Any, seed: int) -> None:
    meant = fitting(schema, seed)
    sent = as_text(meant, random.Random(seed), 0.5)
    assert Arguments("t", schema).accept(sent) == meant


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _check(schema: Any, args: Any) -> None:
    before = copy.deepcopy(args)
    gate = Arguments("t", schema)
    try:
        got, repairs = gate.accept_reporting(args)
    except Refusal as refusal:
        assert refusal.kind == "invalid_arguments"
        got = None
    assert repr(args) == repr(before)
    if got is None:
        # Nor does what comes of a repair that is not told where to look.
        anywhere = Repairer(schema).repair(args)
        assert not (_is_json(args) and Draft202012Validator(schema).is_valid(anywhere))
        return
    assert Draft202012Validator(schema).is_valid(got)
    if isinstance(args, dict) and Draft202012Validator(schema).is_valid(args):
        assert repairs == ()
    # Once is enough.
    again, more = gate.accept_reporting(got)
    assert again is got
    assert more == ()
    assert Arguments("t", schema).accept(args) == got
