"""Whether the handlers fit the compiled schemas: they are imported in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from hermes_build.compiler.diagnostics import Findings, Label, Span
from hermes_build.compiler.project import Project

PROBE = "hermes_build.runtime.probe"
PATIENCE = 120.0
"""Seconds for all handler modules to be imported."""

_TAIL = 12


def probe_handlers(project: Project, findings: Findings) -> tuple[str, ...]:
    """Import every handler, and report what does not fit or does not import.

    Returns the project's own files that this imported, relative to the root: a change in one of
    them can change the verdict.
    """
    environment = dict(os.environ)
    paths = [str(project.source_root), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    try:
        done = subprocess.run(
            [sys.executable, "-m", PROBE, project.output],
            cwd=project.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        findings.add(
            "HB3008",
            f"importing the handlers took more than {PATIENCE:.0f} seconds",
            help=("a handler module should only define and register when it is imported",),
        )
        return ()
    try:
        report = json.loads(done.stdout)
    except ValueError:
        tail = done.stderr.decode("utf-8", "replace").strip().splitlines()[-_TAIL:]
        findings.add(
            "HB3008",
            f"importing the handlers ended the process with exit code {done.returncode}",
            notes=tail,
            help=("a handler module must not end the process when it is imported",),
        )
        return ()
    for row in report["failures"]:
        _failure(row, findings)
    for row in report["mismatches"]:
        _mismatch(row, findings)
    return tuple(_own_files(project, report.get("imported", ())))


def _failure(row: dict[str, Any], findings: Findings) -> None:
    tools = ", ".join(f"`{name}`" for name in row["tools"]) or "no tool"
    findings.add(
        "HB3008",
        f"`{row['module']}` fails to import: {row['error']}",
        _span(row),
        label="raised here",
        notes=(f"lost with it: {tools}",),
    )


def _mismatch(row: dict[str, Any], findings: Findings) -> None:
    handler, spec = row.get("handler"), row.get("spec")
    there = _span(spec) if handler and spec else None
    labels = [Label(there, "the spec is here")] if there else []
    findings.add(
        row.get("code") or "HB3007",
        f"`{row['tool']}`: {row['message']}",
        _span(handler or spec or {}),
        label="does not fit the spec" if handler else "",
        labels=labels,
        help=tuple(row.get("help", ())),
        tool=row["tool"],
    )


def _span(place: dict[str, Any]) -> Span | None:
    if not place.get("path"):
        return None
    line = place.get("line") or 1
    return Span(str(place["path"]), line, 1, line, 1)


def _own_files(project: Project, imported: list[str]) -> list[str]:
    root = os.path.realpath(project.root) + os.sep
    real = (os.path.realpath(path) for path in imported)
    return sorted(path[len(root) :].replace(os.sep, "/") for path in real if path.startswith(root))
