"""Verifying: each file is the one that the manifest lists, and there is no other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_build.bundle.archive import open_archive
from hermes_build.bundle.format import LOCK, MANIFEST, SIGNATURES, BundleError
from hermes_build.bundle.verifying import (
    open_container,
    open_files,
    open_hashed,
    verify,
    verify_container,
)
from tests.bundle import making
from tests.bundle.making import Make
from tests.bundle.refusing import verify_refuses

FILES = making.program()
ENTRIES = making.whole(FILES)
HANDLER = "program/handlers/ping.py"


def test_a_whole_bundle_is_opened(make: Make) -> None:
    with verify(make()) as opened:
        assert opened.manifest == making.manifest(FILES)
        assert opened.digest == opened.manifest.digest
        assert opened.names() == tuple(sorted(FILES))
        assert {name: opened.read(name) for name in opened.names()} == FILES
        assert opened.signatures is None
        assert opened.path == os.fspath(opened.container.path)


def test_both_containers_have_one_digest(tmp_path: Path) -> None:
    archive, folder = making.archive(tmp_path / "a"), making.unpacked(tmp_path / "b")
    with verify(archive) as one, verify(folder) as other:
        assert one.digest == other.digest == making.manifest(FILES).digest
        assert (one.container.kind, other.container.kind) == ("archive", "folder")


def test_what_zip_tools_unpack_is_whole(tmp_path: Path) -> None:
    shutil.unpack_archive(making.archive(tmp_path / "a"), tmp_path / "b", "zip")
    verify(tmp_path / "b").close()


def test_signatures_are_handed_on_unjudged(make: Make) -> None:
    with verify(make({**ENTRIES, SIGNATURES: b"\0 whatever"})) as opened:
        assert opened.signatures == b"\0 whatever"
        assert opened.digest == making.manifest(FILES).digest
        assert SIGNATURES not in opened.names()


# What is not.


def test_a_missing_file_is_named(make: Make) -> None:
    error = verify_refuses(make({k: v for k, v in ENTRIES.items() if k != HANDLER}), "HB8004")
    assert error.path == HANDLER


def test_a_surplus_file_is_named(make: Make) -> None:
    for path in ("program/handlers/more.py", "__pycache__/x.pyc", "x"):
        assert verify_refuses(make({**ENTRIES, path: b""}), "HB8005").path == path


def test_a_changed_file_is_named(make: Make) -> None:
    changed = FILES[HANDLER].replace(b"pong", b"PONG")
    error = verify_refuses(make({**ENTRIES, HANDLER: changed}), "HB8006")
    assert error.path == HANDLER
    assert "bytes" not in error.message
    error = verify_refuses(make({**ENTRIES, HANDLER: b""}), "HB8006")
    assert "(0 bytes, not 116)" in error.message


def test_a_bundle_without_a_manifest_is_none(make: Make) -> None:
    verify_refuses(make(FILES), "HB8001")


def test_a_manifest_that_lists_itself_is_refused(make: Make) -> None:
    for name in (MANIFEST, SIGNATURES):
        entries = making.whole({**FILES, name: b""})
        entries[MANIFEST] = making.manifest({**FILES, name: b""}).to_bytes()
        assert verify_refuses(make(entries), "HB8004").path == name


def test_a_manifest_that_lists_an_unsafe_name_is_refused(make: Make) -> None:
    for name in ("../x", "program/handlers/PING.py", "a\\b", "program/handlers"):
        entries = {MANIFEST: making.manifest({**FILES, name: b""}).to_bytes(), **FILES}
        assert name in verify_refuses(make(entries), "HB8003").message.replace("\\\\", "\\")


def test_a_file_in_no_place_of_a_bundle_is_refused(make: Make) -> None:
    for name in ("sitecustomize.py", "runtime/json.py", "hermes_build/x.py"):
        assert verify_refuses(make(making.whole({**FILES, name: b""})), "HB8007").path == name


@pytest.mark.parametrize("source", ["", "/", "..", "a/../b", "C:", "./src", "src/"])
def test_a_source_folder_that_leads_elsewhere_is_refused(make: Make, source: str) -> None:
    verify_refuses(make(making.whole(FILES, source=source)), "HB8001")


def test_a_huge_manifest_is_refused_unread(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_build.bundle import archive, verifying

    path = make()
    for room in (archive, verifying):
        monkeypatch.setattr(room, "MAX_MANIFEST", 100)
    verify_refuses(path, "HB8008")


def test_huge_signatures_are_refused_unread(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_build.bundle import verifying

    path = make({**ENTRIES, SIGNATURES: bytes(5000)})
    monkeypatch.setattr(verifying, "MAX_MANIFEST", 4000)
    verify_refuses(path, "HB8008")


# Opening.


def test_a_program_that_opens_a_bundle_waits_for_the_digests_alone(make: Make) -> None:
    changed = {**ENTRIES, HANDLER: FILES[HANDLER].replace(b"pong", b"PONG")}
    with pytest.raises(BundleError) as caught:
        open_hashed(open_container(make(changed)))
    assert (caught.value.code, caught.value.path) == ("HB8006", HANDLER)
    # What the files say of each other is for those who verify.
    files = {**FILES, LOCK: FILES[LOCK].replace(b"tool ping", b"tool pong")}
    path = make(making.whole(files))
    open_hashed(open_container(path)).close()
    verify_refuses(path, "HB8007")


# Reading later.


def test_a_file_that_is_changed_after_it_was_verified_is_not_read(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "made")
    with verify(folder) as opened:
        (folder / HANDLER).write_bytes(FILES[HANDLER].replace(b"pong", b"PONG"))
        with pytest.raises(BundleError) as caught:
            opened.read(HANDLER)
        assert (caught.value.code, caught.value.path) == ("HB8006", HANDLER)
        (folder / HANDLER).write_bytes(FILES[HANDLER] + b"#")
        with pytest.raises(BundleError) as caught:
            opened.read(HANDLER)
        assert caught.value.code == "HB8006"


def test_an_archive_that_is_changed_after_it_was_verified_is_not_read(tmp_path: Path) -> None:
    path = making.archive(tmp_path / "made")
    with verify(path) as opened:
        place = path.read_bytes().index(b"pong")
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"PONG")
        with pytest.raises(BundleError) as caught:
            opened.read(HANDLER)
        assert caught.value.code == "HB8002"
        assert opened.read(LOCK) == FILES[LOCK]


def test_opening_without_verifying_holds_each_file_against_the_manifest_when_it_is_read(
    make: Make,
) -> None:
    changed = {**ENTRIES, HANDLER: FILES[HANDLER].replace(b"pong", b"PONG")}
    with open_files(make(changed)) as opened:
        assert opened.read(LOCK) == FILES[LOCK]
        with pytest.raises(BundleError) as caught:
            opened.read(HANDLER)
        assert caught.value.code == "HB8006"
    missing = {name: data for name, data in ENTRIES.items() if name != LOCK}
    with pytest.raises(BundleError) as caught:
        open_files(make(missing))
    assert caught.value.code in ("HB8004", "HB8006")


def test_only_what_the_manifest_lists_can_be_read(make: Make) -> None:
    with verify(make({**ENTRIES, SIGNATURES: b"x"})) as opened:
        for name in (MANIFEST, SIGNATURES, "other", "../x"):
            with pytest.raises(KeyError):
                opened.read(name)


# Containers.


class Prefixed:
    """A container of its own: the tree below a folder of an archive, as a wheel has it."""

    kind = "wheel"

    def __init__(self, path: Path, prefix: str) -> None:
        self._inner, self._prefix = open_archive(path), prefix
        self.path = os.fspath(path)

    def names(self) -> tuple[str, ...]:
        found = (name for name in self._inner.names() if name.startswith(self._prefix))
        return tuple(name.removeprefix(self._prefix) for name in found)

    def size(self, name: str) -> int:
        return self._inner.size(self._prefix + name)

    def read(self, name: str) -> bytes:
        return self._inner.read(self._prefix + name)

    def pieces(self, name: str) -> Any:
        return self._inner.pieces(self._prefix + name)

    def digests(self, *, sums: bool) -> Any:
        for name, digest in self._inner.digests(sums=sums):
            if name.startswith(self._prefix):
                yield name.removeprefix(self._prefix), digest

    def close(self) -> None:
        self._inner.close()


def test_another_container_of_the_same_tree_is_verified_alike(tmp_path: Path) -> None:
    entries = {f"small_tools/{name}": data for name, data in ENTRIES.items()}
    path = making.archive(tmp_path / "a.whl", {**entries, "small_tools.dist-info/RECORD": b""})
    with verify_container(Prefixed(path, "small_tools/")) as opened:
        assert opened.digest == making.manifest(FILES).digest
        assert opened.read(HANDLER) == FILES[HANDLER]
    verify_refuses(path, "HB8001")


def test_a_refused_bundle_leaves_no_file_open(tmp_path: Path) -> None:
    closed = []

    class Watched(Prefixed):
        def close(self) -> None:
            closed.append(self.path)
            super().close()

    path = making.archive(tmp_path / "a", {f"x/{name}": data for name, data in FILES.items()})
    with pytest.raises(BundleError):
        verify_container(Watched(path, "x/"))
    assert closed == [os.fspath(path)]


def test_verifying_imports_no_part_of_the_compiler_or_of_the_bundle(tmp_path: Path) -> None:
    making.archive(tmp_path / "made")
    code = (
        "import sys; from hermes_build.bundle.verifying import verify; verify('made').close();"
        "print(*sorted(sys.modules))"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = done.stdout.split()
    ours = {name for name in modules if name.startswith("hermes_build")}
    assert not {
        name for name in ours if name.split(".")[1:2] in (["compiler"], ["runtime"], ["cli"])
    }
    assert not {"generated", "handlers", "asyncio", "zipfile", "yaml", "click"} & set(modules)
