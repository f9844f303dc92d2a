"""Bundles that are refused: the finding that says so, and the exit code."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hermes_build.cli.present import Report

if TYPE_CHECKING:
    from hermes_build.bundle.format import BundleError

_UNDECIDED = ("HB8017", "HB8020", "HB8021", "HB8022")
"""Codes that say nothing of a bundle: a key or a name was of no use, so that nothing was judged."""


def refused(error: BundleError, path: str, report: Report | None = None) -> int:
    """Report why a bundle is refused, or not found; ``path`` is the bundle's, if there is one.

    Returns:
        The exit code: 1 for a bundle that is refused, 2 where none could be judged.
    """
    from pathlib import Path

    from hermes_build.compiler.codes import CODES
    from hermes_build.compiler.diagnostics import Diagnostic, Span

    found = Diagnostic(
        code=error.code,
        severity=CODES[error.code].severity,
        message=error.message,
        span=Span(error.path) if error.path else None,
        notes=(f"the bundle is {path}",) if path else (),
        help=(error.help,) if error.help else (),
    )
    # What is in a bundle is not shown as source text: it may be anything.
    code = (report or Report()).show([found], Path(os.devnull))
    return 2 if error.code in _UNDECIDED else code
