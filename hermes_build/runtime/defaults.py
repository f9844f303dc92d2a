"""Filling in the defaults of a schema.

A default is filled in where its parent object is present: through ``properties``, ``items``,
``prefixItems``, ``additionalProperties``, ``allOf`` and local ``$ref``. Branches of ``anyOf``,
``oneOf`` and ``if`` are never entered, since which of them was meant would be a guess. A default
that its own schema refuses is not filled in: a third of the defaults in published schemas are
``null`` on a property that forbids it.
"""

from __future__ import annotations

from copy import deepcopy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_CONTAINERS = (dict, list)


class Plan:
    """What may be missing from one kind of object or array, worked out once a schema.

    ``defaults`` are the missing properties' names and values; the others are the plans of what is
    inside. A plan may hold itself, as its schema may.
    """

    __slots__ = ("defaults", "elements", "positions", "properties", "rest")

    def __init__(self) -> None:
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
        """The value with what is missing added; itself where nothing is, and never changed."""
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
                if plan is not None and isinstance(old, _CONTAINERS):
                    new = plan.fill(old)
                    if new is not old:
                        if filled is value:
                            filled = dict(value)
                        filled[key] = new
        for key, default in self.defaults.items():
            if key not in value:
                if filled is value:
                    filled = dict(value)
                filled[key] = deepcopy(default)
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
    maker = _Maker(schema, fits)
    plan = maker.plan_of("", schema)
    return plan if plan in maker.useful() else None


def lookup(root: Any, pointer: str) -> Any:
    """What stands at a JSON pointer (``/properties/a``; empty for the root), or None."""
    node = root
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(token)
        elif isinstance(node, list) and token.isdecimal() and int(token) < len(node):
            node = node[int(token)]
        else:
            return None
    return node


def resolve(root: Any, pointer: str, schema: Any) -> list[tuple[str, dict[str, Any]]]:
    """A subschema, what its ``$ref`` leads to and its ``allOf`` holds, each with its place.

    All of them apply to a value together, so that what any of them says holds.
    """
    found: dict[str, dict[str, Any]] = {}
    waiting = [(pointer, schema)]
    while waiting:
        place, node = waiting.pop(0)
        if place in found or not isinstance(node, dict):
            continue
        found[place] = node
        reference = node.get("$ref")
        if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
            target = _unquote(reference[1:])
            waiting.append((target, lookup(root, target)))
        branches = node.get("allOf")
        if isinstance(branches, list):
            waiting.extend((f"{place}/allOf/{index}", one) for index, one in enumerate(branches))
    return list(found.items())


class _Maker:
    """Walks a schema once; ``plans`` ends what would go in a circle."""

    def __init__(self, root: Any, fits: Callable[[str, Any], bool]) -> None:
        self.root = root
        self.fits = fits
        self.plans: dict[str, Plan] = {}

    def plan_of(self, pointer: str, schema: Any) -> Plan | None:
        if not isinstance(schema, dict):
            return None
        if pointer in self.plans:
            return self.plans[pointer]
        plan = self.plans[pointer] = Plan()
        for place, node in resolve(self.root, pointer, schema):
            self._read(plan, place, node)
        return plan

    def _read(self, plan: Plan, place: str, node: dict[str, Any]) -> None:
        properties = node.get("properties")
        for name, schema in properties.items() if isinstance(properties, dict) else ():
            inner = f"{place}/properties/{_escape(name)}"
            child = self.plan_of(inner, schema)
            if plan.properties.get(name) is None:
                plan.properties[name] = child
            if name not in plan.defaults and isinstance(schema, dict):
                for where, part in resolve(self.root, inner, schema):
                    if "default" in part and self.fits(where, part["default"]):
                        plan.defaults[name] = part["default"]
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

    def _child(self, place: str, node: dict[str, Any], keyword: str) -> Plan | None:
        return self.plan_of(f"{place}/{keyword}", node[keyword]) if keyword in node else None

    def useful(self) -> set[Plan]:
        """The plans that can add something; the others are cut out of those that hold them."""
        useful = {plan for plan in self.plans.values() if plan.defaults}
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


def _escape(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1")


def _unquote(fragment: str) -> str:
    """A reference's fragment as a JSON pointer: percent signs encode bytes there."""
    if "%" not in fragment:
        return fragment
    from urllib.parse import unquote

    return unquote(fragment)
