"""A compile that dies, or meets a full disk or another compile, leaves the old state or the new."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import LOCK, PROGRAM, contents, hermes, process, project, spec, write

KILLS = 20
TOOLS = 6

# One process that has imported everything forks a compile for each line that it reads: starting
# an interpreter and importing the generator would take most of the time.
COMPILES = """
import os, sys
import hermes_build.compiler.emit.generator
from hermes_build.cli import main
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        sys.argv = ["hermes-build", *line.split()]
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        main()
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Compiles:
    """Starts compiles that are killed after a while."""

    def __init__(self, root: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", COMPILES],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def start(self, *arguments: str) -> int:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(" ".join(("compile", *arguments)) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def status(self) -> int:
        assert self.process.stdout
        return os.waitstatus_to_exitcode(int(self.process.stdout.readline()))


def state(number: int) -> dict[str, str]:
    """The specs of one state: some tools are there only in it, some differ, some stay."""
    made = {}
    for n in range(TOOLS):
        name = f"only_{number}_{n}" if n % 3 == 0 else f"tool_{n}"
        text = spec(name)
        if n % 3 == 1:
            text = text.replace("limit:", f"limit_{number}:")
        made[f"tool_specs/{name}.yaml"] = text
    return made


def put(root: Path, number: int) -> None:
    shutil.rmtree(root / "tool_specs", ignore_errors=True)
    write(root, state(number))


def output(root: Path) -> dict[str, bytes]:
    found = contents(root)
    return {path: found[path] for path in found if not path.startswith(("tool_specs/", "pypro"))}


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """The output of two states, each compiled in a folder of its own."""
    found = []
    for number in (0, 1):
        root = project(tmp_path_factory.mktemp(f"state_{number}"))
        put(root, number)
        assert hermes(root, "compile").code == 0
        found.append(output(root))
    assert found[0] != found[1]
    return found


def test_a_compile_killed_at_any_moment_is_repaired_by_the_next(
    tmp_path: Path, states: list[dict[str, bytes]]
) -> None:
    dice = random.Random(20_240_601)
    root = project(tmp_path)
    write(root, {"generated/mine.txt": "mine\n"})
    mine = {"generated/mine.txt": b"mine\n"}
    compiles = Compiles(root)
    put(root, 0)
    compiles.start()
    assert compiles.status() == 0
    put(root, 1)
    before = time.monotonic()
    compiles.start()
    assert compiles.status() == 0
    span = time.monotonic() - before
    half_way = torn = 0
    try:
        for kill in range(KILLS):
            target = kill % 2
            put(root, target)
            child = compiles.start("--no-cache" if kill % 5 == 0 else "--jobs=1")
            if kill % 3:
                _wait_for_writing(root, child)
                time.sleep(dice.uniform(0, 0.003))
            else:
                time.sleep(dice.uniform(0, span))
            with contextlib.suppress(ProcessLookupError):  # it was faster
                os.killpg(child, signal.SIGKILL)
            compiles.status()
            found = output(root)
            old, new = ({**states[n], **mine} for n in (1 - target, target))
            torn += found not in (old, new)
            half_way += (root / ".hermes-build/journal").exists()
            # Whatever was left, `check` says what it is, and the next compile repairs it.
            if kill % 4 == 0:
                checked = hermes(root, "check", "--no-import")
                assert checked.code == int(found != new), checked
            back = target if dice.random() < 0.7 else 1 - target
            put(root, back)
            done = hermes(root, "compile")
            assert done.code == 0, done
            assert output(root) == {**states[back], **mine}
            assert not (root / ".hermes-build/journal").exists()
    finally:
        compiles.process.kill()
        compiles.process.communicate()
    assert half_way or torn, "some kills must meet a compile while it writes"


def _wait_for_writing(root: Path, child: int) -> None:
    """Wait until a compile has announced what it writes, or has ended."""
    journal = root / ".hermes-build/journal"
    with contextlib.suppress(ProcessLookupError):
        while not journal.exists():
            os.kill(child, 0)
            time.sleep(0.0005)


def test_two_compiles_at_once_give_what_one_gives(
    tmp_path: Path, states: list[dict[str, bytes]]
) -> None:
    root = project(tmp_path)
    for number in (0, 1):
        put(root, number)
        both = [
            subprocess.Popen([*PROGRAM, "compile"], cwd=root, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        for one in both:
            assert one.communicate(timeout=60)[1].split(b"\n")[-2].startswith(b"compiled 6 tools")
            assert one.returncode == 0
        assert output(root) == states[number]
        assert not list(root.rglob("*.tmp"))


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


def test_a_full_disk_changes_nothing_and_is_said(
    small_disk: Path, states: list[dict[str, bytes]]
) -> None:
    root = project(small_disk)
    put(root, 0)
    assert hermes(root, "compile").code == 0
    put(root, 1)
    filler = root / "filler"
    refused = 0
    for left in (0, 4096, 20_000, 40_000):
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 4096)
        os.truncate(filler, max(0, filler.stat().st_size // 4096 * 4096 - left))
        done = hermes(root, "compile")
        refused += done.code
        found = output(root)
        del found["filler"]
        assert found == states[1 if done.code == 0 else 0]
        if done.code:
            assert done.codes == ["HB5008"]
            assert "make room on the disk" in done.out
            assert "Traceback" not in done.err
    assert refused >= 2
    filler.unlink()
    assert hermes(root, "compile").code == 0
    assert output(root) == states[1]


def test_a_disk_that_is_only_read_can_be_checked_and_not_compiled(
    small_disk: Path, states: list[dict[str, bytes]]
) -> None:
    root = project(small_disk)
    put(root, 0)
    assert hermes(root, "compile").code == 0
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(remount, check=True)
    for command in (["check"], ["check"], ["lint"], ["compile", "--check"], ["show"]):
        assert hermes(root, *command).code == 0, command
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB5008"])
    assert "nothing was changed" in done.out
    assert output(root) == states[0]


def test_a_file_that_cannot_grow_changes_nothing(
    tmp_path: Path, states: list[dict[str, bytes]]
) -> None:
    root = project(tmp_path)
    put(root, 0)
    assert hermes(root, "compile").code == 0
    put(root, 1)
    limit = 900  # bytes: enough for most files, and too few for the catalogue

    def shrink() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [*PROGRAM, "compile", "--no-cache"],
        cwd=root,
        preexec_fn=shrink,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done
    assert "HB5008" in done.stdout
    assert "nothing was changed" in done.stdout
    assert output(root) == states[0]
    assert not list(root.rglob("*.tmp"))
    assert process(root, "compile").code == 0
    assert output(root) == states[1]


def test_an_interrupt_while_compiling_leaves_the_old_state_or_the_new(
    tmp_path: Path, states: list[dict[str, bytes]]
) -> None:
    dice = random.Random(7)
    root = project(tmp_path)
    put(root, 1)
    compiles = Compiles(root)
    try:
        before = time.monotonic()
        compiles.start()
        codes = {compiles.status()}
        span = time.monotonic() - before
        for number in range(6):
            target = number % 2
            put(root, target)
            child = compiles.start("--no-cache")
            time.sleep(dice.uniform(0.005, span))
            with contextlib.suppress(ProcessLookupError):  # it was faster
                os.kill(child, signal.SIGINT)
            codes.add(compiles.status())
            assert output(root) in (states[target], states[1 - target])
            assert hermes(root, "compile").code == 0
            assert output(root) == states[target]
        # An interpreter that is ending already dies of the signal itself.
        assert codes <= {0, 130, -signal.SIGINT}
    finally:
        compiles.process.kill()
        compiles.process.communicate()


def test_what_the_old_lock_names_is_all_that_is_ever_deleted(tmp_path: Path) -> None:
    root = project(tmp_path, "read_file", "write_file")
    assert hermes(root, "compile").code == 0
    write(root, {"generated/tools/mine.py": "mine = 1\n", "generated/data/mine.txt": "mine\n"})
    (root / "tool_specs/write_file.yaml").unlink()
    assert hermes(root, "compile").code == 0
    found = contents(root)
    assert "generated/tools/write_file.py" not in found
    assert {"generated/tools/mine.py", "generated/data/mine.txt"} <= set(found)
    assert LOCK in found
