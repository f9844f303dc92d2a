"""Installing that dies, meets a full disk, or meets another: the old state is whole, or the new."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_build.bundle.store import Store
from hermes_build.bundle.verifying import verify
from tests.bundle.making import archive, program, whole
from tests.command_line import PROGRAM, hermes

if sys.platform == "win32":
    pytest.skip("processes are forked and disks mounted here", allow_module_level=True)

KILLS = 40

# One process that has imported everything forks a run for each line that it reads.
RUNS = """
import os, sys
import hermes_build.bundle.store, hermes_build.cli.app, hermes_build.cli.installing
from hermes_build.cli import main
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        sys.argv = ["hermes-build", *line.split()]
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        main()
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Runs:
    """Starts runs of the command line that are killed after a while."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", RUNS],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def start(self, *arguments: str) -> int:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(" ".join(arguments) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def status(self) -> int:
        assert self.process.stdout
        return os.waitstatus_to_exitcode(int(self.process.stdout.readline()))

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


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


def test_a_run_killed_at_any_moment_leaves_the_old_state_or_the_new(tmp_path: Path) -> None:
    dice = random.Random(20_261_201)
    store = Store(tmp_path / "store")
    bundles = [made(tmp_path, name, 4_000_000) for name in ("one", "two", "three")]
    digests = {path: verify(path).digest for path in bundles}
    install(store, bundles[0])
    runs = Runs(tmp_path)
    left = 0
    into = ("--into", store.folder)
    try:
        before = time.monotonic()
        runs.start("install", str(bundles[1]), *into)
        assert runs.status() == 0
        span = time.monotonic() - before
        for kill in range(KILLS):
            state = store.find("small")
            target = bundles[kill % 3]
            if kill % 5 == 4:
                command = ("rollback", "small", "--to", state.versions[0], "--in", store.folder)
                wanted = state.versions[0]
            elif kill % 5 == 3:
                command = ("gc", "--keep", "0", "--in", store.folder)
                wanted = state.current
            else:
                command = ("install", str(target), *into)
                wanted = digests[target]
            child = runs.start(*command)
            if kill % 2:
                wait_for_a_part(store, child)
                time.sleep(dice.uniform(0, 0.002))
            else:
                time.sleep(dice.uniform(0, span))
            with contextlib.suppress(ProcessLookupError):  # it was faster
                os.kill(child, signal.SIGKILL)
            runs.status()
            left += bool(litter(store))
            assert store.find("small").current in (state.current, wanted)
            is_whole(store)
            # The next run succeeds, and nothing of the killed one is left.
            done = hermes(tmp_path, "install", str(target), *into)
            assert done.code == 0, done
            assert store.find("small").current == digests[target]
            is_whole(store)
            assert not litter(store)
            if kill % 4 == 0:
                # So that the next ones are written anew.
                assert hermes(tmp_path, "gc", "--keep", "0", "--in", store.folder).code == 0
    finally:
        runs.stop()
    assert left, "some kills must meet a run while it writes"


def wait_for_a_part(store: Store, child: int) -> None:
    """Wait until a run has begun to write, or has ended."""
    with contextlib.suppress(ProcessLookupError):
        while not any(name.endswith(".part") for name in litter(store)):
            os.kill(child, 0)
            time.sleep(0.0002)


def test_runs_at_once_all_take_effect(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    bundles = [made(tmp_path, f"version{number}") for number in range(6)]
    for _ in range(3):
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
    runs = Runs(tmp_path)
    try:
        for number in range(10):
            runs.start("install", str(bundles[number % 2]), "--into", store.folder)
            for _ in range(20):
                assert os.path.isfile(store.path("small"))
            assert runs.status() == 0
    finally:
        runs.stop()


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
