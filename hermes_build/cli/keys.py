"""``hermes-build key`` and ``sign``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from hermes_build.cli.present import Undecided, say
from hermes_build.cli.refusing import refused
from hermes_build.cli.trusting import made_from
from hermes_build.signing import SigningUnavailable

if TYPE_CHECKING:
    from hermes_build.signing.keys import PrivateKey

PASSPHRASE = "HERMES_BUILD_PASSPHRASE"
"""The environment variable that holds the passphrase of private keys, where no file does."""

passphrase_option = click.option(
    "--passphrase-file",
    metavar="FILE",
    help=f"The first line of FILE is the private key's passphrase; else {PASSPHRASE} is, if set.",
)
"""Adds ``--passphrase-file``, which `read_private_keys` takes."""


@click.group("key")
def key_command() -> None:
    """Keys for signing bundles."""


@key_command.command("new")
@click.option(
    "-o",
    "--out",
    "name",
    default="hermes-build-key",
    metavar="NAME",
    show_default=True,
    help="How the files are called.",
)
@passphrase_option
def new_command(name: str, passphrase_file: str | None) -> int:
    """Make a key (Ed25519): NAME.pem, which signs, and NAME.pub.pem, which verifies.

    Keep NAME.pem secret; without a passphrase, whoever can read it can sign. Give NAME.pub.pem to
    those who verify. Neither file may exist.
    """
    try:
        from hermes_build.signing.dsse import key_id
        from hermes_build.signing.keys import new_key, read_public
    except SigningUnavailable as error:
        raise Undecided(str(error)) from error
    try:
        private, public = new_key(name.removesuffix(".pem"), _passphrase(passphrase_file))
    except FileExistsError as error:
        raise Undecided(f"{error.filename} exists, and stays as it is") from error
    say(f"wrote {private}, which signs: keep it secret")
    say(f"wrote {public}, which verifies: give it to whoever installs your bundles")
    click.echo(key_id(read_public(public)))
    return 0


@key_command.command("id")
@click.argument("file")
def id_command(file: str) -> int:
    """Print the id of the public key in FILE: people compare it to know that they mean one key."""
    from hermes_build.bundle.format import BundleError

    try:
        from hermes_build.signing.dsse import key_id
        from hermes_build.signing.keys import read_public
    except SigningUnavailable as error:
        raise Undecided(str(error)) from error
    try:
        click.echo(key_id(read_public(file)))
    except BundleError as error:
        return refused(error, "")
    return 0


@click.command("sign")
@click.argument("path", metavar="FILE|FOLDER")
@click.option(
    "--key", "keys", multiple=True, required=True, metavar="FILE", help="A private key (PEM)."
)
@passphrase_option
def sign_command(path: str, keys: tuple[str, ...], passphrase_file: str | None) -> int:
    """Verify a bundle, and add a signature by each key to those that it has.

    What others have signed before is signed as it stands; its files stay what they are, and so
    does its digest. A key that has signed already does not sign again.
    """
    from hermes_build.bundle.copying import put_signatures
    from hermes_build.bundle.format import BundleError
    from hermes_build.bundle.verifying import verify

    try:
        from hermes_build.signing.dsse import add_signatures, read_signatures, sign
    except SigningUnavailable as error:
        raise Undecided(str(error)) from error
    try:
        private = read_private_keys(keys, passphrase_file)
        with verify(path) as opened:
            manifest = opened.manifest.to_bytes()
            before: tuple[str, ...] = ()
            if opened.signatures is None:
                signatures = sign(manifest, private)
            else:
                before = read_signatures(manifest, opened.signatures).others
                signatures = add_signatures(manifest, opened.signatures, private)
            found = read_signatures(manifest, signatures)
            added = [one for one in found.others if one not in before]
            if added:
                put_signatures(opened, signatures)
    except BundleError as error:
        return refused(error, path)
    for one in added:
        say(f"signed by the key {one[:16]}")
    if not added:
        say("every key has signed it already: nothing was changed")
    say(made_from(found.statement.source))
    click.echo(f"bundle sha256:{found.statement.digest}")
    return 0


def read_private_keys(paths: tuple[str, ...], passphrase_file: str | None) -> list[PrivateKey]:
    """Read the keys that sign.

    Raises:
        BundleError: ``HB8017``, a file holds no key that signs bundles.
        Undecided: the packages of the extra ``sign`` are not there.
        OSError: a file cannot be read.
    """
    try:
        from hermes_build.signing.keys import read_private
    except SigningUnavailable as error:
        raise Undecided(str(error)) from error
    passphrase = _passphrase(passphrase_file)
    return [read_private(path, passphrase) for path in paths]


def _passphrase(path: str | None) -> bytes | None:
    if path is None:
        return os.environ.get(PASSPHRASE, "").encode() or None
    with open(path, "rb") as file:
        line = file.readline(4097).rstrip(b"\r\n")
    if not line or len(line) > 4096:
        raise Undecided(f"the first line of {path} is no passphrase")
    return line
