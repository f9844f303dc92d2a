"""Wheels of bundles: what is in them, and what installers, programs and verifiers make of them."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import BundleError
from hermes_build.bundle.verifying import verify
from hermes_build.bundle.wheel import distribution_of, package_of
from hermes_build.compiler.bundling.dependencies import find_uv
from hermes_build.compiler.bundling.requirements import version_of
from tests.bundling.programs import FILES, program
from tests.command_line import PROGRAM, handler, hermes, write

ROOT = Path(__file__).parents[2]
PYPROJECT = str(FILES["pyproject.toml"]).replace("3.12", "3.11")
OPTIONS = ("--no-deps-lock", "--format", "wheel")

ASK = """\
import json, sys
from importlib.metadata import entry_points
found = {one.name: one.load() for one in entry_points(group="hermes_build.bundles")}
calls = json.loads(sys.argv[1])
results = [found[name].call(tool, args) for name, tool, args in calls]
print(json.dumps({"names": sorted(found), "results": results, "modules": sorted(sys.modules)}))
"""
"""Calls tools of installed bundles, in a process that has imported nothing else."""


def bundled(root: Path, toolset: str, folder: Path) -> Path:
    """Make a wheel in a folder of its own, and return it."""
    folder.mkdir(parents=True)
    done = hermes(root, "bundle", "-t", toolset, *OPTIONS, "-o", str(folder))
    assert done.code == 0, done.out + done.err
    (made,) = folder.iterdir()
    return made


def run(*command: object) -> str:
    """Run a program elsewhere than here, and return what it prints."""
    ours = ("PIP_", "UV_", "PYTHONPATH", "VIRTUAL_ENV")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    done = subprocess.run(
        [str(one) for one in command],
        cwd=Path(str(command[0])).parent,
        env={**environment, "UV_NO_CONFIG": "1", "PIP_CONFIG_FILE": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def ask(python: Path, *calls: tuple[str, str, dict[str, Any]]) -> Any:
    return json.loads(run(python, "-P", "-c", ASK, json.dumps(calls)))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Wheels of two programs that have modules of the same names, and of this repository."""
    top = tmp_path_factory.mktemp("wheels")
    first = program(top / "first", {"pyproject.toml": PYPROJECT})
    told = {"pyproject.toml": PYPROJECT, "handlers/tell.py": handler("tell", "return 'told'")}
    second = program(top / "second", told)
    return {
        "count": bundled(first, "file", top / "count"),
        "talk": bundled(second, "talk", top / "talk"),
        "own": bundled(ROOT, "file", top / "own"),
    }


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels that holds what the runtime needs, taken from where this runs."""
    folder = tmp_path_factory.mktemp("house")
    found = metadata.distribution("jsonschema-rs")
    tag = (found.read_text("WHEEL") or "").partition("Tag: ")[2].split()[0]
    with zipfile.ZipFile(folder / f"jsonschema_rs-{found.version}-{tag}.whl", "w") as archive:
        for file in found.files or ():
            if "__pycache__" not in file.parts and file.name not in ("INSTALLER", "REQUESTED"):
                archive.write(str(file.locate()), file.as_posix())
    return folder


@dataclass(frozen=True)
class Environment:
    """An environment, and the two commands of its installer."""

    python: Path
    install: tuple[object, ...]
    uninstall: tuple[object, ...]

    @property
    def packages(self) -> Path:
        """The folder that packages are installed to."""
        where = "import sysconfig; print(sysconfig.get_path('purelib'))"
        return Path(run(self.python, "-c", where).strip())


@pytest.fixture(scope="module", params=["pip", "uv"])
def environment(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, house: Path
) -> Environment:
    folder = tmp_path_factory.mktemp(request.param) / "v"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    only = ("--no-index", "--find-links", house)
    if request.param == "pip":
        run(sys.executable, "-m", "venv", folder)
        pip = (python, "-m", "pip", "--disable-pip-version-check")
        return Environment(python, (*pip, "install", *only), (*pip, "uninstall", "--yes"))
    uv = find_uv()
    assert uv is not None
    run(uv, "venv", "--python", sys.executable, folder)
    there = ("--python", python)
    return Environment(
        python, (uv, "pip", "install", *there, *only), (uv, "pip", "uninstall", *there)
    )


def test_installers_install_wheels_whose_tools_are_called_and_uninstall_all_of_it(
    environment: Environment, wheels: dict[str, Path], tmp_path: Path
) -> None:
    before = {path.name for path in environment.packages.iterdir()}
    run(*environment.install, wheels["count"], wheels["talk"])
    came = {path.name for path in environment.packages.iterdir()} - before - {"__pycache__"}
    assert {name.partition("-")[0] for name in came} == {
        *("hermes_bundle_file", "hermes_bundle_talk", "jsonschema_rs"),
    }

    arguments = {"path": "a"}
    found = ask(
        environment.python,
        *(("file", "count", arguments), ("talk", "tell", arguments), ("talk", "say", arguments)),
        ("file", "count", {"path": 3, "nonsense": 1}),
    )
    assert found["names"] == ["file", "talk"]
    assert found["results"][:3] == ["three", "told", "told"]
    assert "error" in found["results"][3]
    # Each has a runtime and a program of its own, and nothing is called as others call theirs.
    tops = {name.partition(".")[0] for name in found["modules"]}
    assert not tops & {"hermes_build", "generated", "handlers"}
    spaces = {one for one in tops if one.startswith("hermes_bundle_")}
    assert len(spaces) == 2 + 2 + 2, spaces

    for name in ("file", "talk"):
        folder = environment.packages / f"hermes_bundle_{name}"
        done = hermes(tmp_path, "verify", str(folder))
        assert done.code == 0, done.err
        with verify(folder / "bundle") as opened, verify(wheels["talk"]) as wheel:
            assert opened.container.kind == "package"
            assert (opened.digest == wheel.digest) is (name == "talk")

    run(*environment.uninstall, "hermes-bundle-file", "hermes-bundle-talk", "jsonschema-rs")
    assert {path.name for path in environment.packages.iterdir()} - {"__pycache__"} == before


@pytest.fixture(scope="module")
def beside(
    tmp_path_factory: pytest.TempPathFactory, wheels: dict[str, Path]
) -> Callable[[str, str], Any]:
    """Runs Python code with wheels beside the hermes-build that is tested; it prints JSON."""
    folder = tmp_path_factory.mktemp("beside")
    uv = find_uv()
    assert uv is not None
    target = ("--target", folder, "--no-deps", "--no-index", "--python", sys.executable)
    run(uv, "pip", "install", *target, wheels["own"], wheels["talk"])

    def code(text: str, argument: str = "") -> Any:
        head = f"import sys, json\nsys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]\n"
        return json.loads(run(sys.executable, "-P", "-c", head + text, argument))

    return code


def test_a_wheel_of_this_repository_runs_beside_hermes_build(
    beside: Callable[[str, str], Any], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    found = beside(
        """\
