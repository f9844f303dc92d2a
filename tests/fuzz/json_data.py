"""Strategies for JSON data, schemas, and values that fit a schema nearly, wholly or not at all."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

# Half characters, characters beyond the first plane, what JSON escapes, and what looks like JSON.
CHARACTERS = 'ab "\\{}[]:,0123456789-.eE\n\t\x00é\u202e\u2028\ud800\udc00\U0001f600٣'
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=6),
    st.sampled_from(["null", "true", "1", "1.0", "-0", "1e3", "NaN", "[]", "{}", '{"a": 1}', "[1"]),
)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from([2**53 + 1, -(2**63), 2**64, 10**30, 1.0, -0.0, 1e308, 0.1]),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
NAMES = st.sampled_from(["a", "b", "c", "args", "self", "$ref", "a/b", "é", ""])

ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(NAMES, TEXTS), inner, max_size=3)
    ),
    max_leaves=6,
)

SCALAR_SCHEMAS: st.SearchStrategy[Any] = st.one_of(
    st.just({"type": "string"}),
    st.builds(lambda n: {"type": "string", "minLength": n}, st.integers(0, 2)),
    st.builds(lambda n: {"type": "string", "maxLength": n}, st.integers(0, 3)),
    st.just({"type": "string", "pattern": "^[a-z]*$"}),
    st.just({"type": "integer"}),
    st.builds(lambda n: {"type": "integer", "minimum": n}, st.integers(-2, 2)),
    st.just({"type": "number"}),
    st.just({"type": "number", "exclusiveMaximum": 3, "multipleOf": 0.5}),
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.just({"type": ["string", "null"]}),
    st.just({"type": ["integer", "boolean"]}),
    st.just({"enum": ["a", 1, True, None, 1.5, "1"]}),
    st.just({"const": "a"}),
    st.just({"const": [1]}),
    st.just({"type": "integer", "default": 3}),
    st.just({"type": "string", "default": "a"}),
    st.just({"type": "integer", "default": "not one"}),
    st.just({}),
    st.just(True),
    st.just({"$ref": "#/$defs/tree"}),
    st.just({"$ref": "#/$defs/text"}),
)


@st.composite
def objects_of(draw: st.DrawFn, inner: st.SearchStrategy[Any]) -> dict[str, Any]:
    """A schema of an object whose properties are of the inner schemas."""
    properties = draw(st.dictionaries(NAMES, inner, max_size=4))
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = draw(st.sets(st.sampled_from([*properties, "a"]), max_size=2))
    if required:
        schema["required"] = sorted(required)
    rest = draw(st.sampled_from([None, False, False, True, {"type": "integer"}]))
    if rest is not None:
        schema["additionalProperties"] = rest
    if draw(st.integers(0, 5)) == 0:
        schema["maxProperties"] = draw(st.integers(0, 3))
    if draw(st.integers(0, 5)) == 0:
        schema["patternProperties"] = {"^b": draw(inner)}
    if draw(st.integers(0, 5)) == 0:
        schema["dependentRequired"] = {"a": ["b"]}
    return schema


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda one: {"type": "array", "items": one}, inner),
        st.builds(lambda one: {"type": "array", "items": one, "uniqueItems": True}, inner),
        st.builds(lambda some: {"type": "array", "prefixItems": some, "items": False}, several),
        objects_of(inner),
        st.builds(lambda some: {"anyOf": some}, several),
        st.builds(lambda some: {"oneOf": some}, several),
        st.builds(lambda some: {"allOf": some}, several),
        st.builds(lambda one: {"not": one}, inner),
        st.builds(lambda one, then: {"if": one, "then": then}, inner, inner),
    )


SCHEMAS = st.recursive(SCALAR_SCHEMAS, _containers, max_leaves=6)

DEFINITIONS: dict[str, Any] = {
    "text": {"type": "string", "maxLength": 3},
    "tree": {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/tree"},
            "b": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
            "c": {"type": "integer", "default": 1},
        },
        "additionalProperties": False,
    },
}

PARAMETERS = objects_of(SCHEMAS).map(lambda schema: {**schema, "$defs": DEFINITIONS})
"""Parameters of a tool."""

_OF_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "integer": st.one_of(st.integers(-3, 5), st.sampled_from(["3", 2.0])),
    "number": NUMBERS,
    "boolean": st.sampled_from([True, False, "true", "False"]),
    "null": st.sampled_from([None, "null"]),
}


@st.composite
def near(draw: st.DrawFn, schema: Any, depth: int = 0) -> Any:
    """A value that is meant for a schema: mostly it fits, or could be repaired to."""
    if not isinstance(schema, dict) or depth > 3 or draw(st.integers(0, 11)) == 0:
        return draw(ANYTHING)
    if "$ref" in schema:
        return draw(near(DEFINITIONS[schema["$ref"].rpartition("/")[2]], depth + 1))
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in schema:
            return draw(near(draw(st.sampled_from(schema[keyword])), depth + 1))
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties", {})
        left_out = draw(st.sets(st.sampled_from([*properties, "a"]), max_size=1))
        kept = [name for name in properties if name not in left_out]
        return {name: draw(near(properties[name], depth + 1)) for name in kept}
    if kind == "array":
        parts = schema.get("prefixItems") or [schema["items"]] * draw(st.integers(0, 3))
        return [draw(near(one, depth + 1)) for one in parts]
    if isinstance(kind, list):
        kind = draw(st.sampled_from(kind))
    return draw(_OF_TYPE.get(kind, ANYTHING))
