"""``hermes-build verify``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.bundle import making
from tests.bundle.making import Make
from tests.command_line import hermes

FILES = making.program()
ENTRIES = making.whole(FILES)
HANDLER = "program/handlers/ping.py"


def test_the_command_says_what_is_whole(make: Make, tmp_path: Path) -> None:
    path = make()
    done = hermes(tmp_path, "verify", path.name)
    digest = making.manifest(FILES).digest
    assert done.out == f"small is whole: 8 files, 1 tool, 1 toolset\nbundle sha256:{digest}\n"
    assert (done.code, done.err) == (0, "")
    assert hermes(tmp_path, "verify", path.name, "--format", "concise").out == ""
    report = json.loads(hermes(tmp_path, "verify", path.name, "--format", "json").out)
    assert report["summary"] == {"errors": 0, "warnings": 0, "infos": 0, "files": 8}


def test_the_command_names_the_first_difference_and_its_code(make: Make, tmp_path: Path) -> None:
    path = make({**ENTRIES, HANDLER: b""})
    done = hermes(tmp_path, "verify", path.name)
    assert done.code == 1
    assert "error[HB8006]: program/handlers/ping.py is not the file that the mani" in done.out
    assert "--> program/handlers/ping.py:1:1" in done.out
    assert f"note: the bundle is {path.name}" in done.out
    done = hermes(tmp_path, "verify", path.name, "--format", "concise")
    assert done.out.startswith("program/handlers/ping.py:1:1: error[HB8006] ")
    done = hermes(tmp_path, "verify", path.name, "--format", "json")
    assert [one["code"] for one in json.loads(done.out)["findings"]] == ["HB8006"]


def test_the_command_shows_nothing_of_what_is_in_a_refused_bundle(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made", {**ENTRIES, "secret": b"do not show\n"})
    done = hermes(tmp_path, "verify", "made")
    assert (done.code, done.codes) == (1, ["HB8005"])
    assert "do not show" not in done.out
    assert (folder / "secret").exists()


def test_the_command_takes_the_digest_that_a_bundle_must_have(make: Make, tmp_path: Path) -> None:
    path = make()
    digest = making.manifest(FILES).digest
    for right in (digest, f"sha256:{digest}", digest.upper()):
        assert hermes(tmp_path, "verify", path.name, "--digest", right).code == 0
    done = hermes(tmp_path, "verify", path.name, "--digest", "0" * 64)
    assert (done.code, done.codes) == (1, ["HB8006"])
    for part in (digest[:12], "sha256:"):
        assert hermes(tmp_path, "verify", path.name, "--digest", part).code == 2


def test_the_command_cannot_decide_where_there_is_nothing(tmp_path: Path) -> None:
    done = hermes(tmp_path, "verify", "none.hermes")
    assert (done.code, done.out) == (2, "")
    assert "none.hermes: No such file or directory" in done.err
