"""The resolved catalog, for commands that only look at it."""

from __future__ import annotations

from hermes_build.cli.present import Report, Undecided, open_project
from hermes_build.compiler.memory import open_memory
from hermes_build.compiler.pipeline import resolve_project
from hermes_build.compiler.verdict import stamp
from hermes_build.ir import Catalog


def read_catalog(start: str) -> Catalog:
    """Return the catalog of the project at or above ``start``.

    Raises:
        Undecided: the specs or toolsets have errors, which are printed.
    """
    project, findings = open_project(start)
    made = resolve_project(project, open_memory(project.root, stamp()), findings)
    errors = [one for one in made.findings if one.severity == "error"]
    if made.catalog is None or errors:
        Report().show(errors, project.root)
        raise Undecided("the specs have errors")
    return made.catalog
