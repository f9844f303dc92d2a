"""What stands in the way of ``hermes-build compile`` is ours to replace, or reported and kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.command_line import (
    LOCK,
    contents,
    edit,
    hermes,
    project,
    write,
)


def test_a_file_of_somebody_else_is_never_replaced(tmp_path: Path) -> None:
    root = project(tmp_path, "read_file")
    write(root, {"generated/tools/read_file.py": "mine = 1\n"})
    before = contents(root)
    done = hermes(root, "compile")
    assert (done.code, done.codes) == (1, ["HB5003"])
    assert contents(root) == before
    assert hermes(root, "compile", "--check").codes.count("HB5003") == 1


def test_a_file_edited_by_hand_is_named_and_overwritten(root: Path) -> None:
    before = contents(root)
    edit(root, "generated/tools/read_file.py", "TypedDict", "Dict")
    done = hermes(root, "compile")
    assert (done.code, done.out) == (0, "")
    assert "generated/tools/read_file.py had been edited by hand" in done.err
    assert contents(root) == before


def test_a_lock_with_a_merge_conflict_is_reported_and_written_anew(root: Path) -> None:
    good = contents(root)
    lines = (root / LOCK).read_text().splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if "write_file" in line)
    block = "".join(lines[at:])
    conflict = (
        f"<<<<<<< ours\n{block}=======\n{block.replace('write_file', 'gone')}>>>>>>> theirs\n"
    )
    write(root, {LOCK: "".join(lines[:at]) + conflict})
    for arguments in (["compile", "--check"], ["compile", "--locked"], ["check"]):
        done = hermes(root, *arguments)
        assert done.code == 1, arguments
        assert "HB5005" in done.codes, arguments
        assert "hermes-build compile" in done.out
    assert hermes(root, "compile").code == 0
    assert contents(root) == good


def test_files_that_only_a_conflicting_lock_names_are_still_ours(root: Path) -> None:
    lines = (root / LOCK).read_text().splitlines(keepends=True)
    (root / "tool_specs/write_file.yaml").unlink()
    write(root, {LOCK: "<<<<<<< ours\n" + "".join(lines) + "=======\n>>>>>>> theirs\n"})
    assert hermes(root, "compile").code == 0
    assert not (root / "generated/tools/write_file.py").exists()
    assert hermes(root, "check").code == 0


def test_a_missing_lock_is_written_again(root: Path) -> None:
    good = contents(root)
    (root / LOCK).unlink()
    check = hermes(root, "compile", "--check")
    assert (check.code, check.codes) == (1, ["HB5004"])
    assert hermes(root, "compile").err.endswith("wrote the lock, 6 unchanged\n")
    assert contents(root) == good


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("generated", ["HB5003"]),
        (LOCK, ["HB5005"]),
        (".hermes-build", ["HB5008"]),
        ("tool_specs", ["HB0001", "HB1007"]),
        ("toolsets", ["HB0001"]),
    ],
)
def test_a_file_for_a_folder_and_a_folder_for_a_file_are_findings(
    root: Path, path: str, codes: list[str]
) -> None:
    if (root / path).is_dir():
        shutil.rmtree(root / path)
    if path == LOCK:
        (root / LOCK).unlink()
        (root / LOCK).mkdir()
    else:
        write(root, {path: "a file\n"})
    done = hermes(root, "compile")
    assert (done.code, sorted(done.codes)) == (1, codes)
    assert "move" in done.out or path in ("tool_specs", "toolsets")
    assert hermes(root, "check").code == int(path != ".hermes-build")
    assert hermes(root, "doctor").code in (0, 1)
