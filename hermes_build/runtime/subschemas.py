"""The parts of one schema, each looked up or compiled when it is first asked for."""

from __future__ import annotations

from hermes_build.runtime.pointers import lookup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from hermes_build.runtime.admitted import Place

    Fits: TypeAlias = Callable[[Any], bool]

_ROOT = "urn:hermes-build:schema"


class Subschemas:
    """What is known of the parts of a schema, by their JSON pointers (``/properties/a``)."""

    __slots__ = ("_fits", "_make", "_patterns", "_places", "_root", "_weights")

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._make = subschema_maker(root)
        self._places: dict[str, Place] = {}
        self._fits: dict[str, Fits] = {}
        self._patterns: dict[str, Fits] = {}
        self._weights: dict[str, int] = {}

    def place(self, pointer: str) -> Place:
        """What the subschema at a pointer says of a value's kind, and of what is in it."""
        found = self._places.get(pointer)
        if found is None:
            from hermes_build.runtime.admitted import Place

            found = self._places[pointer] = Place(self._root, pointer, self._matches)
        return found

    def fits(self, pointer: str, value: Any) -> bool:
        """Whether a value fits the subschema at a pointer."""
        check = self._fits.get(pointer)
        if check is None:
            check = self._fits[pointer] = self._make(pointer)
        return check(value)

    def weight(self, pointer: str) -> int:
        """About how many subschemas are compiled for one; references may lead to all of them."""
        found = self._weights.get(pointer)
        if found is None:
            found, refers = _count(lookup(self._root, pointer))
            if refers and pointer:
                found = self.weight("")
            self._weights[pointer] = found
        return found

    def _matches(self, pattern: str, name: str) -> bool:
        # Patterns are ECMA's, which Python's are not: the validator knows.
        check = self._patterns.get(pattern)
        if check is None:
            from jsonschema_rs import Draft202012Validator

            check = Draft202012Validator({"pattern": pattern}, offline=True).is_valid
            self._patterns[pattern] = check
        return check(name)


def subschema_maker(root: dict[str, Any]) -> Callable[[str], Fits]:
    """A function that compiles the check of the subschema at a JSON pointer of ``root``."""
    from jsonschema_rs import Draft202012Validator, Registry

    registry: list[Registry] = []

    def make(pointer: str) -> Fits:
        from urllib.parse import quote

        try:
            if not registry:
                # A root that names itself would answer to its own name only.
                anonymous = {key: part for key, part in root.items() if key != "$id"}
                registry.append(Registry([(_ROOT, anonymous)]))
            reference = {"$ref": f"{_ROOT}#{quote(pointer)}"}
            return Draft202012Validator(reference, registry=registry[0], offline=True).is_valid
        except ValueError:  # the reference is not one that can be followed
            return _never

    return make


def subschema_check(root: dict[str, Any]) -> Callable[[str, Any], bool]:
    """A function that tells whether a value fits the subschema at a JSON pointer of ``root``."""
    make = subschema_maker(root)

    def fits(pointer: str, value: Any) -> bool:
        try:
            return make(pointer)(value)
        except ValueError:  # the value is not one that JSON Schema can judge
            return False

    return fits


def _never(_: object) -> bool:
    return False


def _count(schema: Any) -> tuple[int, bool]:
    """How many lists and objects a schema holds, and whether any of them is a reference."""
    waiting, count, refers = [schema], 0, False
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            count += 1
            refers = refers or "$ref" in node or "$dynamicRef" in node
            waiting += node.values()
        elif isinstance(node, list):
            count += 1
            waiting += node
    return count, refers
