"""The command line: each command parses, calls the compiler or the runtime, prints, and exits.

Exit codes: 0 clean, 1 findings, 2 could not decide (usage, unreadable input, a crash of our own),
130 interrupted. Findings go to standard output, progress to standard error.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    try:
        code = _run()
    except KeyboardInterrupt:  # while things are still being imported
        code = 130
    sys.exit(code)


def _run() -> int:
    if sys.argv[1:] == ["check"]:
        from hermes_build.cli.unchanged import answer

        if answer():
            return 0
    from hermes_build.cli.app import run

    return run()
