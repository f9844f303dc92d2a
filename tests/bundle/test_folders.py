"""Unpacked bundles: files and folders, and nothing else."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from hermes_build.bundle.folder import Folder
from hermes_build.bundle.format import LOCK, MANIFEST, BundleError
from hermes_build.bundle.verifying import verify
from tests.bundle import making
from tests.bundle.refusing import verify_refuses

FILES = making.program()
ENTRIES = making.whole(FILES)
HANDLER = "program/handlers/ping.py"


def _links(place: Path, target: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")


@needs_links
def test_links_are_refused_and_never_followed(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    (tmp_path / "outside.py").write_bytes(FILES[HANDLER])
    (folder / HANDLER).unlink()
    for target in ("../../../outside.py", "nowhere", str(folder / HANDLER)):
        (folder / HANDLER).unlink(missing_ok=True)
        _links(folder / HANDLER, target)
        error = verify_refuses(folder, "HB8003")
        assert error.path == HANDLER
        assert "is a link" in error.message


@needs_links
def test_a_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    shutil.move(folder / "program/handlers", tmp_path / "handlers")
    _links(folder / "program/handlers", "../../handlers")
    assert verify_refuses(folder, "HB8003").path == "program/handlers"


@needs_links
def test_a_link_to_itself_is_no_endless_walk(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    _links(folder / "program/again", "..")
    assert verify_refuses(folder, "HB8003").path == "program/again"


@needs_links
def test_a_manifest_that_is_a_link_is_refused(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    shutil.move(folder / MANIFEST, tmp_path / "manifest")
    _links(folder / MANIFEST, "../manifest")
    assert verify_refuses(folder, "HB8003").path == MANIFEST


@needs_links
def test_the_folder_itself_may_be_reached_by_a_link(tmp_path: Path) -> None:
    making.unpacked(tmp_path / "made")
    _links(tmp_path / "current", "made")
    verify(tmp_path / "current").close()


@needs_links
def test_a_file_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    with verify(folder) as opened:
        shutil.move(folder / HANDLER, tmp_path / "outside.py")
        _links(folder / HANDLER, str(tmp_path / "outside.py"))
        with pytest.raises(BundleError) as caught:
            opened.read(HANDLER)
        assert caught.value.code == "HB8003"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    (folder / HANDLER).unlink()
    os.mkfifo(folder / HANDLER)
    assert verify_refuses(folder, "HB8003").path == HANDLER


def test_an_empty_folder_is_surplus(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    (folder / "program/json").mkdir()
    assert verify_refuses(folder, "HB8005").path == "program/json"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take no such name")
def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    Path(os.fsdecode(os.fsencode(folder) + b"/program/\xff.py")).write_bytes(b"")
    verify_refuses(folder, "HB8003")


def test_a_folder_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hermes_build.bundle import folder as room

    folder = making.unpacked(tmp_path / "made")
    monkeypatch.setattr(room, "MAX_FILES", 3)
    verify_refuses(folder, "HB8008")
    monkeypatch.undo()
    monkeypatch.setattr(room, "MAX_BYTES", 1000)
    verify_refuses(folder, "HB8008")


def test_an_empty_or_missing_path_is_an_error(tmp_path: Path) -> None:
    verify_refuses(tmp_path, "HB8001")
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "none")


def test_a_folder_is_a_container(tmp_path: Path) -> None:
    found = Folder(making.unpacked(tmp_path / "made"))
    assert found.names()[0] == MANIFEST
    assert {name: found.read(name) for name in found.names()} == ENTRIES
    assert LOCK in found
    assert {name: f"sha256:{digest}" for name, digest in found.digests(sums=False)} == {
        name: making.digest(data) for name, data in ENTRIES.items()
    }
