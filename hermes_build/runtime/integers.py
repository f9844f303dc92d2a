"""Which schemas admit integers and no other numbers.

JSON has one kind of number, and to JSON Schema ``1.0`` is an integer; Python has two.
"""

from __future__ import annotations

from hermes_build.runtime.pointers import resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NONE, _WHOLE, _ANY = range(3)

_DEPTH = 4
"""Unions within unions that are looked into: their branches multiply."""


def admits_only_integers(root: Any, pointer: str, schema: Any) -> bool:
    """Whether every number that fits a subschema, which stands at a pointer, is an integer."""
    return _numbers(root, pointer, schema, ()) == _WHOLE


def _numbers(root: Any, pointer: str, schema: Any, above: tuple[str, ...]) -> int:
    """Which numbers a schema admits at most: none, whole ones alone, or any."""
    if schema is False:
        return _NONE
    level = _ANY
    for place, node in resolve(root, pointer, schema):
        if place in above or len(above) > _DEPTH:
            return _ANY
        kinds = node.get("type", "number")
        if "number" not in kinds:
            level = min(level, _WHOLE if "integer" in kinds else _NONE)
        members = node["enum"] if "enum" in node else [node["const"]] if "const" in node else None
        if isinstance(members, list):
            level = min(level, max(map(_number, members), default=_NONE))
        for keyword in ("anyOf", "oneOf"):
            branches = node.get(keyword)
            if isinstance(branches, list):
                levels = (
                    _numbers(root, f"{place}/{keyword}/{index}", one, (*above, place))
                    for index, one in enumerate(branches)
                )
                level = min(level, max(levels, default=_ANY))
    return level


def _number(member: Any) -> int:
    if isinstance(member, float):
        return _ANY
    return _WHOLE if isinstance(member, int) and not isinstance(member, bool) else _NONE


def exact(value: float) -> float | int:
    """The int that a float is equal to; the float itself where it has a fraction."""
    return int(value) if value.is_integer() else value
