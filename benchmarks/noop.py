"""What a run costs that finds nothing changed, beside a bare `python -c pass`.

Prints the CPU time of each process as a median and as a ratio, measured in turns in one run:
deciding alone, and the whole command `hermes-build check` where it is installed.

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

from hermes_build.compiler.verdict import Watch, remember, stamp

GOAL = 3.5
DECIDE = """
from hermes_build.compiler.verdict import remembered, stamp
import sys
sys.exit(0 if remembered(sys.argv[1], stamp()) else 3)
"""


def project(root: Path, tools: int) -> None:
    for folder in ("tool_specs", "toolsets", "generated/tools", "handlers"):
        (root / folder).mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.hermes-build]\n")
    for number in range(tools):
        (root / f"tool_specs/tool_{number}.yaml").write_text(f"name: tool_{number}\n" * 100)
        (root / f"generated/tools/tool_{number}.py").write_text(f"name = {number}\n" * 100)
    for number in range(50):
        (root / f"handlers/some_{number}.py").write_text(f"name = {number}\n" * 100)
    watch = Watch(root)
    watch.add("pyproject.toml", "tool_specs", "toolsets", "templates", "handlers", "generated")
    if not remember(watch, stamp(), ""):
        raise SystemExit("the verdict could not be remembered")


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
        root = Path(name)
        project(root, options.tools)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "decide": [sys.executable, "-c", DECIDE, str(root)],
        }
        taken: dict[str, list[float]] = {label: [] for label in commands}
        for nth in range(options.rounds + 2):
            for label, command in commands.items():
                spent = cpu_ms(command, root)
                if nth > 1:  # the first rounds write bytecode and settle what is young
                    taken[label].append(spent)
    floor = statistics.median(taken["python -c pass"])
    for label, times in taken.items():
        middle = statistics.median(times)
        print(f"{label:<20} {middle:7.1f} ms  {middle / floor:5.2f}x")
    ratio = statistics.median(taken["decide"]) / floor
    print(f"goal {GOAL}x: {'met' if ratio <= GOAL else 'missed'} with {options.tools} tools")
    return 0 if ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
