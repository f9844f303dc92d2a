"""The stages of making a bundle, in order."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_build import __version__, layout
from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import (
    MANIFEST,
    PYLOCK,
    SIGNATURES,
    SUFFIX,
    BundleError,
    File,
    Manifest,
    Runtime,
    hexdigest,
    is_name,
    roots_of,
)
from hermes_build.bundle.pythons import is_readable
from hermes_build.bundle.wheel import wheel_entries, wheel_name
from hermes_build.compiler.bundling.closure import Closure, Outside, follow
from hermes_build.compiler.bundling.contents import Content, Contents, gather
from hermes_build.compiler.bundling.dependencies import lock_dependencies
from hermes_build.compiler.bundling.directives import visible
from hermes_build.compiler.bundling.distributions import find_dependencies, project_table
from hermes_build.compiler.bundling.door import Door
from hermes_build.compiler.bundling.judging import (
    find_in_data,
    find_in_texts,
    find_paths,
    machine_places,
)
from hermes_build.compiler.bundling.modules import STANDARD, Modules
from hermes_build.compiler.bundling.narrow import Narrowed, make_narrowed
from hermes_build.compiler.bundling.requirements import requirements_of
from hermes_build.compiler.bundling.wheel import about_wheel
from hermes_build.compiler.diagnostics import Diagnostic, Findings, Span
from hermes_build.compiler.drift import probe_handlers
from hermes_build.compiler.freshness import stale
from hermes_build.compiler.memory import Memory
from hermes_build.compiler.pipeline import Build, build
from hermes_build.compiler.project import Project
from hermes_build.compiler.write import exclusive
from hermes_build.layout import CATALOGUE

ANY_PYTHON = ">=3.11"
"""The versions of Python for a bundle whose project does not say which it takes."""

NAMELESS = "program"
"""The name of a bundle whose project has none."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What was found and made; without errors, ``manifest`` is there and all can be written.

    ``findings`` are those that nothing suppresses, by place; ``files`` is how many files of specs
    and toolsets were read. ``finished`` is false where errors kept later stages from looking.
    ``signatures`` are those of the manifest, in one envelope.
    """

    findings: tuple[Diagnostic, ...]
    files: int
    contents: Contents = field(default_factory=Contents)
    manifest: Manifest | None = None
    finished: bool = True
    signatures: bytes | None = None


def make_bundle(
    project: Project,
    toolsets: Sequence[str],
    memory: Memory,
    findings: Findings,
    *,
    known_clean: bool = False,
    pinned: bool = False,
) -> Bundle:
    """Make a bundle in memory: nothing is written.

    ``findings`` holds what reading the settings found. ``known_clean`` says that a check of this
    very state has found nothing, so that the handlers need not be imported again. ``pinned`` adds
    a lock of the dependencies, for which a package index is asked.

    Raises:
        KeyError: there is no toolset of a name.
    """
    made, found = check(project, memory, findings, known_clean)
    files = sum(1 for _ in made.sources)
    if any(one.severity == "error" for one in found):
        return Bundle(found, files, finished=False)
    seen = Findings()
    door = Door(project.root, seen)
    narrowed = make_narrowed(project, made, toolsets, memory)
    closure = follow(project, narrowed.wanted, door, seen)
    contents = gather(project, narrowed, closure, made.sources, door, seen)
    specs = {path: data for path, data in contents.texts.items() if made.sources.get(path)}
    find_in_texts(contents.texts, seen)
    places = machine_places(project.root)
    find_in_data(contents.data, places, seen)
    find_paths(places, specs, contents.texts, contents.generated, seen)
    dependencies = find_dependencies(project, outside(project, narrowed, closure), seen)
    judge_python(python_of(project_table(project)), seen)
    if pinned and not seen.has_errors:
        pin(project, dependencies, contents, seen)
    shown = (*found, *visible(seen, contents.texts, project.lint))
    if any(one.severity == "error" for one in shown):
        return Bundle(shown, files, contents)
    manifest = make_manifest(project, toolsets, narrowed, closure, contents, dependencies)
    return Bundle(shown, files, contents, manifest)


def check(
    project: Project, memory: Memory, findings: Findings, known_clean: bool
) -> tuple[Build, tuple[Diagnostic, ...]]:
    """Compile in memory, and judge what `check` judges: a bundle is made of what it accepts."""
    made = build(project, memory, findings)
    found = list(made.findings)
    if made.tree is not None and made.lock is not None:
        outdated = stale(project, made.tree, made.lock, made.catalog)
        found += outdated
        if not outdated and not known_clean:
            drift = Findings()
            probe_handlers(project, drift)
            found += drift
    return made, tuple(Findings(found).sorted())


def outside(project: Project, narrowed: Narrowed, closure: Closure) -> list[Outside]:
    """All that the program takes from elsewhere: what it imports, and what its specs require."""
    found = list(closure.outside)
    if project.models == "pydantic":
        found.append(Outside("pydantic", (), Span(project.file)))
    modules = Modules(project.source_root)
    for tool in narrowed.catalog.tools:
        for name in tool.requires.python:
            if name.partition(".")[0] not in STANDARD and not modules.is_ours(name):
                span = Span(tool.place.path, tool.place.line, 1, tool.place.line, 1)
                found.append(Outside(name, (), span, guarded=True))
    return found


def pin(
    project: Project,
    dependencies: Mapping[str, str | None],
    contents: Contents,
    findings: Findings,
) -> None:
    """Add a lock of the dependencies to the contents; why there can be none is a finding."""
    table = project_table(project)
    try:
        requirements = requirements_of(dependencies, table)
    except BundleError as error:
        findings.add(error.code, error.message, Span(error.path), help=(error.help,))
        return
    data = lock_dependencies(project, requirements, python_of(table), findings)
    if data is not None:
        contents.files[PYLOCK] = data
        contents.listed[PYLOCK] = File(hexdigest(data), len(data))


def judge_python(requires: str, findings: Findings) -> None:
    """Hold the Pythons that a project is for to what can be read where a bundle is opened."""
    if not is_readable(requires):
        findings.add(
            "HB8152",
            f"which Python the project is for is stated in no form that is read: {requires!r}",
            Span("pyproject.toml"),
            help=("write `requires-python` as comparisons of releases, such as `>=3.11,<4`",),
        )


def python_of(table: Mapping[str, Any]) -> str:
    """The versions of Python that a project is for, as a specifier."""
    python = table.get("requires-python")
    return python if isinstance(python, str) and python else ANY_PYTHON


def make_manifest(
    project: Project,
    toolsets: Sequence[str],
    narrowed: Narrowed,
    closure: Closure,
    contents: Contents,
    dependencies: Mapping[str, str | None],
) -> Manifest:
    """State what is in a bundle."""
    records = narrowed.tree[f"{project.output_folder}/{CATALOGUE}"].partition(b"\n")[2]
    table = project_table(project)
    return Manifest(
        name=bundle_name(table.get("name"), toolsets),
        package=project.output,
        source=project.source,
        roots=roots_of(contents.files),
        toolsets=[one.name for one in narrowed.catalog.toolsets],
        tools=[one.name for one in narrowed.catalog.tools],
        registry=hexdigest(records),
        runtime=Runtime(layout.FORMAT, layout.SINCE, __version__),
        requires_python=python_of(table),
        dependencies=dependencies,
        left_out=closure.left_out,
        files=contents.listed,
    )


def bundle_name(project: object, toolsets: Sequence[str]) -> str:
    """The name of a bundle: of its one toolset, or of the project that all of it comes from."""
    if len(toolsets) == 1 and is_name(toolsets[0]):
        return toolsets[0]
    return project if isinstance(project, str) and is_name(project) else NAMELESS


def write_bundle(
    bundle: Bundle,
    container: str,
    project: Project,
    target: str,
    on_wait: Callable[[], None] = lambda: None,
) -> str:
    """Write a bundle, all or nothing, and return the SHA-256 of the file in hexadecimal digits.

    ``container`` is one of `CONTAINERS`. What a killed run has left beside ``target`` is removed;
    another run that writes for the same project is waited for, and after a second ``on_wait`` is
    called.

    Raises:
        BundleError: ``HB8006`` a file changed meanwhile, ``HB8008`` it would be too large; for a
            wheel ``HB8151`` or ``HB8152``, the project says what no wheel can.
        OSError: the file cannot be written; one that was there is as it was.
    """
    entries = CONTAINERS[container].entries(bundle, project)
    with exclusive(project.root, Findings(), on_wait) as alone:
        if alone:  # in a project that nobody may write into, nobody can be waited for
            _sweep(target)
        return write_archive(entries, target)


def write_hermes(
    bundle: Bundle, project: Project, target: str, on_wait: Callable[[], None] = lambda: None
) -> str:
    """Write the archive: `write_bundle` for the container that bundles have of their own."""
    return write_bundle(bundle, "hermes", project, target, on_wait)


def _sweep(target: str) -> None:
    folder, name = os.path.split(target)
    left = re.compile(rf"\.{re.escape(name[:100])}\.[0-9a-f]{{12}}\.part")
    for one in os.listdir(folder or "."):
        if left.fullmatch(one):
            os.unlink(os.path.join(folder, one))


@dataclass(frozen=True, slots=True)
class Container:
    """What a bundle may come in.

    ``entries`` are what is written, ``name`` is the file that this goes to where nobody names
    another one; where the name is ``fixed``, only the folder can be another one.
    """

    entries: Callable[[Bundle, Project], Mapping[str, Content]]
    name: Callable[[Bundle, Project], str]
    fixed: bool = False


def _manifest(bundle: Bundle) -> Manifest:
    if bundle.manifest is None:
        raise ValueError("a bundle with errors cannot be written")
    return bundle.manifest


def _tree(bundle: Bundle, project: Project) -> Mapping[str, Content]:
    tree: dict[str, Content] = {MANIFEST: _manifest(bundle).to_bytes()}
    if bundle.signatures is not None:
        tree[SIGNATURES] = bundle.signatures
    return {**tree, **bundle.contents.files}


def _archive_name(bundle: Bundle, project: Project) -> str:
    return f"{_manifest(bundle).name}{SUFFIX}"


def _wheel(bundle: Bundle, project: Project) -> Mapping[str, Content]:
    about = about_wheel(_manifest(bundle), project_table(project))
    return wheel_entries(_tree(bundle, project), about)


def _wheel_name(bundle: Bundle, project: Project) -> str:
    manifest = _manifest(bundle)
    return wheel_name(manifest, about_wheel(manifest, project_table(project)))


CONTAINERS: Mapping[str, Container] = {
    "hermes": Container(_tree, _archive_name),
    "wheel": Container(_wheel, _wheel_name, fixed=True),
}
