"""``hermes-build doctor``."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import click

from hermes_build import __version__
from hermes_build.cli.present import project_option
from hermes_build.compiler import foreign
from hermes_build.compiler.diagnostics import Diagnostic, Findings
from hermes_build.compiler.drift import PATIENCE, probe_handlers
from hermes_build.compiler.project import Project, read_project
from hermes_build.compiler.report.glyphs import visible
from hermes_build.compiler.root import LOCK, NoProject, find_root
from hermes_build.compiler.seal import VERSIONS
from hermes_build.compiler.tree import read_lock

try:
    from hermes_build.compiler.yaml12.dialect import HAS_LIBYAML
except ImportError:  # PyYAML is missing, as the list of packages says
    HAS_LIBYAML = None  # type: ignore[assignment]

REPORTS = "hermes_build.runtime.reports"


@click.command("doctor")
@project_option
def doctor_command(start: str) -> int:
    """Say what works on this machine, and what is missing or slow.

    Handlers are imported, and check functions asked, in processes of their own. Exit code 1 says
    that something needs doing. A tool that this machine lacks something for is no such thing.
    """
    ills: list[str] = []
    click.echo(f"hermes-build {__version__}, Python {platform.python_version()} ({sys.executable})")
    for name in _required():
        found = _version(name)
        if found is None:
            ills.append(f"{name} is not installed: reinstall hermes-build")
        else:
            click.echo(f"  {name} {found}")
    if HAS_LIBYAML:
        click.echo("  YAML is read by libyaml")
    elif HAS_LIBYAML is False:
        ills.append(
            "PyYAML came without libyaml: reading specs works, about ten times slower; "
            "install a PyYAML wheel, or libyaml's headers before building it"
        )
    ills += _project(start)
    for ill in ills:
        click.echo(f"! {ill}")
    click.echo("everything is in order" if not ills else f"{len(ills)} to look at")
    return int(bool(ills))


def _required() -> list[str]:
    """The packages that hermes-build requires, as its own metadata names them, sorted."""
    lines = requires("hermes-build") or ()
    names = (re.match(r"[\w.-]+", line) for line in lines if "extra ==" not in line)
    return sorted(found[0] for found in names if found)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _project(start: str) -> list[str]:
    try:
        root = Path(find_root(start))
    except NoProject as error:
        click.echo(f"  {error}")
        return []
    findings = Findings()
    project = read_project(root, findings)
    click.echo(f"project {root} ({project.file})")
    ills = [f"{one.message} ({one.code})" for one in findings]
    if not os.access(root, os.W_OK):
        ills.append(
            "the project cannot be written: `check` works, and forgets what it found; "
            "`compile` does not"
        )
    for what, folder in (("specs", project.specs), ("output", project.output_folder)):
        there = (root / folder).is_dir()
        click.echo(f"  {what}: {folder}/" + ("" if there else " (missing)"))
        if not there:
            remedy = "compile" if what == "output" else "new TOOL"
            ills.append(f"{folder}/ is not there: run `hermes-build {remedy}`")
    lock, _ = read_lock(root, LOCK, findings)
    if lock is None:
        ills.append("there is no readable lock: run `hermes-build compile`")
    else:
        for name in VERSIONS:
            here = _version(name)  # one that is missing has been named already
            if here is not None and lock.versions.get(name) != here:
                ills.append(
                    f"the lock was made with {name} {lock.versions.get(name)}, "
                    f"here is {here}: install that one, or compile again"
                )
        click.echo(f"  lock: {len(lock.tools)} tools, {len(lock.toolsets)} toolsets")
    if not findings.has_errors and is_compiled(project):
        ills += _program(project)
    return ills


def _program(project: Project) -> list[str]:
    """Say which tools of the compiled program cannot be used here; return what is wrong with it."""
    findings = Findings()
    probe_handlers(project, findings)
    ills = [_ill(one) for one in findings.sorted()]
    asked = ask_program(project)
    lacking = {name: missing for name, missing in asked.missing.items() if missing}
    if asked.missing:
        some = f"{len(lacking)} unavailable here" if lacking else "all available here"
        click.echo(f"  tools: {len(asked.missing)}, {some}")
    for name, missing in sorted(lacking.items()):
        click.echo(f"    {name}: {in_a_line(missing)}")
    if asked.dynamic:
        broken = {name: why for name, why in asked.dynamic.items() if why is not None}
        some = f"{len(broken)} passed over" if broken else "all as specs allow"
        click.echo(f"  schemas that the program rewrites: {len(asked.dynamic)}, {some}")
        ills += [
            f"the dynamic_schema_overrides of `{name}` are passed over, and its declared schema "
            f"stands: {in_a_line([why])}"
            for name, why in sorted(broken.items())
        ]
    # A program that cannot be imported at all has been named already.
    if asked.trouble and (asked.missing or not ills):
        ills.append(asked.trouble)
    return [visible(one) for one in ills]


def _ill(one: Diagnostic) -> str:
    lost = "".join(f"; {note}" for note in one.notes[:1] if note.startswith("lost with it"))
    return f"{one.message}{lost} ({one.code})"


@dataclass(slots=True)
class Asked:
    """What the compiled program says of its tools.

    ``missing`` holds, for each tool that was come to, what it lacks here: nothing where it is
    available. ``dynamic`` holds the available ones whose schema the program rewrites, with why that
    fails, or None. ``trouble`` says why not all of them were come to.
    """

    missing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dynamic: dict[str, str | None] = field(default_factory=dict)
    trouble: str | None = None


def in_a_line(missing: Iterable[str]) -> str:
    """Reasons on one line of a terminal; those of check functions are whatever somebody wrote."""
    return visible("; ".join(" ".join(one.split()) for one in missing))


def is_compiled(project: Project) -> bool:
    """Whether there is a compiled program to ask."""
    return (project.root / project.output_folder / "registry.py").is_file()


def ask_program(project: Project) -> Asked:
    """Ask every tool of the compiled program whether it can be used here, in another process.

    Handlers are imported where tools have check functions, or schemas that they rewrite.
    """
    paths = [str(project.source_root), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    command = [sys.executable, "-m", REPORTS, project.output]
    ended = foreign.run(command, project.root, PATIENCE, environment)
    asked = Asked()
    asking: str | None = None
    for text in ended.answer.split(b"\n")[:-1]:
        line = json.loads(text)
        if line.get("done"):
            return asked
        asking = line.get("asking")
        if "tool" in line:
            asked.missing[line["tool"]] = tuple(line["missing"])
            if "dynamic" in line:
                asked.dynamic[line["tool"]] = line["dynamic"]
    if ended.code is None:
        how = f"did not end within {PATIENCE:.0f} seconds"
    else:
        how = f"ended the process with {_exit(ended.code)}"
    if asking is not None:
        asked.missing[asking] = (f"its check function, or other code of its handler, {how}",)
        asked.trouble = f"asking whether `{asking}` is available {how}"
    else:
        asked.trouble = f"asking `{project.output}` for its tools {how}" + "".join(
            f": {line.strip()}" for line in ended.noise[-1:]
        )
    return asked


def _exit(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
