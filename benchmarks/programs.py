"""Projects to measure: made up, of any size, through the real commands."""

from __future__ import annotations

from pathlib import Path

from benchmarks.processes import COMMAND, cpu_ms

SPEC = """\
name: tool_{n}
toolset: set_{set}
description: The tool with the number {n}, which does what the others do.
handler: external
parameters:
  type: object
  properties:
    path: {{type: string, description: Path of the file, minLength: 1}}
    mode: {{type: string, enum: [lines, bytes, pages], default: lines, description: What to count}}
    limit: {{type: integer, description: How many of them, minimum: 1, default: {default}}}
    filters:
      type: array
      description: Which of them to leave out
      items:
        type: object
        properties:
          field: {{type: string, description: What to look at}}
          value: {{type: string, description: What it must not be}}
        required: [field]
        additionalProperties: false
    recursive: {{type: boolean, description: Whether to go into folders}}
  required: [path]
  additionalProperties: false
"""


def write_spec(root: Path, number: int, default: int = 10) -> None:
    """Write or edit one spec of a project."""
    text = SPEC.format(n=number, set=number // 50, default=default)
    (root / f"tool_specs/tool_{number}.yaml").write_text(text)


def make_project(root: Path, tools: int, *, compiled: bool = True) -> None:
    """Make a project of so many tools at ``root``."""
    cpu_ms([*COMMAND, "init", str(root)], root.parent)
    for number in range(1, tools):
        write_spec(root, number)
    for number in range(50):
        (root / f"handlers/some_{number}.py").write_text(f"name = {number}\n" * 100)
    if compiled:
        cpu_ms([*COMMAND, "compile"], root)
        cpu_ms([*COMMAND, "check"], root)
