"""Wheels of bundles, packed and installed, in which anything was changed are refused."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import BundleError
from hermes_build.bundle.verifying import verify
from tests.bundling.programs import unpacked
from tests.command_line import write

INFO = "hermes_bundle_talk-1.dist-info/"
PACKAGE = "hermes_bundle_talk/"

Change = Callable[[dict[str, bytes]], object]


def _replacing(name: str, old: bytes, new: bytes) -> Change:
    def change(entries: dict[str, bytes]) -> None:
        assert old in entries[name]
        entries[name] = entries[name].replace(old, new)

    return change


def _without(name: str) -> Change:
    return lambda entries: entries.pop(name)


def _with(name: str, data: bytes) -> Change:
    return lambda entries: entries.update({name: data})


CHANGES: dict[str, tuple[str, Change]] = {
    "another opener": (
        "HB8006",
        _replacing(f"{PACKAGE}__init__.py", b"_lock = RLock()", b"print('run')"),
    ),
    "another record": (
        "HB8006",
        _replacing(f"{INFO}RECORD", b"__init__.py,sha256=", b"__init__.py,sha256=A"),
    ),
    "another layout": (
        "HB8006",
        _replacing(f"{INFO}WHEEL", b"Root-Is-Purelib: true", b"Root-Is-Purelib: no"),
    ),
    "another entry point": ("HB8006", _replacing(f"{INFO}entry_points.txt", b"talk =", b"tell =")),
    "another description": ("HB8006", _replacing(f"{INFO}METADATA", b"# talk", b"# another")),
    "another field": ("HB8006", _replacing(f"{INFO}METADATA", b"Name: ", b"Author: A\nName: ")),
    "another python": ("HB8006", _replacing(f"{INFO}METADATA", b">=3.11", b">=3.13")),
    "another licence": (
        "HB8006",
        _replacing(f"{INFO}licenses/LICENSE", b"Do as you like", b"Do nothing"),
    ),
    "another handler": (
        "HB8006",
        _replacing(f"{PACKAGE}bundle/program/handlers/tell.py", b"told", b"lied"),
    ),
    "another requirement": (
        "HB8007",
        _replacing(f"{INFO}METADATA", b"jsonschema-rs<", b"jsonschema-rt<"),
    ),
    "a requirement of a place": (
        "HB8007",
        _replacing(f"{INFO}METADATA", b"<0.62,>=0.61.2", b" @ https://x.example/y.whl"),
    ),
    "no version": ("HB8007", _replacing(f"{INFO}METADATA", b"Version: 1\n", b"Version: one\n")),
    "another version": (
        "HB8004",
        _replacing(f"{INFO}METADATA", b"Version: 1\n", b"Version: 2\n"),
    ),
    "without record": ("HB8004", _without(f"{INFO}RECORD")),
    "without metadata": ("HB8004", _without(f"{INFO}METADATA")),
    "without opener": ("HB8004", _without(f"{PACKAGE}__init__.py")),
    "without handler": ("HB8004", _without(f"{PACKAGE}bundle/program/handlers/tell.py")),
    "without manifest": ("HB8001", _without(f"{PACKAGE}bundle/hermes-bundle.json")),
    "a path file": ("HB8005", _with("run.pth", b"import os")),
    "a module beside": ("HB8005", _with(f"{PACKAGE}more.py", b"x = 1")),
    "a module inside": ("HB8005", _with(f"{PACKAGE}bundle/program/x.py", b"x = 1")),
    "a script": ("HB8005", _with("hermes_bundle_talk-1.data/scripts/run", b"#!/bin/sh")),
    "two bundles": ("HB8001", _with("a/bundle/hermes-bundle.json", b"{}")),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_wheel_in_which_anything_was_changed_is_refused(
    wheels: dict[str, Path], tmp_path: Path, what: str
) -> None:
    code, change = CHANGES[what]
    with zipfile.ZipFile(wheels["talk"]) as archive:
        entries = {one.filename: archive.read(one) for one in archive.infolist()}
    change(entries)
    # The archive itself is as it must be, so that only what it holds can be wrong.
    write_archive(entries, tmp_path / wheels["talk"].name)
    with pytest.raises(BundleError) as caught:
        verify(tmp_path / wheels["talk"].name)
    assert caught.value.code == code, caught.value


def test_a_wheel_that_was_packed_anew_is_refused(wheels: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / wheels["talk"].name
    with zipfile.ZipFile(wheels["talk"]) as old, zipfile.ZipFile(target, "w", 8) as new:
        for one in old.namelist():
            new.writestr(one, old.read(one))
    with pytest.raises(BundleError) as caught:
        verify(target)
    assert caught.value.code == "HB8002"


@pytest.mark.parametrize(
    ("code", "path", "content"),
    [
        ("HB8006", "__init__.py", "registry = None\n"),
        ("HB8005", "more.py", "x = 1\n"),
        ("HB8005", "bundle/program/handlers/more.py", "x = 1\n"),
        ("HB8005", "bundle/program/handlers/__pycache__/none.cpython-311.pyc", "x"),
        ("HB8005", "bundle/program/handlers/__pycache__/tell.py", "x = 1\n"),
        ("HB8006", "bundle/program/handlers/tell.py", "x = 1\n"),
        ("HB8006", "bundle/runtime/hermes_build/bundle/wheel_entry.py", "x = 1\n"),
    ],
)
def test_an_installed_package_in_which_anything_was_changed_is_refused(
    wheels: dict[str, Path], tmp_path: Path, code: str, path: str, content: str
) -> None:
    package = unpacked(wheels["talk"], tmp_path)
    cached = {"bundle/program/handlers/__pycache__/tell.cpython-311.pyc": "bytecode"}
    write(package, cached)
    verify(package).close()
    write(package, {path: content})
    with pytest.raises(BundleError) as caught:
        verify(package)
    assert caught.value.code == code, caught.value
