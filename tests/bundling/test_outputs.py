"""What an output replaces: an earlier one of its kind, and never what it is made of."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hermes_build.bundle.verifying import verify
from tests.bundle.making import archive
from tests.bundling.programs import FILES, program
from tests.command_line import Done, contents, hermes, write

OFFLINE = ["--no-deps-lock"]


def bundled(root: Path, *arguments: str) -> Done:
    return hermes(root, "bundle", *OFFLINE, *arguments)


def test_what_a_bundle_is_made_of_is_never_replaced(tmp_path: Path) -> None:
    settings = FILES["pyproject.toml"] + 'bundle-data = ["data/*"]\n'
    root = program(tmp_path, {"pyproject.toml": settings})
    write(root, {"phrase": "open sesame\n", "data/note": ""})
    archive(root / "data/inner.hermes")
    (root / "link.hermes").symlink_to("tool_specs/tell.yaml")
    key = ["--passphrase-file", "phrase"]
    assert hermes(root, "key", "new", "-o", "key", *key).code == 0
    assert hermes(root, "check").code == 0  # so that no run has to import the handlers
    before = contents(root)
    for target in (
        "pyproject.toml",
        "hermes-build.lock",
        "tool_specs/tell.yaml",
        "tool_specs/count.yaml",  # of another toolset
        "handlers/tell.py",
        "handlers/count.py",
        "handlers/__init__.py",
        "generated/registry.py",
        "generated/tools/count.py",
        "data/inner.hermes",
        "data/note",
        "key.pem",
        "phrase",
        "link.hermes",
    ):
        sign = ["--sign", "key.pem", *key] if target in ("key.pem", "phrase") else []
        done = bundled(root, "-t", "talk", *sign, "-o", target, "--force")
        assert done.code == 2, (target, done)
        assert f"{target} is of what the bundle is made of, and stays as it is" in done.err
    assert contents(root) == before


def test_a_file_of_another_kind_is_replaced_by_force_alone(tmp_path: Path) -> None:
    root = program(tmp_path, {"notes.txt": "mine\n", "other.zip": b"PK\3\4" + bytes(40)})
    for target in ("notes.txt", "other.zip"):
        before = (root / target).read_bytes()
        done = bundled(root, "-o", target)
        assert done.code == 2
        assert f"{target} exists, and is no bundle" in done.err and "--force" in done.err
        assert (root / target).read_bytes() == before
        assert bundled(root, "-o", target, "--force").code == 0
        verify(root / target).close()


def test_an_earlier_bundle_whole_or_not_and_an_empty_file_make_room(tmp_path: Path) -> None:
    root = program(tmp_path, {"empty": ""})
    assert bundled(root, "-o", "dist.hermes").code == 0
    (root / "dist.hermes").write_bytes((root / "dist.hermes").read_bytes()[:200])
    (root / "handlers/x.hermes").write_bytes((root / "dist.hermes").read_bytes())
    for target in ("dist.hermes", "handlers/x.hermes", "empty"):
        done = bundled(root, "-o", target)
        assert done.code == 0, done
        verify(root / target).close()
    for _ in range(2):
        assert bundled(root, "--format", "wheel").code == 0


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(tmp_path: Path) -> None:
    root = program(tmp_path / "p")
    there = tmp_path / "there"
    there.mkdir()
    (root / "x.hermes").symlink_to("../there/real.hermes")  # which is not there yet
    key = hermes(root, "key", "new", "-o", "../ada")
    assert key.code == 0
    assert bundled(root, "-o", "x.hermes").code == 0
    first = (there / "real.hermes").read_bytes()
    os.chmod(there / "real.hermes", 0o600)
    assert hermes(root, "sign", "x.hermes", "--key", "../ada.pem").code == 0
    assert (there / "real.hermes").read_bytes() != first
    assert bundled(root, "-o", "x.hermes").code == 0
    assert (there / "real.hermes").read_bytes() == first
    assert (root / "x.hermes").is_symlink() and os.listdir(there) == ["real.hermes"]
    if os.name == "posix":  # who may read it is for its owner to say
        assert stat.S_IMODE((there / "real.hermes").stat().st_mode) == 0o600


def test_a_link_that_leads_to_itself_is_said(tmp_path: Path) -> None:
    root = program(tmp_path)
    (root / "x.hermes").symlink_to("x.hermes")
    done = bundled(root, "-o", "x.hermes")
    assert done.code == 2 and "x.hermes cannot be written" in done.err
    assert (root / "x.hermes").is_symlink()


def test_the_name_of_the_file_says_what_the_bundle_comes_in(tmp_path: Path) -> None:
    root = program(tmp_path)
    done = bundled(root, "--format", "wheel")
    (wheel,) = root.glob("*.whl")
    made = wheel.read_bytes()
    wheel.unlink()
    assert bundled(root, "-o", wheel.name).code == 0
    assert wheel.read_bytes() == made
    (root / "out").mkdir()
    for form in ("hermes", "wheel"):
        assert bundled(root, "-o", "out/", "--format", form).code == 0
    assert set(os.listdir(root / "out")) == {wheel.name, "agent.hermes"}
    for target, form in (("x.hermes", "wheel"), (wheel.name, "hermes"), ("x.WHL", "hermes")):
        done = bundled(root, "-o", target, "--format", form)
        assert done.code == 2, done
        assert f"{target} is the name of a" in done.err and f"--format asks for {form}" in done.err
    for target in ("x.whl", "out/x.whl"):
        done = bundled(root, "-o", target)
        assert done.code == 2 and f"this one must be called {wheel.name}" in done.err
    done = bundled(root, "-o", "nowhere/")
    assert done.code == 2 and "there is no folder nowhere/" in done.err
    assert not (root / "x.hermes").exists()


def test_an_export_replaces_an_export_and_nothing_else(tmp_path: Path) -> None:
    root = program(tmp_path, {"package.json": '{"name": "mine"}\n', "notes.txt": "mine\n"})
    before = contents(root)
    for target in ("package.json", "notes.txt", "pyproject.toml", "tool_specs/tell.yaml"):
        for provider in ("openai", "mcp"):
            done = hermes(root, "export", "--provider", provider, "-o", target)
            assert done.code == 2, done
    for target in ("pyproject.toml", "tool_specs/tell.yaml"):
        assert hermes(root, "export", "--provider", "mcp", "-o", target, "--force").code == 2
    assert contents(root) == before
    for provider in ("openai", "mcp", "openai"):
        assert hermes(root, "export", "--provider", provider, "-o", "tools.json").code == 0
    assert hermes(root, "export", "--provider", "mcp", "-o", "notes.txt", "--force").code == 0
