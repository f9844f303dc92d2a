"""What Python compiled of a generated module before is never taken for the module of now."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.command_line import hermes, spec, write

SEEN = "from generated.registry import registry; print(registry.get_schema('read_file'))"


def seen(root: Path) -> str:
    """The definition that a fresh process reads, with bytecode written as Python does by itself."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", SEEN],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_compiles_within_one_second_are_told_apart(root: Path) -> None:
    for number in range(8):
        about = f"Do the job with the number {number} of these."
        write(root, {"tool_specs/read_file.yaml": spec("read_file", description=about)})
        assert hermes(root, "compile").code == 0
        assert about in seen(root)
