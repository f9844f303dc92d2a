"""The container of a bundle that is a wheel: what package indexes keep and installers install.

A wheel holds the bundle's tree as it is, and around it what a package needs, all of which follows
from the manifest, a version, and what the package asks of others::

    hermes_bundle_NAME/__init__.py    opens the bundle: `hermes_build.bundle.wheel_entry`
    hermes_bundle_NAME/bundle/...     the tree
    hermes_bundle_NAME-VERSION.dist-info/
        METADATA, WHEEL, RECORD, entry_points.txt, licenses/...

It is written as bundles that are archives are (`hermes_build.bundle.archive`), and read as
strictly: every file around the tree must be what is written for the same manifest, version and
requirements, and no requirement may name what the manifest does not.
"""

from __future__ import annotations

import os
import re

from hermes_build.bundle.archive import Archive
from hermes_build.bundle.format import (
    MANIFEST,
    MAX_MANIFEST,
    RUNTIME,
    SIGNATURES,
    SUFFIX,
    BundleError,
    File,
    Manifest,
    hexdigest,
    is_licence,
)
from hermes_build.bundle.reading import read_manifest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import NoReturn

    from hermes_build.bundle.archive import Source
    from hermes_build.bundle.entries import Entry
    from hermes_build.bundle.folder import Folder

WHEEL = ".whl"
"""How the name of a wheel ends."""

TREE = "bundle/"
"""The folder in the package that the bundle's tree stands in."""

ENTRY = f"{RUNTIME}bundle/wheel_entry.py"
"""The file of the bundle that is the package's ``__init__.py``, too."""

GROUP = "hermes_build.bundles"
"""The group of entry points that installed bundles are found by."""

RUNTIME_NEEDS = "jsonschema-rs"
"""The distribution that the runtime in a bundle needs, beside what the program does."""

_VERSION = re.compile(
    r"(?:[1-9][0-9]*!)?(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))*(?:(?:a|b|rc)(?:0|[1-9][0-9]*))?"
    r"(?:\.post(?:0|[1-9][0-9]*))?(?:\.dev(?:0|[1-9][0-9]*))?(?:\+[a-z0-9]+(?:\.[a-z0-9]+)*)?"
)
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:[^@\"']|\"[^\"]*\"|'[^']*')*"
)
"""A distribution and what is asked of it, but no place to get it from (`name @ url`)."""


def canonical_name(name: str) -> str:
    """The one spelling of a distribution's name, by which indexes compare them."""
    return re.sub(r"[-_.]+", "-", name).lower().strip("-")


def distribution_of(name: str) -> str:
    """The name of the distribution that a bundle of this name is, as ``hermes-bundle-files``."""
    return f"hermes-bundle-{canonical_name(name)}"


def package_of(name: str) -> str:
    """The package to import a bundle of this name by, as ``hermes_bundle_files``."""
    return distribution_of(name).replace("-", "_")


class About:
    """What a wheel says of its bundle that the manifest does not.

    Attributes:
        version: the distribution's version, in the normal form of PEP 440.
        requires: what it asks of other distributions, such as ``httpx<0.29,>=0.28``.
        licence: an SPDX expression, or empty.
    """

    __slots__ = ("licence", "requires", "version")

    def __init__(self, version: str, requires: Iterable[str] = (), licence: str = "") -> None:
        self.version = version
        self.requires = tuple(sorted(requires))
        self.licence = licence


def wheel_name(manifest: Manifest, about: About) -> str:
    """The name that the file of a wheel must have."""
    return f"{package_of(manifest.name)}-{about.version}-py3-none-any{WHEEL}"


def wheel_entries(tree: Mapping[str, Source], about: About) -> dict[str, Source]:
    """Every entry of a wheel, for `hermes_build.bundle.archive.write_archive`.

    ``tree`` are the files of the bundle, with manifest and signatures; a content may be a function,
    as `write_archive` takes it.

    Raises:
        BundleError: ``HB8004`` a file that a wheel needs is not in the bundle, ``HB8007`` the
            version or a requirement is none that a wheel of this bundle can have.
    """
    manifest = read_manifest(_whole(tree[MANIFEST]))
    place = f"{package_of(manifest.name)}/{TREE}"
    entries = {place + path: content for path, content in tree.items()}
    signatures = _whole(tree[SIGNATURES]) if SIGNATURES in tree else None
    around = _around(manifest, about, lambda path: _whole(tree[path]), signatures)
    return {**entries, **around}


def _whole(source: Source) -> bytes:
    return source if isinstance(source, bytes) else b"".join(source())


