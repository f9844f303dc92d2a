"""``hermes-build import``: tool definitions that exist elsewhere become specs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import click

from hermes_build.cli.present import (
    Report,
    Undecided,
    counted,
    project_option,
    report_options,
    say,
    sound_project,
)
from hermes_build.cli.putting import differing, existing, put
from hermes_build.compiler.adopt import Adopted, Layout, adopt
from hermes_build.compiler.adopt.definitions import read_definitions
from hermes_build.compiler.adopt.live import read_registry
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.memory import open_memory
from hermes_build.compiler.pipeline import resolve_project
from hermes_build.compiler.project import Project
from hermes_build.compiler.verdict import stamp

_F = TypeVar("_F", bound=Callable[..., Any])


@click.group("import")
def import_command() -> None:
    """Bring in tool definitions that exist elsewhere, as specs of this project.

    Schemas are kept as they came; whatever had to be mapped is a finding, and what cannot be mapped
    is refused by name while the rest goes on.
    """


def _options(command: _F) -> Callable[..., Any]:
    command = click.option("--toolset", "-t", help="The toolset that owns tools without one.")(
        command
    )
    command = click.option(
        "--handler",
        type=click.Choice(["external", "self"]),
        default="external",
        help="Who binds handlers: the host program, or modules of this project (to fill in).",
    )(command)
    command = click.option("--force", is_flag=True, help="Replace specs that exist.")(command)
    return report_options(project_option(command))


@import_command.command("json")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@_options
def import_json(
    file: Path,
    toolset: str | None,
    handler: str,
    force: bool,
    start: str,
    report: Report,
) -> int:
    """Import the definitions in FILE: JSON or JSON Lines, of OpenAI, Anthropic or MCP form.

    `-` reads standard input.
    """
    project = sound_project(start)
    findings = Findings()
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise Undecided(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Undecided(f"{file} is not UTF-8 text: byte {error.start} is not") from error
    definitions = read_definitions(text, str(file), findings)
    return _bring(project, definitions, (), findings, toolset, handler, force, report)


@import_command.command("python")
@click.argument("place", metavar="MODULE:OBJECT")
@click.option("--toolsets", help="MODULE:OBJECT of the toolsets' mapping.")
@click.option("--python", help="The interpreter of the program's own environment.")
@click.option("--preload", multiple=True, help="A module to import first; may be repeated.")
@_options
def import_python(
    place: str,
    toolsets: str | None,
    python: str | None,
    preload: tuple[str, ...],
    toolset: str | None,
    handler: str,
    force: bool,
    start: str,
    report: Report,
) -> int:
    """Import a live registry, such as hermes-agent's `tools.registry:registry`.

    The program runs in a process of its own. For hermes-agent:

    hermes-build import python tools.registry:registry --toolsets toolsets:TOOLSETS
    --preload model_tools --python path/to/its/venv/bin/python
    """
    project = sound_project(start)
    findings = Findings()
    live = read_registry(place, findings, toolsets=toolsets, python=python, preload=preload)
    return _bring(
        project, live.definitions, live.toolsets, findings, toolset, handler, force, report
    )


def _bring(
    project: Project,
    definitions: Sequence[Any],
    toolsets: Sequence[Any],
    findings: Findings,
    toolset: str | None,
    handler: str,
    force: bool,
    report: Report,
) -> int:
    made = adopt(
        definitions,
        toolsets,
        findings=findings,
        handler=cast("Literal['external', 'self']", handler),
        toolset=toolset,
        layout=Layout(
            specs=project.specs,
            toolsets=project.toolsets,
            source=project.source,
            handlers=project.handlers[0] if project.handlers else "handlers",
            output=project.output,
        ),
    )
    standing = differing(project.root, made.files)
    if not force:
        _refuse_files(standing)
        _refuse_tools(project, made)
    present = existing(project.root, {**made.companions, **made.files})
    files = {
        path: text
        for path, text in {**made.companions, **made.files}.items()
        if path not in present or path in standing
    }
    put(project.root, files, replace=tuple(standing))
    code = report.show(findings.sorted(), project.root, quiet=True)
    written = sum(path in files for path in made.files)
    say(
        f"imported {counted(len(made.tools), 'tool')} and "
        f"{counted(len(made.toolsets), 'toolset')}: wrote {counted(written, 'file')}"
    )
    return code


def _refuse_files(standing: Sequence[str]) -> None:
    if standing:
        exist = "exists" if len(standing) == 1 else "exist"
        count = counted(len(standing), "file")
        raise Undecided(
            f"{count} {exist} already, with other content ({_some(standing)}): see --force"
        )


def _refuse_tools(project: Project, made: Adopted) -> None:
    """Refuse tools whose names the project has in other files: they would be declared twice."""
    there = resolve_project(project, open_memory(project.root, stamp()), Findings()).catalog
    places = {
        name: tool.place.path
        for tool in (there.tools if there else ())
        for name in (tool.name, *tool.aliases)
        if tool.place.path not in made.files
    }
    taken = [f"`{name}` in {places[name]}" for name in made.tools if name in places]
    if taken:
        exist = "exists" if len(taken) == 1 else "exist"
        count = counted(len(taken), "tool")
        raise Undecided(f"{count} {exist} already ({_some(taken)}): see --force")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
