"""The statement that is signed: which bundle, and what it was made from.

It is an in-toto statement v1, so that other tools can read it. Its subjects are the bundle by its
name, the manifest and the lock; the bundle's digest is that of its manifest, so that one signature
covers every file, in whatever container the bundle comes. The predicate says from which commit the
bundle was made, and by which version of hermes-build.

As with manifests, there is one byte form, and what differs from it is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps, loads
from typing import Any, NoReturn

from hermes_build import __version__
from hermes_build.bundle.format import (
    LOCK,
    MANIFEST,
    SIGNATURES,
    BundleError,
    Manifest,
    hexdigest,
    is_name,
)
from hermes_build.bundle.reading import read_manifest

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:hermes-build:bundle:v1"
"""What the predicate is: a name that nobody has to look up."""

TOOL = "hermes-build"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a bundle was made from.

    ``commit`` is the hexadecimal id of a commit of git; ``clean`` says that this commit has all
    that the bundle was made of, as `hermes_build.signing.provenance` tells it.
    """

    commit: str
    clean: bool


@dataclass(frozen=True, slots=True)
class Statement:
    """What a signer says of a bundle.

    ``digest`` and ``lock`` are SHA-256 in hexadecimal digits, of the manifest and of the lock.
    ``source`` is None where the bundle was not made in a repository, or nobody knows any more.
    ``version`` is the version of hermes-build that wrote the statement.
    """

    name: str
    digest: str
    lock: str
    source: Source | None
    version: str

    def to_bytes(self) -> bytes:
        """The one byte form: JSON with sorted keys, compact, in ASCII."""
        source = self.source
        document = {
            "_type": STATEMENT_TYPE,
            "subject": [
                {"name": name, "digest": {"sha256": digest}}
                for name, digest in (
                    (self.name, self.digest),
                    (MANIFEST, self.digest),
                    (LOCK, self.lock),
                )
            ],
            "predicateType": PREDICATE_TYPE,
            "predicate": {
                "builder": {"name": TOOL, "version": self.version},
                "source": source and {"commit": source.commit, "clean": source.clean},
            },
        }
        return dumps(document, sort_keys=True, separators=(",", ":")).encode()


def statement_of(manifest: bytes, source: Source | None = None) -> Statement:
    """Return the statement of the bundle that has this manifest.

    Raises:
        BundleError: ``HB8001`` the bytes are no manifest, ``HB8004`` it lists no lock.
    """
    found = read_manifest(manifest)
    return Statement(found.name, hexdigest(manifest), _lock_of(found), source, __version__)


def check_subject(statement: Statement, manifest: bytes) -> None:
    """Refuse a statement that is about another bundle than the one that has this manifest.

    Raises:
        BundleError: ``HB8015``, or what `statement_of` raises.
    """
    wanted = statement_of(manifest)
    for what, signed, found in (
        ("digest", statement.digest, wanted.digest),
        ("name", statement.name, wanted.name),
        ("lock", statement.lock, wanted.lock),
    ):
        if signed != found:
            raise BundleError(
                "HB8015",
                f"the signatures are about another bundle: its {what} is {signed}, not {found}",
                SIGNATURES,
                "get the bundle anew from who made it",
            )


def missing() -> BundleError:
    """The refusal of a bundle that must be signed and has no signatures."""
    return BundleError(
        "HB8010",
        "nobody has signed the bundle",
        "",
        "let who made it sign it: `hermes-build sign FILE --key KEY`",
    )


def read_statement(data: bytes) -> Statement:
    """Read what `Statement.to_bytes` wrote, and nothing else.

    Raises:
        BundleError: ``HB8016``, with what is wrong.
    """
    try:
        document = loads(data.decode())
    except (ValueError, RecursionError):
        _fail("it is not JSON in UTF-8")
    if not isinstance(document, dict):
        _fail("it is not an object")
    for key, wanted in (("_type", STATEMENT_TYPE), ("predicateType", PREDICATE_TYPE)):
        if document.get(key) != wanted:
            _fail(f"its `{key}` is not {wanted}")
    try:
        statement = _statement(document)
        same = statement.to_bytes() == data
    except (KeyError, TypeError, ValueError, IndexError):
        _fail("it has not the fields that hermes-build writes")
    if not same:
        _fail("its bytes are not the ones that hermes-build writes for what it says")
    return statement


def _statement(document: dict[str, Any]) -> Statement:
    """Take what varies; that all else is as it must be shows when it is written again."""
    bundle, _, lock = document["subject"]
    predicate = document["predicate"]
    found = predicate["source"]
    source = None
    if found is not None:
        if type(found["clean"]) is not bool or _text(found["commit"]).strip("0123456789abcdef"):
            raise ValueError
        source = Source(found["commit"], found["clean"])
    name = _text(bundle["name"])
    if not is_name(name):
        raise ValueError
    return Statement(
        name,
        _hex(bundle["digest"]["sha256"]),
        _hex(lock["digest"]["sha256"]),
        source,
        _text(predicate["builder"]["version"]),
    )


def _lock_of(manifest: Manifest) -> str:
    lock = manifest.files.get(LOCK)
    if lock is None:
        raise BundleError("HB8004", f"a bundle must hold {LOCK}", LOCK, "make the bundle anew")
    return lock.sha256


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


def _hex(value: object) -> str:
    text = _text(value)
    if len(text) != 64 or text.strip("0123456789abcdef"):
        raise ValueError
    return text


def _fail(what: str) -> NoReturn:
    raise BundleError(
        "HB8016",
        f"what was signed is no statement about a bundle: {what}",
        SIGNATURES,
        "sign the bundle with `hermes-build sign`",
    )
