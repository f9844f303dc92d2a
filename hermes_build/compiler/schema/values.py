"""The values that a schema carries: defaults, examples, enum members and constants must fit it."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from hermes_build.compiler.diagnostics import Findings, Label
from hermes_build.compiler.load import Document
from hermes_build.compiler.schema.effort import MOST_FOR_A_VALUE, Effort
from hermes_build.compiler.schema.judge import Judge, Reason
from hermes_build.compiler.schema.link import Checked, Linked
from hermes_build.compiler.schema.part import Part
from hermes_build.compiler.schema.refs import schema_at
from hermes_build.ir import JsonObject, Schema
from hermes_build.keywords import ANNOTATIONS, Pointer

_VALUED = frozenset(("default", "examples", "enum", "const"))

_PLAIN = ANNOTATIONS | {"type", "default", "format"}
_PLAIN_NUMBER = _PLAIN | {"minimum", "maximum"}
_PLAIN_ENUM = _PLAIN | {"enum"}
_PLAIN_ANY_OF = _PLAIN | {"anyOf"}
_PLAIN_ARRAY = _PLAIN | {"items", "maxItems", "uniqueItems"}

_IS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: value.__class__ is str,
    "boolean": lambda value: value.__class__ is bool,
    "integer": lambda value: value.__class__ is int,
    "number": lambda value: value.__class__ is int or value.__class__ is float,
    "null": lambda value: value is None,
    "array": lambda value: value.__class__ is list,
    "object": lambda value: value.__class__ is dict,
}


def check_values(linked: Linked, unsatisfiable: Container[Pointer] = ()) -> bool:
    """Report the values in a schema that the schema around them refuses.

    Schemas that no value fits, by their place in the bundle, have a finding already. Returns False
    where a value cannot be judged at all.
    """
    judge = Judge(linked.schema)
    effort = Effort(linked.schema) if linked.refers else None
    judged = True
    for part in linked.parts:
        for pointer, node in part.nodes:
            if (
                isinstance(node, dict)
                and not _VALUED.isdisjoint(node)
                and (*part.inside, *pointer) not in unsatisfiable
            ):
                if effort is None or _is_cheap(linked, part, pointer, node, effort):
                    _check_node(part, pointer, node, judge)
                else:
                    judged = False
    return judged


_COSTLY = f"judging this value takes more than {MOST_FOR_A_VALUE:,} looks at it"
_CHEAPER = ("let each branch refer to the schema once, or give a shallower value",)


def _is_cheap(
    linked: Linked, part: Part, pointer: Pointer, node: JsonObject, effort: Effort
) -> bool:
    """Report the values of a schema that no validator comes to an end with."""
    schema = schema_at(linked.schema, (*part.inside, *pointer))
    found: list[tuple[Pointer, Any]] = [
        ((key,), node[key]) for key in ("default", "const") if key in node
    ]
    for key in ("enum", "examples"):
        members = node.get(key)
        found += [((key, nth), one) for nth, one in enumerate(members or ())]
    costly = [place for place, value in found if effort.is_too_much(schema, value)]
    for place in costly:
        part.report("HB1116", _COSTLY, *pointer, *place, help=_CHEAPER)
    return not costly


def _check_node(part: Part, pointer: Pointer, node: JsonObject, judge: Judge) -> None:
    members = node.get("enum")
    if isinstance(members, list) and not _enum_is_plain(node, members):
        refused = [
            nth
            for nth, one in enumerate(members)
            if judge.refusal((*part.inside, *pointer), one) is not None
        ]
        if refused and len(refused) == len(members):
            part.report(
                "HB1110",
                "no member of the enum fits the schema around it",
                *pointer,
                "enum",
                key=True,
                label="no value can fit",
                help=("make `type` and the other keywords agree with the members",),
            )
            return
        for nth in refused:
            _refuse(part, pointer, ("enum", nth), members[nth], judge, "HB1104")
    if (
        "const" in node
        and not _fits_plainly(node, node["const"])
        and _refuse(part, pointer, ("const",), node["const"], judge, "HB1104")
    ):
        return
    if "default" in node and not _fits_plainly(node, node["default"]):
        _refuse(part, pointer, ("default",), node["default"], judge, "HB1103")
    if isinstance(node.get("examples"), list):
        for nth, one in enumerate(node["examples"]):
            if not _fits_plainly(node, one):
                _refuse(part, pointer, ("examples", nth), one, judge, "HB1105")


_YES_NO = {
    **dict.fromkeys(("yes", "on", "y", "true"), True),
    **dict.fromkeys(("no", "off", "n", "false"), False),
}
"""What YAML 1.1, and many a language, takes for true and false."""

_MESSAGES = {
    "HB1103": "`default` does not fit the schema of its own property",
    "HB1104": "`{}` has a value that the schema around it refuses",
    "HB1105": "an example does not fit the schema that it stands in",
}


def _refuse(
    part: Part, pointer: Pointer, place: Pointer, value: Any, judge: Judge, code: str
) -> bool:
    """Report a value when its schema refuses it; return whether it did."""
    reason = judge.refusal((*part.inside, *pointer), value)
    if reason is None:
        return False
    node = schema_at(part.schema, pointer)
    labels = []
    if not reason.pointer and isinstance(node, dict) and reason.keyword in node:
        labels.append(Label(part.span(*pointer, reason.keyword), "refused by this"))
    part.report(
        code,
        _MESSAGES[code].format(place[0]),
        *pointer,
        *place,
        *reason.pointer,
        label=reason.sentence,
        labels=labels,
        help=_help(code, value, node, reason),
    )
    return True


def _help(code: str, value: Any, node: Schema, reason: Reason) -> tuple[str, ...]:
    kind = node.get("type") if isinstance(node, dict) else None
    if value is None and isinstance(kind, str):
        allowed = f'write `type: [{kind}, "null"]` if null is a value'
        return (f"leave `default` out, or {allowed}",) if code == "HB1103" else (allowed,)
    if reason.keyword in ("minimum", "exclusiveMinimum"):
        return (f"raise the value, or lower `{reason.keyword}`",)
    if reason.keyword in ("maximum", "exclusiveMaximum"):
        return (f"lower the value, or raise `{reason.keyword}`",)
    if reason.keyword == "enum":
        return ("use a member of `enum`, or add this one",)
    if kind == "boolean" and isinstance(value, str) and value.lower() in _YES_NO:
        meant = "true" if _YES_NO[value.lower()] else "false"
        return (f"`{value}` is text in YAML 1.2: write `{meant}`",)
    if kind == "string" and isinstance(value, int | float) and reason.keyword == "type":
        return ("put it in quotes if it is meant as text",)
    return ()


def _enum_is_plain(node: JsonObject, members: list[Any]) -> bool:
    """Whether the members fit for certain, so that no validator is needed."""
    if not node.keys() <= _PLAIN_ENUM:
        return False
    kind = node.get("type")
    if kind is None:
        return True
    if isinstance(kind, str):
        return all(map(_IS[kind], members))
    return all(any(_IS[one](member) for one in kind) for member in members)


def _fits_plainly(node: JsonObject, value: Any) -> bool:
    """Whether a value fits for certain; False leaves the verdict to the validator."""
    keys = node.keys()
    kind = node.get("type")
    if isinstance(kind, list):
        return keys <= _PLAIN and any(_IS[one](value) for one in kind)
    if kind is None:
        if not keys <= _PLAIN_ANY_OF:
            return False
        branches = node.get("anyOf")
        return branches is None or any(
            branch is True or (branch is not False and _fits_plainly(branch, value))
            for branch in branches
        )
    if not _IS[kind](value):
        return False
    if keys <= _PLAIN:
        return True
    if kind in ("integer", "number") and keys <= _PLAIN_NUMBER:
        return bool(node.get("minimum", value) <= value <= node.get("maximum", value))
    if kind == "string" and keys <= _PLAIN_ENUM:
        return value in node["enum"]
    return kind == "array" and not value and keys <= _PLAIN_ARRAY


def check_examples(
    document: Document,
    checked: Checked,
    findings: Findings,
    *,
    ours: bool,
    tool: str | None,
) -> None:
    """Report the examples of a tool's document whose ``args`` its parameters refuse."""
    examples = document.value.get("examples")
    if not isinstance(examples, list):
        return
    effort = Effort(checked.schema) if checked.refers else None
    for nth, example in enumerate(examples):
        if not isinstance(example, dict) or "args" not in example:
            continue  # reading the spec reports its shape
        if effort is not None and effort.is_too_much(checked.schema, example["args"]):
            where = document.at("examples", nth, "args")
            findings.add("HB1116", _COSTLY, where, help=_CHEAPER, tool=tool)
            continue
        if checked.fits(example["args"]):
            continue
        # The judge knows one dialect; a schema of an older one may refuse what it accepts.
        reason = Judge(checked.schema).refusal((), example["args"])
        place = ("examples", nth, "args", *(reason.pointer if reason else ()))
        findings.add(
            "HB1105",
            "an example does not fit the parameters of its tool",
            document.at(*place),
            label=reason.sentence if reason else "refused by the dialect of the schema",
            severity=None if ours else "warning",
            tool=tool,
        )
