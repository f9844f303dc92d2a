"""Signatures: who has signed which bundle, and nothing that was changed afterwards passes."""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
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
from hermes_build.signing.keys import (
    PrivateKey,
    PublicKey,
    new_key,
    read_private,
    read_public,
)
from hermes_build.signing.provenance import source_of
from hermes_build.signing.statement import (
    PREDICATE_TYPE,
    STATEMENT_TYPE,
    Source,
    Statement,
    read_statement,
)
from tests.bundle.making import program, whole

OPENSSL = shutil.which("openssl")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def manifest_of(name: str = "ping") -> bytes:
    return whole(program(name))[MANIFEST]


def code_of(act: Callable[[], object]) -> str:
    with pytest.raises(BundleError) as caught:
        act()
    return caught.value.code


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


INPUTS = ("tool.yaml", "missing.yaml")


@needs_git
def test_the_source_is_the_commit_and_whether_it_has_all_that_was_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repository"
    project = root / "agent"
    project.mkdir(parents=True)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert source_of(project, INPUTS) is None
    git(root, "init", "-q")
    assert source_of(project, INPUTS) is None
    (project / "tool.yaml").write_text("name: a\n")
    (root / "elsewhere.txt").write_text("1\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "one")
    commit = git(root, "rev-parse", "HEAD").strip()
    assert source_of(project, INPUTS) == Source(commit, clean=True)
    (root / "elsewhere.txt").write_text("2\n")
    assert source_of(project, INPUTS) == Source(commit, clean=True)
    assert source_of(root, INPUTS) == Source(commit, clean=False)
    (project / "tool.yaml").write_text("name: b\n")
    assert source_of(project, INPUTS) == Source(commit, clean=False)
    git(root, "checkout", "-q", "--", ".")
    (project / "made.hermes").write_text("a bundle\n")
    assert source_of(project, INPUTS) == Source(commit, clean=True)
    (project / "ünused.yaml").write_text("name: b\n")
    assert source_of(project, INPUTS) == Source(commit, clean=True)
    assert source_of(project, (*INPUTS, "ünused.yaml")) == Source(commit, clean=False)
    (project / ".gitignore").write_text("*\n")
    assert source_of(project, (*INPUTS, "ünused.yaml")) == Source(commit, clean=False)
    git(root, "add", "-f", "agent/ünused.yaml")
    assert source_of(project, INPUTS) == Source(commit, clean=False)
    git(root, "commit", "-q", "-m", "two")
    commit = git(root, "rev-parse", "HEAD").strip()
    assert source_of(project, (*INPUTS, "ünused.yaml")) == Source(commit, clean=True)
    other = project / "ignored"
    other.mkdir()
    assert source_of(other, ()) is None


@needs_git
def test_looking_at_a_repository_starts_no_program_of_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-q", "-m", "one")
    hook = tmp_path / ".git" / "watch"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(hook))
    assert source_of(tmp_path, INPUTS) is not None
    assert not (tmp_path / "ran").exists()


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.invalid", *arguments],
        cwd=folder,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


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


@needs_git
@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_is_told_not_to_look_at_is_not_taken_for_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    git(tmp_path, "init", "-q")
    (tmp_path / "tool.yaml").write_text("name: a\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "one")
    commit = git(tmp_path, "rev-parse", "HEAD").strip()
    git(tmp_path, "update-index", flag, "tool.yaml")
    (tmp_path / "tool.yaml").write_text("name: b\n")
    assert source_of(tmp_path, INPUTS) == Source(commit, clean=False)


@needs_git
def test_the_source_is_the_project_s_own_repository_whatever_a_hook_of_another_inherits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = []
    for name in ("mine", "other"):
        folder = tmp_path / name
        folder.mkdir()
        git(folder, "init", "-q")
        (folder / "tool.yaml").write_text(f"name: {name}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", name)
        commits.append(git(folder, "rev-parse", "HEAD").strip())
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    assert source_of(tmp_path / "mine", INPUTS) == Source(commits[0], clean=True)
