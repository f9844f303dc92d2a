"""A compile that dies, or meets a full disk or another compile, leaves the old state or the new."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.command_line import LOCK, PROGRAM, contents, hermes, process, project, spec, write
from tests.killing import Runs

TOOLS = 3
STEP = 4
"""Each run is killed so many writes later than the one before it."""

MODULES = ("hermes_build.compiler.emit.generator", "hermes_build.cli.app")


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


def test_a_compile_killed_before_any_of_its_writes_is_repaired_by_the_next(
    tmp_path: Path, states: list[dict[str, bytes]]
) -> None:
    root = project(tmp_path)
    write(root, {"generated/mine.txt": "mine\n"})
    mine = {"generated/mine.txt": b"mine\n"}
    half_way = torn = 0
    put(root, 1)
    assert hermes(root, "compile").code == 0
    with Runs(root, MODULES) as runs:
        for kill in count():
            target = kill % 2
            put(root, target)
            runs.start("compile", "--jobs=1", before_write=1 + STEP * kill)
            ended = runs.status()
            found = output(root)
            old, new = ({**states[n], **mine} for n in (1 - target, target))
            if ended == 0:
                assert found == new
                break
            assert ended == -signal.SIGKILL
            journal = (root / ".hermes-build/journal").exists()
            assert found in (old, new) or journal
            half_way += journal
            torn += found not in (old, new)
            # Whatever was left, `check` says what it is, and the next compile repairs it, also
            # where somebody has taken the change back.
            if kill % 4 == 0:
                checked = hermes(root, "check", "--no-import")
                assert checked.code == int(found != new), checked
            back = target if kill % 3 else 1 - target
            put(root, back)
            done = hermes(root, "compile")
            assert done.code == 0, done
            assert output(root) == {**states[back], **mine}
            assert not (root / ".hermes-build/journal").exists()
            if back != target:
                put(root, target)
                assert hermes(root, "compile").code == 0
    assert half_way >= torn >= 3, "kills must meet a compile while it writes"


def test_a_compile_killed_while_it_works_is_repaired_by_the_next(
    tmp_path: Path, states: list[dict[str, bytes]]
) -> None:
    dice = random.Random(20_240_601)
    root = project(tmp_path)
    put(root, 1)
    journal = root / ".hermes-build/journal"
    with Runs(root, MODULES) as runs:
        span = runs.span("compile")
        for kill in range(4):
            put(root, kill % 2)
            if kill % 2:
                after, begun = dice.uniform(0, 0.003), journal.exists
            else:
                after, begun = dice.uniform(0, span), lambda: True
            runs.kill("compile", "--jobs=1", after=after, begun=begun)
            assert hermes(root, "compile").code == 0
            assert output(root) == states[kill % 2]


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
            assert one.communicate(timeout=60)[1].split(b"\n")[-2].startswith(b"compiled 3 tools")
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
    (root / ".hermes-build/memory.json").unlink()  # as one that another version has written
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
    codes = set()
    with Runs(root, MODULES) as runs:
        span = runs.span("compile")
        for number in range(4):
            target = number % 2
            put(root, target)
            after = dice.uniform(0.005, span)
            stop = {"after": after, "begun": lambda: True, "send": signal.SIGINT}
            codes.add(runs.kill("compile", "--no-cache", **stop))
            assert output(root) in (states[target], states[1 - target])
            assert hermes(root, "compile").code == 0
            assert output(root) == states[target]
    # An interpreter that is ending already dies of the signal itself.
    assert codes <= {0, 130, -signal.SIGINT}


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
