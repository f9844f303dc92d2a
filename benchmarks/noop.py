"""What a run costs that finds nothing changed, beside a bare ``python -c pass``.

Makes a project of so many tools with the real commands, and prints the CPU time of each process
as a median and as a ratio, measured in turns in one run.

    python benchmarks/noop.py [--tools 1000] [--rounds 15]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SPEC = """\
name: tool_{n}
toolset: set_{set}
description: The tool with the number {n}, which does what the others do.
handler: external
parameters:
  type: object
  properties:
    path: {{type: string, description: Path of the file}}
    limit: {{type: integer, description: How many lines, minimum: 1, default: {n}}}
  required: [path]
  additionalProperties: false
"""
DECIDE = """
import sys
from hermes_build.cli.unchanged import last_verdict
sys.exit(0 if last_verdict(sys.argv[1], imports=True) else 3)
"""
"""What `hermes-build check` does before it knows whether to do more."""

SCRIPT = "import sys; from hermes_build.cli import main; sys.exit(main())"
"""What the installed command is made of."""

GOALS = {"decide": 3.5, "check": 3.5, "check, through click": 5.6}


def project(root: Path, tools: int) -> None:
    run = [sys.executable, "-m", "hermes_build"]
    subprocess.run([*run, "init", str(root)], check=True, stdout=subprocess.DEVNULL)
    for number in range(1, tools):
        text = SPEC.format(n=number, set=number // 50)
        (root / f"tool_specs/tool_{number}.yaml").write_text(text)
    for number in range(50):
        (root / f"handlers/some_{number}.py").write_text(f"name = {number}\n" * 100)
    subprocess.run([*run, "compile"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*run, "check"], cwd=root, check=True, stdout=subprocess.DEVNULL)


def cpu_ms(command: list[str], folder: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "project"
        project(root, options.tools)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "decide": [sys.executable, "-c", DECIDE, str(root)],
            "check": [sys.executable, "-c", SCRIPT, "check"],
            "check, through click": [sys.executable, "-c", SCRIPT, "check", "--format", "full"],
        }
        taken: dict[str, list[float]] = {label: [] for label in commands}
        for nth in range(options.rounds + 2):
            for label, command in commands.items():
                spent = cpu_ms(command, root)
                if nth > 1:  # the first rounds write bytecode and settle what is young
                    taken[label].append(spent)
    floor = statistics.median(taken["python -c pass"])
    met = True
    print(f"nothing changed, {options.tools} tools")
    for label, times in taken.items():
        middle = statistics.median(times)
        goal = GOALS.get(label)
        met = met and (goal is None or middle <= goal * floor)
        aim = f"  goal {goal}x" if goal else ""
        print(f"  {label:<20} {middle:7.1f} ms  {middle / floor:5.2f}x{aim}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
