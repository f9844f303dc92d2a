"""Judging the schemas of a tool, and bundling what they refer to."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.load import Document
from hermes_build.compiler.schema.effort import check_effort
from hermes_build.compiler.schema.explain import metaschema_reasons
from hermes_build.compiler.schema.judge import Reason
from hermes_build.compiler.schema.link import Checked, Fits, Linked, link
from hermes_build.compiler.schema.part import Part
from hermes_build.compiler.schema.proofs import check_proofs
from hermes_build.compiler.schema.shape import check_depth, check_shape, older_dialect
from hermes_build.compiler.schema.siblings import Siblings
from hermes_build.compiler.schema.values import check_values
from hermes_build.keywords import HOLDS, TYPES, Pointer, steps


def check_schema(
    document: Document,
    at: Pointer,
    schema: Any,
    findings: Findings,
    *,
    root_object: bool,
    ours: bool,
    tool: str | None,
    siblings: Siblings,
) -> Checked | None:
    """Check the schema that stands at ``at``; None when values cannot be validated by it.

    For a schema that is not ours, what is wrong with its values is a warning and it is kept.
    """
    part = Part(document, at, schema, findings, ours, tool, root_object)
    if not isinstance(schema, dict | bool):
        part.report("HB1101", "a schema must be a mapping", label="not a schema")
        return None
    rooted = _root_is_object(part) if root_object else True
    settled = _settled(part, siblings)
    if settled is None or not rooted:
        return None
    linked, fits = settled
    return Checked(linked.schema, linked.files, fits, linked.refers)


def check_shared(document: Document, findings: Findings, siblings: Siblings) -> None:
    """Check a document that only holds ``$defs`` for tools to refer to, used or not."""
    schema = {key: value for key, value in document.value.items() if key == "$defs"}
    _settled(Part(document, (), schema, findings, shared=True), siblings)


def _settled(part: Part, siblings: Siblings) -> tuple[Linked, Fits] | None:
    judged = _judged(part, siblings)
    if judged is None or not check_effort(judged[0]):
        return None
    fine = check_values(judged[0], unsatisfiable=check_proofs(judged[0]))
    return judged if fine else None


def _root_is_object(part: Part) -> bool:
    """Report parameters that are not an object; a type that does not exist is told elsewhere."""
    schema = part.schema
    if isinstance(schema, bool):
        part.report("HB1102", "parameters must be an object", label="neither is an object")
        return False
    kind = schema.get("type")
    if kind == "object":
        return True
    if "type" in schema:
        if isinstance(kind, str) and kind not in TYPES:
            return False
        part.report(
            "HB1102",
            "parameters must be an object",
            "type",
            label="a model passes an object of named arguments",
            help=("write `type: object`",),
        )
        return False
    joins = [key for key in ("$ref", "allOf", "anyOf", "oneOf") if key in schema]
    part.report(
        "HB1102",
        "the parameters do not say that they are an object",
        *joins[:1],
        key=bool(joins),
        label=f"`{joins[0]}` alone does not say so" if joins else "`type` is missing",
        help=("write `type: object` beside it" if joins else "write `type: object`",),
        severity=None if part.ours else "warning",
    )
    return not part.ours


def _judged(part: Part, siblings: Siblings) -> tuple[Linked, Fits] | None:
    """Report what makes a schema no schema; link it, and make its validator."""
    if not check_depth(part):
        return None
    sound = check_shape(part)
    linked = link(part, siblings)
    parts = (part,) if linked is None else linked.parts
    for one in parts[1:]:
        sound = check_depth(one) and check_shape(one) and sound
    if linked is None or len(parts) > 1 or not sound:
        # Each part by itself: a mistake is then told where it stands, whatever else is wrong.
        for one in parts:
            sound = _fits_metaschema(one) and sound
    if linked is None or not sound:
        return None
    older = older_dialect(part)
    compiled = jsonschema_rs.validator_for if older else jsonschema_rs.Draft202012Validator
    try:
        return linked, compiled(linked.schema, offline=True).is_valid
    except jsonschema_rs.ValidationError as refused:
        if _fits_metaschema(part):
            message = refused.message.partition("\n")[0]
            part.report("HB1101", f"no validator can be made of the schema: {message}")
    return None


def _fits_metaschema(part: Part) -> bool:
    """Report everything that the metaschema refuses in a schema."""
    schema = part.schema
    if isinstance(schema, dict) and "$schema" in schema and not older_dialect(part):
        schema = {key: value for key, value in schema.items() if key != "$schema"}
    try:
        jsonschema_rs.meta.validate(schema)
    except jsonschema_rs.ValidationError as refused:
        reasons = metaschema_reasons(schema) or [
            Reason(refused.message, tuple(refused.instance_path), "", None)
        ]
        for reason in reasons:
            if not _is_type_name(reason):
                part.report(
                    "HB1101",
                    f"the schema is not valid: {reason.sentence}",
                    *reason.pointer,
                    label=_label(reason),
                    help=_help(reason),
                )
        return False
    return True


def _is_type_name(reason: Reason) -> bool:
    """Whether a reason is a name that is no type: those have a finding of their own."""
    *_, (index, keyword) = list(steps(reason.pointer)) or [(0, "")]
    return (
        keyword == "type"
        and len(reason.pointer) - index <= 2
        and (reason.value is None or (isinstance(reason.value, str) and reason.value not in TYPES))
    )


def _keyword(reason: Reason) -> str | int:
    *_, (_, keyword) = list(steps(reason.pointer)) or [(0, "")]
    return keyword


def _label(reason: Reason) -> str:
    if reason.keyword == "type" and _is_subschema(reason):
        return "expected a schema: a mapping of keywords"
    keyword = _keyword(reason)
    return f"not a value that `{keyword}` may have" if keyword else "not a schema"


def _is_subschema(reason: Reason) -> bool:
    """Whether a schema was expected where the reason stands."""
    *_, (index, keyword) = list(steps(reason.pointer)) or [(0, "")]
    holds = HOLDS.get(keyword) if isinstance(keyword, str) else None
    return holds is not None and len(reason.pointer) - index == (1 if holds == "schema" else 2)


def _help(reason: Reason) -> tuple[str, ...]:
    """What to write instead of what people, older dialects and other languages write."""
    keyword, value = _keyword(reason), reason.value
    if keyword == "items" and isinstance(value, list):
        return ("a list of schemas, one a place, is `prefixItems`",)
    if _is_subschema(reason) and isinstance(value, str) and reason.keyword == "type":
        return (f"write `{{type: {value}}}`",) if value in TYPES else ()
    if keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        plain = "minimum" if keyword == "exclusiveMinimum" else "maximum"
        return (f"write the bound itself as `{keyword}`, and leave `{plain}` out",)
    if keyword == "required" and isinstance(value, bool):
        return ("list the property's name in `required` of the object that has it",)
    if reason.keyword in ("type", "minimum") and isinstance(value, str) and _number(value):
        return (f"write the number without quotes: `{value}`",)
    if keyword in ("title", "description", "pattern", "format", "$ref") and value is None:
        return (f"give `{keyword}` a text, or leave it out",)
    if reason.keyword == "uniqueItems":
        return ("name each one once",)
    return ()


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
