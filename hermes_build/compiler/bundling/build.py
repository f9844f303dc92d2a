"""The stages of making a bundle, in order."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hermes_build import __version__, layout
from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import (
    MANIFEST,
    PYLOCK,
    SIGNATURES,
    SUFFIX,
    BundleError,
    Manifest,
    Runtime,
    is_name,
    roots_of,
)
from hermes_build.bundle.locking import held
from hermes_build.bundle.pythons import is_readable
from hermes_build.compiler.bundling.closure import Closure, Outside, follow
from hermes_build.compiler.bundling.contents import Contents, gather
from hermes_build.compiler.bundling.directives import visible
from hermes_build.compiler.bundling.distributions import find_dependencies, project_table
from hermes_build.compiler.bundling.door import Door
from hermes_build.compiler.bundling.modules import STANDARD, Modules
from hermes_build.compiler.bundling.narrow import Narrowed, compiled, narrow
from hermes_build.compiler.bundling.places import machine_places
from hermes_build.compiler.bundling.remembered import Remembered
from hermes_build.compiler.diagnostics import Diagnostic, Findings, Span
from hermes_build.compiler.project import Project
from hermes_build.compiler.state import open_state
from hermes_build.lock import LockError

Content: TypeAlias = bytes | Callable[[], Iterable[bytes]]

ANY_PYTHON = ">=3.11"
"""The versions of Python for a bundle whose project does not say which it takes."""

NAMELESS = "program"
"""The name of a bundle whose project has none."""


LOCK_FILE = "bundle.lock"
"""What one run holds in the state folder while it writes."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What `check` says of a project: its findings, and how many files they are on."""

    findings: tuple[Diagnostic, ...] = ()
    files: int = 0


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
    judged: Judged,
    known: Remembered | None = None,
    *,
    pinned: bool = False,
) -> Bundle:
    """Make a bundle of what is compiled: nothing is written but what ``known`` remembers.

    ``judged`` is what `check` says of this very state: a bundle is made of what it accepts.
    ``pinned`` adds a lock of the dependencies, for which a package index is asked.

    Raises:
        KeyError: there is no toolset of a name.
        BundleError: ``HB8006``, something is no longer as it was judged.
    """
    found, files = judged.findings, judged.files
    if any(one.severity == "error" for one in found):
        return Bundle(found, files, finished=False)
    seen = Findings()
    known = known or Remembered()
    door = Door(project.root, seen)
    try:
        narrowed = narrow(project, compiled(project), toolsets)
    except (OSError, LockError, ValueError) as error:  # it could be read when it was judged
        what = f"what is compiled was changed while the bundle was made: {error}"
        raise BundleError("HB8006", what) from error
    closure = follow(project, narrowed.wanted, door, seen, known)
    contents = gather(project, narrowed, closure, door, known, seen)
    find_harm(project, contents, known, seen)
    dependencies = find_dependencies(project, outside(project, narrowed, closure), known, seen)
    judge_python(python_of(project_table(project)), seen)
    if pinned and not seen.has_errors:
        pin(project, dependencies, contents, seen)
    known.save()
    shown = (*found, *visible(seen, contents.suppressing, project.lint))
    if any(one.severity == "error" for one in shown):
        return Bundle(shown, files, contents)
    manifest = make_manifest(project, toolsets, narrowed, closure, contents, dependencies)
    return Bundle(shown, files, contents, manifest)


def find_harm(project: Project, contents: Contents, known: Remembered, findings: Findings) -> None:
    """Report what must not leave with a bundle, in all files that are not known to be harmless."""
    places = machine_places(project.root)
    texts, data = (known.doubtful(one, places) for one in (contents.texts, contents.data))
    if not (texts or data or contents.generated):
        return
    from hermes_build.compiler.bundling.judging import find_in_data, find_in_texts, find_paths

    seen = Findings()
    find_in_texts(texts, seen)
    find_in_data(data.kept, places, seen)
    find_paths(places, contents.specs, texts, contents.generated, seen)
    harmful = {one.span.path for one in seen if one.span is not None}
    for doubtful in (texts, data):
        known.clear(doubtful.only(lambda path: path not in harmful), places)
    findings.extend(seen)


def outside(project: Project, narrowed: Narrowed, closure: Closure) -> list[Outside]:
    """All that the program takes from elsewhere: what it imports, and what its specs require."""
    found = list(closure.outside)
    if project.models == "pydantic":
        found.append(Outside("pydantic", (), Span(project.file)))
    modules = Modules(project.source_root)
    for name, span in narrowed.required:
        if name.partition(".")[0] not in STANDARD and not modules.is_ours(name):
            found.append(Outside(name, (), span, guarded=True))
    return found


def pin(
    project: Project,
    dependencies: Mapping[str, str | None],
    contents: Contents,
    findings: Findings,
) -> None:
    """Add a lock of the dependencies to the contents; why there can be none is a finding."""
    # `packaging` and what asks an index take longer to import than all the rest of a bundle.
    from hermes_build.compiler.bundling.dependencies import lock_dependencies
    from hermes_build.compiler.bundling.requirements import requirements_of

    table = project_table(project)
    try:
        requirements = requirements_of(dependencies, table)
    except BundleError as error:
        findings.add(error.code, error.message, Span(error.path), help=(error.help,))
        return
    data = lock_dependencies(project, requirements, python_of(table), findings)
    if data is not None:
        contents.add(PYLOCK, data)


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
    table = project_table(project)
    return Manifest(
        name=bundle_name(table.get("name"), toolsets),
        package=project.output,
        source=project.source,
        roots=roots_of(contents.files, dependencies),
        toolsets=narrowed.toolsets,
        tools=narrowed.tools,
        registry=narrowed.digest,
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
    another run that writes a bundle of the same project is waited for, and ``on_wait`` is called
    before.

    Raises:
        BundleError: ``HB8006`` a file changed meanwhile, ``HB8008`` it would be too large; for a
            wheel ``HB8151`` or ``HB8152``, the project says what no wheel can.
        OSError: the file cannot be written; one that was there is as it was.
    """
    entries = CONTAINERS[container].entries(bundle, project)
    with ExitStack() as alone:
        try:
            alone.enter_context(held(os.path.join(open_state(project.root), LOCK_FILE), on_wait))
        except OSError:
            pass  # in a project that nobody may write into, nobody can be waited for
        else:
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
    from hermes_build.bundle.wheel import wheel_entries
    from hermes_build.compiler.bundling.wheel import about_wheel

    about = about_wheel(_manifest(bundle), project_table(project))
    return wheel_entries(_tree(bundle, project), about)


def _wheel_name(bundle: Bundle, project: Project) -> str:
    from hermes_build.bundle.wheel import wheel_name
    from hermes_build.compiler.bundling.wheel import about_wheel

    manifest = _manifest(bundle)
    return wheel_name(manifest, about_wheel(manifest, project_table(project)))


CONTAINERS: Mapping[str, Container] = {
    "hermes": Container(_tree, _archive_name),
    "wheel": Container(_wheel, _wheel_name, fixed=True),
}
