"""Programs for the tests of the contract, each in a folder of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.registry import ToolRegistry
from tests.contract.programs import Make, one_tool, several


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a program of one tool ``t``: its handler, its parameters, fields of its record."""

    def make(handler: Any, parameters: Any = None, **fields: Any) -> ToolRegistry:
        return one_tool(tmp_path, handler, parameters, **fields)

    return make


@pytest.fixture
def registry(tmp_path: Path) -> ToolRegistry:
    """Five tools in three leaves and three compositions."""
    return several(tmp_path)


@pytest.fixture
def needy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToolRegistry:
    """The usual program, whose tool ``read`` needs a variable that is not set."""
    monkeypatch.delenv("CONTRACT_KEY", raising=False)
    return several(tmp_path, read={"requires": {"env": ["CONTRACT_KEY"]}})
