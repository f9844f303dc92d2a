"""What tests of making bundles are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundling.programs import PYPROJECT, ROOT, bundled, program
from tests.command_line import handler


@pytest.fixture(scope="session")
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
