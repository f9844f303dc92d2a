"""``hermes-build call``."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from hermes_build.cli.opening import is_bundle, is_installed, run_bundle
from hermes_build.cli.present import Undecided, project_option, say, sound_project
from hermes_build.cli.trusting import Trust, trust_options
from hermes_build.compiler.project import Project
from hermes_build.ir import is_name
from hermes_build.runtime.decoding import decode
from hermes_build.runtime.standalone import is_error, shown

_SHOWN = 60
"""So many characters of arguments that are no JSON are shown."""


@click.command("call")
@click.argument("words", nargs=-1, required=True, metavar="[BUNDLE] TOOL [JSON]")
@trust_options
@project_option
def call_command(words: tuple[str, ...], trust: Trust, start: str) -> int:
    """Call TOOL with the JSON arguments; `-` reads them from standard input.

    The compiled registry and the tool's own handler are used, as an agent would use them. Prints
    what a model would read. Exit code 1 says that the result is an error.

    With BUNDLE, a file that `bundle` made, a folder, or the name of an installed one, its tool is
    called, once it is verified.
    """
    named = len(words) == 2 and is_name(words[1])
    if _is_split(words):
        raise click.UsageError(
            "the shell split the JSON at its spaces: put it in single quotes, as in "
            f'`hermes-build call {words[0]} \'{{"name": "Ada"}}\'`'
        )
    if len(words) == 3 or is_bundle(words[0]) or (named and is_installed(words[0])):
        return run_bundle(words[0], ["call", *words[1:]], trust)
    if len(words) > 3:
        raise click.UsageError("there is at most a bundle, a tool, and its arguments in quotes")
    if trust.paths or trust.required:
        raise click.UsageError("keys are for a bundle: name it before the tool")
    tool, arguments = words[0], words[1] if len(words) == 2 else "{}"
    try:
        project = sound_project(start)
        args = _arguments(sys.stdin.buffer.read() if arguments == "-" else arguments)
    except Undecided as error:
        if not named:
            raise
        raise Undecided(f"{error}; and no bundle `{tool}` is installed") from error
    registry = open_registry(project)
    result = registry.call(tool, args)
    failed = is_error(result)
    if failed:
        _refuse_broken_module(project, registry, tool)
    click.echo(shown(result))
    if failed and registry.find(tool) is None and (hint := _uncompiled(project, tool)):
        say(f"hint: {hint}")
    return int(failed)


def _is_split(words: tuple[str, ...]) -> bool:
    """Whether one JSON text came as several words, since nothing kept the shell from it."""
    return len(words) > 2 and words[1].startswith(("{", "["))


def _arguments(text: str | bytes) -> Any:
    """Read the arguments of a call.

    Raises:
        Undecided: they are not JSON.
    """
    try:
        return decode(text)
    except ValueError as error:
        shown = repr(text if isinstance(text, str) else text.decode("utf-8", "replace"))
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        raise Undecided(
            f"the arguments are not JSON: {error}; they arrived as {shown}, and are written like "
            '\'{"name": "Ada"}\', in single quotes'
        ) from error


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
        registry = importlib.import_module(f"{project.output}.registry").registry
        registry.verify()
    except (RuntimeError, OSError) as error:
        raise Undecided(str(error)) from error
    except SyntaxError as error:
        raise _unreadable(project, error) from error
    except (Exception, SystemExit) as error:  # generated, but anybody may have edited it since
        raise Undecided(
            f"`{project.output}.registry` cannot be imported: {type(error).__name__}: {error}; "
            "run `hermes-build compile`"
        ) from error
    return registry


def _refuse_broken_module(project: Project, registry: Any, tool: str) -> None:
    """Tell a generated module that is no Python apart from a handler that is none.

    Raises:
        Undecided: the module of the tool is no Python.
    """
    record = registry.find(tool)
    try:
        if record is not None:
            registry.binding(record["name"])
    except (ImportError, LookupError) as error:
        cause = getattr(error, "cause", None)
        folder = os.path.realpath(project.root / project.output_folder) + os.sep
        if isinstance(cause, SyntaxError) and os.path.realpath(cause.filename or "").startswith(
            folder
        ):
            raise _unreadable(project, cause) from error


def _unreadable(project: Project, error: SyntaxError) -> Undecided:
    path = os.path.relpath(error.filename, project.root) if error.filename else project.output
    where = f"line {error.lineno}: " if error.lineno else ""
    return Undecided(
        f"`{path.replace(os.sep, '/')}` cannot be parsed ({where}{error.msg}): "
        "run `hermes-build compile`"
    )


def _uncompiled(project: Project, tool: str) -> str | None:
    """Say what to do where a tool that is not in the registry is in the specs."""
    from hermes_build.compiler.diagnostics import Findings
    from hermes_build.compiler.memory import open_memory
    from hermes_build.compiler.pipeline import resolve_project
    from hermes_build.compiler.verdict import stamp

    made = resolve_project(project, open_memory(project.root, stamp()), Findings())
    if made.catalog is None:
        return "the specs have errors, which `hermes-build compile` shows"
    for one in made.catalog.tools:
        if tool in (one.name, *one.aliases):
            place = f"{one.place.path}:{one.place.line}"
            return f"{place} declares `{tool}`, and is not compiled yet: run `hermes-build compile`"
    return None
