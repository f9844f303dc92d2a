"""Telling in one quick look that arguments can be handed on as they came.

A schema of our own, stricter than the tool's, says so: what fits it lacks no default, holds no lone
surrogate, no float where an int is due, and nothing that is no number of JSON.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hermes_build.runtime.defaults import Plan

_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})

_FOURTH = "http://json-schema.org/draft-04/schema#"
"""In the fourth draft, 1.0 was no integer yet: the one cheap way to tell it from 1."""

_NO_FLOATS = ["array", "boolean", "integer", "null", "object", "string"]
_NOT_NULL = {"not": {"type": "null"}}


class Strict:
    """The quick looks at one tool's arguments.

    ``fits`` is sure, and refuses null, which NaN looks like to the validator.
    ``fits_but_for_nan`` admits it, and is sure where no property of ``nullable`` is a float.
    """

    __slots__ = ("fits", "fits_but_for_nan", "nullable")

    def __init__(self, schema: dict[str, Any], nullable: tuple[str, ...]) -> None:
        self.nullable = nullable
        self.fits_but_for_nan = self.fits = _compiled(schema)
        if nullable:
            properties = {name: _with(schema["properties"][name], _NOT_NULL) for name in nullable}
            properties = {**schema["properties"], **properties}
            self.fits = _compiled({**schema, "properties": properties})


def make_strict(
    schema: dict[str, Any], defaults: dict[str, Any], whole: Plan | None
) -> Strict | None:
    """The quick looks for a schema; None where they cannot tell, since values may be nested.

    Args:
        schema: the tool's parameters.
        defaults: what could be filled in at the root, and so is demanded.
        whole: the plan that makes whole numbers int, if it would.
    """
    if schema.get("additionalProperties") is not False or "patternProperties" in schema:
        return None
    properties = {}
    nullable = []
    for name, part in schema.get("properties", {}).items():
        if not isinstance(part, dict):
            return None
        if "enum" in part or "const" in part:
            members = part.get("enum", [part.get("const")])
            if any(isinstance(one, dict | list) for one in members):
                return None
            may_be_null = None in members
        else:
            kinds = part.get("type", ["object"])
            kinds = [kinds] if isinstance(kinds, str) else kinds
            if not _SCALARS.issuperset(kinds):
                return None
            if "string" in kinds and "pattern" not in part:
                # Matching an empty pattern makes the validator refuse a lone surrogate.
                part = {**part, "pattern": ""}
            may_be_null = "null" in kinds
        inner = whole.properties.get(name) if whole else None
        properties[name] = _without_floats(part) if inner and inner.whole else part
        if may_be_null:
            nullable.append(name)
    required = [*schema.get("required", ()), *defaults]
    strict = {"type": "object", **schema, "properties": properties}
    if required:
        strict["required"] = list(dict.fromkeys(required))
    return Strict(strict, tuple(nullable))


def _without_floats(part: dict[str, Any]) -> dict[str, Any]:
    kinds = part.get("type", "number")
    if "number" in kinds:  # an enum says that there are integers alone
        return _with(part, {"$schema": _FOURTH, "type": _NO_FLOATS})
    # One look at the type, not two: this is in every call.
    part = {key: value for key, value in part.items() if key != "type"}
    return _with(part, {"$schema": _FOURTH, "type": kinds})


def _with(part: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return {**part, "allOf": [*part.get("allOf", ()), more]}


def _compiled(schema: dict[str, Any]) -> Callable[[Any], bool]:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(schema, offline=True).is_valid
