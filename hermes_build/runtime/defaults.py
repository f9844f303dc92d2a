"""Filling in the defaults of a schema.

A default is filled in where its parent object is present: through ``properties``, ``items``,
``prefixItems``, ``additionalProperties``, ``allOf`` and local ``$ref``. Branches of ``anyOf``,
``oneOf`` and ``if`` are never entered, since which of them was meant would be a guess. A default
that its own schema refuses is not filled in: a third of the defaults in published schemas are
``null`` on a property that forbids it.

In the same places, a number that was written ``1.0`` or ``1e3`` becomes an int where the schema
admits no other numbers: that is what the types of a handler promise, and the two are equal.
"""

from __future__ import annotations

from copy import deepcopy

from hermes_build.runtime.integers import admits_only_integers, exact
from hermes_build.runtime.pointers import escape, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CONTAINERS = (dict, list)
_CHANGEABLE = (dict, list, float)


class Plan:
    """What is to be done to one kind of value, worked out once a schema.

    ``whole`` says that a number here is an integer. ``defaults`` are the names and values of
    properties that may be missing; the others are the plans of what is inside. A plan may hold
    itself, as its schema may.
    """

    __slots__ = ("defaults", "elements", "positions", "properties", "rest", "whole")

    def __init__(self) -> None:
        self.whole = False
        self.defaults: dict[str, Any] = {}
        # A property without a plan is kept as None: `rest` is not for what has a name.
        self.properties: dict[str, Plan | None] = {}
        self.rest: Plan | None = None
        self.positions: tuple[Plan | None, ...] = ()
        self.elements: Plan | None = None

    @property
    def is_flat(self) -> bool:
        """Whether all that can be missing is immutable and at the root."""
        return not (
            self.properties
            or self.rest
            or self.positions
            or self.elements
            or any(isinstance(value, _CONTAINERS) for value in self.defaults.values())
        )

    def fill(self, value: Any) -> Any:
        """The value with all that is to be done; itself where nothing is, and never changed."""
        if self.whole and isinstance(value, float):
            return exact(value)
        if isinstance(value, dict):
            return self._fill_object(value)
        if isinstance(value, list) and (self.positions or self.elements):
            return self._fill_array(value)
        return value

    def _fill_object(self, value: dict[str, Any]) -> dict[str, Any]:
        filled = value
        if self.properties or self.rest:
            for key, old in value.items():
                plan = self.properties.get(key, self.rest)
                if plan is not None and isinstance(old, _CHANGEABLE):
                    new = plan.fill(old)
                    if new is not old:
                        if filled is value:
                            filled = dict(value)
                        filled[key] = new
        for key, default in self.defaults.items():
            if key not in value:
                if filled is value:
                    filled = dict(value)
                filled[key] = deepcopy(default) if isinstance(default, _CONTAINERS) else default
        return filled

    def _fill_array(self, value: list[Any]) -> list[Any]:
        fixed = len(self.positions)
        filled = []
        for index, old in enumerate(value):
            plan = self.positions[index] if index < fixed else self.elements
            filled.append(old if plan is None else plan.fill(old))
        changed = any(new is not old for new, old in zip(filled, value, strict=True))
        return filled if changed else value


def make_plan(schema: Any, fits: Callable[[str, Any], bool]) -> Plan | None:
    """The plan of a whole schema, or None where no default can be filled in.

    Args:
        schema: the root; local references point into it.
        fits: tells whether a value fits the subschema at a JSON pointer (``/properties/a``).
    """
    return _useful_plan(_Maker(schema, fits), schema)


def make_whole_plan(schema: Any) -> Plan | None:
    """The plan that makes whole numbers int, for values that fit; None where it never would.

    Apart from the plan of the defaults: only the rare call that holds a float needs it.
    """
    return _useful_plan(_Maker(schema, None), schema)


def _useful_plan(maker: _Maker, schema: Any) -> Plan | None:
    plan = maker.plan_of("", schema)
    return plan if plan in maker.useful() else None


class _Maker:
    """Walks a schema once; ``plans`` ends what would go in a circle.

    Without ``fits`` it looks for whole numbers, and with it for defaults.
    """

    def __init__(self, root: Any, fits: Callable[[str, Any], bool] | None) -> None:
        self.root = root
        self.fits = fits
        self.plans: dict[str, Plan] = {}

    def plan_of(self, pointer: str, schema: Any) -> Plan | None:
        if not isinstance(schema, dict):
            return None
        if pointer in self.plans:
            return self.plans[pointer]
        plan = self.plans[pointer] = Plan()
        plan.whole = self.fits is None and admits_only_integers(self.root, pointer, schema)
        for place, node in resolve(self.root, pointer, schema):
            self._read(plan, place, node)
        return plan

    def _read(self, plan: Plan, place: str, node: dict[str, Any]) -> None:
        properties = node.get("properties")
        for name, schema in properties.items() if isinstance(properties, dict) else ():
            inner = f"{place}/properties/{escape(name)}"
            child = self.plan_of(inner, schema)
            if plan.properties.get(name) is None:
                plan.properties[name] = child
            if self.fits is not None and name not in plan.defaults and isinstance(schema, dict):
                for where, part in resolve(self.root, inner, schema):
                    if "default" in part and self.fits(where, part["default"]):
                        plan.defaults[name] = self._exact(inner, schema, part["default"])
                        break
        if "patternProperties" not in node:  # telling whose a name is would need its patterns
            plan.rest = plan.rest or self._child(place, node, "additionalProperties")
        plan.elements = plan.elements or self._child(place, node, "items")
        prefix = node.get("prefixItems")
        if isinstance(prefix, list) and not plan.positions:
            plan.positions = tuple(
                self.plan_of(f"{place}/prefixItems/{index}", one)
                for index, one in enumerate(prefix)
            )

    def _exact(self, pointer: str, schema: Any, default: Any) -> Any:
        if isinstance(default, float) and admits_only_integers(self.root, pointer, schema):
            return exact(default)
        return default

    def _child(self, place: str, node: dict[str, Any], keyword: str) -> Plan | None:
        return self.plan_of(f"{place}/{keyword}", node[keyword]) if keyword in node else None

    def useful(self) -> set[Plan]:
        """The plans that can add something; the others are cut out of those that hold them."""
        useful = {plan for plan in self.plans.values() if plan.defaults or plan.whole}
        grown = True
        while grown:
            grown = False
            for plan in self.plans.values():
                if plan not in useful and any(one in useful for one in _inside(plan)):
                    useful.add(plan)
                    grown = True
        for plan in useful:
            plan.rest = plan.rest if plan.rest in useful else None
            plan.properties = {
                name: one if one in useful else None
                for name, one in plan.properties.items()
                if one in useful or plan.rest
            }
            plan.elements = plan.elements if plan.elements in useful else None
            positions = tuple(one if one in useful else None for one in plan.positions)
            # Positions also say where `items` begins, so they stay while `items` has a plan.
            plan.positions = positions if any(positions) or plan.elements else ()
        for plan in useful:
            self._complete(plan, ())
        return useful

    def _complete(self, plan: Plan, above: tuple[Plan, ...]) -> None:
        """Fill the defaults themselves: once filled in, they are parents that are present."""
        for name, default in plan.defaults.items():
            child = plan.properties.get(name)
            if child is not None and child not in above and isinstance(default, _CONTAINERS):
                self._complete(child, (*above, plan))
                plan.defaults[name] = child.fill(default)


def _inside(plan: Plan) -> list[Plan]:
    inner = [*plan.properties.values(), plan.rest, plan.elements, *plan.positions]
    return [one for one in inner if one is not None]
