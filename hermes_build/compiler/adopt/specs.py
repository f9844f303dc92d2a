"""From tool definitions that exist elsewhere to the specs of a project."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hermes_build.compiler.adopt.definitions import Definition
from hermes_build.compiler.adopt.handlers import handler_file, package_files
from hermes_build.compiler.adopt.live import RawToolset
from hermes_build.compiler.adopt.names import Given, assign_names
from hermes_build.compiler.adopt.toolsets import settle
from hermes_build.compiler.adopt.typenames import (
    ANY_NAMES,
    Change,
    UnknownType,
    map_types,
    not_json,
    pointer_text,
)
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.yaml12.dialect import dump
from hermes_build.ir import JsonObject

IMPORTED = "imported"
"""The folder, under that of the specs, for tools that no toolset owns."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the files of an import go: folders under the project's root, and dotted packages."""

    specs: str = "tool_specs"
    toolsets: str = "toolsets"
    source: str = "."
    handlers: str = "handlers"
    output: str = "generated"


@dataclass(frozen=True, slots=True)
class Origin:
    """Which definition a tool comes from, and the paths of the files that are made of it."""

    tool: str
    definition: Definition
    document: JsonObject
    spec: str
    handler: str | None = None

    def text(self, owner: str | None = None) -> str:
        """The text of its spec; ``owner`` is the toolset of a tool whose definition names none."""
        owned = {"toolset": owner} if owner is not None else {}
        return dump({"name": self.tool, **owned, **self.document}, comment=self.definition.comment)


@dataclass(frozen=True, slots=True)
class Adopted:
    """What an import gives: text by path under the root, and the names that it declares.

    ``companions`` are files that the others need, and that stay as they are where they exist.
    """

    files: dict[str, str]
    tools: tuple[str, ...]
    toolsets: tuple[str, ...]
    companions: dict[str, str] = field(default_factory=dict)
    origins: tuple[Origin, ...] = ()


def adopt(
    definitions: Sequence[Definition],
    toolsets: Sequence[RawToolset] = (),
    *,
    findings: Findings,
    handler: Literal["external", "self"] = "external",
    toolset: str | None = None,
    layout: Layout | None = None,
) -> Adopted:
    """Turn definitions into spec files: one a tool, one a toolset, and handlers where asked for.

    ``toolset`` owns the tools whose definitions name none. Whatever is not kept as it came is a
    finding; what has no equal in a spec is refused by name, and the rest goes on. With
    ``handler="self"`` every tool gets a typed handler module to fill in.
    """
    layout = layout or Layout()
    groups = _toolset_names(definitions, toolsets, toolset, findings)
    specs: list[JsonObject] = []
    kept: list[Definition] = []
    for one in definitions:
        owner = one.toolset or toolset
        spec = _spec(one, groups[owner] if owner else None, handler, findings)
        if spec is not None:
            specs.append(spec)
            kept.append(one)
    specs, kept = _collapse(specs, kept, findings)
    given = assign_names([one.name for one in kept])
    _report_names(kept, given, findings)
    names = [one.name for one in given]
    files: dict[str, str] = {}
    final: dict[str, str] = {}
    origins: list[Origin] = []
    for one, name, spec in zip(kept, names, specs, strict=True):
        spec["name"] = name
        final.setdefault(one.name, name)
        folder = spec.get("toolset", IMPORTED)
        path, handler_path = f"{layout.specs}/{folder}/{name}.yaml", None
        if handler == "self":
            made = handler_file(name, layout.handlers, layout.output, is_async=bool(one.is_async))
            handler_path = _under(layout.source, made.path)
            files[handler_path] = made.text
        origins.append(Origin(name, one, spec, path, handler_path))
        files[path] = origins[-1].text()
    documents = settle(toolsets, final, groups, findings)
    for document in documents:
        files[f"{layout.toolsets}/{document['name']}.yaml"] = dump(document)
    packages: dict[str, str] = {}
    if handler == "self" and names:
        made_by = package_files(layout.handlers)
        packages = {_under(layout.source, path): text for path, text in made_by.items()}
    declared = tuple(document["name"] for document in documents)
    return Adopted(files, tuple(names), declared, packages, tuple(origins))


def _under(source: str, path: str) -> str:
    return path if source == "." else f"{source}/{path}"


def _toolset_names(
    definitions: Sequence[Definition],
    toolsets: Sequence[RawToolset],
    toolset: str | None,
    findings: Findings,
) -> dict[str, str]:
    """Every toolset's name there, and the name that it gets here."""
    wanted = list(
        dict.fromkeys(
            [
                *(one.name for one in toolsets),
                *(one.toolset for one in definitions if one.toolset),
                *([toolset] if toolset else []),
            ]
        )
    )
    given = {old: new.name for old, new in zip(wanted, assign_names(wanted), strict=True)}
    for name, new in given.items():
        if name != new:
            findings.add("HB1302", f"the toolset {name!a} is imported as `{new}`")
    return given