import os
import hermes_build.runtime.registry as host
os.chdir(sys.argv[1])
before = dict(sys.modules)
from hermes_bundle_file import registry
from hermes_bundle_talk import registry as other
print(json.dumps({
    "text": registry.call("read_file", {"path": "a.txt"}),
    "other": other.call("tell", {"path": "a"}),
    "ours": isinstance(registry, host.ToolRegistry),
    "kept": all(sys.modules[name] is module for name, module in before.items()),
    "new": sorted({name.partition(".")[0] for name in set(sys.modules) - set(before)}),
}))
""",
        str(tmp_path),
    )
    assert "two" in found["text"]
    assert found["other"] == "told"
    assert (found["ours"], found["kept"]) == (False, True)
    assert not {"hermes_build", "handlers", "generated"} & set(found["new"])


def test_a_bundle_is_opened_when_its_registry_is_first_asked_for_and_once(
    beside: Callable[[str, str], Any],
) -> None:
    found = beside(
        """\
import hermes_bundle_talk as package
from threading import Barrier, Thread
early = [name for name in sys.modules if "runtime" in name and "hermes" in name]
listed, together, seen = "registry" in dir(package), Barrier(8), []
def look():
    together.wait()
    seen.append(package.registry)
threads = [Thread(target=look) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
try:
    package.nothing
except AttributeError as error:
    said = str(error)
print(json.dumps([early, listed, len(seen), len(set(map(id, seen))), said]))
""",
        "",
    )
    said = "module 'hermes_bundle_talk' has no attribute 'nothing'"
    assert found == [[], True, 8, 1, said]


def test_tracebacks_and_data_files_lead_into_the_installed_package(
    beside: Callable[[str, str], Any],
) -> None:
    found = beside(
        """\
from hermes_bundle_file import registry
import inspect, os
handler = inspect.unwrap(registry.binding("read_file").function)
file = inspect.getsourcefile(handler)
print(json.dumps([os.path.isfile(file), file.split(os.sep)[-5:-2], inspect.getsource(handler)]))
""",
        "",
    )
    assert found[:2] == [True, ["hermes_bundle_file", "bundle", "program"]]
    assert "def " in found[2]


def unpacked(wheel: Path, folder: Path) -> Path:
    """Unpack a wheel as an installer does, and return its package."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder / wheel.name.partition("-")[0]


def importing(package: Path) -> str:
    """What Python says of an attempt to open the bundle in a package."""
    code = f"import sys; sys.path.insert(0, {str(package.parent)!r})\n"
    code += (
        f"import {package.name.partition('-')[0]} as package; package.registry.call('tell', {{}})"
    )
    command = [sys.executable, "-P", "-B", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_every_way_to_the_runtime_leads_to_the_one_inside(tmp_path: Path) -> None:
    lines = [
        "import importlib",
        "import hermes_build.runtime.registry as named",
        "from hermes_build.runtime import registry as taken",
        "found = importlib.import_module('hermes_build.runtime.registry')",
        "import hermes_build",
        "ways = (named, taken, found, hermes_build.runtime.registry)",
        "whole = all(way.frozen is named.frozen for way in ways)",
        "return f'{whole} {named.frozen.__module__} {hermes_build.__file__}'",
    ]
    files = {"pyproject.toml": PYPROJECT, "handlers/tell.py": handler("tell", *lines)}
    package = unpacked(bundled(program(tmp_path / "p", files), "talk", tmp_path / "w"), tmp_path)
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; import hermes_build\n"
    code += "from hermes_bundle_talk import registry\nprint(registry.call('tell', {'path': 'a'}))"
    whole, module, file = run(sys.executable, "-P", "-c", code).split()
    assert whole == "True"
    assert module.startswith("hermes_bundle_runtime_")
    assert module.endswith(".hermes_build.runtime.bundles")
    assert Path(file).is_relative_to(package)


def test_a_changed_runtime_is_not_run(wheels: dict[str, Path], tmp_path: Path) -> None:
    package = unpacked(wheels["talk"], tmp_path)
    with (package / "bundle/runtime/hermes_build/layout.py").open("a") as file:
        file.write("print('run')\n")
    said = importing(package)
    assert "ImportError" in said
    assert "layout.py is not the file that the bundle's manifest lists" in said


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_broken_manifest_says_to_install_the_package_anew(
    text: str, wheels: dict[str, Path], tmp_path: Path
) -> None:
    package = unpacked(wheels["talk"], tmp_path)
    (package / "bundle/hermes-bundle.json").write_text(text)
    said = importing(package).splitlines()[-1]
    assert said.startswith("ImportError")
    assert said.endswith("hermes-bundle.json is not as hermes-build writes it: install it anew")


def test_a_wheel_that_is_not_installed_cannot_be_imported(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    code = f"import sys; sys.path.insert(0, {str(wheels['talk'])!r})\n"
    code += "from hermes_bundle_talk import registry"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False
    )
    assert "bundle is in an archive: install the package to import it" in done.stderr


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
