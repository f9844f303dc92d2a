"""Each folder of ``tests/cases`` is a small project; ``expected.txt`` is what judging it finds.

After a deliberate change: ``UPDATE_CASES=1 python -m pytest tests/test_cases.py``, then review.
"""

import os
import shutil
from pathlib import Path

import pytest

from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.memory import forgetful
from hermes_build.compiler.pipeline import build
from hermes_build.compiler.project import read_project
from hermes_build.compiler.report import full

CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.name for path in CASES.iterdir() if path.is_dir())


@pytest.mark.parametrize("name", NAMES)
def test_case_finds_exactly_what_it_says(name: str, tmp_path: Path) -> None:
    root = tmp_path / "project"
    shutil.copytree(CASES / name, root)
    expected = root / "expected.txt"
    wanted = expected.read_text("utf-8") if expected.exists() else ""
    expected.unlink(missing_ok=True)
    if not (root / "pyproject.toml").exists() and not (root / "hermes-build.toml").exists():
        (root / "hermes-build.toml").write_text("")
    findings = Findings()
    made = build(read_project(root, findings), forgetful(), findings)
    text = full(made.findings, lambda path: (root / path).read_text("utf-8")).replace("\r", "")
    if os.environ.get("UPDATE_CASES"):
        (CASES / name / "expected.txt").write_text(text, "utf-8")
    else:
        assert text == wanted
    failed = any(one.severity == "error" for one in made.findings)
    assert (made.tree is None) == failed