def _around(
    manifest: Manifest,
    about: About,
    read: Callable[[str], bytes],
    signatures: bytes | None,
) -> dict[str, bytes]:
    """All files of a wheel that are not in the tree, by their names in the wheel."""
    _check(manifest, about)
    if ENTRY not in manifest.files:
        raise BundleError("HB8004", f"a wheel must hold {ENTRY}", ENTRY, ANEW)
    package = package_of(manifest.name)
    licences = [path for path in manifest.files if is_licence(path)]
    info = f"{package}-{about.version}.dist-info"
    files = {
        f"{package}/__init__.py": entry_module(read(ENTRY)),
        f"{info}/METADATA": _metadata(manifest, about, licences),
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: hermes-build {manifest.runtime.version}\n"
            "Root-Is-Purelib: true\nTag: py3-none-any\n"
        ).encode(),
        f"{info}/entry_points.txt": f"[{GROUP}]\n{manifest.name} = {package}:registry\n".encode(),
        **{f"{info}/licenses/{path}": read(path) for path in licences},
    }
    data = manifest.to_bytes()
    listed = {path: File(hexdigest(data), len(data)) for path, data in files.items()}
    tree = {**manifest.files, MANIFEST: File(hexdigest(data), len(data))}
    if signatures is not None:
        tree[SIGNATURES] = File(hexdigest(signatures), len(signatures))
    listed.update({f"{package}/{TREE}{path}": one for path, one in tree.items()})
    files[f"{info}/RECORD"] = _record(listed, f"{info}/RECORD")
    return files


def entry_module(source: bytes) -> bytes:
    """The package's ``__init__.py``, from the content of `ENTRY`."""
    return b"# The same as " + f"{TREE}{ENTRY}".encode() + b", which the manifest lists.\n" + source


def _record(listed: Mapping[str, File], own: str) -> bytes:
    from base64 import urlsafe_b64encode

    lines = []
    for path, one in sorted(listed.items()):
        digest = urlsafe_b64encode(bytes.fromhex(one.sha256)).rstrip(b"=").decode()
        # No name in a bundle holds the sign that would have to be doubled.
        field = f'"{path}"' if "," in path else path
        lines.append(f"{field},sha256={digest},{one.size}\n")
    return ("".join(lines) + f"{own},,\n").encode()


def _metadata(manifest: Manifest, about: About, licences: Iterable[str]) -> bytes:
    name = manifest.name
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {distribution_of(name)}",
        f"Version: {about.version}",
        f"Summary: The tools of the bundle {name}, for LLM agents.",
        *([f"License-Expression: {about.licence}"] if about.licence else []),
        *(f"License-File: {path}" for path in licences),
        *(f"Requires-Dist: {one}" for one in about.requires),
        f"Requires-Python: {manifest.requires_python}",
        "Description-Content-Type: text/markdown",
        "",
        f"# {name}",
        "",
        "Tools for LLM agents with the runtime that calls them, as a bundle of hermes-build.",
        "",
        "```python",
        f"from {package_of(name)} import registry",
        "",
        "print(registry.get_all_tool_names())",
        "```",
        "",
        f"The bundle is `sha256:{manifest.digest}`; `hermes-build verify` holds every file against",
        "its manifest.",
        "",
        f"Toolsets: {', '.join(f'`{one}`' for one in manifest.toolsets)}",
        "",
        f"Tools: {', '.join(f'`{one}`' for one in manifest.tools)}",
        "",
    ]
    return "\n".join(lines).encode()


ANEW = "make the wheel anew: `hermes-build bundle --format wheel`"


def _check(manifest: Manifest, about: About) -> None:
    if not _VERSION.fullmatch(about.version):
        _misfit(f"{about.version!r} is no version in its normal form")
    allowed = {canonical_name(one) for one in manifest.dependencies.values() if one}
    for one in about.requires:
        found = _REQUIREMENT.fullmatch(one)
        if found is None:
            _misfit(f"a wheel of a bundle cannot ask for {one!r}: name a version, not a place")
        elif canonical_name(found[1]) not in {*allowed, RUNTIME_NEEDS}:
            _misfit(f"the wheel asks for {one!r}, which the manifest does not name")
    for text in (about.licence, manifest.requires_python, *about.requires):
        if not text.isprintable():
            _misfit(f"{text!r} holds characters that cannot be seen")


def _misfit(what: str) -> NoReturn:
    raise BundleError("HB8007", what, "", ANEW)


class Wheel(Archive):
    """The bundle in a wheel; names are those that its files have in the bundle.

    Attributes:
        kind: ``wheel``.
    """

    __slots__ = ()

    kind = "wheel"


