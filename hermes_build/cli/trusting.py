"""Whose signatures a bundle must have: the options, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_build.cli.present import Undecided, say

if TYPE_CHECKING:
    from hermes_build.bundle.verifying import Opened
    from hermes_build.signing.statement import Source

_F = TypeVar("_F", bound=Callable[..., Any])


class Trust:
    """What was asked for: the paths of public keys, how many must have signed, and whether any."""

    __slots__ = ("paths", "required", "threshold")

    def __init__(self, paths: tuple[str, ...], threshold: int, required: bool) -> None:
        self.paths = paths
        self.threshold = threshold
        self.required = required

    def check(self, opened: Opened) -> list[str]:
        """Hold the signatures of a bundle against the keys.

        Returns:
            Lines that say who has signed it, and what it was made from; none without a key.

        Raises:
            BundleError: ``HB8010`` to ``HB8017``.
            Undecided: the packages of the extra ``sign`` are not there, or there are fewer keys
                than signatures are demanded.
        """
        if not self.paths:
            return self._without_key(opened)
        from hermes_build.signing import SigningUnavailable

        try:
            from hermes_build.signing.dsse import check, key_id
            from hermes_build.signing.keys import read_public
        except SigningUnavailable as error:
            raise Undecided(str(error)) from error
        keys = [read_public(path) for path in self.paths]
        try:
            found = check(
                opened.manifest.to_bytes(), opened.signatures, keys, threshold=self.threshold
            )
        except ValueError as error:
            raise Undecided(str(error)) from error
        lines = [
            f"signed by {path} (key {key_id(key)[:16]})"
            for path, key in zip(self.paths, keys, strict=True)
            if key_id(key) in found.by
        ]
        return [*lines, made_from(found.statement.source)]

    def joining(self) -> Callable[[bytes, bytes], bytes] | None:
        """What adds signatures to those that `check` has accepted; none where there was no key."""
        if not self.paths:
            return None
        from hermes_build.signing.dsse import join_signatures

        return join_signatures

    def _without_key(self, opened: Opened) -> list[str]:
        if self.required:
            from hermes_build.bundle.format import SIGNATURES, BundleError
            from hermes_build.signing.statement import missing

            if opened.signatures is None:
                raise missing()
            raise BundleError(
                "HB8012",
                "the bundle is signed, and no key was given to check the signatures by",
                SIGNATURES,
                "name the public key of who made it: `--key FILE`",
            )
        return []


def made_from(source: Source | None) -> str:
    """Say in a line what a statement says of the source of a bundle."""
    if source is None:
        return "made from: not stated"
    state = "as committed" if source.clean else "with changes that are not committed"
    return f"made from commit {source.commit}, {state}"


def trust_options(command: _F) -> Callable[..., Any]:
    """Add ``--key``, ``--threshold`` and ``--require-signature``: the command's ``trust``."""

    @wraps(command)
    def trusting(keys: tuple[str, ...], threshold: int, required: bool, **values: Any) -> Any:
        if threshold > 1 and not keys:
            raise click.UsageError("--threshold counts the keys of --key: name them")
        return command(trust=Trust(keys, threshold, required), **values)

    require = click.option(
        "--require-signature",
        "required",
        is_flag=True,
        help="Refuse the bundle unless a --key has signed it, also where no --key is given.",
    )
    threshold = click.option(
        "--threshold",
        type=click.IntRange(1),
        default=1,
        help="How many of the keys must have signed the bundle; 1 by default.",
    )
    keys = click.option(
        "--key",
        "keys",
        multiple=True,
        metavar="FILE",
        help="A public key (PEM) that must have signed the bundle; can be given more than once.",
    )
    return keys(threshold(require(trusting)))


def say_unchecked(opened: Opened) -> None:
    """Say that a bundle has signatures which nobody has checked."""
    if opened.signatures is not None:
        say("its signatures were not checked: name the public key of who made it with --key")
