"""Installing that dies, meets a full disk, or meets another: the old state is whole, or the new."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from hermes_build.bundle.store import Store
from hermes_build.bundle.verifying import verify
from tests.bundle.making import archive, program, whole
from tests.command_line import PROGRAM, hermes
from tests.killing import Runs

if sys.platform == "win32":
    pytest.skip("processes are forked and disks mounted here", allow_module_level=True)

MODULES = (
    "hermes_build.bundle.store",
    "hermes_build.cli.app",
    "hermes_build.cli.installing",
    "hermes_build.runtime.bundles",
)


def made(folder: Path, result: str, size: int = 400_000) -> Path:
    """An archive with some data, whose writing takes a while; ``size`` is in bytes."""
    data = random.Random(result).randbytes(size)
    files = {**program(result=result), "program/handlers/data.bin": data}
    return archive(folder / f"{result}.hermes", whole(files))


def install(store: Store, path: Path) -> str:
    with verify(path) as opened:
        return store.install(opened).current


def is_whole(store: Store) -> None:
    """Every version that the list names is there, and verifies."""
    for one in store.installed():
        for digest in one.versions:
            with verify(store.archive(digest)) as opened:
                assert opened.digest == digest
                assert opened.manifest.name == one.name


def litter(store: Store) -> set[str]:
    named = {f"{digest}.hermes" for one in store.installed() for digest in one.versions}
    found = {path.name for path in Path(store.folder).rglob("*") if path.is_file()}
    return found - named - {"installed.json", "lock"}


def test_a_run_killed_before_any_of_its_writes_leaves_the_old_state_or_the_new(
    tmp_path: Path,
) -> None:
    bundles = [made(tmp_path, name, 1000) for name in ("one", "two", "three")]
    one, two, three = (verify(path).digest for path in bundles)
    saved, store = Store(tmp_path / "saved"), Store(tmp_path / "store")
    for path in bundles[:2]:
        install(saved, path)
    into, inside = ("--into", store.folder), ("--in", store.folder)
    moments = 0
    with Runs(tmp_path, MODULES) as runs:
        for wanted, command in (
            (three, ("install", str(bundles[2]), *into)),
            (one, ("install", str(bundles[0]), *into)),
            (one, ("rollback", "small", *inside)),
            (two, ("gc", "--keep", "0", *inside)),
        ):
            for moment in count(1):
                shutil.rmtree(store.folder, ignore_errors=True)
                shutil.copytree(saved.folder, store.folder)
                runs.start(*command, before_write=moment)
                ended = runs.status()
                is_whole(store)
                assert store.find("small").current in (two, wanted)
                if ended == 0:
                    assert store.find("small").current == wanted
                    break
                assert ended == -signal.SIGKILL
                moments += bool(litter(store))
                # The next run succeeds, and nothing of the killed one is left.
                install(store, bundles[2])
                assert store.find("small").current == three
                is_whole(store)
                assert not litter(store)
    assert moments >= 4, "kills must meet an archive, a part of one, and one that is to go"


def test_the_first_run_of_all_killed_before_any_of_its_writes_is_in_nobodys_way(
    tmp_path: Path,
) -> None:
    path = made(tmp_path, "one", 1000)
    store = Store(tmp_path / "store")
    with Runs(tmp_path, MODULES) as runs:
        for moment in count(1):
            shutil.rmtree(store.folder, ignore_errors=True)
            runs.start("install", str(path), "--into", store.folder, before_write=moment)
            if runs.status() == 0:
                break
            is_whole(store)
            install(store, path)
            is_whole(store)
            assert not litter(store)
    assert moment > 4


def test_a_run_killed_while_it_writes_leaves_the_old_state(tmp_path: Path) -> None:
    dice = random.Random(20_261_201)
    store = Store(tmp_path / "store")
    bundles = [made(tmp_path, name, 4_000_000) for name in ("one", "two")]
    digest = install(store, bundles[0])
    left = 0
    with Runs(tmp_path, MODULES) as runs:
        for _ in range(6):
            command = ("install", str(bundles[1]), "--into", store.folder)
            runs.kill(*command, after=dice.uniform(0, 0.002), begun=lambda: is_writing(store))
            left += any(name.endswith(".part") for name in litter(store))
            is_whole(store)
            install(store, bundles[0])
            assert store.find("small").current == digest
            store.gc(keep=0)
            assert not litter(store)
    assert left, "some kills must meet a run while it writes"


def is_writing(store: Store) -> bool:
    return any(name.endswith(".part") for name in litter(store))


def test_runs_at_once_all_take_effect(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    bundles = [made(tmp_path, f"version{number}") for number in range(4)]
    for _ in range(2):
        commands = [["install", str(path), "--into", store.folder] for path in bundles]
        commands += [["gc", "--in", store.folder]] * 2
        running = [
            subprocess.Popen([*PROGRAM, *command], cwd=tmp_path, stderr=subprocess.PIPE)
            for command in commands
        ]
        for one in running:
            said = one.communicate(timeout=120)[1]
            assert one.returncode == 0, said
        found = store.find("small")
        assert set(found.versions) == {verify(path).digest for path in bundles}
        is_whole(store)
        assert not litter(store)


def test_one_bundle_installed_twice_at_once_is_kept_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    path = made(tmp_path, "one", 4_000_000)
    running = [
        subprocess.Popen([*PROGRAM, "install", str(path), "--into", store.folder], cwd=tmp_path)
        for _ in range(3)
    ]
    assert [one.wait(120) for one in running] == [0, 0, 0]
    assert len(store.find("small").versions) == 1
    is_whole(store)
    assert not litter(store)


def test_a_reader_never_sees_a_name_without_its_archive(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    bundles = [made(tmp_path, name) for name in ("one", "two")]
    for path in bundles:
        install(store, path)
    with Runs(tmp_path, MODULES) as runs:
        for number in range(10):
            runs.start("install", str(bundles[number % 2]), "--into", store.folder)
            for _ in range(20):
                assert os.path.isfile(store.path("small"))
            assert runs.status() == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte, where this process may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip("this process may not mount a disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_changes_nothing_and_is_said(small_disk: Path, tmp_path: Path) -> None:
    store = Store(small_disk / "store")
    old, new = (made(tmp_path, name) for name in ("one", "two"))
    digest = install(store, old)
    filler = small_disk / "filler"
    refused = 0
    for left in (0, 4096, 200_000, 396_000):
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 4096)
        os.truncate(filler, max(0, filler.stat().st_size // 4096 * 4096 - left))
        done = hermes(tmp_path, "install", str(new), "--into", store.folder)
        if done.code:
            refused += 1
            assert done.code == 2
            assert "No space left on device; nothing was changed" in done.err
            assert "Traceback" not in done.err
            assert store.find("small").versions == (digest,)
        is_whole(store)
        assert not litter(store)
    assert refused >= 3
    filler.unlink()
    assert hermes(tmp_path, "install", str(new), "--into", store.folder).code == 0
    assert store.find("small").earlier == (digest,)
    is_whole(store)


def test_a_disk_that_is_only_read_can_be_listed_and_used(small_disk: Path, tmp_path: Path) -> None:
    store = Store(small_disk / "store")
    path = made(tmp_path, "one")
    digest = install(store, path)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    listed = hermes(tmp_path, "installed", "--in", store.folder)
    assert (listed.code, listed.out) == (0, f"small  sha256:{digest}\n  ping\n")
    assert hermes(tmp_path, "verify", store.path("small")).code == 0
    for command in (
        ["install", str(path), "--into", store.folder],
        ["rollback", "small", "--to", digest, "--in", store.folder],
        ["gc", "--in", store.folder],
    ):
        done = hermes(tmp_path, *command)
        assert done.code == 2, done
        assert "Read-only file system" in done.err
    assert store.find("small").current == digest
