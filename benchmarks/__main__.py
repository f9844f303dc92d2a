"""Every benchmark in turn: ``python -m benchmarks``, or ``python -m benchmarks NAME...``.

Each prints its own ratios and goals, from one interleaved run of its own, and is a program by
itself: ``python -m benchmarks.NAME --help``. The exit code is 1 when a goal was missed.
"""

from __future__ import annotations

import os
import subprocess
import sys

NAMES = (
    "parse",
    "generate",
    "real",
    "edit",
    "noop",
    "registry",
    "arguments",
    "calls",
    "hermes",
    "growth",
    "bundling",
)


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all of them."""
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # it makes heavy imports three times dearer
    missed = []
    for name in names or NAMES:
        print(f"\n== {name}", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        if subprocess.run(command, env=environment, check=False).returncode:
            missed.append(name)
    print(f"\nmissed a goal: {', '.join(missed)}" if missed else "\nevery goal is met")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
