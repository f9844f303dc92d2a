"""Repairing arguments that do not fit: what a model most likely meant, where one thing fits.

A value and its schema are walked together, through ``properties``, ``patternProperties``,
``additionalProperties``, ``items``, ``prefixItems``, ``allOf``, local ``$ref``, ``anyOf`` and
``oneOf``. A value whose kind is not admitted where it stands is replaced by the first of these that
there is, and, where there are several, that fits there:

1. null, for the text ``null``;
2. true or false, for that text in any case;
3. the number that a text spells in JSON's grammar, exactly;
4. the list or the object that a text holds as JSON;
5. where a list is wanted, and not the object that is there: ``X`` for ``{"item": X}``, if that is a
   list, and otherwise a list of it;
6. a list with the value as its only element, unless it is null, the text ``null``, empty text, or
   text that begins as a list does. It comes before (5) where the elements have a property ``item``
   of their own.

What was put in is repaired within by the same rules. Text stays text wherever text is admitted,
other than by an ``enum`` or ``const`` that does not list it. In a union that a list or an object
does not fit, the first branch that it can be made to fit is taken, in the schema's order. Whether a
repair was of use is the whole schema's to say, afterwards.

What fits its subschema is never changed, so that only failing places are. Work is bounded: what is
too large or too deep is left as it is.
"""

from __future__ import annotations

from hermes_build.runtime.admitted import kind_of
from hermes_build.runtime.coercion import (
    MOST_TEXT,
    as_boolean,
    as_container,
    as_number,
    is_collapsed,
    is_listlike,
)
from hermes_build.runtime.subschemas import Subschemas

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from hermes_build.runtime.admitted import Place

_MOST_STEPS = 100_000
"""Looks at a pair of a schema and a value in one call's repair: some tenths of a second."""

_MOST_DEPTH = 100
"""Levels of values and of unions in them."""


class Repairer:
    """Repairs the arguments of one tool; what it learns of the schema is kept.

    Args:
        schema: the tool's parameters.
    """

    __slots__ = ("_parts",)

    def __init__(self, schema: dict[str, Any]) -> None:
        self._parts = Subschemas(schema)

    def repair(
        self, value: dict[str, Any], names: Container[str | int] | None = None
    ) -> dict[str, Any]:
        """Arguments with every repair that can be made; the very object where there is none.

        What was sent is never changed, and shared where nothing was to be repaired.

        Args:
            value: arguments that do not fit.
            names: the properties that something is wrong in, where they are known.
        """
        try:
            repaired: dict[str, Any] = _Attempt(self._parts, names).at("", value, 0)
        except (_GaveUp, RecursionError):  # a caller may leave little of the stack
            return value
        return repaired


class _GaveUp(Exception):
    """There is more to look at than anybody would wait for."""


