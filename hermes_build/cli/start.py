"""``hermes-build init`` and ``new``."""

from __future__ import annotations

from pathlib import Path

import click

from hermes_build.cli.present import (
    Report,
    Undecided,
    counted,
    project_option,
    say,
    sound_project,
)
from hermes_build.cli.putting import put
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.memory import open_memory
from hermes_build.compiler.pipeline import resolve_project
from hermes_build.compiler.project import Project
from hermes_build.compiler.regular import read_regular
from hermes_build.compiler.scaffold import project_scaffold, tool_scaffold
from hermes_build.compiler.verdict import stamp


@click.command("init")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=".")
def init_command(folder: Path) -> int:
    """Start a project in FOLDER (here, by default) that compiles and runs at once.

    It gets one tool with its handler, one toolset, schemas for the editor, and a CI workflow. What
    is there already stays as it is.
    """
    made = project_scaffold(lambda path: _read(folder, path))
    appended = tuple(path for path in made.files if _read(folder, path) is not None)
    put(folder, made.files, replace=appended)
    say(f"wrote {counted(len(made.files), 'file')} in {folder}")
    for path in made.kept:
        say(f"  {path} was there, and stays as it is")
    there = "" if folder == Path() else f"cd {folder} && "
    say(f'next: {there}hermes-build compile && hermes-build call greet \'{{"name": "you"}}\'')
    return 0


@click.command("new")
@click.argument("tool")
@click.option("--toolset", "-t", help="The toolset that owns the tool.")
@click.option("--async", "is_async", is_flag=True, help="Make the handler a coroutine function.")
@click.option("--no-handler", is_flag=True, help="Leave the handler out.")
@project_option
def new_command(
    tool: str, toolset: str | None, is_async: bool, no_handler: bool, start: str
) -> int:
    """Write the spec of a new TOOL, and a handler to fill in.

    Without --toolset, the tool belongs to the one toolset that owns the others.
    """
    project = sound_project(start)
    findings = Findings()
    owners = [toolset] if toolset is not None else _owners(project)
    made = tool_scaffold(
        project,
        tool,
        lambda path: _read(project.root, path),
        findings,
        toolset=owners[0],
        is_async=is_async,
        handler=not no_handler,
    )
    if made is None:
        Report().show(findings.sorted(), project.root)
        return 1
    if len(owners) > 1:
        shown = ", ".join(owners[:5]) + (" …" if len(owners) > 5 else "")
        raise Undecided(f"say with --toolset which toolset owns it: {shown}, or a new one")
    put(project.root, made.files)
    for path in made.files:
        say(f"wrote {path}")
    if toolset is None:
        say(f"its toolset is `{owners[0]}`: --toolset names another")
    say("next: fill them in, then run `hermes-build compile`")
    return 0


def _owners(project: Project) -> list[str]:
    """The toolsets that own the tools of a project; a likely name where there is none."""
    made = resolve_project(project, open_memory(project.root, stamp()), Findings())
    tools = made.catalog.tools if made.catalog else ()
    return sorted({tool.toolset for tool in tools if tool.toolset is not None}) or ["tools"]


def _read(root: Path, path: str) -> str | None:
    try:
        text = read_regular(root / path).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Undecided(f"{path} cannot be read: {error.strerror}") from error
    return text.replace("\r\n", "\n")
