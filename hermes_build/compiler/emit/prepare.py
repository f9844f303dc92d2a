"""From a JSON Schema to named, plain definitions that leave the generator nothing to choose.

The generator invents names for inline objects, gives a meaning to keywords outside JSON Schema, and
reads ``allOf`` and unions in several ways. Here every object with properties and every target of a
reference becomes a definition whose name follows from its path, conjunctions are merged, and only
keywords that shape a type are kept. A reference inside the result reads ``@ClassName``.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote

from hermes_build.compiler.emit.combine import (
    UNSURE,
    Impossible,
    Resolver,
    Unresolved,
    flatten,
    is_schema,
)
from hermes_build.compiler.emit.cycles import empty_cycle
from hermes_build.compiler.emit.defaults import Defaults, fills_safely, mentions_default
from hermes_build.compiler.emit.literals import default_value, is_plain_default, literal_type
from hermes_build.compiler.emit.naming import Kind, Names, mark_names, pascal

Node: TypeAlias = dict[str, Any]

MAX_DEPTH = 64
"""Levels of a schema; the deepest of 2,600 real ones has 11, and the generator fails near 255."""

MAX_CLASSES = 1_000
"""Classes and aliases of one side; a chain of so many takes the generator three seconds."""

MAX_NODES = 20_000
"""Parts of a schema; conjunctions with references in them can double at every level."""

_HOLDING_DEFAULTS = frozenset({"default", "$ref", "allOf"})
_LEAVES = frozenset({"string", "integer", "number", "boolean", "null"})
_SHAPING = frozenset({"$ref", "enum", "const", "allOf", "anyOf", "oneOf"})
_AMOUNT = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_LIMITS = {
    "array": ("minItems", "maxItems"),
    "integer": _AMOUNT,
    "number": _AMOUNT,
    "string": ("minLength", "maxLength"),
}
_STEPS = frozenset(
    {
        "$defs",
        "additionalProperties",
        "allOf",
        "anyOf",
        "definitions",
        "items",
        "oneOf",
        "patternProperties",
        "prefixItems",
        "properties",
    }
)


class CannotExpress(ValueError):
    """A schema that no Python type is made for; its text is the reason."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """One side of a tool: the class name of its root, and the definitions by class name."""

    root: str
    definitions: dict[str, Node]


def prepare(
    base: str, root: str, schema: Any, kind: Kind, names: Names, *, filled: bool
) -> Prepared:
    """Return the definitions of one side of a tool.

    ``base`` begins the names of inner classes; ``root`` is the name of the whole, which the caller
    has reserved in ``names``. ``filled`` says that a reader of the value finds defaults filled in.

    Raises:
        CannotExpress: when no type can be made of the schema.
    """
    taken = set(names.taken)
    try:
        preparation = _Preparation(base, root, schema, kind, names, filled)
        prepared = preparation.run()
        if preparation.clashes and preparation.filled:
            # One part's default breaks another part, so that the runtime may fill in none at all.
            names.taken = taken
            preparation = _Preparation(base, root, schema, kind, names, filled)
            preparation.filled = False
            prepared = preparation.run()
        return prepared
    except CannotExpress:
        raise
    except Impossible as impossible:
        raise CannotExpress(f"no value can fit: {impossible}") from None
    except Unresolved as unresolved:
        raise CannotExpress(str(unresolved)) from None
    except RecursionError:
        raise CannotExpress("nested too deep") from None
    except (TypeError, AttributeError, ValueError) as error:
        if is_schema(schema):
            raise
        raise CannotExpress(f"not valid JSON Schema: {error}") from None


@dataclass(frozen=True, slots=True)
class _Pending:
    name: str
    schema: Any
    depth: int
    filled: bool
    base: str


class _Preparation:
    def __init__(
        self, base: str, root: str, schema: Any, kind: Kind, names: Names, filled: bool
    ) -> None:
        self.base = base
        self.root = root
        self.schema = schema
        self.kind = kind
        self.pydantic = kind == "pydantic"
        self.names = names
        self.resolver = Resolver(schema)
        self.filled = (
            filled and mentions_default(schema) and fills_safely(schema, self.resolver.resolve)
        )
        self.is_result = not filled
        self.clashes = False
        self.defaults = Defaults(schema)
        self.definitions: dict[str, Node] = {}
        self.pending: deque[_Pending] = deque()
        self.by_ref: dict[tuple[str, bool], str] = {}
        self.inlined: list[str] = []
        self.outcomes: dict[tuple[str, bool], Node] = {}
        self.nodes = 0

    def run(self) -> Prepared:
        """Return the definitions, the root's first."""
        self.define(_Pending(self.root, self.schema, 0, self.filled, self.base))
        while self.pending:
            self.define(self.pending.popleft())
        mark_names(self.definitions, self.kind)
        if lost := empty_cycle(self.definitions):
            raise CannotExpress(f"{lost} refers to itself and never to a schema")
        return Prepared(self.root, self.definitions)

    def define(self, one: _Pending) -> None:
        plain = self.node(one.schema, one.base, one.depth, one.filled, top=one.name)
        if len(self.definitions) >= MAX_CLASSES:
            raise CannotExpress(f"more than {MAX_CLASSES:,} classes")
        described = isinstance(one.schema, dict)
        self.definitions[one.name] = self.described(plain, one.schema) if described else plain

    def node(
        self, schema: Any, path: str, depth: int, filled: bool, *, top: str | None = None
    ) -> Node:
        """Return the plain form of ``schema``; ``top`` is its definition's name if it has one."""
        if isinstance(schema, bool):
            return {}
        if not isinstance(schema, dict):
            raise CannotExpress(f"not a schema: {str(schema)[:60]!r}")
        self.take(1)
        if depth > MAX_DEPTH:
            raise CannotExpress(f"nested deeper than {MAX_DEPTH} levels")
        kind = schema.get("type")
        if schema.keys().isdisjoint(_SHAPING):
            if kind.__class__ is str and kind in _LEAVES:
                return {"type": kind}
            return self.shape(schema, path, depth, filled, top)
        try:
            choices = flatten(schema, self.resolver)
        except Impossible:
            if top == self.root:
                raise
            return {}  # No value ever comes here, so that any type is true of it.
        return self.choose(choices, path, depth, filled, top)

    def take(self, parts: int) -> None:
        """Count parts that the generator will have to write out."""
        self.nodes += parts
        if self.nodes > MAX_NODES:
            raise CannotExpress(f"more than {MAX_NODES:,} parts once references are merged")

    def choose(
        self, choices: list[Node], path: str, depth: int, filled: bool, top: str | None
    ) -> Node:
        """Return the union of ``choices``, each free of nested unions."""
        if len(choices) == 1:
            if top is None:
                return self.combined(choices[0], path, depth, filled)
            return self.shape(choices[0], path, depth, filled, top)
        if top is not None:
            path += "Option"
        # A union of constants, each with a description, is how many write an enum.
        members = [value for one in choices if "enum" in one for value in one["enum"]]
        union: dict[str, Node] = {}
        for choice in choices:
            if "enum" in choice:
                one, members = (literal_type(members) if members else None), []
            else:
                one = self.combined(choice, path, depth, filled)
            if one is None:
                continue
            if not one:
                return {}
            for part in one.get("anyOf", (one,)):
                union.setdefault(repr(part), part)
        parts = list(union.values())
        return parts[0] if len(parts) == 1 else {"anyOf": parts}

    def combined(self, choice: Node, path: str, depth: int, filled: bool) -> Node:
        """Return the plain form of what came out of a combination.

        Equal outcomes share one class, which also ends a recursion through ``allOf``.
        """
        key = (repr(choice), filled)
        if key not in self.outcomes:
            plain = self.shape(choice, path, depth, filled, None)
            if "$ref" in choice or "$ref" not in plain:
                return plain
            self.outcomes[key] = plain
        return dict(self.outcomes[key])

    def shape(self, schema: Node, path: str, depth: int, filled: bool, top: str | None) -> Node:
        """Return the plain form of a schema without conjunctions and unions."""
        filled = filled and UNSURE not in schema
        if "$ref" in schema:
            return self.reference(schema["$ref"], path, depth, filled, top)
        if "enum" in schema:
            return literal_type(schema["enum"])
        kinds = schema.get("type")
        if kinds is None:
            if not schema.keys().isdisjoint(
                ("properties", "additionalProperties", "patternProperties")
            ):
                kinds = "object"
            elif "items" in schema or "prefixItems" in schema:
                kinds = "array"
            else:
                return {}
        if isinstance(kinds, str):
            return self.single(kinds, schema, path, depth, filled, top)
        if not isinstance(kinds, list) or not all(isinstance(one, str) for one in kinds):
            raise CannotExpress(f"not a type: {kinds!r}")
        parts = [self.single(one, schema, path, depth, filled, None) for one in kinds]
        if {} in parts or not parts:
            return {}
        return parts[0] if len(parts) == 1 else {"anyOf": parts}

    def single(
        self, kind: str, schema: Node, path: str, depth: int, filled: bool, top: str | None
    ) -> Node:
        if kind in _LEAVES:
            return {"type": kind}
        if kind == "array":
            return self.array(schema, path, depth, filled)
        if kind != "object":
            raise CannotExpress(f"not a type: {kind!r}")
        if not schema.get("properties") and not self.keeps_class(schema, top):
            return self.mapping(schema, path, depth, filled)
        if top is not None:
            return self.object(schema, path, depth, filled)
        name = self.names.fresh(path)
        alone = schema if schema.get("type") == "object" else schema | {"type": "object"}
        self.pending.append(_Pending(name, alone, depth, filled, path))
        return {"$ref": "@" + name}

    def keeps_class(self, schema: Node, top: str | None) -> bool:
        """Whether an object without properties is a class: a root that says it takes nothing."""
        if top != self.root:
            return False
        return schema.get("additionalProperties") is False or (
            not self.is_result and "properties" in schema
        )

    def array(self, schema: Node, path: str, depth: int, filled: bool) -> Node:
        rest = schema.get("items", True)
        members = schema.get("prefixItems")
        if isinstance(rest, list):  # The spelling of JSON Schema up to 2019-09.
            members, rest = rest, schema.get("additionalItems", True)
        if not members:
            one = self.node(rest, path + "Item", depth + 1, filled) if rest is not True else {}
            return {"type": "array", "items": one} if one else {"type": "array"}
        # A JSON array arrives as a list, so a tuple type would be a lie: the members' union it is.
        branches = [*members, *([] if rest is False else [rest])]
        one = self.choose(self.each(branches), path + "Item", depth + 1, filled, None)
        return {"type": "array", "items": one} if one else {"type": "array"}

    def mapping(self, schema: Node, path: str, depth: int, filled: bool) -> Node:
        patterns = schema.get("patternProperties") or {}
        rest = schema.get("additionalProperties", True)
        branches = [*patterns.values(), *([] if rest is False else [rest])]
        value: Node = {}
        if branches:
            # The runtime fills no defaults behind a pattern.
            sure = filled and not patterns
            value = self.choose(self.each(branches), path + "Value", depth + 1, sure, None)
        return {"type": "object", "additionalProperties": value}

    def each(self, schemas: list[Any]) -> list[Node]:
        """Return the choices of all ``schemas`` together."""
        found: list[Node] = []
        for one in schemas:
            if one is not False:
                found.extend(flatten(one, self.resolver))
        return found or [{}]

    def object(self, schema: Node, path: str, depth: int, filled: bool) -> Node:
        declared = schema.get("properties") or {}
        self.take(len(declared))
        required = [
            name for name in schema.get("required") or () if declared.get(name) is not False
        ]
        rest = schema.get("additionalProperties", True)
        properties: Node = {}
        sure = set(required)
        for name, one in declared.items():
            if one is False:
                continue
            if isinstance(one, dict):
                kind = one.get("type")
                if kind.__class__ is str and kind in _LEAVES and one.keys().isdisjoint(_SHAPING):
                    plain = {"type": kind}  # Most properties are of this form.
                else:
                    plain = self.node(one, path + pascal(name), depth + 1, filled)
                self.described(plain, one)
                if (filled or self.pydantic) and not _HOLDING_DEFAULTS.isdisjoint(one):
                    self.fill(name, one, plain, sure)
            else:
                plain = self.node(one, path + pascal(name), depth + 1, filled)
            properties[name] = plain
        for name in required:
            if name not in properties:
                properties[name] = self.node(rest, path + pascal(name), depth + 1, filled)
        result: Node = {"type": "object", "properties": properties}
        if sure:
            result["required"] = [name for name in properties if name in sure]
        if self.pydantic and "additionalProperties" in schema:
            result["additionalProperties"] = rest is not False
        return result

    def fill(self, name: str, schema: Node, plain: Node, sure: set[str]) -> None:
        """Take the default of a property into account: its own, its target's or a part's."""
        waiting: deque[Any] = deque([schema])
        seen: list[Node] = []
        while waiting:
            one = waiting.popleft()
            if not isinstance(one, dict) or any(one is other for other in seen):
                continue
            seen.append(one)
            if "default" in one and self.defaults.fits(one):
                if one is not schema and not self.defaults.fits(
                    schema | {"default": one["default"]}
                ):
                    self.clashes = True
                    return
                if not self.pydantic:
                    sure.add(name)
                elif name not in sure and is_plain_default(one["default"], plain):
                    plain["default"] = default_value(one["default"], plain)
                return
            if "$ref" in one:
                waiting.append(self.resolver.resolve(one["$ref"]))
            waiting.extend(one.get("allOf", ()))

    def reference(self, ref: str, path: str, depth: int, filled: bool, top: str | None) -> Node:
        if self.pydantic and ref not in self.inlined and top is None:
            # An alias would be a root model here, whose value a handler has to unwrap.
            target = self.resolver.resolve(ref)
            if isinstance(target, dict) and "properties" not in target:
                self.inlined.append(ref)
                plain = self.node(target, path, depth + 1, filled)
                self.inlined.pop()
                return plain
        return {"$ref": "@" + self.named(ref, filled)}

    def named(self, ref: str, filled: bool) -> str:
        """Return the class name of a reference's target."""
        # A class whose defaults are filled in is another one than where they are not.
        key = (ref, filled)
        name = self.by_ref.get(key)
        if name is None and ref == "#" and filled == self.filled:
            name = self.by_ref[key] = self.root
        if name is None:
            target = self.resolver.resolve(ref)
            parts = [
                part
                for part in map(unquote, ref[2:].split("/"))
                if part not in _STEPS and not part.isdigit()
            ]
            base = self.base + pascal(parts[-1] if parts else "Item")
            name = self.by_ref[key] = self.names.fresh(base)
            self.pending.append(_Pending(name, target, 0, filled, base))
        return name

    def described(self, plain: Node, schema: Node) -> Node:
        """Add to ``plain`` what ``schema`` says beside its type."""
        text = schema.get("description")
        if text.__class__ is str and text:
            plain["description"] = (
                text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
            )
        if self.pydantic:
            for name in _LIMITS.get(plain.get("type", ""), ()):
                if name in schema:
                    plain[name] = schema[name]
        return plain
