"""The lock of what a bundle depends on, made by `uv` from a package index of this machine."""

from __future__ import annotations

import subprocess
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.pylock import Pylock

from hermes_build.bundle.format import BundleError
from hermes_build.bundle.verifying import verify
from hermes_build.compiler.bundling.dependencies import find_uv, lock_dependencies
from hermes_build.compiler.bundling.requirements import (
    RUNTIME_REQUIRES,
    least_python,
    requirements_of,
)
from hermes_build.compiler.diagnostics import Diagnostic, Findings
from hermes_build.compiler.project import Project
from tests.bundling.package_index import Index, wheel
from tests.bundling.programs import program
from tests.command_line import handler, hermes

ROOT = Path(__file__).parents[2]
WORDS = ("jsonschema-rs<0.62,>=0.61.2", "words")


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Keeps `uv` from the cache, the settings and the patience of this machine."""
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    for name in ("UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.fixture
def index(tmp_path: Path, uv: pytest.MonkeyPatch) -> Iterator[Index]:
    made = Index(tmp_path / "index")
    made.add(*wheel("words", "1.0", ["letters>=2; python_version >= '3.13'"]))
    made.add(*wheel("letters", "2.1"))
    with made.serving():
        uv.setenv("UV_DEFAULT_INDEX", made.url)
        yield made


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "p").mkdir()
    return Project(tmp_path / "p", "pyproject.toml")


def lock(project: Project, *requirements: str) -> str:
    findings = Findings()
    data = lock_dependencies(project, requirements or WORDS, ">=3.11", findings)
    assert data is not None, list(findings)
    return data.decode()


def refused(project: Project, *requirements: str) -> Diagnostic:
    findings = Findings()
    assert lock_dependencies(project, requirements, ">=3.11", findings) is None
    (one,) = findings
    return one


def versions(text: str) -> dict[str, str]:
    return {one["name"]: one["version"] for one in tomllib.loads(text)["packages"]}


def test_the_runtime_is_required_as_the_project_itself_requires_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(RUNTIME_REQUIRES) <= set(project["dependencies"])


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ({}, "words"),
        ({"dependencies": ["Words>=1,<2", "other"]}, "words<2,>=1"),
        ({"optional-dependencies": {"a": ["other"], "b": ["words[x]~=1.0"]}}, "words[x]~=1.0"),
        ({"dependencies": ["words"], "optional-dependencies": {"a": ["words==1"]}}, "words"),
        ({"dependencies": ["words>1; os_name=='nt'"]}, 'words>1; os_name == "nt"'),
        ({"dependencies": ["not a requirement", 7, "words<3"]}, "words<3"),
        ({"dependencies": "words<3", "optional-dependencies": ["words<4"]}, "words"),
    ],
)
def test_a_distribution_has_the_bounds_that_the_project_gives_it(
    table: dict[str, Any], wanted: str
) -> None:
    found = requirements_of({"words": "words", "gone": None}, table)
    assert found == ("jsonschema-rs<0.62,>=0.61.2", wanted)


def test_neither_the_compiler_nor_the_project_itself_is_required() -> None:
    used = {"hermes_build": "hermes-build", "agent": "My.Agent", "jsonschema_rs": "jsonschema-rs"}
    assert requirements_of(used, {"name": "my-agent"}) == ("jsonschema-rs<0.62,>=0.61.2",)


def test_a_requirement_of_a_place_is_refused(tmp_path: Path) -> None:
    place = "words @ https://files.example/words-1.0-py3-none-any.whl"
    with pytest.raises(BundleError) as caught:
        requirements_of({"words": "words"}, {"dependencies": [place]})
    assert (caught.value.code, caught.value.path) == ("HB8151", "pyproject.toml")
    root = program(
        tmp_path / "p",
        {
            "pyproject.toml": f'[project]\nname = "agent"\ndependencies = ["{place}"]\n'
            "[tool.hermes-build]\n",
            "handlers/count.py": handler("count", "", "import words\n    return words.VERSION"),
        },
    )
    assert hermes(root, "bundle", "-t", "file").codes == ["HB8151"]
    assert hermes(root, "bundle", "-t", "file", "--no-deps-lock").code == 0
    done = hermes(root, "bundle", "-t", "file", "--no-deps-lock", "--format", "wheel")
    assert (done.code, "HB8151" in done.err) == (2, True)


def test_a_lock_pins_every_distribution_and_nothing_of_this_machine(
    project: Project, index: Index
) -> None:
    text = lock(project)
    assert text.startswith(
        'lock-version = "1.0"\ncreated-by = "hermes-build"\nrequires-python = ">=3.11"\n\n'
        '[[packages]]\nname = "jsonschema-rs"\nversion = "0.61.2"\n'
        'wheels = [\n    {url = "https://files.pythonhosted.org/packages/'
    )
    found = Pylock.from_dict(tomllib.loads(text))
    found.validate()
    assert [(one.name, str(one.version), str(one.marker)) for one in found.packages] == [
        ("jsonschema-rs", "0.61.2", "None"),
        ("letters", "2.1", 'python_full_version >= "3.13"'),
        ("words", "1.0", "None"),
    ]
    assert all(
        set(file.hashes) == {"sha256"} for one in found.packages for file in one.wheels or ()
    )
    assert "127.0.0.1" not in text
    assert str(project.root) not in text


def test_a_mirror_gives_the_lock_that_the_index_gives(
    project: Project, index: Index, uv: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = lock(project)
    with index.serving("/mirror/of/it"):
        uv.setenv("UV_CACHE_DIR", str(tmp_path / "another"))
        uv.setenv("UV_DEFAULT_INDEX", index.url.replace("://", "://somebody:secret@"))
        assert lock(project) == first


def test_another_index_is_named_without_credentials(
    project: Project, tmp_path: Path, uv: pytest.MonkeyPatch
) -> None:
    own = Index(tmp_path / "own", layout=False)
    own.add(*wheel("words", "1.0"))
    with own.serving():
        uv.setenv("UV_DEFAULT_INDEX", own.url.replace("://", "://somebody:secret@"))
        text = lock(project)
    assert own.url.replace("simple", "packages/files/words-1.0-py3-none-any.whl") in text
    assert "secret" not in text
    assert "somebody" not in text


def test_a_pylock_of_the_project_keeps_versions_and_files(project: Project, index: Index) -> None:
    first = lock(project)
    (project.root / "pylock.toml").write_text(first, encoding="utf-8")
    index.add(*wheel("words", "1.0", ["letters>=2; python_version >= '3.13'"], tag="py2.py3"))
    index.add(*wheel("words", "1.1"))
    index.add(*wheel("letters", "2.2"))
    assert lock(project) == first
    assert versions(lock(project, "words>=1.1"))["words"] == "1.1"
    (project.root / "pylock.toml").unlink()
    assert lock(project) != first
    assert versions(lock(project)) == {"jsonschema-rs": "0.61.2", "words": "1.1"}


def test_a_uv_lock_of_the_project_keeps_versions(project: Project, index: Index) -> None:
    text = '[project]\nname = "agent"\nversion = "1"\nrequires-python = ">=3.11"\n'
    text += '[project.optional-dependencies]\ntools = ["words", "jsonschema-rs"]\n'
    (project.root / "pyproject.toml").write_text(text, encoding="utf-8")
    uv = find_uv()
    assert uv is not None
    subprocess.run([uv, "lock", "--quiet"], cwd=project.root, check=True)
    index.add(*wheel("words", "1.1"))
    assert versions(lock(project))["words"] == "1.0"
    (project.root / "uv.lock").unlink()
    assert versions(lock(project))["words"] == "1.1"


def test_a_lock_of_the_project_that_cannot_be_read_is_said(project: Project, index: Index) -> None:
    (project.root / "uv.lock").write_text("version = nothing", encoding="utf-8")
    one = refused(project, "words")
    assert (one.code, one.span and one.span.path) == ("HB8150", "uv.lock")
    (project.root / "pylock.toml").write_text("packages = [", encoding="utf-8")
    one = refused(project, "words")
    assert (one.code, one.span and one.span.path) == ("HB8150", "pylock.toml")


def test_a_shell_has_no_say_in_the_versions(
    project: Project, index: Index, uv: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    index.add(*wheel("words", "0.9"))
    first = lock(project)
    (tmp_path / "held.txt").write_text("words<1\n", encoding="utf-8")
    uv.setenv("UV_CONSTRAINT", str(tmp_path / "held.txt"))
    uv.setenv("UV_RESOLUTION", "lowest")
    uv.setenv("UV_EXCLUDE_NEWER", "2001-01-01")
    assert lock(project) == first


def test_what_no_index_has_cannot_be_pinned(project: Project, index: Index) -> None:
    one = refused(project, "words>=7")
    assert one.code == "HB8150"
    assert one.message.startswith("the dependencies cannot be pinned: No solution found")
    assert any("words>=7" in note for note in one.notes)
    assert "--no-deps-lock" in one.help[-1]


def test_without_a_network_nothing_is_pinned(
    project: Project, index: Index, uv: pytest.MonkeyPatch
) -> None:
    uv.setenv("UV_OFFLINE", "1")
    assert refused(project, "words").code == "HB8150"


def test_where_uv_is_not_installed_it_is_asked_for(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    one = refused(project, "words")
    assert (one.code, "is not installed" in one.message) == ("HB8150", True)
    assert "pip install uv" in one.help[0]


def test_nothing_is_built_to_pin_it(project: Project, index: Index) -> None:
    index.add("built-1.0.tar.gz", b"no archive at all")
    assert refused(project, "built").code == "HB8150"


def test_a_wheel_in_a_folder_of_this_machine_is_refused(
    project: Project, index: Index, uv: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name, data = wheel("local", "1.0")
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / name).write_bytes(data)
    uv.setenv("UV_FIND_LINKS", str(tmp_path / "wheels"))
    one = refused(project, "local")
    assert (one.code, "`local`" in one.message) == ("HB8151", True)


def test_a_bundle_holds_the_lock_unless_it_is_left_out(tmp_path: Path, index: Index) -> None:
    root = program(tmp_path / "p")
    assert hermes(root, "bundle", "-t", "file", "-o", "with.hermes").code == 0
    with verify(root / "with.hermes") as opened:
        text = opened.read("pylock.toml").decode()
    assert versions(text) == {"jsonschema-rs": "0.61.2"}
    assert tomllib.loads(text)["requires-python"] == ">=3.12"
    assert hermes(root, "bundle", "-t", "file", "-o", "less.hermes", "--no-deps-lock").code == 0
    with verify(root / "less.hermes") as opened:
        assert "pylock.toml" not in opened.names()


@pytest.mark.parametrize(
    ("specifier", "least"),
    [
        (">=3.11", "3.11"),
        (">=3.12,<4", "3.12"),
        ("~=3.13.0", "3.13.0"),
        ("==3.12.*", "3.12"),
        ("<4", "3.11"),
        (">=3.9", "3.11"),
        ("nonsense", "3.11"),
    ],
)
def test_a_lock_begins_with_the_first_python_that_is_allowed(specifier: str, least: str) -> None:
    assert least_python(specifier) == least


@pytest.mark.real
def test_the_reference_program_can_be_pinned_and_installed(tmp_path: Path) -> None:
    uv = find_uv()
    assert uv is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = requirements_of({"httpx": "httpx", "pypdf": "pypdf"}, project)
    text = lock(Project(tmp_path, "pyproject.toml"), *wanted)
    (tmp_path / "pylock.toml").write_text(text, encoding="utf-8")
    subprocess.run([uv, "venv", "--quiet", tmp_path / "v"], check=True)
    command = [uv, "pip", "sync", "--quiet", "--python", tmp_path / "v", tmp_path / "pylock.toml"]
    subprocess.run(command, check=True)