def _spec(
    one: Definition, toolset: str | None, handler: str, findings: Findings
) -> JsonObject | None:
    """The spec of one definition, in the order in which people write it; its name comes later."""
    parameters, output = one.parameters, one.output_schema
    given = {"name": one.name, "description": one.description, "title": one.title}
    fault = not_json({**given, "parameters": parameters, "output_schema": output})
    if fault is not None:
        _refuse(one, f"`{pointer_text(fault[0])}` {fault[1]}", findings)
        return None
    changes: list[Change] = []
    unknown: list[UnknownType] = []
    parameters = map_types(parameters, ("parameters",), changes, unknown)
    output = map_types(output, ("output_schema",), changes, unknown)
    for strange in unknown:
        where = pointer_text(strange.pointer)
        _refuse(one, f"`{where}` is `{strange.name}`, which is no type that is known", findings)
    if unknown:
        return None
    if parameters is None:
        _changed(one, "has no parameters: an empty object is written for them", findings)
        parameters = {"type": "object", "properties": {}}
    if not isinstance(parameters, dict):
        _refuse(one, "has parameters that are not a schema", findings)
        return None
    if "type" not in parameters:
        _changed(one, "has parameters without a type: `type: object` is added", findings)
        parameters = {"type": "object", **parameters}
    if parameters["type"] != "object":
        _refuse(one, f"takes a value of type {parameters['type']}, not an object", findings)
        return None
    for change in changes:
        _report_change(one, change, findings)
    for what in one.dropped:
        _changed(one, f"loses {what}", findings)
    optional: JsonObject = {
        "toolset": toolset,
        "title": one.title,
        "description": one.description or "",
        "emoji": one.emoji,
        "parameters": parameters,
        "output_schema": output,
        "is_async": one.is_async,
        "requires": {"check": True} if one.check else None,
        "max_result_chars": one.max_result_chars,
        "annotations": one.annotations or None,
        "dynamic": list(one.dynamic) or None,
        "handler": None if handler == "self" else handler,
    }
    return {"name": one.name} | {key: one for key, one in optional.items() if one is not None}


def _report_change(one: Definition, change: Change, findings: Findings) -> None:
    where = pointer_text(change.pointer)
    if change.kind == "keyword":
        _changed(one, f"spells `{change.now}` as `{where}`, as older drafts did", findings)
        return
    was = "an empty text" if change.was == "" else f"`{change.was}`"
    now = f"`{change.now}`" if change.was not in ANY_NAMES else change.now
    findings.add(
        "HB1301", f"{one.label}: `{where}` is {was}, read as {now}", one.span, tool=one.name
    )


def _changed(one: Definition, what: str, findings: Findings) -> None:
    findings.add("HB1305", f"{one.label} {what}", one.span, tool=one.name)


def _refuse(one: Definition, why: str, findings: Findings) -> None:
    # A name may hold what no report can print; the label is safe, the name may not be.
    safe = one.name.encode("ascii", "backslashreplace").decode()
    findings.add("HB1304", f"{one.label} cannot be imported: {why}", one.span, tool=safe)


def _collapse(
    specs: list[JsonObject], definitions: list[Definition], findings: Findings
) -> tuple[list[JsonObject], list[Definition]]:
    """Leave out what is defined a second time in the very same words."""
    seen: dict[str, Definition] = {}
    left: list[tuple[JsonObject, Definition]] = []
    for spec, one in zip(specs, definitions, strict=True):
        first = seen.setdefault(json.dumps(spec, sort_keys=True), one)
        if first is one:
            left.append((spec, one))
            continue
        findings.add(
            "HB1303",
            f"{one.label} is left out: it is equal to {first.label}",
            one.span,
            tool=one.name,
        )
    return [spec for spec, _ in left], [one for _, one in left]


def _report_names(
    definitions: Sequence[Definition], given: Sequence[Given], findings: Findings
) -> None:
    first: dict[str, Definition] = {}
    for one, new in zip(definitions, given, strict=True):
        before = first.setdefault(one.name, one)
        if before is not one:
            findings.add(
                "HB1303",
                f"{one.label} is imported as `{new.name}`: {before.label} has the same name "
                "and another definition",
                one.span,
                tool=new.name,
            )
        elif new.name != one.name:
            why = f", because `{new.rival}` is too like it" if new.rival else ""
            findings.add(
                "HB1302",
                f"{one.label} is imported as `{new.name}`{why}",
                one.span,
                tool=new.name,
            )
