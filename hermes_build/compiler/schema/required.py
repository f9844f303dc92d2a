"""What ``required`` says in vain: of properties with a default, or of none that is declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import jsonschema_rs

from hermes_build.compiler.diagnostics import Label
from hermes_build.compiler.nearest import did_you_mean
from hermes_build.compiler.schema.part import Part
from hermes_build.compiler.schema.refs import schema_at, target_in
from hermes_build.ir import JsonObject, Schema
from hermes_build.keywords import IN_PLACE, Pointer, children, steps


@dataclass(frozen=True, slots=True)
class _Declared:
    """What schemas declare together: names, patterns of names, or a schema for all others."""

    names: frozenset[str]
    pattern: jsonschema_rs.Draft202012Validator | None
    rest: bool

    def has(self, name: str) -> bool:
        """Whether a property is declared."""
        return (
            self.rest
            or name in self.names
            or (self.pattern is not None and self.pattern.is_valid(name))
        )


def _declared(schemas: Iterable[JsonObject]) -> _Declared:
    names: set[str] = set()
    patterns: list[str] = []
    rest = False
    for one in schemas:
        names.update(one.get("properties", ()))
        patterns += one.get("patternProperties", ())
        rest = rest or isinstance(one.get("additionalProperties"), dict)
    union = {"anyOf": [{"pattern": pattern} for pattern in patterns]}
    pattern = jsonschema_rs.Draft202012Validator(union) if patterns else None
    return _Declared(frozenset(names), pattern, rest)


class Requirements:
    """Looks through the ``required`` of one bundle's schemas."""

    def __init__(self, bundle: Schema) -> None:
        self._bundle = bundle
        # Many branches may ask for names of one object: what it declares is gathered once.
        self._known: dict[tuple[Pointer, bool], _Declared] = {}

    def check(self, part: Part, pointer: Pointer, node: JsonObject) -> None:
        """Report the entries of ``required`` in a part's schema that cannot be meant."""
        properties = node.get("properties", {})
        for nth, name in enumerate(node["required"]):
            if name not in properties:
                self._check_undeclared(part, pointer, nth, name)
            elif isinstance(properties[name], dict) and "default" in properties[name]:
                part.report(
                    "HB1106",
                    f"`{name}` is required and has a default",
                    *pointer,
                    "properties",
                    name,
                    "default",
                    key=True,
                    label="never filled in",
                    labels=[Label(part.span(*pointer, "required", nth), "required here")],
                    help=("leave it out of `required`, or drop the default",),
                )

    def _check_undeclared(self, part: Part, pointer: Pointer, nth: int, name: str) -> None:
        place = (*part.inside, *pointer)
        node = schema_at(self._bundle, place)
        assert isinstance(node, dict)  # it has a `required`
        # What a closed object allows is its own to say, whatever else judges the same value.
        closed = node.get("additionalProperties") is False
        whole = place if closed else _outermost(place)
        declared = self._of(whole, closed)
        if declared.has(name):
            return
        if not closed and not declared.names and len(whole) == 2 and whole[0] == "$defs":
            return  # a definition that declares nothing is there to be mixed into one that does
        labels = []
        if closed:
            labels.append(Label(part.span(*pointer, "additionalProperties"), "forbids it"))
        part.report(
            "HB1113",
            f"`{name}` is required and not declared"
            + (", and no other property may be given" if closed else ""),
            *pointer,
            "required",
            nth,
            label="not in `properties`",
            labels=labels,
            help=did_you_mean(name, declared.names, part.findings)
            or ("declare it, or leave it out of `required`",),
        )

    def _of(self, place: Pointer, alone: bool) -> _Declared:
        """What the schema at a place declares, alone or with all that judge the same value."""
        if (place, alone) not in self._known:
            schema = schema_at(self._bundle, place)
            schemas = _same_value(schema, self._bundle)
            if alone and isinstance(schema, dict):
                schemas = iter([schema])
            self._known[place, alone] = _declared(schemas)
        return self._known[place, alone]


def _outermost(pointer: Pointer) -> Pointer:
    """The outermost schema that judges the same value as the one at ``pointer``."""
    whole = len(pointer)
    for index, keyword in reversed(list(steps(pointer))):
        if keyword not in IN_PLACE:
            break
        whole = index
    return pointer[:whole]


def _same_value(schema: Schema, bundle: Schema) -> Iterator[JsonObject]:
    """Every schema that judges the same value as ``schema``, refs followed."""
    seen: set[str] = set()
    stack = [schema]
    while stack:
        node = stack.pop()
        if not isinstance(node, dict):
            continue
        yield node
        ref = node.get("$ref")
        if isinstance(ref, str) and ref not in seen:
            seen.add(ref)
            target = target_in(bundle, ref)
            if target is not None:
                stack.append(target)
        stack += [inner for place, inner in children((), node) if place[0] in IN_PLACE]
