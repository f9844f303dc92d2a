"""What the tests of calls share: a registry of one tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes_build.runtime.registry import ToolRegistry
from tests.calls.one_tool import Make
from tests.runtime_program import tool, write_program


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a registry of one external tool ``t`` that a handler is bound to."""

    def make(handler: Any, parameters: Any = None, **fields: Any) -> ToolRegistry:
        record = tool("t", parameters, handler="external", **fields)
        registry = write_program(tmp_path, [record]).registry
        registry.register("t", handler=handler)
        return registry

    return make
