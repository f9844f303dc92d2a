"""Why a value is no JSON that can be sent, or JSON is no schema, in words."""

from __future__ import annotations

from math import isfinite
from typing import Any

_MOST_LEVELS = 100
"""Levels of nesting: what reads it later walks it natively."""


def not_json(value: Any) -> str:
    """Why a value cannot be JSON that a model gets, in words; empty where it can."""
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > _MOST_LEVELS:
            return f"it is nested more than {_MOST_LEVELS} levels deep, or holds itself"
        if isinstance(one, dict):
            wrong = next((key for key in one if not isinstance(key, str)), None)
            if wrong is not None or None in one:
                return f"the key {wrong!r} is not text"
            waiting += [(part, depth + 1) for pair in one.items() for part in pair]
        elif isinstance(one, list | tuple):
            waiting += [(part, depth + 1) for part in one]
        elif isinstance(one, str):
            try:
                one.encode()
            except UnicodeEncodeError:
                return "it holds half a surrogate pair, which no text can be sent with"
        elif isinstance(one, float) and not isfinite(one):
            return f"it holds {one}, which JSON has no number for"
        elif not (one is None or isinstance(one, bool | int | float)):
            return f"it holds a value of type {type(one).__name__}"
    return ""


def not_a_schema(schema: dict[str, Any] | bool) -> str:
    """Why JSON is no JSON Schema 2020-12 that stands alone, in words; empty where it is one."""
    from jsonschema_rs import Draft202012Validator, ValidationError

    try:
        Draft202012Validator(schema, offline=True)
    except ValidationError as error:
        place = "".join(f"/{one}" for one in error.instance_path)
        return f"{error.message}{f' (at {place})' if place else ''}".rstrip(".")
    except ValueError as error:
        return " ".join(str(error).split()).rstrip(".")
    return ""
