"""The small bundle of `tests.bundle.making` in each thing that a bundle comes in."""

from __future__ import annotations

import compileall
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes_build.bundle import wheel_entry
from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import MANIFEST
from hermes_build.bundle.reading import read_manifest
from hermes_build.bundle.wheel import ENTRY, About, wheel_entries, wheel_name
from tests.bundle.making import archive, program, unpacked, whole

Make = Callable[[Path, Mapping[str, bytes]], Path]


def entries(**changes: Any) -> dict[str, bytes]:
    """All files of the small bundle, with what a wheel needs; ``changes`` are of the manifest."""
    return whole({**program(), ENTRY: Path(wheel_entry.__file__).read_bytes()}, **changes)


def as_wheel(folder: Path, tree: Mapping[str, bytes]) -> Path:
    """Write a wheel into a folder."""
    about = About(version="1.0", requires=("jsonschema-rs",))
    target = folder / wheel_name(read_manifest(tree[MANIFEST]), about)
    write_archive(wheel_entries(tree, about), target)
    return target


def as_package(folder: Path, tree: Mapping[str, bytes]) -> Path:
    """Install a wheel, as installers do, which compile what they install."""
    with zipfile.ZipFile(as_wheel(folder, tree)) as file:
        file.extractall(folder / "site")
    package = folder / "site" / "hermes_bundle_small"
    compileall.compile_dir(package, quiet=2)
    return package


CONTAINERS: dict[str, Make] = {
    "archive": lambda folder, tree: archive(folder / "small.hermes", tree),
    "folder": lambda folder, tree: unpacked(folder / "small", tree),
    "wheel": as_wheel,
    "package": as_package,
    "tree of a package": lambda folder, tree: as_package(folder, tree) / "bundle",
}
