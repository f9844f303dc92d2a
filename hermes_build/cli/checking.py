"""``hermes-build check`` and ``lint``: they judge, and write nothing but what they remember."""

from __future__ import annotations

import click

from hermes_build.cli.present import project_option, report_options, root_of
from hermes_build.cli.unchanged import clean_line, last_verdict, mark
from hermes_build.compiler.verdict import remember, stamp


@click.command("check")
@project_option
@click.option("--no-import", is_flag=True, help="Do not import the handlers to check them.")
@click.option("--no-cache", is_flag=True, help="Forget what earlier runs remembered.")
@report_options
def check_command(
    start: str, no_import: bool, no_cache: bool, form: str, color: str, strict: bool
) -> int:
    """Judge everything: specs, toolsets, generated files, lock, handlers.

    This is the one command for CI. It writes nothing, and exits with 1 when there are errors
    (with --strict also when there are warnings). Handlers are imported in a process of their own.
    """
    root = root_of(start)
    if not no_cache:
        known = last_verdict(root, imports=not no_import)
        if known is not None:
            return _again(known.findings_json, root, form, color, strict)
    # All that follows is imported only when something has changed since the last verdict.
    import json
    from pathlib import Path

    from hermes_build.cli.present import print_report, verdict
    from hermes_build.compiler.judge import judge
    from hermes_build.compiler.memory import forgetful, open_memory

    folder = Path(root)
    memory = forgetful() if no_cache else open_memory(folder, stamp())
    judged = judge(folder, memory, imports=not no_import)
    print_report(judged.findings, folder, form, color, files=judged.files)
    if judged.lasting and not no_cache:
        rows = [one.to_json() for one in judged.findings]
        remember(judged.watch, mark(imports=not no_import), json.dumps([judged.files, rows]))
    return verdict(judged.findings, strict)


def _again(known: str, root: str, form: str, color: str, strict: bool) -> int:
    """Say what the last verdict said."""
    line = clean_line(known)
    if line is not None and form == "full" and color != "always":
        click.echo(line)
        return 0
    import json
    from pathlib import Path

    from hermes_build.cli.present import print_report, verdict
    from hermes_build.compiler.diagnostics import Diagnostic

    files, rows = json.loads(known)
    found = [Diagnostic.from_json(row) for row in rows]
    print_report(found, Path(root), form, color, files=files)
    return verdict(found, strict)


@click.command("lint")
@project_option
@report_options
def lint_command(start: str, form: str, color: str, strict: bool) -> int:
    """Judge specs and toolsets alone: neither generated files, lock nor handlers."""
    from hermes_build.cli.present import open_project, print_report, verdict
    from hermes_build.compiler.memory import open_memory
    from hermes_build.compiler.pipeline import build

    project, findings = open_project(start)
    made = build(project, open_memory(project.root, stamp()), findings)
    found = [one for one in made.findings if one.code < "HB3"]
    print_report(found, project.root, form, color, files=sum(1 for _ in made.sources))
    return verdict(found, strict)
