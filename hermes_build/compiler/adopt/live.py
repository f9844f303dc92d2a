"""The door to a live registry: another interpreter reads it, this one gets plain values."""

from __future__ import annotations

import json
import math
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_build.compiler import foreign
from hermes_build.compiler.adopt.definitions import Definition, read_definitions
from hermes_build.compiler.diagnostics import Findings
from hermes_build.ir import JsonObject

PROBE = Path(__file__).with_name("probe.py")
TIMEOUT_SECONDS = 120.0

_DYNAMIC = (
    "The program rewrites parts of this tool while it runs: `dynamic` may name fewer of them."
)


@dataclass(frozen=True, slots=True)
class RawToolset:
    """One toolset as the registry's program composes it; nothing is checked yet."""

    name: str
    description: str
    tools: tuple[str, ...]
    includes: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Live:
    """What a live registry holds: its tools, and its toolsets where they were asked for."""

    definitions: tuple[Definition, ...] = ()
    toolsets: tuple[RawToolset, ...] = ()


def read_registry(
    place: str,
    findings: Findings,
    *,
    toolsets: str | None = None,
    python: str | None = None,
    preload: tuple[str, ...] = (),
    folder: Path | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> Live:
    """Import a program in a process of its own and read its registry and toolsets.

    ``place`` and ``toolsets`` are ``module:object``. ``python`` is the interpreter to run, this
    one if None; ``preload`` are modules to import first, as a program whose tools register
    themselves needs; ``folder`` goes first on its path. Every failure is a finding.
    """
    for one in (place, *([toolsets] if toolsets else [])):
        module, _, path = one.partition(":")
        if not module or not path:
            findings.add(
                "HB1304", f"`{one}` is no place", help=("write it as `package.module:object`",)
            )
            return Live()
    request = {"object": place, "toolsets": toolsets, "preload": list(preload)}
    answer = _ask(request, place, findings, python or sys.executable, folder or Path.cwd(), timeout)
    if answer is None:
        return Live()
    if "error" in answer:
        findings.add("HB1304", f"the registry cannot be read: {answer['error']}")
        return Live()
    for name, reason in answer["refused"]:
        findings.add("HB1304", f"`{name}` cannot be imported: {reason}", tool=name)
    definitions = [_definition(one) for one in answer["tools"]]
    if answer["definitions"]:
        definitions += read_definitions(json.dumps(answer["definitions"]), None, findings)
    if not definitions and not answer["refused"]:
        findings.add(
            "HB1304",
            f"`{place}` holds no tool",
            help=["if importing other modules registers the tools, name them with `--preload`"],
        )
    return Live(tuple(definitions), _toolsets(answer, findings))


def _ask(
    request: JsonObject,
    place: str,
    findings: Findings,
    python: str,
    folder: Path,
    timeout: float,
) -> JsonObject | None:
    """Run the probe; its answer, or ``None`` after a finding."""
    try:
        ended = foreign.run([python, str(PROBE), json.dumps(request)], folder, timeout)
    except OSError as error:
        findings.add("HB1304", f"`{python}` cannot be run: {error}")
        return None
    if ended.code is None:
        findings.add(
            "HB1304",
            f"reading `{place}` did not end within {timeout:g} seconds",
            notes=ended.noise,
        )
        return None
    try:
        answer = json.loads(ended.answer) if ended.answer else None
    except (ValueError, RecursionError):
        answer = None
    if ended.code == 0 and isinstance(answer, dict):
        return answer
    how = (
        f"ended with status {ended.code}"
        if ended.code >= 0
        else f"was ended by signal {-ended.code}"
    )
    *noise, last = ended.noise or ("",)
    if _RAISED.match(last):
        reason, notes = last, (*noise, f"the interpreter {how}")
    else:
        reason, notes = f"the interpreter {how}", ended.noise
    findings.add(
        "HB1304",
        f"importing `{place}` failed: {reason}",
        notes=notes,
        help=("the registry's own environment may be another one: name it with `--python`",)
        if python == sys.executable
        else (),
    )
    return None


_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b")
"""How the line of a traceback begins that says what was raised."""


def _definition(entry: JsonObject) -> Definition:
    """One registry entry in the fields of a spec."""
    name, schema = entry["name"], entry["schema"]
    described = schema.get("description")
    dropped = [
        f"{key!a} of its schema, which a spec has no place for"
        for key in schema
        if key not in ("name", "description", "parameters")
    ]
    if isinstance(schema.get("name"), str) and schema["name"] != name:
        dropped.append(f"the schema's own name `{schema['name']}`")
    if entry["description"] and described and entry["description"] != described:
        dropped.append("its registered description: models read the one in the schema")
    limit = entry["max_result_size_chars"]
    whole = limit is not None and math.isfinite(limit) and limit == int(limit) and limit > 0
    if limit is not None and not whole:
        dropped.append(f"`max_result_size_chars`, which is {limit} and so no limit")
    if entry["requires_env"]:
        # A list for the user's information there; here a requirement that would hide the tool.
        variables = ", ".join(entry["requires_env"])
        dropped.append(f"`requires_env` ({variables}), which decides nothing where it comes from")
    return Definition(
        name=name,
        description=described if isinstance(described, str) else entry["description"],
        parameters=schema.get("parameters"),
        span=None,
        label=f"`{name}`",
        toolset=entry["toolset"],
        emoji=entry["emoji"],
        is_async=entry["is_async"] or None,
        check=entry["check"],
        max_result_chars=int(limit) if whole else None,
        # The program may replace both wholly; only a person knows which parts it really rewrites.
        dynamic=("/description", "/parameters") if entry["dynamic"] else (),
        comment=_DYNAMIC if entry["dynamic"] else "",
        dropped=tuple(dropped),
    )


def _toolsets(answer: JsonObject, findings: Findings) -> tuple[RawToolset, ...]:
    found: list[RawToolset] = []
    aliases: dict[str, Any] = answer["aliases"]
    rows: list[tuple[str, Any]] = answer["toolsets"] or []
    names = {name for name, _ in rows}
    for alias, target in aliases.items():
        if target not in names:
            findings.add(
                "HB1305", f"the alias `{alias}` is left out: `{target}` is not among the toolsets"
            )
    for name, one in rows:
        if not isinstance(one, dict):
            findings.add("HB1304", f"the toolset `{name}` is {one}, not a dict")
            continue
        found.append(
            RawToolset(
                name=name,
                description=one["description"],
                tools=tuple(dict.fromkeys(one["tools"])),
                includes=tuple(dict.fromkeys(one["includes"])),
                aliases=tuple(sorted(alias for alias, target in aliases.items() if target == name)),
                dropped=tuple(
                    f"{key!a}, which a composition has no place for" for key in one["more"]
                ),
            )
        )
    return tuple(found)
