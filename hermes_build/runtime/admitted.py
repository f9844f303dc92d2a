"""Which kinds of value a schema admits at all, and which schemas speak of what is inside a value.

Both are bounds from above: a kind that is not admitted surely does not fit, and one that is may
still be refused by a limit, a pattern or a name that is required.
"""

from __future__ import annotations

from hermes_build.runtime.pointers import escape, lookup, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

    Nodes: TypeAlias = list[tuple[str, dict[str, Any]]]

EVERY_KIND = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})

_MOST_BRANCHES = 1_000
"""Branches of unions that are looked into, those within branches included."""

_DEPTH = 20
"""Unions within unions that are looked into."""


class Kinds:
    """The kinds that are admitted; ``number`` stands for what has a fraction.

    ``texts`` are the only texts that are admitted, where an ``enum`` or a ``const`` lists them all;
    None where they are not listed.
    """

    __slots__ = ("names", "texts")

    def __init__(
        self, names: frozenset[str] = EVERY_KIND, texts: frozenset[str] | None = None
    ) -> None:
        self.names = names
        self.texts = texts

    def admit(self, kind: str, value: Any) -> bool:
        """Whether a value of a kind may fit."""
        if kind not in self.names:
            return kind == "number" and value.is_integer() and "integer" in self.names
        return kind != "string" or self.texts is None or value in self.texts

    def __and__(self, other: Kinds) -> Kinds:
        names = self.names & other.names
        if self.texts is None or other.texts is None:
            return Kinds(names, self.texts if other.texts is None else other.texts)
        return Kinds(names, self.texts & other.texts)

    def __or__(self, other: Kinds) -> Kinds:
        names = self.names | other.names
        texts: frozenset[str] = frozenset()
        for one in (self, other):
            if "string" in one.names:
                if one.texts is None:
                    return Kinds(names)
                texts |= one.texts
        return Kinds(names, texts)


_ANY = Kinds()
_NONE = Kinds(frozenset(), frozenset())


def kind_of(value: Any) -> str | None:
    """The kind of a JSON value; None for what is none."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list | tuple):
        return "array"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "number" if isinstance(value, float) else None


class Place:
    """One subschema, with all that applies together with it: see `resolve`.

    ``unions`` are the pointers of the branches of each ``anyOf`` and ``oneOf``, and whether one
    alone may fit. ``cost`` is how many subschemas were looked at.
    """

    __slots__ = (
        "_elements",
        "_fixed",
        "_known",
        "_matches",
        "_nodes",
        "_others",
        "cost",
        "kinds",
        "pointer",
        "unions",
    )

    def __init__(self, root: Any, pointer: str, matches: Callable[[str, str], bool]) -> None:
        schema = lookup(root, pointer)
        self.pointer = pointer
        self._matches = matches
        self._nodes: Nodes = [] if schema is False else resolve(root, pointer, schema)
        look = _Look(root)
        self.kinds = look.at(pointer, schema, ())
        self.cost = 1 + len(self._nodes) + look.branches
        self.unions = [
            (tuple(f"{place}/{keyword}/{index}" for index in range(len(branches))), single)
            for place, node in self._nodes
            for keyword, single in (("anyOf", False), ("oneOf", True))
            if isinstance(branches := node.get(keyword), list)
        ]
        self._known: dict[str, tuple[str, ...]] = {}
        self._elements = [
            (place, len(prefix) if isinstance(prefix, list) else 0, "items" in node)
            for place, node in self._nodes
            for prefix in (node.get("prefixItems"),)
            if isinstance(prefix, list) or "items" in node
        ]
        # Elements from here on are all spoken of alike.
        self._fixed = max((first for _, first, _ in self._elements), default=0)
        self._others = tuple(f"{place}/items" for place, _, others in self._elements if others)

    def of_property(self, name: str) -> tuple[str, ...]:
        """The pointers of the subschemas that speak of a property."""
        found = self._known.get(name)
        if found is None:
            found = tuple(self._speaking_of(name))
            # Names that no schema declares are the caller's, and without end.
            if any(name in _map(node, "properties") for _, node in self._nodes):
                self._known[name] = found
        return found

    def of_element(self, index: int) -> tuple[str, ...]:
        """The pointers of the subschemas that speak of an element of a list."""
        if index >= self._fixed:
            return self._others
        return tuple(
            f"{place}/prefixItems/{index}" if index < first else f"{place}/items"
            for place, first, has_others in self._elements
            if index < first or has_others
        )

    @property
    def speaks_of_elements(self) -> bool:
        """Whether anything is said of the elements of a list."""
        return bool(self._elements)

    def _speaking_of(self, name: str) -> Iterator[str]:
        for place, node in self._nodes:
            declared = name in _map(node, "properties")
            if declared:
                yield f"{place}/properties/{escape(name)}"
            for pattern in _map(node, "patternProperties"):
                if self._matches(pattern, name):
                    declared = True
                    yield f"{place}/patternProperties/{escape(pattern)}"
            if not declared and isinstance(node.get("additionalProperties"), dict):
                yield f"{place}/additionalProperties"


def _map(node: dict[str, Any], keyword: str) -> dict[str, Any]:
    found = node.get(keyword)
    return found if isinstance(found, dict) else {}


class _Look:
    """Finds the kinds that a schema admits; ``branches`` counts what it looked into."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.branches = 0

    def at(self, pointer: str, schema: Any, above: tuple[str, ...]) -> Kinds:
        if schema is False:
            return _NONE
        kinds = _ANY
        for place, node in resolve(self.root, pointer, schema):
            if place in above:
                continue
            kinds &= _of_keywords(node)
            for keyword in ("anyOf", "oneOf"):
                branches = node.get(keyword)
                if isinstance(branches, list):
                    kinds &= self._union(f"{place}/{keyword}", branches, (*above, place))
        return kinds

    def _union(self, place: str, branches: list[Any], above: tuple[str, ...]) -> Kinds:
        self.branches += len(branches)
        if self.branches > _MOST_BRANCHES or len(above) > _DEPTH:
            return _ANY
        kinds = _NONE
        for index, one in enumerate(branches):
            kinds |= self.at(f"{place}/{index}", one, above)
        return kinds


def _of_keywords(node: dict[str, Any]) -> Kinds:
    kinds = _ANY
    named = node.get("type")
    if named is not None:
        names = set([named] if isinstance(named, str) else named)
        if "number" in names:
            names.add("integer")
        kinds = Kinds(frozenset(names))
    members = node["enum"] if "enum" in node else [node["const"]] if "const" in node else None
    if isinstance(members, list):
        found = {kind for one in members if (kind := kind_of(one))}
        if any(isinstance(one, float) and one.is_integer() for one in members):
            found.add("integer")
        texts = frozenset(one for one in members if isinstance(one, str))
        kinds &= Kinds(frozenset(found), texts)
    return kinds
