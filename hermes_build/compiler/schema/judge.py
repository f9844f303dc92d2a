"""Whether a value fits a schema, and the one reason that says most when it does not.

The engine that validates at run time decides here too and gives the reason itself: one that judges
by Python's regular expressions could contradict it, or never come back from a hostile pattern.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jsonschema_rs

from hermes_build.compiler.schema.refs import fragment
from hermes_build.ir import Schema
from hermes_build.keywords import Pointer

_LONGEST = 120
"""How many characters a sentence may have: some quote a whole value."""

_ROOT = "hb:schema"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a value was refused: ``pointer`` leads into the value, ``keyword`` refused it there."""

    sentence: str
    pointer: Pointer
    keyword: str
    value: Any


class Judge:
    """Validation by any schema inside one bundled schema; each is compiled when it is needed."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        # The members of an enum are many values of one schema.
        self._last: tuple[Pointer, jsonschema_rs.Draft202012Validator] | None = None

    @cached_property
    def _registry(self) -> jsonschema_rs.Registry:
        return jsonschema_rs.Registry([(_ROOT, self._schema)])

    def refusal(self, pointer: Pointer, value: Any) -> Reason | None:
        """Return why the schema at ``pointer`` refuses ``value``, or None when it fits."""
        judge = self._at(pointer)
        if judge.is_valid(value):
            return None
        return _reason(_best(judge.iter_errors(value)))

    def _at(self, pointer: Pointer) -> jsonschema_rs.Draft202012Validator:
        if self._last is None or self._last[0] != pointer:
            judge = jsonschema_rs.Draft202012Validator(
                {"$ref": _ROOT + fragment(pointer)}, registry=self._registry, offline=True
            )
            self._last = pointer, judge
        return self._last[1]


def _best(errors: Iterable[jsonschema_rs.ValidationError]) -> jsonschema_rs.ValidationError:
    """The error nearest to the whole value; of a union, what its one fitting branch says."""
    best = min(errors, key=_relevance)
    while True:
        branches: list[list[jsonschema_rs.ValidationError]] = getattr(best.kind, "context", [])
        meant = [one for one in branches if one and not any(map(_is_other_type, one))]
        if len(meant) != 1:
            return best
        best = min(meant[0], key=_relevance)


def _relevance(error: jsonschema_rs.ValidationError) -> tuple[int, bool, list[str], list[str]]:
    return (
        len(error.instance_path),
        error.kind.name in ("anyOf", "oneOf"),
        [str(one) for one in error.instance_path],
        [str(one) for one in error.schema_path],
    )


def _is_other_type(error: jsonschema_rs.ValidationError) -> bool:
    """Whether a branch of a union was not meant: its value is of another type altogether."""
    return error.kind.name == "type" and not error.instance_path


def _reason(error: jsonschema_rs.ValidationError) -> Reason:
    return Reason(_sentence(error), tuple(error.instance_path), error.kind.name, error.instance)


def _sentence(error: jsonschema_rs.ValidationError) -> str:
    value = json.dumps(error.instance, ensure_ascii=False)
    if len(value) > _LONGEST // 2:
        value = "the value"
    keyword = error.kind.name
    if keyword in ("anyOf", "oneOf"):
        several = "more than one" if "more than one" in error.message else "none"
        return f"{value} fits {several} of the forms in `{keyword}`"
    if keyword == "type":
        kinds = error.kind.value
        return f"{value} is not of type {' or '.join(map(str, kinds))}"
    if keyword == "falseSchema":
        return "no value is allowed here"
    return error.message if len(error.message) <= _LONGEST else f"{value} is refused by `{keyword}`"
