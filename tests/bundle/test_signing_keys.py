"""Keys that sign bundles: ours and those of OpenSSL, and what is none."""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from hermes_build.bundle.format import BundleError
from hermes_build.signing.dsse import check, key_id, sign
from hermes_build.signing.keys import new_key, read_private, read_public
from tests.bundle.making import manifest_of
from tests.bundle.refusing import code_of

OPENSSL = shutil.which("openssl")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")


def test_a_private_key_is_for_its_owner_and_nothing_is_overwritten(tmp_path: Path) -> None:
    private, public = new_key(str(tmp_path / "release"))
    assert stat.S_IMODE(os.stat(private).st_mode) == 0o600
    before = [Path(path).read_bytes() for path in (private, public)]
    with pytest.raises(FileExistsError):
        new_key(str(tmp_path / "release"))
    assert [Path(path).read_bytes() for path in (private, public)] == before
    (tmp_path / "half.pub.pem").write_text("mine")
    with pytest.raises(FileExistsError):
        new_key(str(tmp_path / "half"))
    assert not (tmp_path / "half.pem").exists()
    assert (tmp_path / "half.pub.pem").read_text() == "mine"


def test_a_passphrase_is_needed_and_must_be_the_right_one(tmp_path: Path) -> None:
    private, public = new_key(str(tmp_path / "release"), b"open sesame")
    assert b"ENCRYPTED" in Path(private).read_bytes()
    assert code_of(lambda: read_private(private)) == "HB8017"
    assert code_of(lambda: read_private(private, b"open barley")) == "HB8017"
    key = read_private(private, b"open sesame")
    envelope = sign(manifest_of(), [key])
    assert check(manifest_of(), envelope, [read_public(public)]).by


def test_the_wrong_half_of_a_key_and_what_is_no_key_are_told_apart(tmp_path: Path) -> None:
    private, public = new_key(str(tmp_path / "release"))
    junk = tmp_path / "junk.pem"
    for data in (b"", b"junk", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"):
        junk.write_bytes(data)
        assert code_of(lambda: read_public(junk)) == "HB8017"
        assert code_of(lambda: read_private(junk)) == "HB8017"
    with pytest.raises(BundleError, match="it is a private key"):
        read_public(private)
    with pytest.raises(BundleError, match="it is a public key"):
        read_private(public)
    junk.write_bytes(Path(public).read_bytes() * 2)
    with pytest.raises(BundleError, match="more than one"):
        read_public(junk)
    junk.write_bytes(b"-" * 100_000)
    with pytest.raises(BundleError, match="too large"):
        read_public(junk)


def openssl(*arguments: str, input: bytes = b"") -> bytes:
    assert OPENSSL is not None
    done = subprocess.run(
        [OPENSSL, *arguments], input=input, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_openssl
@pytest.mark.parametrize(
    "kind",
    [
        ("-algorithm", "ed25519"),
        ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"),
        ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"),
        ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"),
    ],
    ids=["ed25519", "p256", "p384", "rsa"],
)
def test_keys_that_openssl_makes_sign_and_verify(kind: tuple[str, ...], tmp_path: Path) -> None:
    private, public = tmp_path / "key.pem", tmp_path / "key.pub.pem"
    openssl("genpkey", *kind, "-out", str(private))
    openssl("pkey", "-in", str(private), "-pubout", "-out", str(public))
    envelope = sign(manifest_of(), [read_private(private)])
    assert check(manifest_of(), envelope, [read_public(public)]).by == (
        key_id(read_public(public)),
    )
    locked = tmp_path / "locked.pem"
    openssl("pkey", "-in", str(private), "-aes256", "-passout", "pass:x", "-out", str(locked))
    assert key_id(read_private(locked, b"x").public_key()) == key_id(read_public(public))


@needs_openssl
@pytest.mark.parametrize(
    "kind",
    [
        ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"),
        ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"),
        ("-algorithm", "ed448"),
        ("-algorithm", "x25519"),
    ],
    ids=["rsa-1024", "secp256k1", "ed448", "x25519"],
)
def test_keys_that_are_too_weak_or_of_another_kind_are_refused(
    kind: tuple[str, ...], tmp_path: Path
) -> None:
    private, public = tmp_path / "key.pem", tmp_path / "key.pub.pem"
    openssl("genpkey", *kind, "-out", str(private))
    openssl("pkey", "-in", str(private), "-pubout", "-out", str(public))
    assert code_of(lambda: read_private(private)) == "HB8017"
    assert code_of(lambda: read_public(public)) == "HB8017"


@needs_openssl
def test_openssl_verifies_what_was_signed_and_reads_our_keys(tmp_path: Path) -> None:
    private, public = new_key(str(tmp_path / "release"))
    assert openssl("pkey", "-in", private, "-pubout") == Path(public).read_bytes()
    envelope = json.loads(sign(manifest_of(), [read_private(private)]))
    payload = base64.b64decode(envelope["payload"])
    pae = b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(payload), payload)
    (tmp_path / "signed").write_bytes(pae)
    (tmp_path / "signature").write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
    said = openssl(
        *("pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin"),
        *("-in", str(tmp_path / "signed"), "-sigfile", str(tmp_path / "signature")),
    )
    assert b"Success" in said
