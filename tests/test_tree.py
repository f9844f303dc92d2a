"""Comparing and writing generated files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hermes_build.canonical import digest
from hermes_build.compiler.diagnostics import Diagnostic, Findings
from hermes_build.compiler.journal import Journal, read_journal, write_journal
from hermes_build.compiler.tree import (
    Changes,
    Foreign,
    Tree,
    compare,
    diff,
    read_lock,
    report,
    same_text,
)
from hermes_build.compiler.verdict import Watch, remember
from hermes_build.compiler.write import exclusive, write

LOCK = "hermes-build.lock"
OLD: Tree = {
    "generated/__init__.py": b'"""Made."""\n',
    "generated/tools/a.py": b"a = 1\nb = 2\n",
    "generated/tools/gone.py": b"gone = 1\n",
}
NEW: Tree = {
    "generated/__init__.py": b'"""Made."""\n',
    "generated/tools/a.py": b"a = 1\nb = 3\n",
    "generated/tools/new.py": b"new = 1\n",
}


def owned(tree: Tree) -> dict[str, str]:
    return {path: digest(data) for path, data in tree.items()}


def put(root: Path, tree: Tree) -> None:
    for path, data in tree.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


def on_disk(root: Path) -> Tree:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".hermes-build" not in path.parts
    }


def written(root: Path, tree: Tree, old: Tree, lock: bytes = b"lock\n") -> Changes | None:
    findings = Findings()
    changes = write(root, tree, owned(old), LOCK, lock, findings, "generated")
    assert changes is None or not list(findings)
    return changes


def refused(root: Path, tree: Tree, old: Tree) -> list[Diagnostic]:
    findings = Findings()
    assert write(root, tree, owned(old), LOCK, b"lock\n", findings, "generated") is None
    return list(findings)


def test_compare_sorts_every_path_into_its_kind(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    changes = compare(tmp_path, NEW, owned(OLD), "generated")
    assert changes == Changes(
        created=("generated/tools/new.py",),
        changed=("generated/tools/a.py",),
        unchanged=("generated/__init__.py",),
        surplus=("generated/tools/gone.py",),
    )
    assert not changes.clean


def test_write_leaves_exactly_the_tree_and_the_lock(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    assert written(tmp_path, NEW, OLD) is not None
    assert on_disk(tmp_path) == {**NEW, LOCK: b"lock\n"}
    assert compare(tmp_path, NEW, owned(NEW), "generated").clean
    assert read_journal(tmp_path) == Journal()


def test_unchanged_files_keep_their_times_and_inodes(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    before = (tmp_path / "generated/__init__.py").stat()
    written(tmp_path, NEW, OLD)
    after = (tmp_path / "generated/__init__.py").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


def test_a_second_write_touches_nothing(tmp_path: Path) -> None:
    written(tmp_path, NEW, {})
    before = {path: (tmp_path / path).stat().st_ctime_ns for path in (*NEW, LOCK)}
    changes = written(tmp_path, NEW, NEW)
    assert changes is not None
    assert changes.clean
    assert before == {path: (tmp_path / path).stat().st_ctime_ns for path in (*NEW, LOCK)}


def test_a_crlf_checkout_is_no_change_and_is_left_alone(tmp_path: Path) -> None:
    crlf = {path: data.replace(b"\n", b"\r\n") for path, data in NEW.items()}
    put(tmp_path, {**crlf, LOCK: b"lock\r\n"})
    changes = written(tmp_path, NEW, NEW)
    assert changes is not None
    assert changes.clean
    assert on_disk(tmp_path) == {**crlf, LOCK: b"lock\r\n"}


def test_a_file_of_ours_that_was_edited_by_hand_is_written_again(tmp_path: Path) -> None:
    put(tmp_path, {**OLD, "generated/tools/a.py": b"edited\n"})
    changes = compare(tmp_path, OLD, owned(OLD), "generated")
    assert changes.changed == changes.edited == ("generated/tools/a.py",)
    written(tmp_path, OLD, OLD)
    assert (tmp_path / "generated/tools/a.py").read_bytes() == b"a = 1\nb = 2\n"


def test_a_foreign_file_is_an_error_and_stays(tmp_path: Path) -> None:
    put(tmp_path, {"generated/tools/new.py": b"mine\n"})
    (found,) = refused(tmp_path, NEW, {})
    assert (found.code, found.span and found.span.path) == ("HB5003", "generated/tools/new.py")
    assert on_disk(tmp_path) == {"generated/tools/new.py": b"mine\n"}


def test_a_foreign_file_that_holds_the_very_content_is_taken_over(tmp_path: Path) -> None:
    put(tmp_path, NEW)
    changes = written(tmp_path, NEW, {})
    assert changes is not None
    assert changes.clean


def test_a_folder_in_the_place_of_a_file_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "generated/tools/new.py").mkdir(parents=True)
    (found,) = refused(tmp_path, NEW, OLD)
    assert found.code == "HB5003"
    assert "a folder" in found.message


def test_a_file_in_the_place_of_a_folder_is_reported_once(tmp_path: Path) -> None:
    put(tmp_path, {"generated/tools": b"a file\n"})
    (found,) = refused(tmp_path, NEW, {})
    assert (found.code, found.span and found.span.path) == ("HB5003", "generated/tools")


def test_an_output_folder_that_is_a_link_out_of_the_project_is_refused(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    put(elsewhere, {"tools/gone.py": OLD["generated/tools/gone.py"]})
    (root / "generated").symlink_to(elsewhere)
    changes = compare(root, NEW, owned(OLD), "generated")
    assert changes.foreign == (Foreign("generated", "it is a link that leaves the project"),)
    assert changes.surplus == ()
    refused(root, NEW, OLD)
    assert on_disk(elsewhere) == {"tools/gone.py": b"gone = 1\n"}


def test_a_file_of_somebody_elses_is_not_removed_because_the_lock_names_it(tmp_path: Path) -> None:
    theirs, ours = "generated/tools/theirs.py", "generated/tools/ours.py"
    put(tmp_path, {theirs: b"precious\n", ours: b"# Generated by hermes-build. edited\n"})
    named = dict.fromkeys((theirs, ours), "sha256:" + "0" * 64)
    assert compare(tmp_path, {}, named, "generated").surplus == (ours,)


def test_a_link_in_the_place_of_a_file_is_replaced_and_never_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.py"
    put(root, OLD)
    outside.write_bytes(b"precious\n")
    for name in ("a", "gone"):
        (root / f"generated/tools/{name}.py").unlink()
        (root / f"generated/tools/{name}.py").symlink_to(outside)
    assert written(root, NEW, OLD) is not None
    assert on_disk(root) == {**NEW, LOCK: b"lock\n"}
    assert not (root / "generated/tools/a.py").is_symlink()
    assert outside.read_bytes() == b"precious\n"


@pytest.mark.parametrize("path", ["../x.py", "/x.py", "a/../../x.py", "a\\b.py", "", "other/x.py"])
def test_a_path_outside_the_output_folder_is_a_fault_of_ours(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="not a path inside"):
        compare(tmp_path, {path: b""}, {}, "generated")


def test_a_lock_that_names_a_source_file_does_not_delete_it(tmp_path: Path) -> None:
    put(tmp_path, {"handlers/mine.py": b"mine\n"})
    claimed = {"handlers/mine.py": digest(b"something else"), "../up.py": digest(b"")}
    assert compare(tmp_path, NEW, claimed, "generated").surplus == ()


def test_files_of_an_output_folder_that_moved_are_surplus_while_untouched(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    put(tmp_path, {"generated/tools/a.py": b"edited\n"})
    moved = {f"app/{path}": data for path, data in OLD.items()}
    findings = Findings()
    write(tmp_path, moved, owned(OLD), LOCK, b"l\n", findings, "app/generated")
    assert on_disk(tmp_path) == {**moved, LOCK: b"l\n", "generated/tools/a.py": b"edited\n"}


def test_only_empty_folders_inside_the_output_folder_are_removed(tmp_path: Path) -> None:
    old = {"generated/x/y/deep.py": b"1\n", "generated/z/some.py": b"2\n"}
    put(tmp_path, {**old, "generated/z/mine.txt": b"mine\n"})
    written(tmp_path, {}, old)
    assert on_disk(tmp_path) == {LOCK: b"lock\n", "generated/z/mine.txt": b"mine\n"}
    assert not (tmp_path / "generated/x").exists()


def test_what_an_interrupted_write_left_is_known_and_swept(tmp_path: Path) -> None:
    left = {"generated/tools/unlocked.py": b"ours\n", "generated/tools/new.py": b"older\n"}
    put(tmp_path, {**OLD, **left, "generated/tools/.0123abcd-0.tmp": b"half"})
    files = {path: frozenset({digest(data)}) for path, data in left.items()}
    write_journal(tmp_path, Journal(files, ("generated/tools/.0123abcd-0.tmp",)))
    changes = compare(tmp_path, NEW, owned(OLD), "generated")
    assert changes.foreign == ()
    assert changes.surplus == ("generated/tools/gone.py", "generated/tools/unlocked.py")
    written(tmp_path, NEW, OLD)
    assert on_disk(tmp_path) == {**NEW, LOCK: b"lock\n"}


def test_the_journal_makes_no_edited_file_ours(tmp_path: Path) -> None:
    put(tmp_path, {"generated/tools/new.py": b"mine by now\n"})
    write_journal(
        tmp_path, Journal({"generated/tools/new.py": frozenset({digest(b"ours once\n")})})
    )
    (found,) = refused(tmp_path, NEW, {})
    assert found.code == "HB5003"


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"hermes-build journal 1\ntemp ../../etc/passwd\nend\n", b"x\nend\n"]
)
def test_a_damaged_journal_is_no_journal(tmp_path: Path, data: bytes) -> None:
    (tmp_path / ".hermes-build").mkdir()
    (tmp_path / ".hermes-build/journal").write_bytes(data)
    assert read_journal(tmp_path) == Journal()


def test_a_journal_that_came_with_a_checkout_removes_nothing_of_others(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    root = tmp_path / "project"
    put(outside, {"key": b"precious\n"})
    put(root, {**OLD, "mine.txt": b"mine\n"})
    (root / "out").symlink_to(outside)
    (root / ".hermes-build").mkdir()
    (root / ".hermes-build/journal").write_bytes(
        b"hermes-build journal 1\ntemp out/key\ntemp mine.txt\nend\n"
    )
    written(root, NEW, OLD)
    assert (root / "mine.txt").exists()
    assert (outside / "key").exists()


@pytest.mark.parametrize("name", [".", ".gitignore", "journal", "journal.new", "clock"])
def test_a_link_in_the_state_folder_is_never_followed(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    put(outside, {"key": b"precious\n"})
    state = tmp_path / "project/.hermes-build"
    if name == ".":
        state.parent.mkdir()
        state.symlink_to(outside)
        findings = Findings()
        with exclusive(state.parent, findings, lambda: None) as held:
            assert not held
        (found,) = findings
        assert (found.code, *found.help) == ("HB5008", "move away what stands there")
    else:
        state.mkdir(parents=True)
        (state / name).symlink_to(outside / ("new" if name == "clock" else "key"))
        if name == "clock":
            remember(Watch(state.parent), "stamp", "")
        else:
            written(state.parent, NEW, {})
    assert on_disk(outside) == {"key": b"precious\n"}


def test_an_error_at_the_very_end_is_undone(tmp_path: Path) -> None:
    put(tmp_path, {**OLD, f"{LOCK}/in-the-way.txt": b"x\n"})
    (tmp_path / "generated/tools/link.py").symlink_to("a.py")
    links = {**OLD, "generated/tools/link.py": b"link\n"}
    before = on_disk(tmp_path)
    tree = {**NEW, "generated/more/deep.py": b"1\n", "generated/tools/link.py": b"new\n"}
    (found,) = refused(tmp_path, tree, links)
    assert found.code == "HB5008"
    assert found.notes == ("nothing was changed",)
    assert on_disk(tmp_path) == before
    assert os.readlink(tmp_path / "generated/tools/link.py") == "a.py"
    assert not (tmp_path / "generated/more").exists()
    assert read_journal(tmp_path) == Journal()


# A limit on the size of files stands in for a full disk: the error comes from the system too.
FULL = """
import resource, sys
from pathlib import Path
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.write import write
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
findings = Findings()
tree = {f"generated/{n}.py": b"x" * (100 if n < 5 else 50_000) for n in range(6)}
assert write(Path(sys.argv[1]), tree, {}, "hermes-build.lock", b"", findings, "generated") is None
(found,) = findings
print(found.code, found.span.path, *found.notes)
"""


def test_a_disk_that_takes_no_more_changes_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "HB5008 generated/5.py nothing was changed\n"
    assert on_disk(tmp_path) == {}
    assert not (tmp_path / "generated").exists()


def test_a_disk_that_takes_no_journal_changes_nothing(tmp_path: Path) -> None:
    script = FULL.replace("20_000", "40")
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "HB5008 .hermes-build/journal nothing was changed\n"
    assert on_disk(tmp_path) == {}
    assert os.listdir(tmp_path / ".hermes-build") == [".gitignore"]


@pytest.mark.parametrize("kind", ["pipe", "folder", "link to nothing"])
def test_what_is_no_file_is_never_waited_for(tmp_path: Path, kind: str) -> None:
    (tmp_path / "generated/tools").mkdir(parents=True)
    for path in (LOCK, "generated/tools/a.py"):
        if kind == "pipe":
            os.mkfifo(tmp_path / path)
        elif kind == "folder":
            (tmp_path / path).mkdir()
        else:
            (tmp_path / path).symlink_to("nowhere")
    findings = Findings()
    assert read_lock(tmp_path, LOCK, findings) == (None, {})
    assert [one.code for one in findings] == ([] if kind == "link to nothing" else ["HB5005"])
    assert [one.code for one in refused(tmp_path, NEW, {})] == ["HB5003"]


def test_a_project_that_cannot_be_written_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / ".hermes-build").write_bytes(b"a file where the state folder must stand\n")
    findings = Findings()
    with exclusive(tmp_path, findings, lambda: None) as held:
        assert not held
    (found,) = findings
    assert (found.code, found.span and found.span.path) == ("HB5008", ".hermes-build")


def test_a_second_compile_waits_and_says_so(tmp_path: Path) -> None:
    events: list[str] = []
    inside, waiting = threading.Event(), threading.Event()

    def second() -> None:
        inside.wait()
        with exclusive(tmp_path, Findings(), waiting.set) as held:
            events.append(f"second {held}")

    other = threading.Thread(target=second)
    other.start()
    with exclusive(tmp_path, Findings(), lambda: events.append("never")):
        inside.set()
        assert waiting.wait(10)
        events.append("first")
    other.join()
    assert events == ["first", "second True"]


def test_the_state_folder_hides_itself_from_version_control(tmp_path: Path) -> None:
    written(tmp_path, NEW, {})
    assert (tmp_path / ".hermes-build/.gitignore").read_bytes() == b"*\n"


def test_check_names_every_file_and_the_command_that_mends_it(tmp_path: Path) -> None:
    put(tmp_path, OLD)
    findings = Findings()
    report(compare(tmp_path, NEW, owned(OLD), "generated"), NEW, tmp_path, findings)
    seen = [(one.code, one.span and one.span.path, one.span and one.span.line) for one in findings]
    assert seen == [
        ("HB5002", "generated/tools/new.py", 1),
        ("HB5001", "generated/tools/a.py", 2),
        ("HB5009", "generated/tools/gone.py", 1),
    ]
    assert all(one.help[0] == "run `hermes-build compile`" for one in findings)


def test_diff_is_what_patch_applies(tmp_path: Path) -> None:
    new = {**NEW, "generated/tools/a.py": "a = 1\nb = 3\u2028c\nend".encode()}
    put(tmp_path, OLD)
    text = diff(tmp_path, new, compare(tmp_path, new, owned(OLD), "generated"))
    subprocess.run(["git", "apply", "-"], input=text.encode(), cwd=tmp_path, check=True)
    assert on_disk(tmp_path) == new


def test_a_lock_in_conflict_still_says_which_files_are_ours(tmp_path: Path) -> None:
    ours, theirs = digest(b"1"), digest(b"2")
    text = f"format 1\n<<<<<<< HEAD\nfile a.py {ours}\n=======\nfile b.py {theirs}\n>>>>>>> x\n"
    (tmp_path / LOCK).write_text(text)
    findings = Findings()
    lock, files = read_lock(tmp_path, LOCK, findings)
    assert (lock, files) == (None, {"a.py": ours, "b.py": theirs})
    (found,) = findings
    assert (found.code, found.span and found.span.line) == ("HB5005", 2)


def test_no_lock_is_no_finding_and_a_binary_one_is(tmp_path: Path) -> None:
    findings = Findings()
    assert read_lock(tmp_path, LOCK, findings) == (None, {})
    assert not list(findings)
    (tmp_path / LOCK).write_bytes(b"\xff\x00\xfe")
    read_lock(tmp_path, LOCK, findings)
    assert [one.code for one in findings] == ["HB5005"]
    assert not same_text(tmp_path, "nothing-here", b"")
