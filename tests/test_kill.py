"""A write that is killed at any moment leaves the old state or the new one after the next write."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from hermes_build.canonical import digest
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.journal import Journal, read_journal
from hermes_build.compiler.tree import Tree, compare, read_lock
from hermes_build.compiler.write import exclusive, write
from hermes_build.lock import Lock, LockedFile, render

LOCK = "hermes-build.lock"
KILLS = 120
FOREIGN = {
    "generated/tools/mine.txt": b"mine\n",
    "generated/.0000-1.tmp": b"looks like ours\n",
    "handlers/tools.py": b"work = 1\n",
}

# One process that forks a writer whenever it reads a line: a fresh interpreter for each kill would
# take most of the test's time.
WRITERS = """
import os, sys
sys.path.insert(0, os.path.dirname(sys.argv[2]))
from pathlib import Path
from test_kill import generation, lock_of, step
import filelock
root = Path(sys.argv[1])
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        number = int(line)
        while True:
            number += 1
            step(root, generation(number))
    print(child, flush=True)
    os.waitpid(child, 0)
    print("dead", flush=True)
"""


def generation(number: int) -> Tree:
    """A tree in which some files stay, some change, and some are there only this once."""
    tree: Tree = {f"generated/tools/stays_{n}.py": b"stays\n" for n in range(6)}
    for n in range(12):
        tree[f"generated/tools/changes_{n}.py"] = f"# {number}\n".encode() * (500 * n + 1)
    for n in range(6):
        tree[f"generated/once_{number}/only_{n}.py"] = f"once = {number}\n".encode()
    return tree


def lock_of(tree: Tree) -> bytes:
    files = tuple(LockedFile(path, digest(data)) for path, data in tree.items())
    return render(Lock(runtime=1, files=files))


def step(root: Path, tree: Tree) -> None:
    """What a compile does at its end."""
    findings = Findings()
    with exclusive(root, findings, lambda: None):
        _, owned = read_lock(root, LOCK, findings)
        changes = write(root, tree, owned, LOCK, lock_of(tree), findings, "generated")
    assert changes is not None, list(findings)


def on_disk(root: Path) -> Tree:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".hermes-build" not in path.parts
    }


def whole(path: str, data: bytes) -> bool:
    """Whether a file is one of a generation's, in full."""
    if "/stays_" in path:
        return data == b"stays\n"
    if path == LOCK:
        return data.endswith(b"\n") and data.count(b"\nfile ") == len(generation(0))
    line, n = data.partition(b"\n")[0] + b"\n", path.rpartition("_")[2].removesuffix(".py")
    return data == line * (500 * int(n) + 1 if "/changes_" in path else 1)


def test_a_write_killed_at_any_moment_is_repaired_by_the_next(tmp_path: Path) -> None:
    dice = random.Random(20_240_601)
    for path, data in FOREIGN.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    command = [sys.executable, "-c", WRITERS, str(tmp_path), __file__]
    interrupted = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writers:
        assert writers.stdin
        assert writers.stdout
        for nth in range(KILLS):
            writers.stdin.write(b"%d\n" % (nth * 1000))
            writers.stdin.flush()
            child = int(writers.stdout.readline())
            time.sleep(dice.uniform(0, 0.06))
            os.kill(child, signal.SIGKILL)
            assert writers.stdout.readline() == b"dead\n"

            found = on_disk(tmp_path)
            temps = set(read_journal(tmp_path).temps)
            interrupted += read_journal(tmp_path) != Journal()
            for path, data in found.items():
                assert path in FOREIGN or path in temps or whole(path, data), path

            target = generation(nth * 1000 + 999 if nth % 3 else 7)
            _, owned = read_lock(tmp_path, LOCK, Findings())
            assert compare(tmp_path, target, owned, "generated").foreign == ()
            step(tmp_path, target)
            assert on_disk(tmp_path) == {**FOREIGN, **target, LOCK: lock_of(target)}
            assert read_journal(tmp_path) == Journal()
            folders = {one.name for one in tmp_path.glob("generated/once_*")}
            assert folders == {Path(path).parts[1] for path in target if "/once_" in path}
        writers.stdin.close()
    assert interrupted > KILLS // 4, "the kills must meet writes half-way"


class _Interrupted(BaseException):
    pass


def test_an_interrupt_at_any_moment_is_undone(tmp_path: Path) -> None:
    dice = random.Random(7)

    def interrupt(*_: object) -> None:
        raise _Interrupted

    step(tmp_path, generation(0))
    handler = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for number in range(1, 80):
            old = generation(number - 1)
            new = generation(number)
            _, owned = read_lock(tmp_path, LOCK, Findings())
            signal.setitimer(signal.ITIMER_REAL, dice.uniform(0.000_01, 0.02))
            try:
                write(tmp_path, new, owned, LOCK, lock_of(new), Findings(), "generated")
                signal.setitimer(signal.ITIMER_REAL, 0)
            except _Interrupted:
                interrupted += 1
            found = on_disk(tmp_path)
            assert found in ({**old, LOCK: lock_of(old)}, {**new, LOCK: lock_of(new)})
            step(tmp_path, new)
            assert on_disk(tmp_path) == {**new, LOCK: lock_of(new)}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert interrupted > 20
