"""Whether the handlers fit the compiled schemas: they are imported in a process of their own."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from hermes_build.compiler import foreign
from hermes_build.compiler.diagnostics import Findings, Label, Span
from hermes_build.compiler.project import Project
from hermes_build.layout import module_name

PROBE = "hermes_build.runtime.probe"
PATIENCE = 120.0
"""Seconds for all handler modules to be imported."""

_MENDS = {
    "args-class": "change the annotation to `{module}.Args`",
    "missing-parameter": "add the parameter, or take the property out of the spec and compile",
    "surplus-parameter": "rename the parameter, or the property and compile, or give it a default",
    "required": "change the parameter's default, or the spec and compile",
    "default": "leave the default out of the handler, or change the spec and compile",
}
"""What to do, by the kind of a difference, where its sentence does not say so."""


def probe_handlers(project: Project, findings: Findings) -> tuple[str, ...]:
    """Import every handler, and report what does not fit or does not import.

    Returns the project's own files that this imported, relative to the root, without those of an
    environment inside the project: a change in one of them can change the verdict.
    """
    environment = dict(os.environ)
    paths = [str(project.source_root), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    command = [sys.executable, "-m", PROBE, project.output]
    ended = foreign.run(command, project.root, PATIENCE, environment)
    lines = _answers(ended.answer)
    report = lines[-1] if lines else {}
    if ended.code is None or "ok" not in report:
        _stopped(project, ended.code, lines, ended.noise, findings)
        return ()
    for row in report["failures"]:
        _failure(project, row, findings)
    for row in report["mismatches"]:
        _mismatch(row, findings)
    return tuple(_own_files(project, report.get("imported", ())))


def _answers(answer: bytes) -> list[dict[str, Any]]:
    """What the probe said; a line that it did not finish says nothing."""
    try:
        return [json.loads(line) for line in answer.split(b"\n")[:-1]]
    except ValueError:
        return []


def _stopped(
    project: Project,
    code: int | None,
    lines: list[dict[str, Any]],
    noise: Sequence[str],
    findings: Findings,
) -> None:
    """Report a probe that never came to its end: at the module whose import it began last.

    ``code`` is the exit code of the process, or None where it was given up.
    """
    last = lines[-1] if lines else {}
    module = last.get("importing")
    if code is None:
        message = f"importing the handlers took more than {PATIENCE:.0f} seconds"
        message += f", and had come to `{module}`" if module else ""
        advice = "a handler module should only define and register when it is imported"
    else:
        subject = f"`{module}`" if module else "the handlers"
        message = f"importing {subject} ended the process {_ending(code)}"
        advice = "a handler module must not end the process when it is imported"
    lost = _named(last.get("tools", ()))
    shadows = _shadows(project, "\n".join(noise), last=not module)
    path = (_file_of(project, module) if module else None) or (shadows[0] if shadows else None)
    findings.add(
        "HB3008",
        message,
        _span({"path": path}),
        label="while this was imported" if module else "",
        notes=[*([f"lost with it: {lost}"] if lost else []), *noise],
        help=tuple(map(_renaming, shadows)) or (advice,),
    )


def _shadows(project: Project, told: str, *, last: bool = False) -> list[str]:
    """Files of the project that are imported where a program asks for the standard library.

    They are relative to the root, and those that are named in ``told``; where none is, and with
    ``last``, which says that nothing else is known, all of them.
    """
    found = {}
    for folder in dict.fromkeys((project.source_root, project.root)):
        for name in sorted(sys.stdlib_module_names):
            for path in (folder / f"{name}.py", folder / name / "__init__.py"):
                if path.is_file():
                    shown = os.path.relpath(path, project.root).replace(os.sep, "/")
                    found[shown] = os.path.abspath(path) in told
    return [path for path, named in found.items() if named] or (list(found) if last else [])


def _renaming(path: str) -> str:
    module = path.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]
    return f"rename `{path}`: what imports the standard library's `{module}` gets this instead"


def _ending(code: int) -> str:
    """How a process ended, by its exit code; a negative one is that of a signal."""
    if code >= 0:
        return f"with exit code {code}"
    try:
        return f"with {signal.Signals(-code).name}"
    except ValueError:
        return f"with signal {-code}"


def _file_of(project: Project, module: str) -> str | None:
    """The file of a module of the project, relative to the root."""
    stem = project.source_root.joinpath(*module.split("."))
    for path in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py"):
        if path.is_file():
            return os.path.relpath(path, project.root).replace(os.sep, "/")
    return None


def _named(tools: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in tools)


def _failure(project: Project, row: dict[str, Any], findings: Findings) -> None:
    tools = _named(row["tools"])
    findings.add(
        "HB3008",
        f"`{row['module']}` fails to import: {row['error']}",
        _span(row),
        label="raised here",
        notes=(f"lost with it: {tools}",) if row["tools"] else (),
        help=tuple(map(_renaming, _shadows(project, row["error"]))),
    )


def _mismatch(row: dict[str, Any], findings: Findings) -> None:
    handler, spec = row.get("handler"), row.get("spec")
    there = _span(spec) if handler and spec else None
    labels = [Label(there, "the spec is here")] if there else []
    mend = _MENDS.get(str(row.get("kind")))
    findings.add(
        row.get("code") or "HB3007",
        f"`{row['tool']}`: {row['message']}",
        _span(handler or spec or {}),
        label="does not fit the spec" if handler else "",
        labels=labels,
        help=(mend.format(module=module_name(row["tool"])),) if mend else (),
        tool=row["tool"],
    )


def _span(place: dict[str, Any]) -> Span | None:
    if not place.get("path"):
        return None
    line = place.get("line") or 1
    return Span(str(place["path"]), line, 1, line, 1)


def _own_files(project: Project, imported: list[str]) -> list[str]:
    root = os.path.realpath(project.root) + os.sep
    environment = os.path.realpath(sys.prefix) + os.sep
    real = set()
    for path in imported:
        try:
            real.add(os.path.realpath(path))
        except ValueError:  # a module may say of itself that its file is called anything
            continue
    own = (path for path in real if path.startswith(root) and not path.startswith(environment))
    return sorted(path[len(root) :].replace(os.sep, "/") for path in own)
