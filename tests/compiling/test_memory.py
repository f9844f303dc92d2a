"""What a machine remembers of a compile changes no byte of the next; two never write at once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.command_line import (
    PROGRAM,
    contents,
    hermes,
    project,
)


def test_without_the_cache_nothing_is_remembered(tmp_path: Path) -> None:
    root = project(tmp_path, "read_file")
    assert hermes(root, "compile", "--no-cache").code == 0
    assert not (root / ".hermes-build/memory.json").exists()
    good = contents(root)
    assert hermes(root, "compile").code == 0
    assert (root / ".hermes-build/memory.json").exists()
    assert contents(root) == good


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"stamp": 1}', None])
def test_a_damaged_memory_is_an_empty_one(root: Path, damage: bytes | None) -> None:
    good = contents(root)
    memory = root / ".hermes-build/memory.json"
    if damage is None:
        rows = json.loads(memory.read_bytes())
        rows["declared"] = {path: [] for path in rows["declared"]}
        rows["stubs"] = {}
        damage = json.dumps(rows).encode()
    memory.write_bytes(damage)
    done = hermes(root, "compile")
    assert (done.code, done.out) == (0, "")
    assert contents(root) == good


def test_a_second_compile_waits_for_the_first(root: Path) -> None:
    from filelock import FileLock

    with FileLock(root / ".hermes-build/compile.lock"):
        waiting = subprocess.Popen(
            [*PROGRAM, "compile"], cwd=root, stderr=subprocess.PIPE, text=True
        )
        assert waiting.stderr
        line = waiting.stderr.readline()
        assert line == "another hermes-build is writing here; waiting for it\n"
        assert waiting.poll() is None
    assert waiting.communicate(timeout=60)[1].startswith("compiled 2 tools")
    assert waiting.returncode == 0
