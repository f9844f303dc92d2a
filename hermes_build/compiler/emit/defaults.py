"""Which defaults a schema's own words accept: the ones that the runtime fills in.

The runtime fills a missing property only with a default that validates against that property's own
schema. Real specs break this often (``null`` on a property that forbids it), so the types that a
handler sees must follow the same rule, or they would promise a value that never comes.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs

_URI = "urn:hermes-build:root"
_PLAIN = frozenset({"type", "default", "description", "title", "examples", "deprecated"})
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


class Defaults:
    """Judges the defaults of one schema, whose references lead into ``root``."""

    __slots__ = ("_registry", "_root")

    def __init__(self, root: Any) -> None:
        self._root = root
        self._registry: jsonschema_rs.Registry | None = None

    def fits(self, schema: dict[str, Any]) -> bool:
        """Whether the default of ``schema``, which must have one, is valid against it."""
        value = schema["default"]
        kind = schema.get("type")
        if isinstance(kind, str) and kind in _TYPES:
            is_kind = isinstance(value, _TYPES[kind]) and (
                kind == "boolean" or not isinstance(value, bool)
            )
            if is_kind and schema.keys() <= _PLAIN:
                return True
            if not is_kind and not isinstance(value, float):
                return False
        return self._validate(schema, value)

    def _validate(self, schema: dict[str, Any], value: Any) -> bool:
        placed = _placed({name: one for name, one in schema.items() if name != "default"})
        try:
            if self._registry is None:
                self._registry = jsonschema_rs.Registry([(_URI, self._root)])
            judge = jsonschema_rs.Draft202012Validator(placed, registry=self._registry)
            return judge.is_valid(value)
        except (ValueError, jsonschema_rs.ReferencingError):
            # A schema that cannot be compiled accepts nothing that could be relied on.
            return False


def _placed(schema: Any) -> Any:
    """Return ``schema`` with its local references made absolute, as it now stands alone."""
    if isinstance(schema, list):
        return [_placed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _URI + one
        if name == "$ref" and isinstance(one, str) and one.startswith("#")
        else one
        if name in ("enum", "const", "default", "examples")
        else _placed(one)
        for name, one in schema.items()
    }
