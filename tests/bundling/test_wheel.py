"""Wheels of bundles: what is in them, what they are called, and that they are the bundle."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

from hermes_build.bundle.format import BundleError
from hermes_build.bundle.verifying import verify
from hermes_build.bundle.wheel import distribution_of, package_of
from hermes_build.compiler.bundling.requirements import version_of
from tests.bundling.programs import OPTIONS, PYPROJECT, bundled, program, run
from tests.command_line import PROGRAM, handler, hermes


def test_what_package_indexes_demand_holds(wheels: dict[str, Path]) -> None:
    scripts = Path(sys.executable).parent
    run(scripts / "twine", "check", "--strict", *wheels.values())
    for wheel in wheels.values():
        # A licence stands where the bundle has it, and where installers look for it.
        command = [scripts / "check-wheel-contents", "--no-config", "--ignore", "W002", wheel]
        assert run(*command).strip().endswith("OK")
        with zipfile.ZipFile(wheel) as archive:
            entries = {one.filename: archive.read(one) for one in archive.infolist()}
        twice: dict[bytes, list[str]] = {}
        for name, data in entries.items():
            if data:
                twice.setdefault(data, []).append(name)
        more = [names for names in twice.values() if len(names) > 1]
        assert all(any("/licenses/" in name for name in names) for names in more), more


def read_metadata(wheel: Path) -> Metadata:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        return Metadata.from_email(archive.read(name), validate=True)


def test_metadata_says_what_the_project_and_the_manifest_say(tmp_path: Path) -> None:
    root = program(
        tmp_path / "p",
        {
            "pyproject.toml": '[project]\nname = "agent"\nversion = "1.04"\nlicense = "mit"\n'
            'requires-python = ">=3.12"\ndependencies = ["Click >= 8.2, <9", "httpx"]\n'
            "[tool.hermes-build]\n",
            "NOTICE": "Made with care.\n",
            "handlers/count.py": handler("count", "import click", "return click.style('three')"),
        },
    )
    wheel = bundled(root, "file", tmp_path / "w")
    assert wheel.name == "hermes_bundle_file-1.4-py3-none-any.whl"
    found = read_metadata(wheel)
    assert found.metadata_version == "2.4"
    assert (found.name, str(found.version)) == ("hermes-bundle-file", "1.4")
    assert found.license_expression == "MIT"
    assert found.license_files == ["LICENSE", "NOTICE"]
    assert found.requires_dist == [
        Requirement("click<9,>=8.2"),
        Requirement("jsonschema-rs<0.62,>=0.61.2"),
    ]
    assert str(found.requires_python) == ">=3.12"
    with verify(wheel) as opened, zipfile.ZipFile(wheel) as archive:
        assert f"sha256:{opened.digest}" in (found.description or "")
        notice = archive.read("hermes_bundle_file-1.4.dist-info/licenses/NOTICE")
        assert notice == b"Made with care.\n"


def test_a_version_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="spring") as caught:
        version_of({"version": "spring release"}, "0" * 64)
    assert (caught.value.code, caught.value.path) == ("HB8152", "pyproject.toml")
    root = program(tmp_path, {"pyproject.toml": PYPROJECT.replace('"1"', '"spring"')})
    done = hermes(root, "bundle", "-t", "file", *OPTIONS)
    assert (done.code, "HB8152" in done.err) == (2, True)
    assert hermes(root, "bundle", "-t", "file", "--no-deps-lock").code == 0


def test_pythons_that_are_not_read_where_a_bundle_is_opened_are_refused(tmp_path: Path) -> None:
    root = program(tmp_path, {"pyproject.toml": PYPROJECT.replace(">=3.11", "===3.11")})
    for form in ("hermes", "wheel"):
        done = hermes(root, "bundle", "-t", "file", "--no-deps-lock", "--format", form)
        assert (done.code, "HB8152" in done.out) == (1, True), done.out + done.err
        assert "'===3.11'" in done.out


@pytest.mark.parametrize(
    ("stated", "version"),
    [("1.0", "1.0"), ("v2.0.RC1", "2.0rc1"), ("1!3.post2+Local.7", "1!3.post2+local.7")],
)
def test_a_version_is_written_in_its_normal_form(stated: str, version: str) -> None:
    assert version_of({"version": stated}, "0" * 64) == version


def test_where_the_project_states_no_version_the_digest_tells_bundles_apart(
    wheels: dict[str, Path],
) -> None:
    with verify(wheels["own"]) as opened:
        assert read_metadata(wheels["own"]).version.local == f"b{opened.digest[:12]}"


@pytest.mark.parametrize(
    ("name", "distribution"),
    [
        ("file", "hermes-bundle-file"),
        ("My__Tools.v2", "hermes-bundle-my-tools-v2"),
        ("7", "hermes-bundle-7"),
        ("x-", "hermes-bundle-x"),
    ],
)
def test_names_are_those_that_installers_compare(name: str, distribution: str) -> None:
    assert distribution_of(name) == distribution
    assert package_of(name).isidentifier()


def test_the_record_lists_every_file_by_what_it_holds(wheels: dict[str, Path]) -> None:
    for wheel in wheels.values():
        with zipfile.ZipFile(wheel) as archive:
            entries = {one.filename: archive.read(one) for one in archive.infolist()}
        (record,) = [name for name in entries if name.endswith(".dist-info/RECORD")]
        rows = {name: rest for name, *rest in csv.reader(entries[record].decode().splitlines())}
        assert rows.pop(record) == ["", ""]
        assert rows.keys() == entries.keys() - {record}
        for name, (digest, size) in rows.items():
            wanted = base64.urlsafe_b64encode(hashlib.sha256(entries[name]).digest())
            assert digest == f"sha256={wanted.decode().rstrip('=')}"
            assert int(size) == len(entries[name])


def test_an_archive_and_a_wheel_are_one_bundle(wheels: dict[str, Path], tmp_path: Path) -> None:
    root = program(tmp_path / "p", {"pyproject.toml": PYPROJECT})
    assert hermes(root, "bundle", "-t", "file", "--no-deps-lock", "-o", "x.hermes").code == 0
    with verify(root / "x.hermes") as one, verify(wheels["count"]) as other:
        assert (one.digest, one.names()) == (other.digest, other.names())
        assert all(one.read(name) == other.read(name) for name in one.names())
        assert other.container.kind == "wheel"
    done = hermes(tmp_path, "verify", str(wheels["count"]))
    assert (done.code, f"sha256:{one.digest}" in done.out) == (0, True)


def test_a_wheel_keeps_the_name_that_installers_read(tmp_path: Path) -> None:
    root = program(tmp_path)
    done = hermes(root, "bundle", "-t", "file", *OPTIONS, "-o", "other.whl")
    assert (done.code, "hermes_bundle_file-1-py3-none-any.whl" in done.err) == (2, True)
    assert not (root / "other.whl").exists()


@pytest.mark.skipif(os.name == "nt", reason="there is no umask, and no zone by a variable")
def test_a_wheel_is_the_same_wherever_it_is_made(tmp_path: Path, wheels: dict[str, Path]) -> None:
    root = tmp_path / "elsewhere" / "ünd so weiter"
    shutil.copytree(wheels["count"].parents[1] / "first", root)
    for nth, path in enumerate(sorted(root.rglob("*"), reverse=True)):
        os.utime(path, (1e9 + nth, 1e9 + nth))
    others = {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "HOME": str(tmp_path)}
    command = [*PROGRAM, "bundle", "-t", "file", *OPTIONS, "--no-cache", "-o", str(tmp_path)]
    umask = "import os, sys; os.umask(0o077); os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", umask, *command],
        cwd=root,
        env={**os.environ, **others},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert (tmp_path / wheels["count"].name).read_bytes() == wheels["count"].read_bytes()
