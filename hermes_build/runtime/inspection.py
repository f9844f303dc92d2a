"""One walk through a call's arguments, before a validator sees them.

A validator recurses natively, takes NaN for null, and has no use for half a character; none of that
is left when the walk is over.
"""

from __future__ import annotations

from math import isfinite
from operator import is_

from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.problems import place
from hermes_build.runtime.result import utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

MAX_DEPTH = 200
"""Levels of nesting in arguments: schemas that hold themselves recurse natively with each level."""

_PLAIN = frozenset({int, bool, type(None)})


def _is_plain(value: dict[Any, Any]) -> bool:
    """Whether a look at an object finds nothing to do, and nothing within it to look at."""
    for one in value.values():
        kind = one.__class__
        if kind is str:
            if not one.isascii():
                return False
        elif kind not in _PLAIN:
            return False
    try:
        return "".join(value).isascii()
    except TypeError:  # a key that is no text
        return False


class Look:
    """One walk through arguments: replaces lone surrogates, counts, notes what numbers there are.

    What needs no change is returned as the very object that it was.
    """

    values = 0
    saw_floats = False
    saw_no_number = False

    def at(self, value: Any, depth: int = 0) -> Any:
        """A value without lone surrogates.

        Raises:
            Refusal: when it is nested too deeply for a validator to survive.
        """
        if isinstance(value, str):
            return utf8(value)
        if isinstance(value, dict):
            if value.__class__ is dict and _is_plain(value):
                self.values += len(value)
                return value
            return self._object(value, depth)
        if isinstance(value, (list, tuple)):
            self._enter(value, depth)
            elements = [
                one if one.__class__ in _PLAIN else self.at(one, depth + 1) for one in value
            ]
            return value if all(map(is_, elements, value)) else elements
        if isinstance(value, float):
            self.saw_floats = True
            self.saw_no_number = self.saw_no_number or not isfinite(value)
        return value

    def _object(self, value: dict[Any, Any], depth: int) -> dict[Any, Any]:
        self._enter(value, depth)
        items = {
            key if key.__class__ is str and key.isascii() else self.at(key, depth): one
            if one.__class__ in _PLAIN or (one.__class__ is str and one.isascii())
            else self.at(one, depth + 1)
            for key, one in value.items()
        }
        if len(items) != len(value) or not all(map(is_, items, value)):
            return items
        return value if all(map(is_, items.values(), value.values())) else items

    def _enter(self, value: Collection[Any], depth: int) -> None:
        self.values += len(value)
        if depth > MAX_DEPTH:
            raise Refusal(
                f"Arguments are nested more than {MAX_DEPTH} levels deep.", "invalid_arguments"
            )


def no_numbers(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[str]:
    """What is NaN or infinite, which JSON has no number for, and where."""
    if isinstance(value, float) and not isfinite(value):
        yield f"{place(path)}: must be a number that JSON can hold, but is {value}"
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from no_numbers(one, (*path, key))
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            yield from no_numbers(one, (*path, index))
