"""``hermes-build verify``."""

from __future__ import annotations

import os
import re

import click

from hermes_build.cli.present import Report, counted, report_options
from hermes_build.cli.refusing import refused
from hermes_build.cli.trusting import Trust, say_unchecked, trust_options


def _whole_digest(_: click.Context, option: click.Parameter, value: str | None) -> str:
    """Take a digest in any spelling: a part of one, or nothing, would let other bundles pass."""
    if value is None:
        return ""
    digest = value.strip().lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise click.BadParameter(
            f"{value!r} is no whole digest, which has 64 hexadecimal digits", param=option
        )
    return digest


@click.command("verify")
@click.argument("path", metavar="FILE|FOLDER")
@click.option(
    "--digest",
    metavar="SHA256",
    callback=_whole_digest,
    help="Refuse every bundle but the one of this digest, with or without `sha256:` before it.",
)
@trust_options
@report_options
def verify_command(path: str, digest: str, trust: Trust, report: Report) -> int:
    """Hold every file of a bundle against its manifest, and the manifest against the files.

    FILE is an archive that `bundle` made, FOLDER what one was unpacked to. Nothing of it is
    imported, unpacked or written. Exit code 1 says that it is not the bundle that was made, or not
    one that the keys have signed; 2 that this could not be judged.
    """
    from hermes_build.bundle.format import BundleError
    from hermes_build.bundle.verifying import verify

    try:
        with verify(path) as opened:
            _expect(digest, opened.digest)
            signers = trust.check(opened)
            manifest = opened.manifest
            if not signers:
                say_unchecked(opened)
    except BundleError as error:
        return refused(error, path, report)
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
    for line in signers:
        click.echo(line)
    return 0


def _expect(wanted: str, found: str) -> None:
    if wanted not in ("", found):
        from hermes_build.bundle.format import BundleError

        raise BundleError("HB8006", f"it is another bundle: its digest is sha256:{found}")
