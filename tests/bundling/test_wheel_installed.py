"""Wheels of bundles: what installers and programs make of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from hermes_build.bundle.verifying import verify
from hermes_build.compiler.bundling.dependencies import find_uv
from tests.bundling.programs import PYPROJECT, ROOT, bundled, program, run, unpacked
from tests.command_line import handler, hermes

ASK = """\
import json, sys
from importlib.metadata import entry_points
found = {one.name: one.load() for one in entry_points(group="hermes_build.bundles")}
calls = json.loads(sys.argv[1])
results = [found[name].call(tool, args) for name, tool, args in calls]
print(json.dumps({"names": sorted(found), "results": results, "modules": sorted(sys.modules)}))
"""
"""Calls tools of installed bundles, in a process that has imported nothing else."""


def ask(python: Path, *calls: tuple[str, str, dict[str, Any]]) -> Any:
    return json.loads(run(python, "-P", "-c", ASK, json.dumps(calls)))


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
