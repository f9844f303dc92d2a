"""``hermes-build schema`` and ``export``: what others read of ours."""

from __future__ import annotations

from pathlib import Path

import click

from hermes_build.cli.present import Undecided, project_option, sound_project
from hermes_build.cli.reading import read_catalog
from hermes_build.cli.replacing import check_output, force_option
from hermes_build.compiler.emit.exports import PROVIDERS, export, is_export
from hermes_build.compiler.nearest import did_you_mean
from hermes_build.compiler.publish import SCHEMAS, schema_text
from hermes_build.ir import RESERVED_TOOLSETS


@click.command("schema")
@click.argument("which", type=click.Choice(list(SCHEMAS)))
def schema_command(which: str) -> int:
    """Print the JSON Schema of tool specs, toolsets, settings, or the JSON report.

    Editors complete and check YAML by it; `hermes-build init` sets that up.
    """
    click.echo(schema_text(which), nl=False)
    return 0


@click.command("export")
@click.option("--provider", type=click.Choice(list(PROVIDERS)), required=True, help="Whose form.")
@click.option("--toolset", "-t", "toolsets", multiple=True, help="Only the tools of this toolset.")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file."
)
@force_option
@project_option
def export_command(
    provider: str, toolsets: tuple[str, ...], output: Path | None, force: bool, start: str
) -> int:
    """Print tool definitions as a provider's API or an MCP client reads them."""
    catalog = read_catalog(start)
    names = [name for one in catalog.toolsets for name in (one.name, *one.aliases)]
    for toolset in toolsets:
        if toolset not in (*names, *RESERVED_TOOLSETS):
            hint = "".join(f"; {one}" for one in did_you_mean(toolset, names))
            raise Undecided(f"there is no toolset `{toolset}`{hint}")
    text = export(catalog, provider, toolsets)
    if output is None:
        click.echo(text, nl=False)
        return 0
    project = sound_project(start)
    inputs = (project.root / one for one in (project.file, project.specs, project.toolsets))
    check_output(str(output), "export", is_export, map(str, inputs), force=force)
    try:
        output.write_text(text, "utf-8", newline="\n")
    except OSError as error:
        raise Undecided(f"{output} cannot be written: {error.strerror}") from error
    return 0
