"""``hermes-build call``."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

import click

from hermes_build.cli.present import Undecided, project_option, sound_project
from hermes_build.compiler.project import Project


@click.command("call")
@click.argument("tool")
@click.argument("arguments", required=False, default="{}", metavar="[JSON]")
@project_option
def call_command(tool: str, arguments: str, start: str) -> int:
    """Call TOOL with the JSON arguments; `-` reads them from standard input.

    The compiled registry and the tool's own handler are used, as an agent would use them. Prints
    what a model would read. Exit code 1 says that the result is an error.
    """
    project = sound_project(start)
    text = sys.stdin.buffer.read() if arguments == "-" else arguments
    try:
        args = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Undecided(f"the arguments are not JSON: {error}") from error
    result = open_registry(project).call(tool, args)
    if isinstance(result, str):
        click.echo(result)
    else:
        click.echo(json.dumps(result, ensure_ascii=False, indent=2))
    return int(_is_error(result))


def open_registry(project: Project) -> Any:
    """Import the project's compiled registry into this process.

    Raises:
        Undecided: it is not there, or it is no registry that this version can open.
    """
    # Another program's package of the same name may stand elsewhere on the path.
    if not (project.root / project.output_folder / "registry.py").is_file():
        raise Undecided(f"`{project.output}` is not there yet: run `hermes-build compile`")
    folder = os.path.realpath(project.source_root)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(f"{project.output}.registry").registry
    except (RuntimeError, OSError) as error:
        raise Undecided(str(error)) from error
    except Exception as error:  # generated code, but anybody may have edited it since
        raise Undecided(
            f"`{project.output}.registry` cannot be imported: {type(error).__name__}: {error}; "
            "run `hermes-build compile`"
        ) from error


def _is_error(result: Any) -> bool:
    if isinstance(result, str) and result.startswith("{"):
        try:
            result = json.loads(result)
        except ValueError:
            return False
    return isinstance(result, dict) and "error" in result
