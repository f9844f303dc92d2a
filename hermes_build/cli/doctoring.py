"""``hermes-build doctor``."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from hermes_build import __version__
from hermes_build.cli.present import project_option
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import read_project
from hermes_build.compiler.root import LOCK, NoProject, find_root
from hermes_build.compiler.seal import VERSIONS
from hermes_build.compiler.tree import read_lock

try:
    from hermes_build.compiler.yaml12.dialect import HAS_LIBYAML
except ImportError:  # PyYAML is missing, as the list of packages says
    HAS_LIBYAML = None  # type: ignore[assignment]

_PACKAGES = ("datamodel-code-generator", "jsonschema-rs", "jsonschema", "PyYAML", "Jinja2", "click")


@click.command("doctor")
@project_option
def doctor_command(start: str) -> int:
    """Say what works on this machine, and what is missing or slow.

    Exit code 1 says that something needs doing.
    """
    ills: list[str] = []
    click.echo(f"hermes-build {__version__}, Python {platform.python_version()} ({sys.executable})")
    for name in _PACKAGES:
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
    return ills
