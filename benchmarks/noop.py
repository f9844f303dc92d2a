"""What a run costs that finds nothing changed, beside a bare ``python -c pass``.

python -m benchmarks.noop [--tools 1000] [--rounds 15]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import COMMAND, Contender, in_turns, table
from benchmarks.programs import make_project

DECIDE = """
import sys
from hermes_build.cli.unchanged import last_verdict
sys.exit(0 if last_verdict(sys.argv[1], imports=True) else 3)
"""
"""What `hermes-build check` does before it knows whether to do more."""

GOALS = {"decide": 3.5, "check": 3.5, "check, through click": 5.6}


def main() -> int:
    """Measure, print, and return 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "project"
        make_project(root, options.tools)
        contenders = {
            "python -c pass": Contender([sys.executable, "-c", "pass"], root),
            "decide": Contender([sys.executable, "-c", DECIDE, str(root)], root),
            "check": Contender([*COMMAND, "check"], root),
            "check, through click": Contender([*COMMAND, "check", "--format", "full"], root),
        }
        medians = in_turns(contenders, options.rounds, warm=2)
    title = f"nothing changed, {options.tools} tools"
    return int(not table(title, medians, "python -c pass", GOALS))


if __name__ == "__main__":
    sys.exit(main())
