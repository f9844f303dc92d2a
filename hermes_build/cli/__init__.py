"""The command line: each command parses, calls the compiler or the runtime, prints, and exits.

Exit codes: 0 clean, 1 findings, 2 could not decide (usage, unreadable input, a crash of our own),
130 interrupted. Findings go to standard output, progress to standard error.
"""

from __future__ import annotations

import os
import sys

_OURS_ALONE = ("check", "compile", "lint")
"""Commands that run no code of a program's own in this process."""


def script() -> None:
    """The console script: `main`, with a quick end.

    Taking down a compile's million objects one by one costs a sixth of it and serves nobody. A
    program's handlers, which `call` runs, may have something to do at the end, and get to do it.
    """
    try:
        main()
    except SystemExit as end:
        if not isinstance(end.code, int) or sys.argv[1:2] not in [[one] for one in _OURS_ALONE]:
            raise
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):
            raise end from None  # the interpreter has its own way with output that nobody takes
        os._exit(end.code)


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