class _Attempt:
    """The repair of one call's arguments."""

    def __init__(self, parts: Subschemas, names: Container[str | int] | None) -> None:
        self._parts = parts
        self._names = names
        self._left = _MOST_STEPS
        self._places: dict[str, Place] = {}
        self._compiled: set[str] = set()
        # The value stands beside its repair so that its `id` is no other's meanwhile.
        self._known: dict[tuple[str, int], tuple[Any, Any]] = {}

    def at(
        self, pointer: str, value: Any, depth: int, wrapped: frozenset[str] = frozenset()
    ) -> Any:
        """A value, repaired by the subschema at a pointer; ``wrapped`` ends lists within lists."""
        if depth > _MOST_DEPTH:
            return value
        place = self._place(pointer)
        kind = kind_of(value)
        if kind is None:
            return value
        if place.kinds.admit(kind, value):
            if kind not in ("array", "object"):
                return value
            return self._within(place, value, depth, wrapped)
        readings = self._readings(place, kind, value, depth, wrapped)
        if len(readings) == 1:
            return readings[0]
        for one in readings:
            if self._fits(pointer, one):
                return one
        return value

    def _place(self, pointer: str) -> Place:
        place = self._places.get(pointer)
        cost = 1
        if place is None:
            place = self._places[pointer] = self._parts.place(pointer)
            cost = place.cost
        self._spend(cost)
        return place

    def _readings(
        self, place: Place, kind: str, value: Any, depth: int, wrapped: frozenset[str]
    ) -> list[Any]:
        """What a value of a kind that is not admitted may be read as, repaired within."""
        wanted = place.kinds.names
        readings = []
        if kind == "string":
            for reading in self._readings_of_text(wanted, value):
                inner = isinstance(reading, list | dict)
                readings.append(self._within(place, reading, depth + 1) if inner else reading)
        if "array" not in wanted or kind in ("null", "array") or place.pointer in wrapped:
            return readings
        wrapped |= {place.pointer}
        own = False
        if is_collapsed(value):
            own = self._elements_have_item(place, set())
            if not own:
                readings.append(self._uncollapsed(place, value, depth))
        if kind != "string" or not (value in ("", "null") or is_listlike(value)):
            readings.append(self._within(place, [value], depth + 1, wrapped))
        if own:
            readings.append(self._uncollapsed(place, value, depth))
        return readings

    def _readings_of_text(self, wanted: frozenset[str], text: str) -> list[Any]:
        readings: list[Any] = []
        if "null" in wanted and text == "null":
            readings.append(None)
        if "boolean" in wanted and (truth := as_boolean(text)) is not None:
            readings.append(truth)
        if "integer" in wanted or "number" in wanted:
            number = as_number(text, whole="number" not in wanted)
            if number is not None:
                readings.append(number)
        if "array" in wanted or "object" in wanted:
            self._spend(min(len(text), MOST_TEXT) // 1_000)
            container = as_container(text)
            if container is not None and kind_of(container) in wanted:
                readings.append(container)
        return readings

    def _uncollapsed(self, place: Place, value: dict[str, Any], depth: int) -> Any:
        inner = value["item"]
        return self._within(place, inner if isinstance(inner, list) else [inner], depth + 1)

    def _elements_have_item(self, place: Place, seen: set[str]) -> bool:
        """Whether objects in a list here have a property of the very name of the wrapper."""
        if place.pointer in seen:
            return False
        seen.add(place.pointer)
        for pointer in place.of_element(0):
            if self._has_item(pointer, set()):
                return True
        branches = (one for union, _ in place.unions for one in union)
        return any(self._elements_have_item(self._place(one), seen) for one in branches)

    def _has_item(self, pointer: str, seen: set[str]) -> bool:
        if pointer in seen:
            return False
        seen.add(pointer)
        place = self._place(pointer)
        if any(one.endswith("/properties/item") for one in place.of_property("item")):
            return True
        return any(self._has_item(one, seen) for union, _ in place.unions for one in union)

    def _within(
        self, place: Place, value: Any, depth: int, wrapped: frozenset[str] = frozenset()
    ) -> Any:
        """A list or an object of a kind that is admitted, repaired inside."""
        key = (place.pointer, id(value))
        if key in self._known:
            return self._known[key][1]
        self._known[key] = (value, value)  # for a union that holds itself
        repaired = (
            self._object(place, value, depth)
            if isinstance(value, dict)
            else self._list(place, value, depth, wrapped)
        )
        for branches, single in place.unions:
            repaired = self._united(branches, single, repaired, depth, wrapped)
        self._known[key] = (value, repaired)
        return repaired

    def _object(self, place: Place, value: dict[str, Any], depth: int) -> dict[str, Any]:
        repaired = value
        names = None if depth else self._names
        for name, old in value.items():
            if names is not None and name not in names:
                continue
            new = old
            for pointer in place.of_property(name):
                new = self.at(pointer, new, depth + 1)
            if new is not old:
                if repaired is value:
                    repaired = dict(value)
                repaired[name] = new
        return repaired

    def _list(self, place: Place, value: Any, depth: int, wrapped: frozenset[str]) -> Any:
        if not place.speaks_of_elements:
            return value
        repaired = value
        for index, old in enumerate(value):
            new = old
            for pointer in place.of_element(index):
                new = self.at(pointer, new, depth + 1, wrapped)
            if new is not old:
                if repaired is value:
                    repaired = list(value)
                repaired[index] = new
        return repaired

    def _united(
        self,
        branches: tuple[str, ...],
        single: bool,
        value: Any,
        depth: int,
        wrapped: frozenset[str],
    ) -> Any:
        """A list or an object, made to fit the first branch of a union that it can."""
        kind = str(kind_of(value))
        meant = [one for one in branches if self._place(one).kinds.admit(kind, value)]
        wanted = meant
        if kind == "object":
            wanted = [
                one
                for one in branches
                if one in meant or "array" in self._parts.place(one).kinds.names
            ]
        if len(wanted) == 1 and wanted == meant:  # what fits the union fits this branch already
            return self.at(wanted[0], value, depth + 1, wrapped)
        if any(self._fits(one, value) for one in meant):
            return value
        for one in wanted:
            new = self.at(one, value, depth + 1, wrapped)
            if new is value or not self._fits(one, new):
                continue
            if not single or not any(self._fits(other, new) for other in branches if other != one):
                return new
        return value

    def _fits(self, pointer: str, value: Any) -> bool:
        if pointer not in self._compiled:
            self._compiled.add(pointer)
            self._spend(self._parts.weight(pointer))
        self._spend(1 + _size(value) // 5)
        return self._parts.fits(pointer, value)

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _GaveUp


def _size(value: Any) -> int:
    """How many values there are in one; a long text counts as several."""
    waiting, count = [value], 0
    while waiting:
        node = waiting.pop()
        count += 1
        if isinstance(node, dict):
            waiting += node.values()
        elif isinstance(node, list | tuple):
            waiting += node
        elif isinstance(node, str):
            count += len(node) // 100
    return count
