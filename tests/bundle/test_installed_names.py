"""Installed bundles as the command line uses them: by name, and each held to its digest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes_build.bundle.format import SIGNATURES
from hermes_build.bundle.store import Store
from hermes_build.bundle.verifying import verify
from hermes_build.runtime.standalone import main
from tests.bundle.making import archive, program, whole
from tests.command_line import hermes, project, spec, write


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Where bundles are installed in these tests, without an option that says so."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return Store()


def made(folder: Path, result: str) -> Path:
    return archive(folder / f"{result}.hermes", whole(program(result=result)))


def test_a_name_whose_archive_is_another_bundle_is_refused_by_every_command(
    tmp_path: Path, store: Store
) -> None:
    one, two = made(tmp_path, "one"), made(tmp_path, "two")
    assert hermes(tmp_path, "install", one.name).code == 0
    place = Path(store.path("small"))
    for data, codes in ((two.read_bytes(), ["HB8006"]), (two.read_bytes()[:-1], ["HB8002"])):
        place.write_bytes(data)
        for command, code in (
            (["call", "small", "ping"], 1),
            (["diff", "small", two.name], 2),
            (["diff", two.name, "small"], 2),
        ):
            done = hermes(tmp_path, *command)
            assert (done.code, done.codes) == (code, codes), (command, done)
            assert "install it again" in done.out
        (row,) = json.loads(hermes(tmp_path, "installed", "--json").out)
        assert "install it again" in row["damaged"]
    place.unlink()
    assert hermes(tmp_path, "call", "small", "ping").codes == ["HB8021"]
    assert hermes(tmp_path, "install", one.name).code == 0
    assert hermes(tmp_path, "call", "small", "ping").out == "one\n"


def test_what_was_looked_at_is_what_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = made(tmp_path, "one"), made(tmp_path, "two")
    digest = verify(one).digest
    assert main(str(one), ["call", "ping"], digest) == 0
    one.write_bytes(two.read_bytes())
    assert main(str(one), ["call", "ping"], digest) == 2
    assert "has just been replaced by another bundle" in capsys.readouterr().err


def test_signatures_are_replaced_by_those_that_a_key_has_verified_and_joined_with_them(
    tmp_path: Path, store: Store
) -> None:
    for name in ("ada", "bob"):
        assert hermes(tmp_path, "key", "new", "-o", name).code == 0
        made(tmp_path, "one").rename(tmp_path / f"{name}.hermes")
        assert hermes(tmp_path, "sign", f"{name}.hermes", "--key", f"{name}.pem").code == 0
    good = verify(tmp_path / "ada.hermes").signatures
    assert good is not None
    entries = whole(program(result="one"))
    sig = json.loads(good)["signatures"][0]["sig"]
    forged = good.replace(sig[:8].encode(), sig[:8].swapcase().encode())
    for name, signatures in (("garbage", b"garbage"), ("forged", forged)):
        archive(tmp_path / f"{name}.hermes", {**entries, SIGNATURES: signatures})
    for name in ("garbage", "ada"):
        key = ["--key", "ada.pub.pem"] if name == "ada" else []
        assert hermes(tmp_path, "install", f"{name}.hermes", *key).code == 0
    for name in ("garbage", "forged", "bob"):
        assert hermes(tmp_path, "install", f"{name}.hermes").code == 0
        assert verify(store.path("small")).signatures == good
    assert hermes(tmp_path, "install", "forged.hermes", "--key", "ada.pub.pem").code == 1
    # Both have signed the same statement: who comes second is added.
    assert hermes(tmp_path, "install", "bob.hermes", "--key", "bob.pub.pem").code == 0
    both = ["--key", "ada.pub.pem", "--key", "bob.pub.pem", "--threshold", "2"]
    assert hermes(tmp_path, "verify", store.path("small"), *both).code == 0


def test_a_name_is_shown_as_it_is_called_unless_the_project_has_it(
    tmp_path: Path, store: Store
) -> None:
    assert hermes(tmp_path, "install", made(tmp_path, "one").name).code == 0
    digest = store.find("small").current
    place = project(tmp_path / "agent", "read_file")
    for folder in (tmp_path, place):
        done = hermes(folder, "show", "small")
        assert done.code == 0 and done.out.startswith(f"small  sha256:{digest}\n"), done
        assert json.loads(hermes(folder, "show", "small", "--json").out)["name"] == "small"
        assert hermes(folder, "show", "smal").code == 2
        assert hermes(folder, "show", "small", "read_file").code == 2
    write(place, {"tool_specs/small.yaml": spec("small")})
    assert "sha256" not in hermes(place, "show", "small").out
    # A list that nobody can read is for the commands around it to tell.
    Path(store.folder, "installed.json").write_text("{")
    done = hermes(place, "show", "else")
    assert done.code == 2 and "there is no tool or toolset `else`" in done.err


def test_installing_says_where_a_bundle_is_for_another_python(tmp_path: Path, store: Store) -> None:
    entries = whole(program(), requires_python="<3.0")
    archive(tmp_path / "old.hermes", entries)
    done = hermes(tmp_path, "install", "old.hermes")
    assert done.code == 0
    assert "small is for Python <3.0, and this is Python 3." in done.err
    called = hermes(tmp_path, "call", "small", "ping")
    assert called.code == 2 and store.find("small").current in done.out


def test_commands_say_where_the_others_are(tmp_path: Path) -> None:
    text = hermes(tmp_path, "install", "--help").out
    assert all(f"`{name}" in text for name in ("installed", "rollback", "gc", "call", "show"))


def test_a_part_of_a_digest_expects_nothing(tmp_path: Path) -> None:
    one = made(tmp_path, "one")
    digest = verify(one).digest
    for given in (digest, f"sha256:{digest}", digest.upper(), f" SHA256:{digest}"):
        assert hermes(tmp_path, "verify", one.name, "--digest", given).code == 0
    for given in (digest[:12], "sha256:", f"{digest}0", "g" * 64, ""):
        done = hermes(tmp_path, "verify", one.name, "--digest", given)
        assert done.code == 2 and "64 hexadecimal digits" in done.err, given
    other = hermes(tmp_path, "verify", one.name, "--digest", "0" * 64)
    assert (other.code, other.codes) == (1, ["HB8006"])
