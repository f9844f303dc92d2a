"""Sentences for what was refused: the one home of `jsonschema`, imported on a refusal alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermes_build.compiler.keywords import Pointer
from hermes_build.ir import Schema

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_LONGEST = 120
"""How many characters a sentence may have: some quote a whole value or a whole schema."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a value was refused: ``pointer`` leads into the value, ``keyword`` refused it there."""

    sentence: str
    pointer: Pointer
    keyword: str
    value: Any


def metaschema_reasons(schema: Schema) -> list[Reason]:
    """Return everything in a schema that its dialect's metaschema refuses, one reason a place."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for

    judge = validator_for(schema, default=Draft202012Validator)
    found: dict[Pointer, Reason] = {}
    for error in judge(judge.META_SCHEMA).iter_errors(schema):
        reason = _reason(best_match([error]))
        found.setdefault(reason.pointer, reason)
    return [
        one
        for one in found.values()
        if not any(one.pointer[:size] in found for size in range(len(one.pointer)))
    ]


def value_reason(root: Schema, ref: str, value: Any, otherwise: str) -> Reason:
    """Say why ``value`` does not fit the schema at ``ref`` inside ``root``.

    ``otherwise`` is the sentence of the engine that refused it. It stands where the explaining
    engine cannot follow: Python's regular expressions are not ECMA-262's.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012, specification_with

    dialect = root.get("$schema", "") if isinstance(root, dict) else ""
    specification = specification_with(dialect.rstrip("#"), default=DRAFT202012)
    registry = Registry().with_resource("hb:schema", specification.create_resource(root))
    judge = validator_for(root, default=Draft202012Validator)
    try:
        error = best_match(judge({"$ref": f"hb:schema{ref}"}, registry=registry).iter_errors(value))
    except Exception:
        # The verdict stands; this is foreign code that looks for a better sentence, and patterns
        # that Python cannot compile are only one way in which it fails.
        error = None
    if error is None:
        return Reason(otherwise, (), "", value)
    return _reason(error)


def _reason(error: ValidationError) -> Reason:
    keyword = str(error.validator)
    return Reason(_sentence(error, keyword), tuple(error.absolute_path), keyword, error.instance)


def _sentence(error: ValidationError, keyword: str) -> str:
    """The engine's sentence, but with values as JSON and YAML write them, and of bounded length."""
    value = json.dumps(error.instance, ensure_ascii=False)
    if len(value) > _LONGEST // 2:
        value = "the value"
    expected: Any = error.validator_value
    if keyword == "type":
        kinds = [expected] if isinstance(expected, str) else expected
        return f"{value} is not of type {' or '.join(map(str, kinds))}"
    if keyword == "enum":
        return f"{value} is not a member of the enum"
    if keyword == "const":
        return f"{value} is not the constant"
    if len(error.message) <= _LONGEST:
        return error.message
    if keyword in ("anyOf", "oneOf"):
        return f"{value} fits none of the allowed forms"
    return f"{value} is refused by `{keyword}`"
