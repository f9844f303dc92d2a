"""What `init` and `new` write compiles, runs, and never replaces anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.load import document
from hermes_build.compiler.project import Project, read_project
from hermes_build.compiler.scaffold import Scaffold, project_scaffold, tool_scaffold


def _reader(root: Path):
    def read(path: str) -> str | None:
        file = root / path
        return file.read_text(encoding="utf-8") if file.is_file() else None

    return read


def _write(root: Path, scaffold: Scaffold) -> None:
    for path, text in scaffold.files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from hermes_build.cli import script; script()", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_a_new_project_compiles_without_a_finding_and_runs(tmp_path: Path) -> None:
    _write(tmp_path, project_scaffold(_reader(tmp_path)))
    compiled = _run(tmp_path, "compile", "--strict")
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    assert compiled.stdout == ""
    checked = _run(tmp_path, "check", "--strict")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    called = _run(tmp_path, "call", "greet", '{"name": "Ada", "style": "cheerful"}')
    assert called.returncode == 0, called.stdout + called.stderr
    assert "Hello, Ada! How good to see you!" in called.stdout


@pytest.mark.parametrize(
    "options",
    [{}, {"is_async": True}, {"handler": False}],
    ids=["plain", "async", "no_handler"],
)
def test_a_new_tool_compiles_without_a_finding(tmp_path: Path, options: dict[str, bool]) -> None:
    _write(tmp_path, project_scaffold(_reader(tmp_path)))
    findings = Findings()
    project = read_project(tmp_path, findings)
    made = tool_scaffold(
        project, "word-count", _reader(tmp_path), findings, toolset="basics", **options
    )
    assert made is not None
    assert not len(findings)
    assert set(made.kept) == {"schemas/tool.json"} | (
        {"handlers/__init__.py"} if options.get("handler", True) else set()
    )
    _write(tmp_path, made)
    compiled = _run(tmp_path, "compile", "--strict")
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    checked = _run(tmp_path, "check", "--strict")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_modelines_point_at_the_schemas(tmp_path: Path) -> None:
    _write(tmp_path, project_scaffold(_reader(tmp_path)))
    for path in [*tmp_path.glob("tool_specs/*"), *tmp_path.glob("toolsets/*")]:
        first = path.read_text(encoding="utf-8").splitlines()[0]
        target = path.parent / first.partition("$schema=")[2]
        assert json.loads(target.read_text(encoding="utf-8"))["title"].startswith("hermes-build")


def test_a_project_beside_a_pyproject_keeps_it_and_gets_settings_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    (tmp_path / ".gitignore").write_text("secret\n__pycache__/")
    (tmp_path / "README.md").write_text("mine")
    made = project_scaffold(_reader(tmp_path))
    assert "pyproject.toml" not in made.files
    assert made.kept == ("README.md",)
    assert made.files["hermes-build.toml"].endswith('handlers = ["handlers"]\n')
    assert made.files[".gitignore"] == "secret\n__pycache__/\n.hermes-build/\n"
    _write(tmp_path, made)
    findings = Findings()
    assert read_project(tmp_path, findings).handlers == ("handlers",)
    assert not len(findings)


def test_a_second_init_has_nothing_to_write(tmp_path: Path) -> None:
    _write(tmp_path, project_scaffold(_reader(tmp_path)))
    again = project_scaffold(_reader(tmp_path))
    assert again.files == {}


def test_a_new_tool_follows_the_settings(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        "pyproject.toml",
        specs="agent/specs",
        handlers=("agent.tools", "more"),
        output="agent.generated",
        source="src",
    )
    made = tool_scaffold(project, "word-count", _reader(tmp_path), Findings())
    assert made is not None
    assert set(made.files) == {
        "agent/specs/word-count.yaml",
        "schemas/tool.json",
        "src/agent/__init__.py",
        "src/agent/tools/__init__.py",
        "src/agent/tools/word_count.py",
    }
    assert (
        "from agent.generated.tools import word_count"
        in made.files["src/agent/tools/word_count.py"]
    )
    assert "$schema=../../schemas/tool.json" in made.files["agent/specs/word-count.yaml"]


def test_a_project_without_handlers_of_its_own_gets_specs_alone(tmp_path: Path) -> None:
    project, findings = Project(tmp_path, "pyproject.toml", handlers=()), Findings()
    assert tool_scaffold(project, "t", _reader(tmp_path), findings) is None
    (found,) = findings
    assert found.code == "HB1402"
    made = tool_scaffold(project, "t", _reader(tmp_path), Findings(), handler=False)
    assert made is not None
    assert set(made.files) == {"tool_specs/t.yaml", "schemas/tool.json"}


@pytest.mark.parametrize("source", ["./src", "src/.", "src//", "src/./"])
def test_a_folder_is_the_same_however_it_is_spelt(tmp_path: Path, source: str) -> None:
    (tmp_path / "hermes-build.toml").write_text(f'source = "{source}"\n')
    project = read_project(tmp_path, Findings())
    assert (project.source, project.output_folder) == ("src", "src/generated")


@pytest.mark.parametrize("name", ["true", "null", "on", "y"])
def test_a_name_that_yaml_could_misread_is_quoted(tmp_path: Path, name: str) -> None:
    project = Project(tmp_path, "pyproject.toml")
    made = tool_scaffold(project, name, _reader(tmp_path), Findings(), toolset="no")
    assert made is not None
    value = document("a.yaml", made.files[f"tool_specs/{name}.yaml"]).value
    assert value["name"] == name
    assert value["toolset"] == "no"


@pytest.mark.parametrize(
    ("name", "toolset", "code"),
    [
        ("1st", None, "HB1004"),
        ("../x", None, "HB1004"),
        ("a" * 65, None, "HB1004"),
        ("ok\n", None, "HB1004"),
        ("ok", "not ok", "HB1004"),
        ("ok", "all", "HB2007"),
    ],
)
def test_an_invalid_name_is_refused(
    tmp_path: Path, name: str, toolset: str | None, code: str
) -> None:
    findings = Findings()
    project = Project(tmp_path, "pyproject.toml")
    assert tool_scaffold(project, name, _reader(tmp_path), findings, toolset=toolset) is None
    assert [one.code for one in findings] == [code]


def test_a_file_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers/ok.py").write_text("mine")
    findings = Findings()
    project = Project(tmp_path, "pyproject.toml")
    assert tool_scaffold(project, "ok", _reader(tmp_path), findings) is None
    (finding,) = findings
    assert finding.code == "HB5003"
    assert "handlers/ok.py" in finding.message
