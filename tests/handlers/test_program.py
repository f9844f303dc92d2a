"""The file tools as a model meets them: compiled, looked up and called through the registry."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[2]

CALLS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from generated.registry import registry
print(json.dumps([json.loads(registry.dispatch(name, args)) if name != "read_file"
                  else registry.dispatch(name, args) for name, args in json.load(sys.stdin)]))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    for name in ("tool_specs", "toolsets", "handlers"):
        shutil.copytree(HERE / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "hermes-build.toml").write_text('handlers = ["handlers"]\n')
    for command in ("compile", "check"):
        subprocess.run(
            [sys.executable, "-m", "hermes_build", command, "-C", str(folder)],
            check=True, env={**os.environ, "PYTHONPATH": str(HERE)}, timeout=60,
        )  # fmt: skip
    return folder


def call(program: Path, root: Path, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    done = subprocess.run(
        [sys.executable, "-c", CALLS, str(program)], input=json.dumps(calls), text=True,
        env={**os.environ, "PYTHONPATH": str(HERE), "HERMES_WORKSPACE": str(root)},
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers: list[Any] = json.loads(done.stdout)
    return answers


def test_a_session_of_writing_searching_patching_and_reading(program: Path, root: Path) -> None:
    answers = call(
        program,
        root,
        ("write_file", {"path": "src/a.py", "content": "def f():\n    return 1\n"}),
        ("search_files", {"pattern": r"def \w+"}),
        ("patch", {"path": "src/a.py", "old_string": "return 1", "new_string": "return 2"}),
        ("patch", {"patch": "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n"}),
        ("search_files", {"pattern": "*", "target": "files"}),
        ("read_file", {"path": "src/a.py"}),
        ("write_file", {"path": "list.json", "content": "[1, 2]"}),
    )
    assert answers[0] == {"path": "src/a.py", "action": "created", "bytes": 22, "lines": 2}
    assert answers[1]["results"] == [{"path": "src/a.py", "lines": ["1:def f():"]}]
    assert answers[2]["strategy"] == "exact" and "+    return 2" in answers[2]["diff"]
    assert answers[3]["files"] == [{"path": "b.txt", "action": "created", "added": 1, "removed": 0}]
    assert answers[4]["results"] == ["b.txt", "src/a.py"]
    assert answers[5] == (
        "    1|def f():\n    2|    return 2\n[lines 1 to 2 of 2; the end of the file]"
    )
    assert (root / "list.json").read_text() == "[1, 2]"


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"path": "a"},
        {"path": "a", "old_string": "x"},
        {"old_string": "x", "new_string": "y"},
        {"path": "a", "new_string": "y"},
        {"replace_all": True},
        {"path": "a", "old_string": "", "new_string": "y"},
        {"path": "a", "old_string": "x", "new_string": "y", "patch": "z"},
        {"patch": "z", "replace_all": False},
        {"patch": ""},
        {"path": "a", "old_string": "x", "new_string": "y", "mode": "replace"},
    ],
)
def test_half_an_edit_is_refused_by_the_schema(args: dict[str, Any]) -> None:
    import jsonschema_rs
    import yaml

    spec = yaml.safe_load((HERE / "tool_specs" / "patch.yaml").read_text())["parameters"]
    spec["properties"]["path"] = {"type": "string"}
    assert not jsonschema_rs.is_valid(spec, args)
    assert not {"oneOf", "anyOf", "allOf", "if", "not"} & set(spec)


def test_refusals_reach_the_model_as_errors_with_details(program: Path, root: Path) -> None:
    (root / "notes.md").write_text("a\na\n")
    answers = call(
        program,
        root,
        ("patch", {"path": "notes.md", "old_string": "a", "new_string": "b"}),
        ("write_file", {"path": "../out", "content": ""}),
        ("search_files", {"pattern": "("}),
        ("read_file", {"path": "note.md"}),
        ("patch", {"replace_all": True}),
    )
    assert answers[0]["lines"] == [1, 2] and "more than one place" in answers[0]["error"]
    assert "leads out of the workspace" in answers[1]["error"]
    assert "set literal" in answers[2]["error"]
    assert json.loads(answers[3])["did_you_mean"] == ["notes.md"]
    assert "old_string" in answers[4]["error"]