def contained(archive: Archive) -> Archive:
    """What an archive is, by its content: the bundle itself, or the wheel of one, as a `Wheel`.

    Zip tools, installers and Python go by a file's name, so that one which says something else is
    refused. The archive is closed where it is refused.

    Raises:
        BundleError: ``HB8001``, the name says what it is not; else what `as_wheel` raises.
        OSError: it cannot be read.
    """
    named = archive.path.endswith
    is_wheel = MANIFEST not in archive and (named(WHEEL) or bool(_homes(archive)))
    own, other = (WHEEL, SUFFIX) if is_wheel else (SUFFIX, WHEEL)
    if named(other):
        archive.close()
        kinds = {WHEEL: "a wheel", SUFFIX: "an archive of a bundle"}
        what = f"the file is {kinds[own]}, and its name says that it is {kinds[other]}"
        help = f"rename it: the name of {kinds[own]} ends with `{own}`"
        raise BundleError("HB8001", what, "", help)
    return as_wheel(archive) if is_wheel else archive


def as_wheel(archive: Archive) -> Wheel:
    """Read an archive as a wheel, and check every file of it that is not in the bundle's tree.

    The archive is closed where it is refused.

    Raises:
        BundleError: ``HB8001`` it holds no bundle, or a file around the tree is missing
            (``HB8004``), surplus (``HB8005``) or another (``HB8006``, ``HB8007``), as is the name
            of the file.
        OSError: it cannot be read.
    """
    try:
        tree, around = _parted(archive)
        wheel = Wheel(archive.path, archive._file, tree)
        _check_around(archive, around, wheel)
        return wheel
    except BaseException:
        archive.close()
        raise


def _homes(archive: Archive) -> list[str]:
    """The folders of an archive that the tree of a bundle stands in."""
    ends = f"/{TREE}{MANIFEST}"
    found = (name for name in archive.names() if name.endswith(ends) and name.count("/") == 2)
    return [name[: -len(MANIFEST)] for name in found]


def _parted(archive: Archive) -> tuple[dict[str, Entry], list[str]]:
    """The entries of the tree by their names in it, and the names of all others."""
    places = _homes(archive)
    if len(places) != 1:
        raise BundleError("HB8001", f"the wheel holds {'two bundles' if places else 'no bundle'}")
    place = places[0]
    tree, around = {}, []
    for name, entry in archive._entries.items():
        if name.startswith(place):
            tree[name[len(place) :]] = entry
        else:
            around.append(name)
    return tree, around


def _check_around(archive: Archive, around: list[str], wheel: Wheel) -> None:
    manifest = read_manifest(read_small(wheel, MANIFEST))
    for path in (ENTRY, *filter(is_licence, manifest.files)):
        if path not in wheel:
            raise BundleError("HB8004", f"{path} is not there, and a wheel needs it", path)
    infos = [name for name in around if name.endswith(".dist-info/METADATA")]
    if not infos:
        raise BundleError("HB8004", "the wheel has no METADATA", "METADATA", ANEW)
    about = _about(read_small(archive, infos[0]))
    signatures = read_small(wheel, SIGNATURES) if SIGNATURES in wheel else None
    wanted = _around(manifest, about, lambda path: read_small(wheel, path), signatures)
    place = f"{package_of(manifest.name)}/{TREE}{MANIFEST}"
    for name in sorted({*wanted, place} - set(archive.names())):
        raise BundleError("HB8004", f"{name} is not there, and a wheel of a bundle has it", name)
    for name in sorted(set(around) - set(wanted)):
        raise BundleError("HB8005", f"{name} is there, and a wheel of a bundle has none", name)
    for name, data in wanted.items():
        if archive.size(name) != len(data) or archive.read(name) != data:
            what = f"{name} is not the file that a wheel of this bundle has"
            raise BundleError("HB8006", what, name, ANEW)
    name = os.path.basename(archive.path)
    if name.endswith(WHEEL) and name != (own := wheel_name(manifest, about)):
        what = f"the wheel is {own}, and its name is another: installers go by that"
        raise BundleError("HB8007", what, "", f"rename it to {own}")


def read_small(container: Archive | Folder, name: str) -> bytes:
    """The content of a file that is held in memory, for which a bound must be.

    Raises:
        BundleError: ``HB8008``, it is larger than a manifest may be; else what reading it raises.
    """
    if container.size(name) > MAX_MANIFEST:
        raise BundleError("HB8008", f"{name} is larger than {MAX_MANIFEST} bytes", name)
    return container.read(name)


def _about(metadata: bytes) -> About:
    """What `_metadata` was given; what else the bytes hold shows when they are written again."""
    head = metadata.decode("utf-8", "replace").partition("\n\n")[0]
    pairs = [line.partition(": ")[::2] for line in head.split("\n")]
    first = dict(reversed(pairs))
    requires = [value for key, value in pairs if key == "Requires-Dist"]
    return About(first.get("Version", ""), requires, first.get("License-Expression", ""))
