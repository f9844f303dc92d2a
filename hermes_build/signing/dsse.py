"""Signatures of a statement in one envelope (DSSE), made and checked by securesystemslib.

The envelope is the file ``hermes-bundle.dsse.json``. Its one byte form is JSON with sorted keys,
compact, in ASCII, with a line feed at the end; the signatures stand in the order of their key ids.
A key id is made from the key itself, so that nobody can give a key the id of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from json import dumps, loads
from typing import Any, NoReturn

from hermes_build.bundle.format import SIGNATURES, BundleError
from hermes_build.signing import SigningUnavailable
from hermes_build.signing.keys import PrivateKey, PublicKey
from hermes_build.signing.statement import (
    Source,
    Statement,
    check_subject,
    missing,
    read_statement,
    statement_of,
)

try:
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import UnverifiedSignatureError
    from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]
except ImportError as error:
    raise SigningUnavailable from error

PAYLOAD_TYPE = "application/vnd.in-toto+json"

_ANEW = "get the bundle anew from who made it"


@dataclass(frozen=True, slots=True)
class Signed:
    """What is known of a bundle whose signatures were checked.

    ``by`` are the ids of the given keys that signed it, sorted; ``others`` are those that signed
    it too, or say so: nobody has given these keys.
    """

    statement: Statement
    by: tuple[str, ...]
    others: tuple[str, ...] = ()


def key_id(key: PublicKey) -> str:
    """Return the id of a key, 64 hexadecimal digits: it depends on the key alone."""
    return SSlibKey.from_crypto(key).keyid


def sign(manifest: bytes, keys: Iterable[PrivateKey], source: Source | None = None) -> bytes:
    """Sign a bundle that has no signatures yet.

    Args:
        manifest: the content of ``hermes-bundle.json``.
        keys: who signs; at least one.
        source: where the bundle was made from, if that is known: see `provenance.source_of`.

    Returns:
        The content of ``hermes-bundle.dsse.json``.

    Raises:
        BundleError: ``HB8001`` or ``HB8004``, the manifest is none.
    """
    payload = statement_of(manifest, source).to_bytes()
    return _signed(Envelope(payload, PAYLOAD_TYPE, {}), keys)


def add_signatures(manifest: bytes, envelope: bytes, keys: Iterable[PrivateKey]) -> bytes:
    """Sign what others have signed before: the statement stays as it is.

    Raises:
        BundleError: ``HB8011`` the envelope is none, ``HB8013`` it holds a signature of one of the
            keys that is not this key's, ``HB8015`` or ``HB8016`` it is not about this bundle.
    """
    found = _read_envelope(envelope)
    check_subject(read_statement(found.payload), manifest)
    keys = list(keys)
    _accepted(found, [SSlibKey.from_crypto(key.public_key()) for key in keys])
    return _signed(found, keys)


def join_signatures(envelope: bytes, other: bytes) -> bytes:
    """Add to an envelope what another one of the same bundle has: signatures by other keys.

    Nothing is held against a key here: the first envelope is one that was checked, and it stays as
    it is where the other is none, or says something else.

    Raises:
        BundleError: ``HB8011``, the first is no envelope.
    """
    found = _read_envelope(envelope)
    try:
        more = _read_envelope(other)
    except BundleError:
        return envelope
    if more.payload == found.payload:
        for keyid, signature in more.signatures.items():
            found.signatures.setdefault(keyid, signature)
    return _to_bytes(found)


def read_signatures(manifest: bytes, envelope: bytes) -> Signed:
    """Read what an envelope says without holding any signature against a key.

    Returns:
        The statement, with every key id among the ``others``.

    Raises:
        BundleError: ``HB8011``, ``HB8015`` or ``HB8016``.
    """
    found = _read_envelope(envelope)
    statement = read_statement(found.payload)
    check_subject(statement, manifest)
    return Signed(statement, (), tuple(sorted(found.signatures)))


def check(
    manifest: bytes,
    envelope: bytes | None,
    keys: Sequence[PublicKey],
    threshold: int = 1,
) -> Signed:
    """Check that enough of the given keys have signed the bundle that has this manifest.

    A key counts once, however often it is given. A signature that carries the id of a given key
    and is not this key's refuses the bundle, whoever else has signed it: somebody changed it.

    Args:
        manifest: the content of ``hermes-bundle.json``.
        envelope: the content of ``hermes-bundle.dsse.json``; None where there is none.
        keys: whose signatures count.
        threshold: how many of them must be there, from 1 on.

    Raises:
        ValueError: the threshold is below 1, or there are fewer keys than it demands.
        BundleError: ``HB8010`` nobody has signed the bundle; ``HB8011`` the envelope is none;
            ``HB8012`` no given key has; ``HB8013`` a signature is invalid; ``HB8014`` fewer keys
            than demanded; ``HB8015`` the signatures are about another bundle; ``HB8016`` what was
            signed is no statement.
    """
    trusted = {key.keyid: key for key in map(SSlibKey.from_crypto, keys)}
    if threshold < 1:
        raise ValueError(f"at least one signature must be demanded, not {threshold}")
    if len(trusted) < threshold:
        raise ValueError(f"{len(trusted)} different keys cannot give {threshold} signatures")
    if envelope is None:
        raise missing()
    found = _read_envelope(envelope)
    by = _accepted(found, trusted.values())
    if not by:
        known = ", ".join(one[:16] for one in sorted(found.signatures))
        raise BundleError(
            "HB8012",
            f"no given key has signed the bundle: the signatures name the keys {known}",
            SIGNATURES,
            "ask who made the bundle for their public key, over a way that you trust",
        )
    # What is signed is read only now that somebody trusted has signed it.
    statement = read_statement(found.payload)
    check_subject(statement, manifest)
    if len(by) < threshold:
        raise BundleError(
            "HB8014",
            f"{len(by)} of the given keys {'has' if len(by) == 1 else 'have'} signed the bundle, "
            f"and {threshold} must",
            SIGNATURES,
            "let the others sign it: `hermes-build sign FILE --key KEY`",
        )
    others = tuple(sorted(found.signatures.keys() - set(by)))
    return Signed(statement, tuple(sorted(by)), others)


def _accepted(envelope: Envelope, keys: Iterable[SSlibKey]) -> list[str]:
    """The ids of those keys that have signed."""
    by = []
    data = envelope.pae()
    for key in keys:
        signature = envelope.signatures.get(key.keyid)
        if signature is None:
            continue
        try:
            key.verify_signature(signature, data)
        except UnverifiedSignatureError as error:
            raise BundleError(
                "HB8013",
                f"the signature by the key {key.keyid[:16]} is invalid: this key has not signed "
                "what is in the bundle",
                SIGNATURES,
                _ANEW,
            ) from error
        by.append(key.keyid)
    return by


def _signed(envelope: Envelope, keys: Iterable[PrivateKey]) -> bytes:
    for key in keys:
        signer = CryptoSigner(key)
        # A second signature by one key says nothing new, and an ECDSA key's would differ.
        if signer.public_key.keyid not in envelope.signatures:
            envelope.sign(signer)
    if not envelope.signatures:
        raise ValueError("nobody signs: there is no key")
    return _to_bytes(envelope)


def _to_bytes(envelope: Envelope) -> bytes:
    document: dict[str, Any] = envelope.to_dict()
    document["signatures"].sort(key=lambda one: one["keyid"])
    return (dumps(document, sort_keys=True, separators=(",", ":")) + "\n").encode()


def _read_envelope(data: bytes) -> Envelope:
    try:
        document = loads(data.decode())
    except (ValueError, RecursionError):
        _fail("it is not JSON in UTF-8")
    if not isinstance(document, dict) or document.keys() != {
        "payload",
        "payloadType",
        "signatures",
    }:
        _fail("it has not the fields of one")
    if document["payloadType"] != PAYLOAD_TYPE:
        _fail(f"its payload is not of the type {PAYLOAD_TYPE}")
    rows = document["signatures"]
    if not isinstance(rows, list) or not rows:
        _fail("it holds no signature")
    for row in rows:
        if not isinstance(row, dict) or row.keys() != {"keyid", "sig"}:
            _fail("a signature has not the fields of one")
        if not isinstance(row["keyid"], str) or not isinstance(row["sig"], str):
            _fail("a signature has not the fields of one")
    try:
        envelope: Envelope = Envelope.from_dict(document)
        same = _to_bytes(envelope) == data
    except (ValueError, TypeError, AttributeError):
        _fail("its contents are not in base64, or one key stands in it twice")
    if not same:
        _fail("its bytes are not the ones that hermes-build writes for what it says")
    return envelope


def _fail(what: str) -> NoReturn:
    raise BundleError(
        "HB8011", f"the signatures are no envelope that can be read: {what}", SIGNATURES, _ANEW
    )
