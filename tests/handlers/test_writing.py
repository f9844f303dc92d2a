"""A file is written whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handlers.files.changes import Change, read_snapshot, write
from handlers.files.workspace import Place, Workspace
from handlers.files.writing import write_file
from handlers.refusal import Refusal


def temporaries(root: Path) -> list[str]:
    return [path.name for path in root.rglob(".hermes-*")]


@settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_content_is_written_as_it_is(workspace: Workspace, root: Path, content: str) -> None:
    answer = write_file(workspace, "a.txt", content)
    assert (root / "a.txt").read_bytes() == content.encode()
    assert answer["bytes"] == len(content.encode())
    assert answer["lines"] == len(content.encode().split(b"\n")) - (content[-1:] in ("", "\n"))


def test_the_answer_says_created_then_replaced(workspace: Workspace, root: Path) -> None:
    assert write_file(workspace, "a", "x\r\ny") == {
        "path": "a", "action": "created", "bytes": 4, "lines": 2,
    }  # fmt: skip
    assert write_file(workspace, "a", "")["action"] == "replaced"
    assert (root / "a").read_bytes() == b""


def test_an_existing_file_keeps_its_mode_and_a_new_one_obeys_the_umask(
    workspace: Workspace, root: Path
) -> None:
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o751)
    write_file(workspace, "run.sh", "new")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o751
    old = os.umask(0o027)
    try:
        write_file(workspace, "fresh", "x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((root / "fresh").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_an_existing_file_keeps_its_owner(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("old")
    os.chown(root / "a", 1234, 1235)
    write_file(workspace, "a", "new")
    status = (root / "a").stat()
    assert (status.st_uid, status.st_gid) == (1234, 1235)


def test_parents_are_made_or_asked_for(workspace: Workspace, root: Path) -> None:
    write_file(workspace, "a/b/c.txt", "x")
    assert (root / "a/b/c.txt").read_text() == "x"
    with pytest.raises(Refusal, match=r"The folder n does not exist; set create_parents"):
        write_file(workspace, "n/c.txt", "x", create_parents=False)
    with pytest.raises(Refusal, match=r"a/b/c.txt is a file, so nothing can be written below"):
        write_file(workspace, "a/b/c.txt/d.txt", "x")
    assert not (root / "n").exists()


@pytest.mark.parametrize("path", ["folder", "folder/", "new/", "."])
def test_folders_are_not_written_over(workspace: Workspace, root: Path, path: str) -> None:
    (root / "folder").mkdir()
    with pytest.raises(Refusal, match="folder"):
        write_file(workspace, path, "x")
    assert [one.name for one in root.iterdir()] == ["folder"]


def test_a_read_only_file_stays(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("old")
    (root / "a").chmod(0o444)
    with pytest.raises(Refusal, match="read-only"):
        write_file(workspace, "a", "new")
    assert (root / "a").read_text() == "old" and not temporaries(root)


def test_half_a_character_is_refused_by_its_line(workspace: Workspace, root: Path) -> None:
    with pytest.raises(Refusal, match=r"U\+D83D on line 2"):
        write_file(workspace, "a", "ok\n\ud83d")
    assert not list(root.iterdir())


def test_names_too_long_are_refused_in_words(workspace: Workspace, root: Path) -> None:
    with pytest.raises(Refusal, match="too long"):
        write_file(workspace, "n" * 300, "x")
    write_file(workspace, "n" * 255, "x")
    assert not temporaries(root)


def test_a_failed_write_leaves_no_folder_and_no_temporary_file(
    workspace: Workspace, root: Path
) -> None:
    with pytest.raises(Refusal):
        write_file(workspace, f"made/for/{'n' * 300}", "x")
    assert not list(root.iterdir())


def test_readers_and_writers_at_once_see_whole_files_only(workspace: Workspace, root: Path) -> None:
    contents = [str(n) * 20_000 for n in range(4)]
    write_file(workspace, "a", contents[0])
    stop = threading.Event()
    seen: set[str] = set()

    def read() -> None:
        while not stop.is_set():
            seen.add((root / "a").read_text())

    def put(content: str) -> None:
        for _ in range(10):
            write_file(workspace, "a", content)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=put, args=(one,)) for one in contents]
    reader.start()
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    stop.set()
    reader.join()
    assert seen <= set(contents) and not temporaries(root)


def test_a_kill_during_a_write_leaves_the_old_or_the_new(workspace: Workspace, root: Path) -> None:
    old, size = "o" * 3_000_000, 3_000_000
    program = (
        "import sys\n"
        "from handlers.files.workspace import Workspace\n"
        "from handlers.files.writing import write_file\n"
        "workspace = Workspace.at(sys.argv[1])\n"
        "print(flush=True)\n"
        "while True:\n"
        f"    write_file(workspace, 'a', 'n' * {size})\n"
        f"    write_file(workspace, 'a', 'o' * {size})\n"
    )
    write_file(workspace, "a", old)
    for attempt in range(8):
        command = [sys.executable, "-c", program, str(root)]
        here = Path(__file__).parents[2]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=here) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.003 * attempt)
            process.send_signal(signal.SIGKILL)
        assert (root / "a").read_text() in (old, "n" * size)
        # The lock went with the process: nobody has to wait for a dead one.
        assert write_file(workspace, "b", "x")["bytes"] == 1


def test_several_changes_are_undone_when_a_later_one_fails(
    workspace: Workspace, root: Path
) -> None:
    (root / "a").write_text("old a")
    (root / "a").chmod(0o600)
    (root / "gone").write_text("old gone")
    before = {path: path.read_text() for path in root.iterdir()}
    snapshots = {name: read_snapshot(workspace, Place((name,)), 100) for name in ("a", "gone")}
    stale = Change(Place(("gone",)), None, snapshots["a"])  # Not what stands there.
    changes = [
        Change(Place(("a",)), b"new a", snapshots["a"]),
        Change(Place(("made", "b")), b"new b"),
        stale,
    ]
    with pytest.raises(Refusal, match="changed by somebody else"), workspace.editing():
        write(workspace, changes, parents=True)
    assert {path: path.read_text() for path in root.iterdir()} == before


def test_what_was_moved_into_place_is_put_back(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last rename fails, as on a disk that dies: the first files get their content back."""
    for name in "abc":
        (root / name).write_text(f"old {name}")
    (root / "a").chmod(0o640)
    snapshots = {name: read_snapshot(workspace, Place((name,)), 100) for name in "abc"}
    real, count = os.replace, 0

    def failing(*args: object, **kwargs: object) -> None:
        nonlocal count
        count += 1
        if count == 3:
            raise OSError(5, "Input/output error")
        real(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", failing)
    changes = [
        Change(Place(("a",)), b"new a", snapshots["a"]),
        Change(Place(("made", "x")), b"new x"),
        Change(Place(("b",)), None, snapshots["b"]),
        Change(Place(("c",)), b"new c", snapshots["c"]),
    ]
    with pytest.raises(Refusal, match="Input/output error"), workspace.editing():
        write(workspace, changes, parents=True)
    assert {path.name: path.read_text() for path in root.iterdir()} == {
        name: f"old {name}" for name in "abc"
    }
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o640


def test_what_cannot_be_put_back_is_named(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("old")
    (root / "b").write_text("old")
    snapshots = {name: read_snapshot(workspace, Place((name,)), 100) for name in "ab"}
    real, count = os.replace, 0

    def failing(*args: object, **kwargs: object) -> None:
        nonlocal count
        count += 1
        if count > 1:
            raise OSError(5, "Input/output error")
        real(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", failing)
    changes = [Change(Place((name,)), b"new", snapshots[name]) for name in "ab"]
    with pytest.raises(Refusal, match=r"could not be put back: a\."), workspace.editing():
        write(workspace, changes, parents=True)
