"""``hermes-build bundle``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from hermes_build.bundle.format import LOCK, PYLOCK, SUFFIX, BundleError, Manifest
from hermes_build.bundle.sides import place_in_project
from hermes_build.cli.keys import passphrase_option, read_private_keys
from hermes_build.cli.present import (
    FORMATS,
    Report,
    Undecided,
    counted,
    looks_of_report,
    open_project,
    project_option,
    say,
    say_more_follows,
    text_of,
)
from hermes_build.cli.replacing import check_output, force_option, is_bundle_file
from hermes_build.cli.verdicts import verdict
from hermes_build.compiler.bundling.build import (
    CONTAINERS,
    Bundle,
    Judged,
    make_bundle,
    write_bundle,
)
from hermes_build.compiler.bundling.contents import listed_size
from hermes_build.compiler.bundling.distributions import UV_LOCK
from hermes_build.compiler.bundling.door import MAX_TEXT
from hermes_build.compiler.bundling.remembered import Remembered, remembering
from hermes_build.layout import EVERY_TOOL

if TYPE_CHECKING:
    from hermes_build.compiler.project import Project
    from hermes_build.signing.keys import PrivateKey

_SHOWN = 12


@click.command("bundle")
@click.option("--toolset", "-t", "toolsets", multiple=True, help="Only the tools of this toolset.")
@click.option(
    "--output",
    "-o",
    type=click.Path(),
    help="Write to this file, or into this folder; a name ending with `.whl` asks for a wheel.",
    metavar="FILE",
)
@force_option
@click.option(
    "--format",
    "forms",
    type=click.Choice([*CONTAINERS, *FORMATS]),
    multiple=True,
    help="What the bundle comes in, `hermes` unless FILE says `.whl`, or how to print findings: "
    "one of each.",
)
@click.option(
    "--sign",
    "keys",
    multiple=True,
    metavar="KEY",
    help="Sign with this private key (PEM); can be given more than once.",
)
@passphrase_option
@click.option("--no-deps-lock", is_flag=True, help="Do not pin what must be installed beside it.")
@click.option("--no-cache", is_flag=True, help="Forget what earlier runs remembered.")
@project_option
@looks_of_report
def bundle_command(
    toolsets: tuple[str, ...],
    output: str | None,
    force: bool,
    forms: tuple[str, ...],
    keys: tuple[str, ...],
    passphrase_file: str | None,
    no_deps_lock: bool,
    no_cache: bool,
    start: str,
    color: str,
    strict: bool,
) -> int:
    """Make one file of some toolsets, their handlers, and all that these need.

    What `check` refuses is refused. The same sources give the same bytes, on every machine. All or
    nothing: until the bundle is whole, a file of its name stays as it is; what is replaced is an
    earlier bundle, and nothing else.
    """
    container = _container(forms, output)
    report = Report(_last(forms, FORMATS, "full"), color, strict)
    signers = _read_keys(keys, passphrase_file)
    project, _ = open_project(start)
    root = os.fspath(project.root)
    judged = verdict(root, no_cache=no_cache)
    known = Remembered() if no_cache else remembering(project.root, judged.stamp)
    try:
        made = make_bundle(
            project,
            toolsets,
            Judged(judged.findings, judged.files),
            known,
            pinned=not no_deps_lock,
        )
    except KeyError as error:
        raise _no_toolset(start, str(error.args[0])) from error
    except BundleError as error:
        raise Undecided(f"{error.message} ({error.code}): make the bundle once more") from error
    if made.manifest is not None and not judged.still_stands():
        raise Undecided("something was changed while the bundle was made: make it once more")
    manifest = made.manifest

    def read(path: str) -> str | None:
        """The text to show lines of: of data and of large files, none, and so no secret."""
        from hermes_build.compiler.bundling.secrets import hide_secrets

        file = project.root / path
        if not file.is_file() or file.stat().st_size > MAX_TEXT:
            return None
        text = text_of(project.root, path)
        if not text or "\0" in text:
            return None
        return hide_secrets(text, code=path.endswith((".py", ".pyi")))

    if manifest is None or report.is_bad(made.findings):
        code = report.show(
            made.findings, project.root, files=made.files, read=read, more={"bundle": None}
        )
        if not made.finished:
            say_more_follows()
        say("no bundle was written")
        return code
    if signers:
        from hermes_build.signing.dsse import sign
        from hermes_build.signing.provenance import made_from, source_of

        source = source_of(project.root, (project.file, "pyproject.toml", *made_from(manifest)))
        signed = sign(manifest.to_bytes(), signers, source)
        made = replace(made, signatures=signed)
    target = output or container
    try:
        target = _target(output, container, CONTAINERS[container].name(made, project))
        inputs = _inputs(project, manifest, (*keys, passphrase_file or ""))
        check_output(target, "bundle", is_bundle_file, inputs, force=force)
        place = os.path.realpath(target)  # what is left of killed runs lies beside the file itself
        digest = write_bundle(made, container, project, place, _say_waiting)
    except BundleError as error:
        hint = f"; {error.help}" if error.help else ""
        what = f"{target} cannot be written: {error.message} ({error.code}){hint}"
        raise Undecided(what) from error
    except OSError as error:
        raise Undecided(f"{target} cannot be written: {error.strerror}") from error
    facts = _facts(target, digest, manifest, made)
    code = report.show(
        made.findings, project.root, files=made.files, quiet=True, read=read, more={"bundle": facts}
    )
    if report.form != "json":
        click.echo(_told(facts))
    return code


def _container(forms: tuple[str, ...], output: str | None) -> str:
    """What the bundle comes in: what somebody names, or what the name of the file says.

    Raises:
        click.UsageError: they say different things.
    """
    suffixes = {SUFFIX: "hermes", ".whl": "wheel"}
    said = suffixes.get(os.path.splitext(output or "")[1].lower())
    named = _last(forms, CONTAINERS, said or "hermes")
    if said not in (None, named) and not os.path.isdir(output or ""):
        raise click.UsageError(
            f"{output} is the name of a {said} file, and --format asks for {named}: leave one out"
        )
    return named


def _target(output: str | None, container: str, name: str) -> str:
    """The file to write; ``name`` is the one that the bundle has by itself.

    Raises:
        Undecided: it is a name that no installer would take, or in a folder that is not there.
    """
    if output is None:
        return name
    if os.path.isdir(output):
        return os.path.join(output, name)
    if output.endswith(("/", os.sep)):
        raise Undecided(f"there is no folder {output}")
    if CONTAINERS[container].fixed and os.path.basename(output) != name:
        raise Undecided(
            f"installers know a {container} by its name: this one must be called {name}; "
            "`-o FOLDER` gives it that name"
        )
    return output


def _inputs(project: Project, manifest: Manifest, keys: Iterable[str]) -> Iterator[str]:
    """What a bundle is made of, as paths of files and folders."""
    yield from filter(None, keys)
    inside = [project.file, "pyproject.toml", LOCK, PYLOCK, UV_LOCK]
    inside += [place_in_project(manifest, path)[0] for path in manifest.files]
    inside += [project.specs, project.toolsets, project.templates, project.output_folder]
    for path in inside:
        yield os.path.join(project.root, path)
    for package in project.handlers:
        yield os.path.join(project.source_root, *package.split("."))


def _last(forms: tuple[str, ...], known: Iterable[str], otherwise: str) -> str:
    named = [one for one in forms if one in known]
    return named[-1] if named else otherwise


def _read_keys(paths: tuple[str, ...], passphrase_file: str | None) -> list[PrivateKey]:
    if not paths:
        return []
    try:
        return read_private_keys(paths, passphrase_file)
    except BundleError as error:
        raise Undecided(f"{error.message} ({error.code})") from error
    except OSError as error:
        raise Undecided(f"{error.filename}: {error.strerror}") from error


def _say_waiting() -> None:
    say("another hermes-build is writing here; waiting for it")


def _no_toolset(start: str, name: str) -> Undecided:
    from hermes_build.cli.reading import read_catalog
    from hermes_build.compiler.nearest import did_you_mean

    catalog = read_catalog(start)
    names = [name for one in catalog.toolsets for name in (one.name, *one.aliases)]
    hint = "".join(f"; {one}" for one in did_you_mean(name, [*names, *EVERY_TOOL]))
    return Undecided(f"there is no toolset `{name}`{hint}")


def _facts(target: str, digest: str, manifest: Manifest, made: Bundle) -> dict[str, Any]:
    return {
        "path": target,
        "size": os.path.getsize(target),
        "sha256": digest,
        "digest": manifest.digest,
        "name": manifest.name,
        "toolsets": list(manifest.toolsets),
        "tools": list(manifest.tools),
        "files": len(manifest.files),
        "content_size": listed_size(made.contents.listed),
        "dependencies": dict(manifest.dependencies),
        "left_out": [{"module": module, "why": why} for module, why in manifest.left_out],
    }


def _told(facts: dict[str, Any]) -> str:
    tools = counted(len(facts["tools"]), "tool")
    toolsets = counted(len(facts["toolsets"]), "toolset")
    files = counted(facts["files"], "file")
    rows = [
        f"{facts['path']}: {tools} of {toolsets} in {files}, {facts['size']:,} bytes",
        f"sha256:{facts['digest']}",
    ]
    needs = [
        distribution or f"{module} (of no known distribution)"
        for module, distribution in facts["dependencies"].items()
    ]
    if needs:
        rows.append(f"needs {', '.join(dict.fromkeys(needs))}")
    left = {one["module"]: one["why"] for one in facts["left_out"]}
    if left:
        rows.append(f"left out {counted(len(left), 'module')}:")
        # What is below a package is left out with it, most often for the same reason.
        told = [(name, why) for name, why in left.items() if left.get(_above(name)) != why]
        rows += [f"  {name}: {why}" for name, why in told[:_SHOWN]]
        if len(told) > _SHOWN:
            rows.append("  and more, which `--format json` lists")
    return "\n".join(rows)


def _above(module: str) -> str:
    return module.rpartition(".")[0]
