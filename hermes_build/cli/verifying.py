"""``hermes-build verify``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from hermes_build.cli.present import Report, counted, report_options

if TYPE_CHECKING:
    from hermes_build.bundle.format import BundleError
    from hermes_build.compiler.diagnostics import Diagnostic


@click.command("verify")
@click.argument("path", metavar="FILE|FOLDER")
@click.option(
    "--digest",
    default="",
    metavar="SHA256",
    help="Refuse every bundle but the one of this digest, with or without `sha256:` before it.",
)
@report_options
def verify_command(path: str, digest: str, report: Report) -> int:
    """Hold every file of a bundle against its manifest, and the manifest against the files.

    FILE is an archive that `bundle` made, FOLDER what one was unpacked to. Nothing of it is
    imported, unpacked or written. Exit code 1 says that it is not the bundle that was made.
    """
    from hermes_build.bundle.format import BundleError
    from hermes_build.bundle.verifying import verify

    try:
        with verify(path) as opened:
            _expect(digest, opened.digest)
            manifest = opened.manifest
    except BundleError as error:
        # What is in a bundle is not shown as source text: it may be anything.
        from pathlib import Path

        return report.show([_finding(error, path)], Path(os.devnull))
    if report.form != "full":
        from pathlib import Path

        return report.show([], Path(os.devnull), files=len(manifest.files))
    parts = (
        counted(len(manifest.files), "file"),
        counted(len(manifest.tools), "tool"),
        counted(len(manifest.toolsets), "toolset"),
    )
    click.echo(f"{manifest.name} is whole: {', '.join(parts)}")
    click.echo(f"bundle sha256:{opened.digest}")
    return 0


def _expect(wanted: str, found: str) -> None:
    if wanted and wanted.lower().removeprefix("sha256:") != found:
        from hermes_build.bundle.format import BundleError

        raise BundleError("HB8006", f"it is another bundle: its digest is sha256:{found}")


def _finding(error: BundleError, path: str) -> Diagnostic:
    """The finding that says what an error says; ``path`` is the bundle's."""
    from hermes_build.compiler.codes import CODES
    from hermes_build.compiler.diagnostics import Diagnostic, Span

    return Diagnostic(
        code=error.code,
        severity=CODES[error.code].severity,
        message=error.message,
        span=Span(error.path) if error.path else None,
        notes=(f"the bundle is {path}",),
        help=(error.help,) if error.help else (),
    )
