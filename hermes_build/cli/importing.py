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
from hermes_build.compiler.adopt import Adopted, Layout, Origin, adopt
from hermes_build.compiler.adopt.definitions import read_definitions
from hermes_build.compiler.adopt.live import read_registry
from hermes_build.compiler.diagnostics import Findings, Label
from hermes_build.compiler.load import Document
from hermes_build.compiler.memory import open_memory
from hermes_build.compiler.pipeline import resolve_project
from hermes_build.compiler.project import Project
from hermes_build.compiler.tree import is_inside
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
    wanted, imported = _settled(project, made, findings, force=force)
    standing = differing(project.root, wanted)
    if not force:
        for path in standing:
            findings.add(
                "HB1304",
                f"`{path}` exists already, with other content, and stays as it is",
                help=("say `--force` to replace it",),
            )
            del wanted[path]
    present = existing(project.root, {**made.companions, **wanted})
    files = {
        path: text
        for path, text in {**made.companions, **wanted}.items()
        if path not in present or path in standing
    }
    put(project.root, files, replace=tuple(standing))
    code = report.show(findings.sorted(), project.root, quiet=True)
    written = sum(path in files for path in wanted)
    say(
        f"imported {counted(imported, 'tool')} and "
        f"{counted(len(made.toolsets), 'toolset')}: wrote {counted(written, 'file')}"
    )
    return code


def _settled(
    project: Project, made: Adopted, findings: Findings, *, force: bool
) -> tuple[dict[str, str], int]:
    """The files to write, and of how many tools; a tool that the project declares is refused.

    With ``force``, it takes the place of the spec that is there, unless others are in that file;
    where its definition names no toolset, it stays in that of the one before.
    """
    sources = resolve_project(project, open_memory(project.root, stamp()), Findings()).sources
    declared: dict[str, Document] = {}
    for source in sources:
        if is_inside(source.path, project.specs):
            for one in sources.documents(source.path):
                for name in _names(one):
                    declared.setdefault(name, one)
    files, imported = dict(made.files), len(made.origins)
    for origin in made.origins:
        there = declared.get(origin.tool)
        path = there.source.path if there else origin.spec
        text = files[origin.spec]
        same_or_new = path == origin.spec and not differing(project.root, {path: text})
        if same_or_new or (there is None and not sources.documents(path)):
            continue
        del files[origin.spec]
        alone = len(sources.documents(path)) == 1 and there and _names(there)[0] == origin.tool
        if force and alone and there:
            owner = there.value.get("toolset")
            files[path] = origin.text(owner if isinstance(owner, str) else None)
            continue
        if origin.handler:
            files.pop(origin.handler, None)
        imported -= 1
        _refuse(origin, there, path, findings, replaceable=bool(alone))
    return files, imported


def _names(document: Document) -> list[str]:
    """The name and the aliases that a spec declares; nothing for what is no spec."""
    value = document.value if isinstance(document.value, dict) else {}
    aliases = value.get("aliases")
    names = [value.get("name"), *(aliases if isinstance(aliases, list) else ())]
    return [one for one in names if isinstance(one, str)]


def _refuse(
    origin: Origin, there: Document | None, path: str, findings: Findings, *, replaceable: bool
) -> None:
    one = origin.definition
    if replaceable:
        way = f"say `--force` to replace `{path}`"
    else:
        way = f"move it out of `{path}`, where it is not alone or an alias, to replace it"
    findings.add(
        "HB1304",
        f"{one.label} cannot be imported: `{path}` declares `{origin.tool}` already"
        if there
        else f"{one.label} cannot be imported: `{path}` holds something else",
        one.span,
        labels=(Label(there.at("name"), "declared here"),) if there else (),
        help=(way, "or give one of the two another name"),
        tool=origin.tool,
    )
