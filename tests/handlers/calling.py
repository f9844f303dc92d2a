"""Calls of this program's own tools, as a model or somebody else would make them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from hermes_build.runtime import ToolFailure, tool_error

HERE = Path(__file__).parents[2]


def call(tool: str, arguments: str, environ: Mapping[str, str]) -> str:
    """What ``hermes-build call`` prints, with ``environ`` on top of the present environment."""
    done = subprocess.run(
        [sys.executable, "-m", "hermes_build", "call", tool, arguments, "-C", str(HERE)],
        env={**os.environ, "PYTHONPATH": str(HERE), "PYTHONUTF8": "1", **environ},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.removesuffix("\n")


def answered(handle: Callable[[], str]) -> str:
    """What a model gets where a handler answers, or raises what to tell it."""
    try:
        return handle()
    except ToolFailure as failure:
        return tool_error(failure, **failure.fields)
