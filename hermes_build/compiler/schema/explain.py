"""What is wrong with a schema, by its metaschema: the one home of `jsonschema`.

It is imported on a refusal alone. The metaschema is fixed, so nothing in a spec can slow it down.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hermes_build.compiler.schema.judge import Reason
from hermes_build.ir import Schema
from hermes_build.keywords import Pointer

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


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


def _reason(error: ValidationError) -> Reason:
    keyword = str(error.validator)
    return Reason(_sentence(error, keyword), tuple(error.absolute_path), keyword, error.instance)


def _sentence(error: ValidationError, keyword: str) -> str:
    """The engine's sentence, but with values as JSON and YAML write them, and of bounded length."""
    value = json.dumps(error.instance, ensure_ascii=False)
    if len(value) > 60:
        value = "the value"
    expected: Any = error.validator_value
    if keyword == "type":
        kinds = [expected] if isinstance(expected, str) else expected
        return f"{value} is not of type {' or '.join(map(str, kinds))}"
    if keyword == "enum":
        return f"{value} is not one of {', '.join(map(str, expected))}"
    return error.message if len(error.message) <= 120 else f"{value} is refused by `{keyword}`"
