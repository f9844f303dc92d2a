"""What the tests of drift share: a registry of one tool."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.registry import ToolRegistry
from tests.runtime_program import tool, write_program


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., ToolRegistry]:
    """Make a registry of one external tool ``t``."""

    def make(parameters: Any = None, **fields: Any) -> ToolRegistry:
        fields.setdefault("handler", "external")
        return write_program(tmp_path, [tool("t", parameters, **fields)]).registry

    return make
