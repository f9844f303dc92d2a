"""The commands around bundles: key, sign, verify, install, installed, rollback, gc, diff."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_build.bundle.format import SIGNATURES
from hermes_build.bundle.verifying import verify
from hermes_build.lock import HEADER
from tests.bundle.containers import CONTAINERS, entries
from tests.bundle.making import archive, program, unpacked, whole
from tests.command_line import Done, edit, handler, hermes, process, spec, write

DIGEST_LINE = "bundle sha256:"


def agent(root: Path) -> Path:
    """A compiled project of two tools, of which one has a handler."""
    write(
        root,
        {
            "pyproject.toml": '[project]\nname = "agent"\nversion = "1"\n[tool.hermes-build]\n',
            "tool_specs/read_file.yaml": spec("read_file", handler="self"),
            "tool_specs/write_file.yaml": spec("write_file"),
            "handlers/__init__.py": "",
            "handlers/read_file.py": handler("read_file"),
        },
    )
    assert hermes(root, "compile").code == 0
    return root


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return archive(tmp_path / "small.hermes")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where bundles are installed in these tests, without an option that says so."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "hermes-build"


def new_key(folder: Path, name: str) -> str:
    done = hermes(folder, "key", "new", "-o", name)
    assert done.code == 0, done
    assert hermes(folder, "key", "id", f"{name}.pub.pem").out == done.out
    return done.out.strip()


def digest(done: Done) -> str:
    (line,) = [line for line in done.out.splitlines() if line.startswith(DIGEST_LINE)]
    return line.removeprefix(DIGEST_LINE)


def test_a_key_is_made_once(tmp_path: Path) -> None:
    new_key(tmp_path, "release")
    before = (tmp_path / "release.pem").read_bytes()
    for name in ("release", "release.pem"):
        done = hermes(tmp_path, "key", "new", "-o", name)
        assert (done.code, done.out) == (2, "")
        assert "release.pem exists, and stays as it is" in done.err
    assert (tmp_path / "release.pem").read_bytes() == before


def test_a_signed_bundle_verifies_by_its_key_and_by_no_other(tmp_path: Path, bundle: Path) -> None:
    for name in ("ada", "bob"):
        new_key(tmp_path, name)
    before = verify(bundle).digest
    signed = hermes(tmp_path, "sign", bundle.name, "--key", "ada.pem")
    assert signed.code == 0, signed
    assert digest(signed) == before
    good = hermes(tmp_path, "verify", bundle.name, "--key", "ada.pub.pem")
    assert good.code == 0, good
    assert "signed by ada.pub.pem" in good.out
    assert digest(good) == before
    bad = hermes(tmp_path, "verify", bundle.name, "--key", "bob.pub.pem")
    assert (bad.code, bad.codes) == (1, ["HB8012"])
    # Whoever names no key is told that nothing was said about who made the bundle.
    unknown = hermes(tmp_path, "verify", bundle.name)
    assert unknown.code == 0
    assert "signatures were not checked" in unknown.err


def test_several_people_sign_one_after_the_other(tmp_path: Path, bundle: Path) -> None:
    both = ["--key", "ada.pub.pem", "--key", "bob.pub.pem", "--threshold", "2"]
    for name in ("ada", "bob"):
        new_key(tmp_path, name)
    assert hermes(tmp_path, "verify", bundle.name, *both).codes == ["HB8010"]
    assert hermes(tmp_path, "sign", bundle.name, "--key", "ada.pem").code == 0
    assert hermes(tmp_path, "verify", bundle.name, *both).codes == ["HB8014"]
    assert hermes(tmp_path, "sign", bundle.name, "--key", "bob.pem").code == 0
    done = hermes(tmp_path, "verify", bundle.name, *both)
    assert done.code == 0, done
    assert "signed by ada.pub.pem" in done.out
    assert "signed by bob.pub.pem" in done.out
    before = bundle.read_bytes()
    again = hermes(tmp_path, "sign", bundle.name, "--key", "bob.pem")
    assert "nothing was changed" in again.err
    assert bundle.read_bytes() == before


def test_signing_an_unpacked_bundle_adds_the_file_that_its_archive_would_have(
    tmp_path: Path, bundle: Path
) -> None:
    new_key(tmp_path, "ada")
    folder = unpacked(tmp_path / "unpacked")
    for path in (bundle.name, "unpacked"):
        assert hermes(tmp_path, "sign", path, "--key", "ada.pem").code == 0
        assert hermes(tmp_path, "verify", path, "--key", "ada.pub.pem").code == 0
    assert (folder / SIGNATURES).read_bytes() == verify(bundle).signatures


def test_a_bundle_that_was_changed_is_not_signed(tmp_path: Path, bundle: Path) -> None:
    new_key(tmp_path, "ada")
    bundle.write_bytes(bundle.read_bytes().replace(b"pong", b"PONG"))
    before = bundle.read_bytes()
    done = hermes(tmp_path, "sign", bundle.name, "--key", "ada.pem")
    assert (done.code, done.codes) == (1, ["HB8002"])
    assert bundle.read_bytes() == before


def test_a_passphrase_comes_from_a_file_or_the_environment(tmp_path: Path, bundle: Path) -> None:
    write(tmp_path, {"phrase": "open sesame\n", "wrong": "open barley\n", "empty": "\n"})
    assert hermes(tmp_path, "key", "new", "-o", "ada", "--passphrase-file", "phrase").code == 0
    sign = ["sign", bundle.name, "--key", "ada.pem"]
    for more in ([], ["--passphrase-file", "wrong"]):
        done = hermes(tmp_path, *sign, *more)
        assert (done.code, done.codes) == (2, ["HB8017"])
    assert hermes(tmp_path, *sign, "--passphrase-file", "empty").code == 2
    assert hermes(tmp_path, *sign, env={"HERMES_BUILD_PASSPHRASE": "open sesame"}).code == 0
    assert hermes(tmp_path, *sign, "--passphrase-file", "phrase").code == 0


def test_a_signature_that_is_required_needs_a_key_to_check_it_by(
    tmp_path: Path, bundle: Path
) -> None:
    new_key(tmp_path, "ada")
    required = ["verify", bundle.name, "--require-signature"]
    assert hermes(tmp_path, *required).codes == ["HB8010"]
    assert hermes(tmp_path, "sign", bundle.name, "--key", "ada.pem").code == 0
    assert hermes(tmp_path, *required).codes == ["HB8012"]
    assert hermes(tmp_path, *required, "--key", "ada.pub.pem").code == 0


def test_what_cannot_be_judged_is_no_verdict(tmp_path: Path, bundle: Path) -> None:
    new_key(tmp_path, "ada")
    assert hermes(tmp_path, "sign", bundle.name, "--key", "ada.pem").code == 0
    for options, said in (
        (["--key", "ada.pem"], "it is a private key"),
        (["--key", "nowhere.pem"], "No such file"),
        (["--threshold", "2"], "--threshold counts the keys of --key"),
        (["--key", "ada.pub.pem", "--threshold", "2"], "cannot give 2 signatures"),
        (["--key", "ada.pub.pem", "--key", "ada.pub.pem", "--threshold", "2"], "cannot give 2"),
    ):
        done = hermes(tmp_path, "verify", bundle.name, *options)
        assert done.code == 2, (options, done)
        assert said in done.out + done.err


WITHOUT = [
    sys.executable,
    "-P",
    "-c",
    (
        "import sys; sys.modules['securesystemslib'] = sys.modules['cryptography'] = None; "
        "from hermes_build.cli import script; script()"
    ),
]


def test_without_the_packages_signatures_are_undecided_and_all_else_works(
    tmp_path: Path, bundle: Path
) -> None:
    new_key(tmp_path, "ada")
    assert hermes(tmp_path, "sign", bundle.name, "--key", "ada.pem").code == 0
    for command in (
        ["key", "new", "-o", "bob"],
        ["key", "id", "ada.pub.pem"],
        ["sign", bundle.name, "--key", "ada.pem"],
        ["verify", bundle.name, "--key", "ada.pub.pem"],
        ["install", bundle.name, "--into", "store", "--key", "ada.pub.pem"],
    ):
        done = process(tmp_path, *command, program=WITHOUT)
        assert done.code == 2, (command, done)
        assert "pip install 'hermes-build[sign]'" in done.err
        assert "Traceback" not in done.err
    assert not (tmp_path / "store").exists()
    assert process(tmp_path, "verify", bundle.name, program=WITHOUT).code == 0
    # Without a key, nothing passes that must be signed.
    done = process(tmp_path, "verify", bundle.name, "--require-signature", program=WITHOUT)
    assert (done.code, done.codes) == (1, ["HB8012"])
    assert process(tmp_path, "install", bundle.name, "--into", "store", program=WITHOUT).code == 0


def test_bundles_are_installed_listed_and_rolled_back(
    tmp_path: Path, bundle: Path, home: Path
) -> None:
    assert hermes(tmp_path, "installed").out == ""
    first = digest(hermes(tmp_path, "install", bundle.name))
    other = archive(tmp_path / "other.hermes", whole(program(result="other")))
    second = digest(hermes(tmp_path, "install", other.name))
    listed = hermes(tmp_path, "installed")
    assert listed.out == f"small  sha256:{second}\n  ping\n  before: {first[:12]}\n"
    (row,) = json.loads(hermes(tmp_path, "installed", "--json").out)
    assert row["digest"] == second
    assert row["versions"] == [first, second]
    assert row["tools"] == ["ping"]
    assert row["signed"] is False
    assert Path(row["path"]).read_bytes() == other.read_bytes()
    assert digest(hermes(tmp_path, "rollback", "small")) == first
    done = hermes(tmp_path, "rollback", "small")
    assert (done.code, done.codes) == (2, ["HB8022"])
    assert digest(hermes(tmp_path, "rollback", "small", "--to", second[:8])) == second
    removed = hermes(tmp_path, "gc", "--keep", "0")
    assert removed.out == f"removed sha256:{first}\n"
    assert [path.name for path in (home / "bundles").iterdir()] == [f"{second}.hermes"]
    done = hermes(tmp_path, "rollback", "smal")
    assert (done.code, done.codes) == (2, ["HB8021"])
    assert "did you mean `small`?" in done.out
    removed = hermes(tmp_path, "uninstall", "small")
    assert removed.out == f"removed sha256:{second}\n"
    assert hermes(tmp_path, "installed").out == ""


def test_a_bundle_that_is_refused_leaves_no_trace(tmp_path: Path, bundle: Path, home: Path) -> None:
    for name in ("ada", "bob"):
        new_key(tmp_path, name)
    assert hermes(tmp_path, "sign", bundle.name, "--key", "ada.pem").code == 0
    damaged = tmp_path / "damaged.hermes"
    damaged.write_bytes(bundle.read_bytes()[:-1])
    for command, codes in (
        (["damaged.hermes"], ["HB8002"]),
        ([bundle.name, "--key", "bob.pub.pem"], ["HB8012"]),
        ([bundle.name, "--require-signature"], ["HB8012"]),
    ):
        done = hermes(tmp_path, "install", *command)
        assert (done.code, done.codes) == (1, codes)
        assert not home.exists()
    done = hermes(tmp_path, "install", bundle.name, "--key", "ada.pub.pem")
    assert done.code == 0, done
    assert "signed by ada.pub.pem" in done.err
    assert json.loads(hermes(tmp_path, "installed", "--json").out)[0]["signed"] is True


@pytest.mark.parametrize("made", [*CONTAINERS, "another ending"])
def test_whatever_a_bundle_comes_in_is_shown_and_called(tmp_path: Path, made: str) -> None:
    place = CONTAINERS.get(made, CONTAINERS["archive"])(tmp_path, entries())
    if made not in CONTAINERS:
        place = place.rename(tmp_path / "small.zip")
    name = os.path.relpath(place, tmp_path)
    shown = hermes(tmp_path, "show", name)
    assert shown.code == 0 and "ping" in shown.out, shown
    for arguments in ([], ["{}"]):
        called = hermes(tmp_path, "call", name, "ping", *arguments)
        assert "no hermes-build project" not in called.err and "not JSON" not in called.err
        assert called.out == hermes(tmp_path, "call", str(place), "ping", "{}").out != ""


def test_an_archive_that_was_damaged_later_is_listed_as_such(
    tmp_path: Path, bundle: Path, home: Path
) -> None:
    found = digest(hermes(tmp_path, "install", bundle.name))
    (home / "bundles" / f"{found}.hermes").write_bytes(b"PK")
    listed = hermes(tmp_path, "installed")
    assert listed.code == 0
    assert "its archive cannot be read" in listed.out
    assert hermes(tmp_path, "install", bundle.name).code == 0
    assert "ping" in hermes(tmp_path, "installed").out


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_written_is_said(tmp_path: Path, bundle: Path) -> None:
    place = tmp_path / "store"
    place.mkdir(mode=0o500)
    done = hermes(tmp_path, "install", bundle.name, "--into", "store")
    assert done.code == 2
    assert "Permission denied; nothing was changed" in done.err


def test_a_file_where_the_folder_should_be_is_said(tmp_path: Path, bundle: Path) -> None:
    (tmp_path / "store").write_text("mine")
    done = hermes(tmp_path, "install", bundle.name, "--into", "store")
    assert done.code == 2
    assert "nothing was changed" in done.err
    assert (tmp_path / "store").read_text() == "mine"


def test_a_project_and_the_bundle_that_was_made_of_it_do_not_differ(tmp_path: Path) -> None:
    root = agent(tmp_path / "agent")
    assert hermes(root, "bundle", "--no-deps-lock", "-o", "../agent.hermes").code == 0
    for old, new in ((".", "../agent.hermes"), ("../agent.hermes", ".")):
        done = hermes(root, "diff", old, new)
        assert (done.code, done.out) == (0, f"{old} -> {new}\n\nno difference\n"), done
    done = hermes(root, "diff", "../agent.hermes", "hermes-build.lock", "--format", "concise")
    assert (done.code, done.out) == (0, "")
    assert "a lock holds digests" in done.err and "not compared" in done.err
    # What a lock cannot tell is no equality.
    edit(root, "handlers/read_file.py", "limit", "path")
    assert hermes(root, "bundle", "--no-deps-lock", "-o", "../agent.hermes").code == 0
    done = hermes(root, "diff", "../agent.hermes", "hermes-build.lock")
    assert done.code == 0
    assert "no difference in what was compared\nnot compared" in done.out
    assert "the code of handlers" in done.out and "the runtime" in done.out


def test_every_change_of_a_project_is_named_against_its_bundle(tmp_path: Path) -> None:
    root = agent(tmp_path / "agent")
    assert hermes(root, "bundle", "--no-deps-lock", "-o", "../agent.hermes").code == 0
    edit(root, "tool_specs/read_file.yaml", "default: 10", "default: 20")
    edit(root, "tool_specs/read_file.yaml", "Where the file is", "Which file to read")
    edit(root, "tool_specs/write_file.yaml", "handler:", "timeout_seconds: 5\nhandler:")
    write(root, {"handlers/read_file.py": handler("read_file", "return 'nothing'")})
    write(root, {"tool_specs/patch.yaml": spec("patch")})
    assert hermes(root, "compile").code == 0
    done = hermes(root, "diff", "../agent.hermes", ".", "--format", "json")
    assert done.code == 1, done
    found = json.loads(done.out)
    assert (found["version"], found["equal"], found["detailed"]) == (1, False, True)
    assert [found[side]["kind"] for side in ("old", "new")] == ["bundle", "project"]
    tools = {one["name"]: one for one in found["tools"]}
    assert tools["patch"]["what"] == "added"
    assert tools["read_file"]["parts"] == ["source", "args", "prompt", "module", "code"]
    assert {one["pointer"]: (one["old"], one["new"]) for one in tools["read_file"]["fields"]} == {
        "/parameters/properties/limit/default": (10, 20),
        "/parameters/properties/path/description": ("Where the file is", "Which file to read"),
    }
    assert tools["write_file"]["parts"] == ["source", "runtime"]
    assert [(one["pointer"], one["what"], one["new"]) for one in tools["write_file"]["fields"]] == [
        ("/timeout_seconds", "added", 5)
    ]
    (toolset,) = found["toolsets"]
    assert (toolset["name"], toolset["joined"], toolset["left"]) == ("file", ["patch"], [])
    files = {one["path"]: one["what"] for one in found["files"]}
    assert files["handlers/read_file.py"] == "changed"
    assert files["tool_specs/patch.yaml"] == "added"
    lines = hermes(root, "diff", "../agent.hermes", ".", "--format", "concise").out
    assert "tool read_file: /parameters/properties/limit/default changed: 10 -> 20\n" in lines
    assert "tool patch: added\n" in lines
    page = hermes(root, "diff", "../agent.hermes", ".", "--format", "markdown").out
    assert "- `read_file` changed: what calls are held to, what a model reads" in page
    assert "  - /parameters/properties/limit/default: 10\n" in page
    assert "  + /parameters/properties/limit/default: 20\n" in page
    against_lock = hermes(root, "diff", "../agent.hermes", "hermes-build.lock")
    assert against_lock.code == 1
    assert "~ tool read_file: what calls are held to, what a model reads" in against_lock.out


def test_one_toolset_of_a_project_is_compared_with_its_bundle(tmp_path: Path) -> None:
    root = agent(tmp_path / "agent")
    write(root, {"toolsets/reading.yaml": "name: reading\ntools: [read_file]\n"})
    assert hermes(root, "compile").code == 0
    assert (
        hermes(root, "bundle", "--no-deps-lock", "-t", "reading", "-o", "../reading.hermes").code
        == 0
    )
    assert hermes(root, "diff", "-t", "reading", "../reading.hermes", ".").code == 0
    done = hermes(root, "diff", "../reading.hermes", ".", "--format", "concise")
    assert done.code == 1
    assert "tool write_file: added\n" in done.out
    assert hermes(root, "diff", "-t", "writing", "../reading.hermes", ".").code == 2


def test_two_versions_of_an_installed_bundle_are_compared_by_name(
    tmp_path: Path, bundle: Path, home: Path
) -> None:
    assert hermes(tmp_path, "install", bundle.name).code == 0
    other = archive(tmp_path / "other.hermes", whole(program(result="other")))
    assert hermes(tmp_path, "diff", "small", bundle.name).code == 0
    done = hermes(tmp_path, "diff", "small", other.name)
    assert done.code == 1
    assert "~ tool ping: handler's code" in done.out


def test_what_cannot_be_compared_is_undecided(tmp_path: Path, bundle: Path) -> None:
    write(
        tmp_path,
        {
            "note.txt": "hello",
            "damaged.hermes": bundle.read_bytes()[:-1],
            "broken.lock": f"{HEADER}\nformat 1\nnonsense\n",
            "empty/note.txt": "",
        },
    )
    broken = write(
        tmp_path / "broken",
        {"pyproject.toml": "[tool.hermes-build]\n", "tool_specs/a.yaml": "name: [\n"},
    )
    for other in ("note.txt", "damaged.hermes", "broken.lock", "nowhere", broken.name):
        for pair in ((other, bundle.name), (bundle.name, other)):
            done = hermes(tmp_path, "diff", *pair)
            assert done.code == 2, (pair, done)
            assert done.out + done.err
            assert "Traceback" not in done.err


def test_a_project_that_no_bundle_can_be_made_of_is_compared_without_its_files(
    tmp_path: Path,
) -> None:
    root = agent(tmp_path / "agent")
    assert hermes(root, "bundle", "--no-deps-lock", "-o", "../agent.hermes").code == 0
    edit(root, "tool_specs/read_file.yaml", "default: 10", "default: 20")
    # Its generated files are those of the spec before.
    done = hermes(root, "diff", "../agent.hermes", ".", "--format", "concise")
    assert done.code == 1, done
    assert "its files are not compared" in done.err
    assert "tool read_file: /parameters/properties/limit/default changed: 10 -> 20\n" in done.out
    assert "file handlers" not in done.out


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_key_by_openssl_signs_and_verifies(tmp_path: Path, bundle: Path) -> None:
    for command in (
        ["genpkey", "-algorithm", "ed25519", "-out", "key.pem"],
        ["pkey", "-in", "key.pem", "-pubout", "-out", "key.pub.pem"],
    ):
        subprocess.run(["openssl", *command], cwd=tmp_path, check=True)
    assert hermes(tmp_path, "sign", bundle.name, "--key", "key.pem").code == 0
    assert hermes(tmp_path, "verify", bundle.name, "--key", "key.pub.pem").code == 0
