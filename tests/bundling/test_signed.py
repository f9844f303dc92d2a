"""``hermes-build bundle --sign``: what is made is signed as it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

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
        assert done.code == 2 and "must be called" in done.err
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
