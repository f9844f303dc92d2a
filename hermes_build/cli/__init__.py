"""The command line: each command parses, calls the compiler or the runtime, prints, and exits.

Exit codes: 0 clean, 1 findings, 2 could not decide (usage, unreadable input, a crash of our own),
130 interrupted. Findings go to standard output, progress to standard error.
"""

from __future__ import annotations

from hermes_build.cli.app import main

__all__ = ["main"]
