"""Signatures: who has signed which bundle, and nothing that was changed afterwards passes."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_build.bundle.format import LOCK, MANIFEST, BundleError, hexdigest
from hermes_build.signing.dsse import (
    PAYLOAD_TYPE,
    add_signatures,
    check,
    key_id,
    read_signatures,
    sign,
)
from hermes_build.signing.keys import PrivateKey, PublicKey, new_key, read_private, read_public
from hermes_build.signing.statement import (
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    Source,
    Statement,
    read_statement,
)
from tests.bundle.making import manifest_of, program, whole
from tests.bundle.refusing import code_of


class Pair:
    """A new key, both halves."""

    def __init__(self, folder: Path, name: str) -> None:
        private, public = new_key(str(folder / name))
        self.private: PrivateKey = read_private(private)
        self.public: PublicKey = read_public(public)
        self.id = key_id(self.public)


@pytest.fixture
def ada(tmp_path: Path) -> Pair:
    return Pair(tmp_path, "ada")


@pytest.fixture
def bob(tmp_path: Path) -> Pair:
    return Pair(tmp_path, "bob")


def test_a_signed_bundle_is_known_by_the_key_that_signed_it(ada: Pair) -> None:
    manifest = manifest_of()
    source = Source("ab" * 20, clean=True)
    found = check(manifest, sign(manifest, [ada.private], source), [ada.public])
    assert found.by == (ada.id,)
    assert found.others == ()
    assert found.statement.source == source
    assert found.statement.digest == hexdigest(manifest)
    assert found.statement.name == "small"


def test_the_envelope_holds_an_in_toto_statement(ada: Pair) -> None:
    files = whole(program())
    envelope = json.loads(sign(files[MANIFEST], [ada.private]))
    assert envelope["payloadType"] == PAYLOAD_TYPE
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert statement["_type"] == STATEMENT_TYPE
    assert statement["predicateType"] == PREDICATE_TYPE
    assert {one["name"]: one["digest"]["sha256"] for one in statement["subject"]} == {
        "small": hexdigest(files[MANIFEST]),
        MANIFEST: hexdigest(files[MANIFEST]),
        LOCK: hexdigest(files[LOCK]),
    }
    assert statement["predicate"]["source"] is None


def test_one_bundle_and_one_key_give_one_envelope(ada: Pair, bob: Pair) -> None:
    manifest = manifest_of()
    once = sign(manifest, [ada.private, bob.private])
    assert once == sign(manifest, [bob.private, ada.private])
    assert once == add_signatures(manifest, sign(manifest, [bob.private]), [ada.private])
    assert once == add_signatures(manifest, once, [ada.private])


def test_a_bundle_that_nobody_signed_is_refused(ada: Pair) -> None:
    assert code_of(lambda: check(manifest_of(), None, [ada.public])) == "HB8010"


def test_a_signature_by_a_stranger_is_refused(ada: Pair, bob: Pair) -> None:
    envelope = sign(manifest_of(), [bob.private])
    assert code_of(lambda: check(manifest_of(), envelope, [ada.public])) == "HB8012"


def test_a_stranger_beside_a_known_key_is_named_and_does_not_count(
    ada: Pair, bob: Pair, tmp_path: Path
) -> None:
    envelope = sign(manifest_of(), [ada.private, bob.private])
    found = check(manifest_of(), envelope, [ada.public])
    assert (found.by, found.others) == ((ada.id,), (bob.id,))
    cid = Pair(tmp_path, "cid")
    keys = [ada.public, cid.public]
    assert code_of(lambda: check(manifest_of(), envelope, keys, threshold=2)) == "HB8014"


def test_a_threshold_counts_keys_and_not_signatures(ada: Pair, bob: Pair, tmp_path: Path) -> None:
    manifest = manifest_of()
    one = sign(manifest, [ada.private, ada.private])
    keys = [ada.public, bob.public]
    assert code_of(lambda: check(manifest, one, keys, threshold=2)) == "HB8014"
    both = add_signatures(manifest, one, [bob.private])
    assert check(manifest, both, keys, threshold=2).by == tuple(sorted((ada.id, bob.id)))
    # The same key from another file is the same key.
    copied = tmp_path / "copied.pem"
    copied.write_bytes((tmp_path / "ada.pub.pem").read_bytes().replace(b"\n", b"\r\n"))
    again = read_public(copied)
    with pytest.raises(ValueError, match="1 different keys cannot give 2 signatures"):
        check(manifest, one, [ada.public, again], threshold=2)
    with pytest.raises(ValueError, match="at least one signature"):
        check(manifest, one, keys, threshold=0)


def test_one_signature_twice_in_an_envelope_is_refused(ada: Pair) -> None:
    document = json.loads(sign(manifest_of(), [ada.private]))
    document["signatures"] *= 2
    assert code_of(lambda: check(manifest_of(), written(document), [ada.public])) == "HB8011"


def test_a_signature_of_another_bundle_is_refused_wherever_it_is_put(ada: Pair) -> None:
    mine, other = manifest_of("ping"), manifest_of("pong")
    foreign = sign(other, [ada.private])
    assert code_of(lambda: check(mine, foreign, [ada.public])) == "HB8015"
    assert code_of(lambda: read_signatures(mine, foreign)) == "HB8015"
    assert code_of(lambda: add_signatures(mine, foreign, [ada.private])) == "HB8015"
    # Nor does it fit the statement of this bundle.
    document = json.loads(sign(mine, [ada.private]))
    document["signatures"] = json.loads(foreign)["signatures"]
    assert code_of(lambda: check(mine, written(document), [ada.public])) == "HB8013"


def test_a_key_that_signs_under_the_id_of_another_is_refused(ada: Pair, bob: Pair) -> None:
    manifest = manifest_of()
    document = json.loads(sign(manifest, [bob.private]))
    document["signatures"][0]["keyid"] = ada.id
    forged = written(document)
    assert code_of(lambda: check(manifest, forged, [ada.public])) == "HB8013"
    assert code_of(lambda: check(manifest, forged, [ada.public, bob.public])) == "HB8013"
    assert code_of(lambda: check(manifest, forged, [bob.public])) == "HB8012"
    # Whoever adds a signature of their own sees that somebody has used their id.
    assert code_of(lambda: add_signatures(manifest, forged, [ada.private])) == "HB8013"


def test_a_forged_signature_refuses_the_bundle_though_others_have_signed(
    ada: Pair, bob: Pair
) -> None:
    manifest = manifest_of()
    document = json.loads(sign(manifest, [ada.private, bob.private]))
    rows = document["signatures"]
    rows[0]["sig"], rows[1]["sig"] = rows[1]["sig"], rows[0]["sig"]
    keys = [ada.public, bob.public]
    assert code_of(lambda: check(manifest, written(document), keys)) == "HB8013"


def test_every_changed_byte_of_an_envelope_is_refused(ada: Pair) -> None:
    manifest = manifest_of()
    envelope = sign(manifest, [ada.private], Source("ab" * 20, clean=False))
    for place, byte in enumerate(envelope):
        for mask in (0x01, 0x02, 0x20, 0x80):
            changed = bytearray(envelope)
            changed[place] = byte ^ mask
            refuse(manifest, bytes(changed), ada.public)
        refuse(manifest, envelope[:place], ada.public)
        refuse(manifest, envelope[:place] + b" " + envelope[place:], ada.public)
    refuse(manifest, envelope + b"\n", ada.public)


def refuse(manifest: bytes, envelope: bytes, key: PublicKey) -> None:
    code = code_of(lambda: check(manifest, envelope, [key]))
    assert code in ("HB8011", "HB8012", "HB8013")


def written(document: object) -> bytes:
    """An envelope as hermes-build writes it, whatever it says."""
    return (json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n").encode()


def changed_fields(value: Any) -> Iterator[Any]:
    """JSON values that differ from ``value`` in one field, or in one that is there or not."""
    if isinstance(value, dict):
        for key in value:
            for other in changed_fields(value[key]):
                yield {**value, key: other}
            yield {name: one for name, one in value.items() if name != key}
        yield {**value, "more": 1}
    elif isinstance(value, list):
        for index, one in enumerate(value):
            for other in changed_fields(one):
                yield [*value[:index], other, *value[index + 1 :]]
            yield [*value[:index], *value[index + 1 :]]
        yield [*value, *value[:1]]
        yield []
    if isinstance(value, bool):
        yield not value
        yield int(value)
    elif isinstance(value, str):
        yield value + "0"
        yield from {value.swapcase(), ""} - {value}
    yield from ([value], {"a": value}, 7, None if value is not None else "x")


def test_every_changed_field_of_an_envelope_is_refused(ada: Pair) -> None:
    manifest = manifest_of()
    document = json.loads(sign(manifest, [ada.private]))
    changed = list(changed_fields(document))
    assert len(changed) > 30
    for one in changed:
        refuse(manifest, written(one), ada.public)


def test_every_changed_field_of_a_statement_is_refused_and_signed_ones_but_for_the_source(
    ada: Pair,
) -> None:
    manifest = manifest_of()
    envelope = json.loads(sign(manifest, [ada.private], Source("ab" * 20, clean=True)))
    statement = json.loads(base64.b64decode(envelope["payload"]))
    original = read_statement(base64.b64decode(envelope["payload"]))
    seen = set()
    for one in changed_fields(statement):
        payload = json.dumps(one, sort_keys=True, separators=(",", ":")).encode()
        unsigned = {**envelope, "payload": base64.b64encode(payload).decode()}
        refuse(manifest, written(unsigned), ada.public)
        try:
            found = check(manifest, written(signed_payload(payload, ada)), [ada.public]).statement
        except BundleError as error:
            seen.add(error.code)
            continue
        # What a bundle was made from, and by which version, is the signer's to say.
        assert found.to_bytes() == payload
        assert replace(found, source=None, version="") == replace(original, source=None, version="")
        seen.add("accepted")
    assert seen == {"HB8015", "HB8016", "accepted"}


def signed_payload(payload: bytes, pair: Pair, kind: str = PAYLOAD_TYPE) -> dict[str, Any]:
    """An envelope with any payload, signed by hand: not one of our functions makes it."""
    pae = b"DSSEv1 %d %b %d %b" % (len(kind), kind.encode(), len(payload), payload)
    signature = pair.private.sign(pae)  # type: ignore[call-arg]
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": kind,
        "signatures": [{"keyid": pair.id, "sig": base64.b64encode(signature).decode()}],
    }


def test_another_signed_document_is_no_statement(ada: Pair) -> None:
    manifest = manifest_of()
    statement = Statement("small", hexdigest(manifest), "0" * 64, None, "0.1.0")
    for payload, code in (
        (b"", "HB8016"),
        (b"[]", "HB8016"),
        (b"[" * 100_000, "HB8016"),
        (b'{"_type":"https://in-toto.io/Statement/v0.1"}', "HB8016"),
        (json.dumps(json.loads(statement.to_bytes())).encode(), "HB8016"),  # with spaces
        (statement.to_bytes(), "HB8015"),  # another lock
    ):
        envelope = written(signed_payload(payload, ada))
        assert code_of(lambda envelope=envelope: check(manifest, envelope, [ada.public])) == code  # type: ignore[misc]
    other = written(signed_payload(statement.to_bytes(), ada, "text/plain"))
    assert code_of(lambda: check(manifest, other, [ada.public])) == "HB8011"


def test_an_envelope_that_is_none_is_refused(ada: Pair) -> None:
    for data in (b"", b"\xff", b"{}", b"[]", b"null", b"[" * 100_000, b'{"payload":"="}'):
        assert code_of(lambda data=data: check(manifest_of(), data, [ada.public])) == "HB8011"  # type: ignore[misc]


def test_without_the_packages_the_message_says_what_to_install() -> None:
    script = (
        "import sys\n"
        "sys.modules['cryptography'] = sys.modules['securesystemslib'] = None\n"
        "import hermes_build.signing.statement\n"
        "from hermes_build.signing import SigningUnavailable\n"
        "try:\n"
        "    import hermes_build.signing.dsse\n"
        "except SigningUnavailable as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "pip install 'hermes-build[sign]'" in done.stdout
