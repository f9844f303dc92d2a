"""What is remembered of a judgement, and when it no longer holds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_build.compiler import status
from hermes_build.compiler.memory import RememberedStub, open_memory
from hermes_build.compiler.verdict import Watch, remember, remembered, stamp

INPUTS = ("pyproject.toml", "hermes-build.toml", "tool_specs", "templates", "handlers")
VERDICT = ".hermes-build/verdict"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for folder in ("tool_specs/sub", "handlers"):
        (root / folder).mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.hermes-build]\n")
    (root / "tool_specs/a.yaml").write_text("name: a\n")
    (root / "tool_specs/sub/b.yaml").write_text("name: b\n")
    (root / "handlers/h.py").write_text("work = 1\n")
    for path in root.rglob("*.*"):
        age(path)
    return root


def age(path: Path) -> None:
    """Let a file be an hour old, as most are; its change time stays, as the system wants it."""
    then = path.lstat().st_mtime_ns - 3_600_000_000_000
    os.utime(path, ns=(then, then), follow_symlinks=False)


def watching(root: Path, *inputs: str) -> Watch:
    watch = Watch(root)
    watch.add(*(inputs or INPUTS))
    return watch


def holds(root: Path, mark: str = "stamp") -> bool:
    return remembered(root, mark) is not None


def test_a_judgement_comes_back_while_nothing_changes(root: Path) -> None:
    assert not holds(root)
    assert remember(watching(root), "stamp", '[{"message": "é"}]')
    for _ in range(3):
        assert remembered(root, "stamp") == '[{"message": "é"}]'
    assert not holds(root, "another stamp")


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda root: (root / "tool_specs/a.yaml").write_text("name: c\n"),
    "longer": lambda root: (root / "tool_specs/a.yaml").write_text("name: longer\n"),
    "new": lambda root: (root / "tool_specs/sub/new.yaml").write_text(""),
    "new folder": lambda root: (root / "templates").mkdir(),
    "was missing": lambda root: (root / "hermes-build.toml").write_text(""),
    "removed": lambda root: (root / "handlers/h.py").unlink(),
    "removed folder": lambda root: shutil.rmtree(root / "handlers"),
    "renamed": lambda root: (root / "handlers/h.py").rename(root / "handlers/i.py"),
    "file for folder": lambda root: (root / "templates").write_text("a file"),
    "link": lambda root: (root / "handlers/link.py").symlink_to("h.py"),
    "dangling": lambda root: (root / "handlers/link.py").symlink_to("nowhere"),
    "link to a folder": lambda root: (root / "tool_specs/link").symlink_to("."),
    "pipe": lambda root: os.mkfifo(root / "handlers/pipe"),
    "seat": lambda root: (root / ".hermes-build/.gitignore").chmod(0o600),
}


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_is_seen(root: Path, what: str) -> None:
    remember(watching(root), "stamp", "")
    assert holds(root)
    CHANGES[what](root)
    assert not holds(root)


def test_a_change_that_keeps_size_and_time_is_seen(root: Path) -> None:
    path = root / "tool_specs/a.yaml"
    before = path.stat()
    remember(watching(root), "stamp", "")
    path.write_text("name: c\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert not holds(root)


def test_a_change_in_the_tick_of_the_verdict_is_seen(root: Path) -> None:
    """Two writes within one tick of the clock leave one status: try until both meet in one."""
    path = root / "tool_specs/a.yaml"
    met = 0
    for nth in range(300):
        with path.open("r+") as file:
            file.write("name: a\n")
        remember(watching(root), "stamp", "")
        before = path.stat()
        with path.open("r+") as file:
            file.write("name: c\n")
        after = path.stat()
        met += (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)
        assert not holds(root)
        if met > 3 and nth > 20:
            break


def test_new_times_on_the_same_content_are_noted_and_hold(root: Path) -> None:
    remember(watching(root), "stamp", "")
    for path in root.glob("[a-z]*/*.*"):
        if path.is_file():
            path.write_bytes(path.read_bytes())
    assert holds(root)
    table = (root / VERDICT).read_bytes()
    assert f"{(root / 'handlers/h.py').stat().st_mtime_ns}".encode() in table


def test_once_settled_no_file_is_opened_again(root: Path) -> None:
    remember(watching(root), "stamp", "[]")
    script = f"""
import sys, time
from hermes_build.compiler.verdict import remembered
time.sleep(0.1)
assert remembered({str(root)!r}, "stamp")
seen = []
sys.addaudithook(lambda event, args: event == "open" and seen.append(str(args[0])))
assert remembered({str(root)!r}, "stamp")
print(*seen)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(root / VERDICT)]


