"""What every command shares: its options, the project it works on, and how it prints findings."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_build.compiler.regular import read_regular
from hermes_build.compiler.root import NoProject, find_root

if TYPE_CHECKING:  # what a run without changes never needs is imported where it is used
    from pathlib import Path

    from hermes_build.compiler.diagnostics import Diagnostic, Findings
    from hermes_build.compiler.project import Project

_F = TypeVar("_F", bound=Callable[..., Any])

FORMATS = ("full", "concise", "json")


class Undecided(click.ClickException):
    """The command could not decide anything: exit code 2."""

    exit_code = 2


def project_option(command: _F) -> _F:
    """Add ``-C/--project``."""
    return click.option(
        "-C",
        "--project",
        "start",
        type=click.Path(file_okay=False, exists=True),
        default=".",
        help="Work on the project at or above this folder.",
    )(command)


class Report:
    """How a command reports: in which form, in colour or not, and whether warnings fail it."""

    __slots__ = ("color", "form", "strict")

    def __init__(self, form: str = "full", color: str = "auto", strict: bool = False) -> None:
        self.form = form
        self.color = color
        self.strict = strict

    def show(
        self,
        findings: Iterable[Diagnostic],
        root: Path,
        *,
        files: int | None = None,
        quiet: bool = False,
        read: Callable[[str], str | None] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> int:
        """Print findings on standard output, and return the exit code.

        ``files`` is how many files were looked at. With ``quiet``, nothing is said of nothing, but
        in the JSON form, whose reader waits for it. ``read`` gives the text that is shown of a
        file, where that is not the one on the disk; ``more`` is added to the JSON form.
        """
        found = list(findings)
        if found or not quiet or self.form == "json":
            text = self._text(found, files, read or (lambda path: text_of(root, path)), more or {})
            click.echo(text, nl=False, color=True)
        return int(self.is_bad(found))

    def is_bad(self, findings: Iterable[Diagnostic]) -> bool:
        """Whether these findings fail the command."""
        bad = ("error", "warning") if self.strict else ("error",)
        return any(one.severity in bad for one in findings)

    def _text(
        self,
        found: list[Diagnostic],
        files: int | None,
        read: Callable[[str], str | None],
        more: Mapping[str, Any],
    ) -> str:
        import shutil

        from hermes_build.compiler.report import as_json, concise, full

        if self.form == "json":
            return as_json(found, files=files, more=more)
        colour = coloured(self.color)
        if self.form == "concise":
            return concise(found, colour=colour)
        width = shutil.get_terminal_size((120, 24)).columns if _on_terminal() else 120
        return full(found, read, files=files, colour=colour, width=width)


def report_options(command: _F) -> Callable[..., Any]:
    """Add ``--format``, ``--color`` and ``--strict``, which reach the command as its ``report``."""

    @wraps(command)
    def reporting(form: str, color: str, strict: bool, **values: Any) -> Any:
        return command(report=Report(form, color, strict), **values)

    form = click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="full",
        help="How to print findings; the JSON form's schema is `hermes-build schema output`.",
    )
    return form(looks_of_report(reporting))


def looks_of_report(command: _F) -> Callable[..., Any]:
    """Add ``--color`` and ``--strict``."""
    strict = click.option(
        "--strict", is_flag=True, help="Let warnings fail the command as errors do."
    )
    color = click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        help="Colour the report; by default on a terminal only (NO_COLOR is honoured).",
    )
    return color(strict(command))


def root_of(start: str) -> str:
    """Return the project's root, at or above ``start``.

    Raises:
        Undecided: there is none.
    """
    try:
        os.getcwd()  # much of what follows cannot do without, wherever the project is
        return find_root(start)
    except NoProject as error:
        raise Undecided(str(error)) from error
    except FileNotFoundError as error:
        raise Undecided("the current folder is gone: somebody has deleted it") from error


def open_project(start: str) -> tuple[Project, Findings]:
    """Return the project at or above ``start``, with what reading its settings found."""
    from pathlib import Path

    from hermes_build.compiler.diagnostics import Findings
    from hermes_build.compiler.project import read_project

    findings = Findings()
    return read_project(Path(root_of(start)), findings), findings


def sound_project(start: str) -> Project:
    """Return the project at or above ``start``, for commands that cannot do with half its settings.

    Raises:
        Undecided: there is none, or its settings have errors, which are printed.
    """
    project, findings = open_project(start)
    if findings.has_errors:
        Report().show(findings.sorted(), project.root)
        raise Undecided("the settings have errors")
    return project


def coloured(color: str) -> bool:
    """Whether to colour: on a terminal, unless somebody says otherwise."""
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return _on_terminal() and os.environ.get("TERM") != "dumb"


def _on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def say(text: str) -> None:
    """Say how things go, on standard error."""
    click.echo(text, err=True)


def say_more_follows() -> None:
    """Say that errors have kept later stages from looking."""
    say("more checks follow once these are mended")


def counted(number: int, noun: str) -> str:
    """Return ``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def text_of(root: Path, path: str) -> str | None:
    """Return the text of a file of the project, with LF line ends, or None where it has none."""
    try:
        text = read_regular(root / path).decode("utf-8-sig", "replace")
    except OSError:
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n")
