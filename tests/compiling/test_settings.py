"""The settings of a project say where ``hermes-build compile`` reads, and what it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.command_line import (
    LOCK,
    contents,
    handler,
    hermes,
    project,
    spec,
    write,
)


def test_pydantic_models_are_models(root: Path) -> None:
    write(root, {"pyproject.toml": '[tool.hermes-build]\nmodels = "pydantic"\n'})
    done = hermes(root, "compile")
    assert (done.code, done.out) == (0, "")
    program = (
        "from generated.tools.read_file import Args\n"
        "print(Args(path='x').model_dump(), Args.model_validate({'path': 'y', 'limit': 3}).limit)\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert shown.stdout == "{'path': 'x', 'limit': 10} 3\n"
    assert hermes(root, "check").code == 0


def test_a_package_inside_src_compiles_checks_and_runs(tmp_path: Path) -> None:
    settings = (
        'source = "src"\noutput = "agent.generated"\nhandlers = ["agent.tools"]\n'
        'specs = "agent/specs"\ntoolsets = "agent/sets"\n'
    )
    root = project(
        tmp_path,
        settings=settings,
        **{
            "agent/specs/read_file.yaml": spec("read_file", handler="self"),
            "agent/sets/all.yaml": "name: everything\nincludes: ['*']\n",
            "src/agent/__init__.py": "",
            "src/agent/tools/__init__.py": "",
            "src/agent/tools/read.py": handler("read_file", output="agent.generated"),
        },
    )
    assert hermes(root, "compile", "--strict").code == 0
    assert (root / "src/agent/generated/tools/read_file.py").is_file()
    assert not (root / "agent/generated").exists()
    assert hermes(root, "check").code == 0
    called = hermes(root, "call", "read_file", '{"path": "x"}')
    assert (called.code, called.out) == (0, "x 10\n")


def test_handlers_may_be_one_module_or_several_packages(tmp_path: Path) -> None:
    names = ("read_file", "write_file", "patch")
    files = {f"tool_specs/{name}.yaml": spec(name, handler="self") for name in names}
    files["pyproject.toml"] = '[tool.hermes-build]\nhandlers = ["handlers", "agent.more"]\n'
    files["handlers.py"] = handler("read_file")
    files["agent/more/deep/one.py"] = handler("write_file")
    files["agent/more/two.py"] = handler("patch")
    root = write(tmp_path, files)
    assert hermes(root, "compile").code == 0
    assert hermes(root, "check").code == 0
    lock = (root / LOCK).read_text()
    assert all(one in lock for one in ("handlers", "agent.more.deep.one", "agent.more.two"))
    assert hermes(root, "call", "write_file", '{"path": "x"}').out == "x 10\n"
    write(root, {"pyproject.toml": '[tool.hermes-build]\nhandlers = ["handlers", "agent.mare"]\n'})
    assert "HB3009" in hermes(root, "compile").codes


def test_settings_of_their_own_come_before_those_in_pyproject(root: Path) -> None:
    write(root, {"hermes-build.toml": 'output = "made"\n'})
    assert hermes(root, "compile").code == 0
    assert (root / "made/registry.py").is_file()


def test_mistakes_in_the_settings_are_findings(root: Path) -> None:
    before = contents(root)
    write(root, {"hermes-build.toml": 'modles = "pydantic"\n'})
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB1401"])
    assert "models" in done.out
    for arguments in (["new", "x"], ["import", "json", "-"], ["call", "read_file"]):
        refused = hermes(root, *arguments, input="[]")
        assert (refused.code, refused.codes) == (2, ["HB1401"]), arguments
    (root / "hermes-build.toml").unlink()
    assert contents(root) == before
