"""Calling and showing the tools of a bundle, where a project would stand."""

from __future__ import annotations

import os

from hermes_build.bundle.format import MANIFEST, SUFFIX
from hermes_build.bundle.packaged import Packaged
from hermes_build.cli.refusing import refused
from hermes_build.cli.trusting import Trust, say_unchecked
from hermes_build.ir import is_name


def is_bundle(word: str) -> bool:
    """Whether a word of a command line means a bundle: a file or folder, by its path.

    A file of another ending is one where it begins as an archive, and no tool could have its name.
    """
    if word.endswith((SUFFIX, ".whl")) or os.path.isfile(os.path.join(word, MANIFEST)):
        return True
    if os.path.isdir(word):
        return Packaged.is_at(word)
    if is_name(word) or not os.path.isfile(word):
        return False
    try:
        with open(word, "rb") as file:
            return file.read(4) == b"PK\3\4"
    except OSError:
        return False


def is_installed(word: str) -> bool:
    """Whether a word is the name of an installed bundle."""
    from hermes_build.bundle.format import BundleError
    from hermes_build.bundle.store import Store

    try:
        return any(one.name == word for one in Store().installed())
    except (BundleError, OSError):
        return False  # whoever asks for it by a command of its own is told


def run_bundle(name_or_path: str, words: list[str], trust: Trust) -> int:
    """Run a command of a bundle, once it is verified and signed as ``trust`` demands.

    Args:
        name_or_path: the bundle, or the name that it is installed by.
        words: what `hermes_build.runtime.standalone.main` takes.

    Returns:
        The exit code.
    """
    from hermes_build.bundle.format import BundleError
    from hermes_build.bundle.store import resolve
    from hermes_build.runtime.standalone import main

    path = ""
    try:
        meant = resolve(name_or_path)
        path = meant.path
        with meant.open() as opened:
            if not trust.check(opened):
                say_unchecked(opened)
    except BundleError as error:
        return refused(error, path)
    return main(path, words, opened.digest)
