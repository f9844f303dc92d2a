"""What ``required`` says in vain: of properties with a default, or of none that is declared."""

from __future__ import annotations

from collections.abc import Iterator

import jsonschema_rs

from hermes_build.compiler.diagnostics import Label
from hermes_build.compiler.keywords import IN_PLACE, Pointer, children, steps
from hermes_build.compiler.nearest import did_you_mean
from hermes_build.compiler.schema.part import Part
from hermes_build.compiler.schema.refs import schema_at, target_in
from hermes_build.ir import JsonObject, Schema


def check_required(part: Part, pointer: Pointer, node: JsonObject, bundle: Schema) -> None:
    """Report the entries of ``required`` in the schema at ``pointer`` that cannot be meant."""
    properties = node.get("properties", {})
    for nth, name in enumerate(node["required"]):
        if name not in properties:
            _undeclared(part, pointer, nth, name, bundle)
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


def _undeclared(part: Part, pointer: Pointer, nth: int, name: str, bundle: Schema) -> None:
    place = (*part.inside, *pointer)
    node = schema_at(bundle, place)
    assert isinstance(node, dict)  # it has a `required`
    if _matches(node, name):
        return
    declared: set[str] = set(node.get("properties", ()))
    closed = node.get("additionalProperties") is False
    if not closed:
        if isinstance(node.get("additionalProperties"), dict):
            return
        whole = _outermost(place)
        for one in _same_value(schema_at(bundle, whole), bundle):
            if _matches(one, name) or isinstance(one.get("additionalProperties"), dict):
                return
            declared.update(one.get("properties", ()))
        # A definition that declares nothing is there to be mixed into one that does.
        if name in declared or (not declared and len(whole) == 2 and whole[0] == "$defs"):
            return
    part.report(
        "HB1113",
        f"`{name}` is required and not declared"
        + (", and no other property may be given" if closed else ""),
        *pointer,
        "required",
        nth,
        label="not in `properties`",
        labels=[Label(part.span(*pointer, "additionalProperties"), "forbids it")] if closed else (),
        help=did_you_mean(name, declared) or ("declare it, or leave it out of `required`",),
    )


def _matches(node: JsonObject, name: str) -> bool:
    """Whether a pattern of the schema's declares a property."""
    return any(
        jsonschema_rs.is_valid({"pattern": pattern}, name)
        for pattern in node.get("patternProperties", ())
    )


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