def test_a_file_saved_while_it_was_judged_is_not_remembered(root: Path) -> None:
    watch = watching(root)
    (root / "tool_specs/a.yaml").write_text("name: saved meanwhile\n")
    assert not remember(watch, "stamp", "")
    assert not holds(root)


def test_a_young_file_saved_again_in_one_tick_is_not_remembered(root: Path) -> None:
    path = root / "tool_specs/a.yaml"
    for _ in range(100):
        path.write_text("name: a\n")
        watch = watching(root)
        with path.open("r+") as file:
            file.write("name: c\n")
        assert not remember(watch, "stamp", "")


def test_hidden_files_and_bytecode_are_passed_over(root: Path) -> None:
    remember(watching(root), "stamp", "")
    (root / "handlers/__pycache__").mkdir()
    (root / "handlers/__pycache__/h.cpython-311.pyc").write_bytes(b"x")
    (root / "tool_specs/.a.yaml.swp").write_bytes(b"x")
    assert holds(root)


def test_the_end_of_a_link_is_watched(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "shared.yaml"
    outside.write_text("name: a\n")
    (root / "tool_specs/link.yaml").symlink_to(outside)
    remember(watching(root), "stamp", "")
    assert holds(root)
    outside.write_text("name: b\n")
    assert not holds(root)


def test_a_folder_behind_a_link_is_not_remembered_at_all(root: Path) -> None:
    (root / "tool_specs/link").symlink_to("/")
    assert not remember(watching(root), "stamp", "")


def test_a_copied_verdict_is_worth_nothing(root: Path, tmp_path: Path) -> None:
    remember(watching(root), "stamp", "")
    copy = tmp_path / "copy"
    shutil.copytree(root, copy, copy_function=shutil.copy2)
    assert holds(root)
    assert not holds(copy)


def test_a_copied_memory_is_worth_nothing(root: Path, tmp_path: Path) -> None:
    memory = open_memory(root, "stamp")
    memory.keep_stub("t", RememberedStub("key", "digest", ()))
    memory.save()
    assert open_memory(root, "stamp").stubs
    shutil.copytree(root, tmp_path / "copy")
    assert not open_memory(tmp_path / "copy", "stamp").stubs


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None
)
@given(data=st.data())
def test_a_damaged_verdict_is_no_verdict(root: Path, data: st.DataObject) -> None:
    if not (root / VERDICT).exists():
        remember(watching(root), "stamp", "[]")
    whole = (root / VERDICT).read_bytes()
    at = data.draw(st.integers(0, 1_000_000)) % len(whole)
    kind = data.draw(st.sampled_from(("cut", "flip", "insert")))
    flipped = bytes([whole[at] ^ data.draw(st.integers(1, 255))])
    damaged = {
        "cut": whole[:at],
        "flip": whole[:at] + flipped + whole[at + 1 :],
        "insert": whole[:at] + flipped + whole[at:],
    }[kind]
    try:
        (root / VERDICT).write_bytes(damaged)
        assert not holds(root)
    finally:
        (root / VERDICT).write_bytes(whole)
    assert holds(root)


def test_a_project_that_cannot_be_written_remembers_nothing(root: Path) -> None:
    (root / ".hermes-build").write_text("in the way\n")
    assert not remember(watching(root), "stamp", "")
    assert not holds(root)


def test_names_that_are_no_text_are_watched_too(root: Path) -> None:
    name = os.fsencode(root / "handlers") + b"/\xff\n\t.py"
    with open(name, "wb") as file:
        file.write(b"1")
    assert remember(watching(root), "stamp", "")
    assert holds(root)
    with open(name, "wb") as file:
        file.write(b"2")
    assert not holds(root)


def test_the_stamp_is_stable_and_knows_the_choices_of_a_run() -> None:
    assert stamp() == stamp()
    assert stamp("--strict") != stamp()
    assert "pyyaml-" in stamp()
    assert "compiler/verdict.py" in stamp()


def test_whole_second_times_are_young_for_longer() -> None:
    clock = 1_000_000_000_000
    assert status.is_young(f"file 1 {clock - 10_000_000} 0 1", clock)
    assert not status.is_young(f"file 1 {clock - 100_000_001} 0 1", clock)
    assert status.is_young(f"file 1 {clock - 1_000_000_000} 0 1", clock)


def test_deciding_imports_next_to_nothing(root: Path) -> None:
    remember(watching(root), "stamp", "")
    script = f"""
import sys
bare = set(sys.modules)
from hermes_build.compiler.verdict import remembered, stamp
stamp()
remembered({str(root)!r}, "stamp")
print(*sorted(name for name in set(sys.modules) - bare if not name.startswith("hermes_build")))
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"__future__", "zlib", "hashlib", "_hashlib", "_blake2"}
