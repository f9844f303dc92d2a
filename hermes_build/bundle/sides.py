"""What two bundles, locks or programs are compared by: one form for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from json import loads
from typing import Any, Literal, TypeAlias

from hermes_build import layout
from hermes_build.bundle.format import (
    LOCK,
    PROGRAM,
    PYLOCK,
    RUNTIME,
    SPECS,
    BundleError,
    Manifest,
)
from hermes_build.bundle.verifying import Opened
from hermes_build.lock import Lock, read

Record: TypeAlias = "dict[str, Any]"
Role: TypeAlias = Literal["spec", "generated", "program", "runtime", "other"]

LOCK_FACTS = ("runtime.format", "versions.", "templates.")
"""How those facts begin that a lock has, too."""

_DROPPED = ("name", "digest")


@dataclass(frozen=True, slots=True)
class Side:
    """One of two things that are compared.

    Attributes:
        label: what people call it.
        kind: what it is.
        lock: its lock.
        digest: the digest of a bundle, in hexadecimal digits; empty for what is none.
        tools: the record of every tool by its name, as `review_form` has it; None for a lock, which
            knows digests alone.
        toolsets: the same of toolsets.
        files: the SHA-256 of every file by its path in the project, in hexadecimal digits; of a
            lock, the generated ones. The runtime's files, and those beside the program, have their
            paths in the bundle.
        roles: what each of these files is.
        facts: what else is known of it, by dotted names, as JSON values; a dependency of which no
            distribution is known is ``?``. What is pinned is known of bundles alone: which versions
            there are for a project is for a package index to say.
    """

    label: str
    kind: Literal["bundle", "lock", "project"]
    lock: Lock
    digest: str = ""
    tools: Mapping[str, Record] | None = None
    toolsets: Mapping[str, Record] | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


def side_of_lock(lock: Lock, label: str) -> Side:
    """What a lock says."""
    files = {path: digest.removeprefix("sha256:") for path, digest in lock.owned().items()}
    return Side(
        label,
        "lock",
        lock,
        files=files,
        roles=dict.fromkeys(files, "generated"),
        facts=_facts_of_lock(lock),
    )


def side_of_program(lock: Lock, catalogue: bytes, label: str) -> Side:
    """What a lock and a catalogue say that were compiled together."""
    tools, toolsets = read_catalogue(catalogue)
    side = side_of_lock(lock, label)
    return Side(
        label, "project", lock, "", tools, toolsets, side.files, side.roles, facts=side.facts
    )


def side_of_bundle(opened: Opened, label: str) -> Side:
    """What a bundle says that was verified.

    Raises:
        BundleError: ``HB8002`` or ``HB8006``, it has changed since; ``HB8007``, a lock in it or the
            catalogue cannot be read.
        OSError: it cannot be read any more.
    """
    manifest = opened.manifest
    catalogue = manifest.program_path(catalogue_path(manifest))
    side = side_of_manifest(
        manifest, opened.read(LOCK), opened.read(catalogue), label, kind="bundle"
    )
    if PYLOCK not in manifest.files:
        return side
    return replace(side, facts={**side.facts, **_pinned(opened.read(PYLOCK))})


def side_of_manifest(
    manifest: Manifest,
    lock: bytes,
    catalogue: bytes,
    label: str,
    kind: Literal["bundle", "project"],
) -> Side:
    """What a manifest says, with the lock and the catalogue that it lists."""
    tools, toolsets = read_catalogue(catalogue)
    locked = read(lock.decode())
    owned = locked.owned()
    files: dict[str, str] = {}
    roles: dict[str, Role] = {}
    for path, file in manifest.files.items():
        if path == LOCK:
            continue
        place, role = place_in_project(manifest, path)
        files[place] = file.sha256
        roles[place] = "generated" if place in owned else role
    facts = {
        **_facts_of_lock(locked),
        "name": manifest.name,
        "package": manifest.package,
        "source": manifest.source,
        "requires_python": manifest.requires_python,
        "runtime.needs": manifest.runtime.needs,
        "runtime.version": manifest.runtime.version,
        **{f"dependencies.{name}": home or "?" for name, home in manifest.dependencies.items()},
        **{f"left_out.{module}": why for module, why in manifest.left_out},
    }
    return Side(label, kind, locked, manifest.digest, tools, toolsets, files, roles, facts)


def catalogue_path(manifest: Manifest) -> str:
    """The path in the project of the catalogue that a bundle holds."""
    folder = manifest.package.replace(".", "/")
    if manifest.source not in (".", ""):
        folder = f"{manifest.source}/{folder}"
    return f"{folder}/{layout.CATALOGUE}"


def read_catalogue(data: bytes) -> tuple[dict[str, Record], dict[str, Record]]:
    """Return the tools and the toolsets of a catalogue, by name, in the form that is compared.

    Raises:
        BundleError: ``HB8007``, it is no catalogue.
    """
    tools: dict[str, Record] = {}
    toolsets: dict[str, Record] = {}
    try:
        for line in data.decode().split("\n")[1:]:
            key, _, text = line.partition("\t")
            if key.startswith(layout.TOOL):
                tools[key.removeprefix(layout.TOOL)] = review_form(loads(text))
            elif key.startswith(layout.TOOLSET):
                toolsets[key.removeprefix(layout.TOOLSET)] = review_form(loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BundleError("HB8007", f"{layout.CATALOGUE} is no catalogue") from error
    return tools, toolsets


def review_form(record: Record) -> Record:
    """Return a tool's or a toolset's record as people speak of it.

    The definition that a model sees (``description``, ``parameters``) stands beside the other
    fields; the source is a file without its line, which changes with every line above it; the
    digest, which the lock has in parts, is left out.
    """
    form = {key: value for key, value in record.items() if key not in _DROPPED}
    form.update(form.pop("schema", {}))
    form.pop("name", None)
    if "module" in form:
        form["handler_module"] = form.pop("module")
    if "source" in form:
        form["source"] = str(form["source"]).rpartition(":")[0]
    return form


def place_in_project(manifest: Manifest, path: str) -> tuple[str, Role]:
    """Return the path in the project of a file of its bundle, and what the file is there."""
    if path.startswith(PROGRAM):
        inner = path.removeprefix(PROGRAM)
        folder = "" if manifest.source in (".", "") else f"{manifest.source}/"
        return folder + inner, "program"
    if path.startswith(SPECS):
        return path.removeprefix(SPECS), "spec"
    if path.startswith(RUNTIME):
        return path, "runtime"
    return path, "other"


def _pinned(pylock: bytes) -> dict[str, str]:
    """The version of every distribution that is pinned; of several, for several systems, all."""
    from tomllib import loads as toml

    versions: dict[str, set[str]] = {}
    try:
        for one in toml(pylock.decode()).get("packages", []):
            versions.setdefault(str(one["name"]), set()).add(str(one.get("version", "?")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BundleError("HB8007", f"{PYLOCK} is no lock of dependencies", PYLOCK) from error
    return {f"pinned.{name}": ", ".join(sorted(found)) for name, found in versions.items()}


def _facts_of_lock(lock: Lock) -> dict[str, Any]:
    return {
        "runtime.format": lock.runtime,
        **{f"versions.{name}": version for name, version in lock.versions.items()},
        **{f"templates.{name}": digest for name, digest in lock.templates.items()},
    }
