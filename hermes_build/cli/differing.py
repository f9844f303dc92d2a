"""``hermes-build diff``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from hermes_build.cli.present import Report, Undecided, open_project, say
from hermes_build.cli.refusing import refused

if TYPE_CHECKING:
    from hermes_build.bundle.sides import Side
    from hermes_build.compiler.project import Project


@click.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option("--toolset", "-t", "toolsets", multiple=True, help="Of a project, only its tools.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["full", "concise", "json", "markdown"]),
    default="full",
    help="How to print the differences; `markdown` is for a comment in a review.",
)
def diff_command(old: str, new: str, toolsets: tuple[str, ...], form: str) -> int:
    """Say in what NEW differs from OLD: tools, toolsets, handlers, files.

    Each is a bundle, the name of an installed one, a lock, or the folder of a project, which is
    taken as the bundle that would be made of it. Of a lock, only what has changed is known, and not
    the values; of the code of handlers, the runtime and dependencies it tells nothing, and what was
    not compared is said. Exit code 0 says that no difference was found, 1 that there is one, 2 that
    this could not be decided.
    """
    from hermes_build.bundle.differences import compare
    from hermes_build.bundle.format import BundleError
    from hermes_build.cli.difference_forms import FORMS, not_compared

    sides = []
    for what in (old, new):
        try:
            sides.append(_side(what, toolsets))
        except BundleError as error:
            refused(error, what)
            return 2
    found = compare(*sides)
    if not found.detailed:
        say("a lock holds digests: which values have changed is not known from it")
    if form == "concise" and found.not_compared:
        say(not_compared(found))
    click.echo(FORMS[form](found), nl=False)
    return int(found.differs)


def _side(what: str, toolsets: tuple[str, ...]) -> Side:
    """Read one side.

    Raises:
        BundleError: it is a bundle that is refused, or no bundle of this name is installed.
        Undecided: it is none of what can be compared.
    """
    from hermes_build.bundle.format import MANIFEST
    from hermes_build.bundle.sides import side_of_bundle
    from hermes_build.bundle.store import resolve

    meant = resolve(what)
    path = meant.path
    if os.path.isdir(path):
        if not os.path.lexists(os.path.join(path, MANIFEST)):
            return _project_side(path, toolsets, what)
    elif not meant.name and not _is_archive(path):
        return _lock_side(path, what)
    with meant.open() as opened:
        return side_of_bundle(opened, what)


def _is_archive(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"PK"


def _lock_side(path: str, label: str) -> Side:
    from hermes_build.bundle.sides import side_of_lock
    from hermes_build.lock import HEADER, LockError, read

    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(HEADER.encode()[:20]):
        raise Undecided(f"{label} is neither a bundle nor a lock nor the folder of a project")
    try:
        return side_of_lock(read(data.decode()), label)
    except (LockError, UnicodeDecodeError) as error:
        raise Undecided(f"the lock {label} cannot be read: {error}") from error


def _project_side(path: str, toolsets: tuple[str, ...], label: str) -> Side:
    """The bundle that would be made of a project; where none can be, its tools without files.

    Raises:
        Undecided: the specs have errors, which are printed, or there is no toolset of a name.
    """
    from hermes_build.bundle.format import LOCK
    from hermes_build.bundle.sides import catalogue_path, side_of_manifest
    from hermes_build.compiler.bundling.build import Judged, make_bundle
    from hermes_build.compiler.judge import judge
    from hermes_build.compiler.memory import open_memory
    from hermes_build.compiler.verdict import stamp

    project, _ = open_project(path)
    # Handlers are not imported: what they do at import says nothing of what they hold.
    judged = judge(project.root, open_memory(project.root, stamp()), imports=False)
    try:
        made = make_bundle(project, toolsets, Judged(judged.findings, judged.files))
    except KeyError as error:
        raise Undecided(f"{label} has no toolset `{error.args[0]}`") from error
    if made.manifest is None:
        return _compiled_side(project, toolsets, label)
    manifest = made.manifest
    catalogue = manifest.program_path(catalogue_path(manifest))
    lock, records = (b"".join(made.contents.files[path]()) for path in (LOCK, catalogue))
    return side_of_manifest(manifest, lock, records, label, kind="project")


def _compiled_side(project: Project, toolsets: tuple[str, ...], label: str) -> Side:
    from hermes_build.bundle.sides import side_of_program
    from hermes_build.compiler.bundling.narrow import Compiled, narrow
    from hermes_build.compiler.diagnostics import Findings
    from hermes_build.compiler.memory import open_memory
    from hermes_build.compiler.pipeline import build
    from hermes_build.compiler.verdict import stamp
    from hermes_build.layout import CATALOGUE
    from hermes_build.lock import read

    made = build(project, open_memory(project.root, stamp()), Findings())
    if made.tree is None or made.lock is None:
        Report().show(made.findings, project.root)
        raise Undecided(f"{label} has errors")
    path = f"{project.output_folder}/{CATALOGUE}"
    catalogue, registry = made.tree[path], made.tree[f"{project.output_folder}/registry.py"]
    compiled = Compiled(made.lock, lambda: (catalogue,), lambda: (registry,))
    narrowed = narrow(project, compiled, toolsets)
    say(f"{label}: its files are not compared, since `hermes-build bundle` refuses it now")
    records = narrowed.replaced.get(path, compiled.catalogue)
    lock = read(b"".join(narrowed.lock()).decode())
    return side_of_program(lock, b"".join(records()), label)
