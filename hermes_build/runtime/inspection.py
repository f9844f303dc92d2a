"""One walk through a call's arguments, before a validator sees them.

A validator recurses natively, takes NaN for null, and has no use for half a character; none of that
is left when the walk is over.
"""

from __future__ import annotations

from math import isfinite

from hermes_build.runtime.errors import Refusal
from hermes_build.runtime.problems import place
from hermes_build.runtime.result import utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_DEPTH = 200
"""Levels of nesting in arguments: schemas that hold themselves recurse natively with each level."""

_PLAIN = frozenset({int, bool, type(None)})


def _is_plain(value: dict[Any, Any]) -> bool:
    """Whether a look at an object finds nothing to do, and nothing within it to look at."""
    for key, one in value.items():
        if key.__class__ is not str or not key.isascii():
            return False
        if one.__class__ not in _PLAIN and (one.__class__ is not str or not one.isascii()):
            return False
    return True


class Look:
    """One walk through arguments: replaces lone surrogates, counts, notes what numbers there are.

    What needs no change is returned as the very object that it was.
    """

    __slots__ = ("saw_floats", "saw_no_number", "values")

    def __init__(self) -> None:
        self.values = 0
        self.saw_floats = False
        self.saw_no_number = False

    def at(self, value: Any, depth: int = 0) -> Any:
        """A value without lone surrogates.

        Raises:
            Refusal: when it is nested too deeply for a validator to survive.
        """
        if isinstance(value, str):
            return utf8(value)
        if value.__class__ is dict and _is_plain(value):
            self.values += len(value)
            return value
        if isinstance(value, float):
            self.saw_floats = True
            self.saw_no_number = self.saw_no_number or not isfinite(value)
            return value
        if not isinstance(value, dict | list | tuple):
            return value
        self.values += len(value)
        if depth > MAX_DEPTH:
            raise Refusal(
                f"Arguments are nested more than {MAX_DEPTH} levels deep.", "invalid_arguments"
            )
        if isinstance(value, dict):
            items = {self.at(k, depth): self.at(v, depth + 1) for k, v in value.items()}
            changed = any(
                new is not old or key is not before
                for (key, new), (before, old) in zip(items.items(), value.items(), strict=False)
            ) or len(items) != len(value)
            return items if changed else value
        elements = [self.at(one, depth + 1) for one in value]
        same = all(a is b for a, b in zip(elements, value, strict=True))
        return value if same else elements


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
