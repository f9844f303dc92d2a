"""``hermes-build bundle --sign``: what is made is signed as it is written."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hermes_build.bundle.verifying import verify
from tests.bundling.programs import program
from tests.command_line import hermes

OFFLINE = ("--no-deps-lock",)


@pytest.mark.parametrize("form", ["hermes", "wheel"])
def test_a_bundle_is_signed_as_it_is_made(tmp_path: Path, form: str) -> None:
    root = program(tmp_path)
    hermes(root, "key", "new", "-o", "release")
    hermes(root, "key", "new", "-o", "other")
    both = ("--sign", "release.pem", "--sign", "other.pem")
    done = hermes(root, "bundle", *OFFLINE, "--format", form, *both, "-o", "out.hermes")
    if form == "wheel":
        assert done.code == 2 and "leave one out" in done.err
        (root / "out").mkdir()
        done = hermes(root, "bundle", *OFFLINE, "--format", form, *both, "-o", "out")
    assert done.code == 0
    (file,) = [*root.glob("out/*.whl"), *root.glob("out.hermes")]
    keys = ("--key", "release.pub.pem", "--key", "other.pub.pem", "--threshold", "2")
    seen = hermes(root, "verify", str(file), *keys, "--require-signature")
    assert seen.code == 0
    assert "signed by release.pub.pem" in seen.out and "signed by other.pub.pem" in seen.out


def test_signatures_change_nothing_that_they_sign(tmp_path: Path) -> None:
    root = program(tmp_path)
    hermes(root, "key", "new", "-o", "release")
    plain = hermes(root, "bundle", *OFFLINE, "-o", "plain.hermes")
    signed = hermes(root, "bundle", *OFFLINE, "-o", "signed.hermes", "--sign", "release.pem")
    assert plain.out.splitlines()[1] == signed.out.splitlines()[1]
    again = hermes(root, "bundle", *OFFLINE, "-o", "again.hermes", "--sign", "release.pem")
    assert again.code == 0
    assert (root / "signed.hermes").read_bytes() == (root / "again.hermes").read_bytes()


def test_a_key_that_is_none_stops_before_anything_is_made(tmp_path: Path) -> None:
    root = program(tmp_path)
    (root / "no.pem").write_text("no key")
    for key in ("no.pem", "missing.pem"):
        done = hermes(root, "bundle", *OFFLINE, "-o", "x.hermes", "--sign", key)
        assert done.code == 2 and key in done.err
    assert not (root / "x.hermes").exists()


def test_the_container_and_the_report_are_named_by_one_option(tmp_path: Path) -> None:
    root = program(tmp_path)
    done = hermes(root, "bundle", *OFFLINE, "--format", "wheel", "--format", "json")
    assert done.code == 0 and done.out.startswith("{")
    assert list(root.glob("*.whl"))


def is_clean(bundle: Path) -> bool:
    """What the signature of a bundle says of the tree that it was made from."""
    with verify(bundle) as opened:
        envelope = json.loads(opened.signatures or b"")
    predicate = json.loads(base64.b64decode(envelope["payload"]))["predicate"]
    assert len(predicate["source"]["commit"]) == 40
    return bool(predicate["source"]["clean"])


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_tree_is_clean_where_the_commit_has_all_that_the_bundle_was_made_of(
    tmp_path: Path,
) -> None:
    def git(*arguments: str) -> None:
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        named = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
        subprocess.run(
            ["git", *named, *arguments], cwd=root, env={**os.environ, **alone}, check=True
        )

    def bundled(name: str) -> bool:
        done = hermes(root, "bundle", *OFFLINE, "-o", name, "--sign", str(tmp_path / "release.pem"))
        assert done.code == 0, done.out + done.err
        return is_clean(root / name)

    root = program(tmp_path / "p", {".gitignore": ".hermes-build\n__pycache__\ngenerated\n"})
    hermes(tmp_path, "key", "new", "-o", "release")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    assert bundled("one.hermes")
    assert bundled("two.hermes"), "a bundle that lies there is none of the sources"
    (root / "handlers/unused.py").write_text("")
    assert bundled("three.hermes"), "nor is a module that nothing needs"
    words = root / "handlers/words.py"
    words.write_text("from handlers.unused import *\n" + words.read_text())
    git("commit", "-q", "-a", "-m", "two")
    assert not bundled("four.hermes"), "a module was taken in that the commit does not have"
    (root / ".gitignore").write_text(".hermes-build\n__pycache__\ngenerated\nunused.py\n")
    git("commit", "-q", "-a", "-m", "three")
    assert not bundled("five.hermes"), "and git's being told to ignore it brings nobody that file"
    git("add", "-f", "handlers/unused.py")
    git("commit", "-q", "-m", "four")
    assert bundled("six.hermes")
    (root / "LICENSE").write_text("Do as we like.\n")
    assert not bundled("seven.hermes")
