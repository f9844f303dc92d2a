"""What the tests of the registry share: the registry of one program."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_build.runtime.registry import ToolRegistry
from tests.registry.programs import make_registry


@pytest.fixture
def registry(tmp_path: Path) -> ToolRegistry:
    return make_registry(tmp_path)
