"""``hermes-build check`` and ``lint``: they judge, and write nothing but what they remember."""

from __future__ import annotations

from pathlib import Path

import click

from hermes_build.cli.present import (
    Report,
    project_option,
    report_options,
    root_of,
    say_more_follows,
)
from hermes_build.cli.unchanged import clean_line
from hermes_build.cli.verdicts import verdict
from hermes_build.compiler.verdict import stamp


@click.command("check")
@project_option
@click.option("--no-import", is_flag=True, help="Do not import the handlers to check them.")
@click.option("--no-cache", is_flag=True, help="Forget what earlier runs remembered.")
@report_options
def check_command(start: str, no_import: bool, no_cache: bool, report: Report) -> int:
    """Judge everything: specs, toolsets, generated files, lock, handlers.

    This is the one command for CI. It writes nothing, and exits with 1 when there are errors
    (with --strict also when there are warnings). Handlers are imported in a process of their own.
    """
    root = root_of(start)
    judged = verdict(root, imports=not no_import, no_cache=no_cache)
    line = clean_line(judged.text or "")
    if line is not None and report.form == "full" and report.color != "always":
        click.echo(line)
        return 0
    code = report.show(judged.findings, Path(root), files=judged.files)
    if not judged.complete:
        say_more_follows()
    return code


@click.command("lint")
@project_option
@report_options
def lint_command(start: str, report: Report) -> int:
    """Judge specs and toolsets alone: neither generated files, lock nor handlers."""
    from hermes_build.cli.present import open_project
    from hermes_build.compiler.memory import open_memory
    from hermes_build.compiler.pipeline import resolve_project

    project, findings = open_project(start)
    made = resolve_project(project, open_memory(project.root, stamp()), findings)
    return report.show(made.findings, project.root, files=sum(1 for _ in made.sources))
