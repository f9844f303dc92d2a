"""Keys, as PEM files: what `hermes-build key new` writes, and what openssl makes.

A private key is PKCS #8 (or one of the older forms that openssl writes), with a passphrase or
without; a public key is a SubjectPublicKeyInfo. Ed25519, ECDSA on P-256, P-384 and P-521, and RSA
from 2,048 bits on are accepted.
"""

from __future__ import annotations

import os
from typing import NoReturn, TypeAlias

from hermes_build.bundle.format import BundleError
from hermes_build.signing import SigningUnavailable

try:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        KeySerializationEncryption,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
        load_pem_private_key,
        load_pem_public_key,
    )
except ImportError as error:
    raise SigningUnavailable from error

PrivateKey: TypeAlias = "ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey"
PublicKey: TypeAlias = "ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey"

_MAX_FILE = 64 * 1024
"""The largest key file, in bytes; one of 16,384 bits takes a fifth of it."""

_LEAST_BITS = 2048
_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
_KINDS = (
    "use an Ed25519 key, as `hermes-build key new` makes, ECDSA on P-256, P-384 or P-521, or RSA"
)


def new_key(name: str, passphrase: bytes | None = None) -> tuple[str, str]:
    """Make an Ed25519 key, and write it to ``NAME.pem`` and its public half to ``NAME.pub.pem``.

    The private key's file can be read by its owner alone. Nothing that exists is overwritten.

    Returns:
        The paths of the private and of the public key.

    Raises:
        FileExistsError: one of the files is there already; nothing was written.
        OSError: a file cannot be written; none is left.
    """
    private, public = f"{name}.pem", f"{name}.pub.pem"
    key = ed25519.Ed25519PrivateKey.generate()
    written: list[str] = []
    try:
        for path, data, mode in (
            (private, private_bytes(key, passphrase), 0o600),
            (public, public_bytes(key.public_key()), 0o644),
        ):
            _write_new(path, data, mode, written)
    except OSError:
        for path in written:
            os.unlink(path)
        raise
    return private, public


def _write_new(path: str, data: bytes, mode: int, written: list[str]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, mode)
    written.append(path)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def private_bytes(key: PrivateKey, passphrase: bytes | None = None) -> bytes:
    """Return a private key as PEM in PKCS #8, encrypted where there is a passphrase."""
    lock: KeySerializationEncryption = NoEncryption()
    if passphrase:
        lock = BestAvailableEncryption(passphrase)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock)


def public_bytes(key: PublicKey) -> bytes:
    """Return a public key as PEM, as ``openssl pkey -pubout`` writes it."""
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def read_private(path: str | os.PathLike[str], passphrase: bytes | None = None) -> PrivateKey:
    """Read a private key; the passphrase is not used where the file needs none.

    Raises:
        BundleError: ``HB8017``, it is no key that bundles are signed with.
        OSError: the file cannot be read.
    """
    data = _read(path)
    if b"-----BEGIN PUBLIC KEY-----" in data:
        _fail(path, "it is a public key, and signing takes the private one", "")
    key: object
    try:
        key = load_pem_private_key(data, None)
    except TypeError:
        key = _unlock(path, data, passphrase)
    except (ValueError, UnsupportedAlgorithm):
        _fail(path, "it is not a private key in PEM", "`hermes-build key new` makes one")
    if not isinstance(
        key, ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
    ):
        _fail(path, "keys of its kind do not sign bundles", _KINDS)
    _check_kind(path, key.public_key())
    return key


def read_public(path: str | os.PathLike[str]) -> PublicKey:
    """Read a public key.

    Raises:
        BundleError: ``HB8017``, it is no key that bundles are signed with.
        OSError: the file cannot be read.
    """
    data = _read(path)
    if b"PRIVATE KEY-----" in data:
        _fail(
            path,
            "it is a private key, which whoever verifies must not have",
            "name the public one, whose name ends with `.pub.pem`",
        )
    if data.count(b"-----BEGIN ") > 1:
        _fail(
            path, "it holds more than one", "keep each key in a file of its own, and name them all"
        )
    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        _fail(path, "it is not a public key in PEM", "`openssl pkey -pubout` writes one")
    return _check_kind(path, key)


def _unlock(path: str | os.PathLike[str], data: bytes, passphrase: bytes | None) -> object:
    if not passphrase:
        _fail(path, "it has a passphrase", "name a file that holds it: `--passphrase-file FILE`")
    try:
        return load_pem_private_key(data, passphrase)
    except (ValueError, UnsupportedAlgorithm):
        _fail(path, "the passphrase does not open it", "")


def _check_kind(path: str | os.PathLike[str], key: object) -> PublicKey:
    if isinstance(key, ed25519.Ed25519PublicKey):
        return key
    if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, _CURVES):
        return key
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size >= _LEAST_BITS:
            return key
        _fail(path, f"{key.key_size} bits are too few for an RSA key", _KINDS)
    _fail(path, "keys of its kind do not sign bundles", _KINDS)


def _read(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        data = file.read(_MAX_FILE + 1)
    if len(data) > _MAX_FILE:
        _fail(path, "it is too large for a key", "")
    return data


def _fail(path: str | os.PathLike[str], what: str, help: str) -> NoReturn:
    raise BundleError("HB8017", f"the key {os.fspath(path)} cannot be used: {what}", "", help)
