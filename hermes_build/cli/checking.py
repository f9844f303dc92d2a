"""``hermes-build check`` and ``lint``: they judge, and write nothing but what they remember."""

from __future__ import annotations

import click

from hermes_build.cli.present import (
    Report,
    project_option,
    report_options,
    root_of,
    say_more_follows,
)
from hermes_build.cli.unchanged import clean_line, last_verdict, mark
from hermes_build.compiler.verdict import remember, stamp


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
    if not no_cache:
        known = last_verdict(root, imports=not no_import)
        if known is not None:
            return _again(known, root, report)
    # All that follows is imported only when something has changed since the last verdict.
    import json
    from pathlib import Path

    from hermes_build.compiler.judge import judge
    from hermes_build.compiler.memory import forgetful, open_memory

    folder = Path(root)
    memory = forgetful() if no_cache else open_memory(folder, stamp())
    judged = judge(folder, memory, imports=not no_import)
    code = report.show(judged.findings, folder, files=judged.files)
    more = [] if judged.complete else ["more follows"]
    if more:
        say_more_follows()
    if judged.lasting and not no_cache:
        rows = [one.to_json() for one in judged.findings]
        known = json.dumps([judged.files, rows, *more])
        remember(judged.watch, mark(imports=not no_import), known)
    return code


def _again(known: str, root: str, report: Report) -> int:
    """Say what the last verdict said."""
    line = clean_line(known)
    if line is not None and report.form == "full" and report.color != "always":
        click.echo(line)
        return 0
    import json
    from pathlib import Path

    from hermes_build.compiler.diagnostics import Diagnostic

    files, rows, *more = json.loads(known)
    code = report.show([Diagnostic.from_json(row) for row in rows], Path(root), files=files)
    if more:
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
