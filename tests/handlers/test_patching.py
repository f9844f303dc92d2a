"""A unified diff is applied to all its files, or to none of them."""

from __future__ import annotations

import difflib
import os
import shutil
import stat
import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from handlers.files.diffs import Edit, apply_edits, show, split_lines
from handlers.files.hunks import place_hunks
from handlers.files.patching import apply_patch, replace
from handlers.files.unified import parse
from handlers.files.workspace import Workspace
from handlers.refusal import Refusal


def diff(before: str, after: str, old: str = "a/f", new: str = "b/f", context: int = 3) -> str:
    lines = difflib.unified_diff(split_lines(before), split_lines(after), old, new, n=context)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def applied(text: str, patch: str) -> str:
    [file] = parse(patch)
    placed, failed = place_hunks(split_lines(text), file.hunks)
    assert not failed, failed
    return "".join(apply_edits(split_lines(text), [one.edit for one in placed]))


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


LINES = st.lists(
    st.sampled_from(
        ["", "a", "b", "- x", "-- y", "++ z", "@@ -1 +1 @@", "\\ odd", " ", "c\r", "\x0c\x85"]
    ),
    max_size=14,
)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))


@settings(max_examples=200)
@given(before=TEXTS, after=TEXTS, context=st.integers(0, 4))
def test_a_diff_of_two_texts_turns_the_one_into_the_other(
    before: str, after: str, context: int
) -> None:
    assume(before != after)
    patch = diff(before, after, context=context)
    assert applied(before, patch) == after
    [file] = parse(patch)
    placed, _ = place_hunks(split_lines(before), file.hunks)
    assert all(one.exact for one in placed)


@settings(max_examples=150)
@given(before=TEXTS, after=TEXTS)
def test_the_diff_that_we_show_can_be_applied(before: str, after: str) -> None:
    assume(before != after)
    lines = split_lines(before)
    text = show(lines, [Edit(0, len(lines), tuple(split_lines(after)))], "f", "f")
    assert applied(before, text) == after


@settings(max_examples=80)
@given(
    head=st.integers(0, 30),
    cut=st.integers(0, 5),
    at=st.integers(5, 20),
)
def test_a_hunk_is_found_where_the_text_has_moved(head: int, cut: int, at: int) -> None:
    lines = [f"line {n}\n" for n in range(30)]
    patch = diff("".join(lines), "".join([*lines[:at], "new\n", *lines[at + 1 :]]))
    moved = ["more\n"] * head + lines[cut:]
    after = ["more\n"] * head + lines[cut:at] + ["new\n"] + lines[at + 1 :]
    assume(at > cut)  # Of three lines of context two may be gone.
    assert applied("".join(moved), patch) == "".join(after)
    [file] = parse(patch)
    [placed], _ = place_hunks(moved, file.hunks)
    assert placed.offset == head - cut


@pytest.mark.parametrize("context", [0, 1, 3])
def test_git_and_we_agree(workspace: Workspace, root: Path, tmp_path: Path, context: int) -> None:
    git = shutil.which("git")
    if not git:
        pytest.skip("git is not installed")
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        (folder / "sub").mkdir(parents=True)
    files = {
        "keep.txt": ("same\n", "same\n"),
        "edit.py": ("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n"),
        "gone.txt": ("bye\n", None),
        "fresh file.txt": (None, "hello\nthere"),
        "sub/naïve.txt": ("x\n", "y\n"),
        "sub/move.txt": ("".join(f"{n}\n" for n in range(20)), None),
        "moved.txt": (None, "".join(f"{n}\n" for n in range(20))),
        "empty.txt": (None, ""),
        "no end": ("x", "x\n"),
    }
    for name, (old, new) in files.items():
        if old is not None:
            (before / name).write_text(old)
            target = root / name
            target.parent.mkdir(exist_ok=True)
            target.write_text(old)
        if new is not None:
            (after / name).write_text(new)
    (after / "fresh file.txt").chmod(0o755)
    command = [git, "-c", "core.fileMode=true", "diff", "--no-index", f"-U{context}", "-M",
               "--src-prefix=a/", "--dst-prefix=b/", "before", "after"]  # fmt: skip
    patch = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    patch = patch.replace("/before/", "/").replace("/after/", "/").replace(" before/", " ")
    patch = patch.replace(" after/", " ")
    answer = apply_patch(workspace, patch)
    assert tree(root) == tree(after)
    assert stat.S_IMODE((root / "fresh file.txt").stat().st_mode) & 0o111
    actions = {one["path"]: one["action"] for one in answer["files"]}
    assert actions["moved.txt"] == "renamed" and actions["gone.txt"] == "deleted"
    assert actions["empty.txt"] == "created" and "keep.txt" not in actions


def test_all_files_or_none(workspace: Workspace, root: Path) -> None:
    (root / "a").write_text("one\n")
    (root / "b").write_text("two\n")
    patch = diff("one\n", "ONE\n", "a/a", "b/a") + diff("zwei\n", "TWO\n", "a/b", "b/b")
    patch += diff("", "new\n", "/dev/null", "b/made/c") + diff("x\n", "y\n", "a/none", "b/none")
    before = tree(root)
    with pytest.raises(Refusal, match="nothing was written") as caught:
        apply_patch(workspace, patch)
    assert tree(root) == before and not (root / "made").exists()
    failures = {one["path"]: one["reason"] for one in caught.value.fields["failures"]}
    assert set(failures) == {"b", "none"}
    assert "at line 1 the hunk has 'zwei' and the file has 'two'" in failures["b"]
    assert "does not exist" in failures["none"]


def test_modes_follow_the_patch_and_survive_a_rename(workspace: Workspace, root: Path) -> None:
    (root / "private").write_text("a\n")
    (root / "private").chmod(0o600)
    (root / "run").write_text("a\n")
    (root / "run").chmod(0o644)
    apply_patch(
        workspace,
        "diff --git a/private b/moved\nsimilarity index 100%\nrename from private\n"
        "rename to moved\ndiff --git a/run b/run\nold mode 100644\nnew mode 100755\n",
    )
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in root.iterdir()}
    assert modes == {"moved": 0o600, "run": 0o755}
    apply_patch(workspace, "diff --git a/run b/run\nold mode 100755\nnew mode 100644\n")
    assert stat.S_IMODE((root / "run").stat().st_mode) == 0o644
    apply_patch(workspace, diff("a\n", "b\n", "a/moved", "b/moved"))
    assert stat.S_IMODE((root / "moved").stat().st_mode) == 0o600


def test_a_file_may_come_twice_in_one_patch(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("1\n2\n3\n")
    apply_patch(workspace, diff("1\n2\n3\n", "1\n2\nx\n") + diff("1\n2\nx\n", "0\n2\nx\n"))
    assert (root / "f").read_text() == "0\n2\nx\n"
    apply_patch(
        workspace,
        diff("", "made\n", "/dev/null", "b/g") + diff("made\n", "changed\n", "a/g", "b/g"),
    )
    assert (root / "g").read_text() == "changed\n"


def test_creating_over_a_file_and_deleting_half_of_one_are_refused(
    workspace: Workspace, root: Path
) -> None:
    (root / "f").write_text("a\nb\n")
    with pytest.raises(Refusal, match="exists already"):
        apply_patch(workspace, diff("", "x\n", "/dev/null", "b/f"))
    with pytest.raises(Refusal, match="leaves 1 of its lines"):
        apply_patch(workspace, "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n")
    with pytest.raises(Refusal, match="exists already"):
        (root / "g").write_text("")
        apply_patch(
            workspace,
            "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
        )
    assert (root / "f").read_text() == "a\nb\n"


def test_crlf_files_keep_their_line_ends(workspace: Workspace, root: Path) -> None:
    (root / "f").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    answer = apply_patch(workspace, diff("one\ntwo\nthree\n", "one\n2\n2b\nthree\n"))
    assert (root / "f").read_bytes() == b"one\r\n2\r\n2b\r\nthree\r\n"
    assert answer["files"][0]["inexact"][0]["matched"] == "line ends"


def test_a_patch_with_crlf_applies_to_a_file_without(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("one\ntwo\n")
    apply_patch(workspace, diff("one\ntwo\n", "one\n2\n").replace("\n", "\r\n"))
    assert (root / "f").read_bytes() == b"one\n2\n"


def test_line_ends_themselves_can_be_changed() -> None:
    assert applied("a\r\nb\r\n", diff("a\r\nb\r\n", "a\nb\n")) == "a\nb\n"
    assert applied("a\nb", diff("a\nb", "a\nb\n")) == "a\nb\n"
    assert applied("a\nb\n", diff("a\nb\n", "a\nb")) == "a\nb"


def test_a_patch_that_forgets_the_missing_last_line_end_keeps_it_missing() -> None:
    assert applied("a\nb", "--- f\n+++ f\n@@ -1,2 +1,3 @@\n a\n b\n+c\n") == "a\nb\nc"
    assert applied("a\nb", "--- f\n+++ f\n@@ -2,0 +3 @@\n+c\n") == "a\nb\nc\n"


def test_fuzz_and_offset_are_tolerated_and_reported(workspace: Workspace, root: Path) -> None:
    lines = [f"{n}\n" for n in range(1, 13)]
    patch = diff("".join(lines), "".join([*lines[:5], "six\n", *lines[6:]]))
    (root / "f").write_text("".join(["0\n", *lines[:2], "other\n", *lines[3:]]))
    answer = apply_patch(workspace, patch)
    assert answer["files"][0]["inexact"] == [
        {"hunk": 1, "line": 5, "offset": 1, "matched": "fuzz 1"}
    ]
    assert (root / "f").read_text() == "".join(
        ["0\n", *lines[:2], "other\n", "4\n", "5\n", "six\n", *lines[6:]]
    )


def test_a_hunk_that_fits_two_places_equally_well_is_refused() -> None:
    [file] = parse("--- f\n+++ f\n@@ -3 +3 @@\n-x\n+y\n")
    _, failed = place_hunks(["x\n", "a\n", "b\n", "c\n", "x\n"], file.hunks)
    assert "equally well at lines 1 and 5" in str(failed[0])


def test_wrong_counts_are_read_by_the_lines_and_noted(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("a\nb\n\nc\nd\n")
    answer = apply_patch(
        workspace,
        "--- a/f\n+++ b/f\n@@ -1,9 +1,2 @@\n a\n-b\n+B\n\n c\n@@ -5,1 +5,9 @@\n-d\n+D\n+E\n",
    )
    assert (root / "f").read_text() == "a\nB\n\nc\nD\nE\n"
    notes = [one["note"] for one in answer["files"][0]["inexact"]]
    assert notes[0] == "the header says 9 old and 2 new lines, the hunk has 4 and 4"


def test_lines_that_look_like_headers_are_lines_inside_a_hunk() -> None:
    before, after = "-- a\n++ b\n", "-- c\n++ d\n"
    assert applied(before, diff(before, after)) == after


def test_prose_fences_and_a_mail_signature_around_a_patch_are_passed_over() -> None:
    patch = "Here it is:\n```diff\n" + diff("a\n", "b\n") + "```\nDone.\n"
    assert applied("a\n", patch) == "b\n"
    mail = "From 1 Mon\nSubject: x\n\n---\n f | 2 +-\n\n" + diff("a\n", "b\n") + "-- \n2.39.2\n"
    assert applied("a\n", mail) == "b\n"


def test_two_names_without_git_headers_are_one_file(workspace: Workspace, root: Path) -> None:
    (root / "f.c").write_text("a\n")
    apply_patch(workspace, diff("a\n", "b\n", "f.c.orig\t2024-01-01 00:00:00", "f.c\t2024-01-02"))
    assert tree(root) == {"f.c": b"b\n"}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ("", "no file header"),
        ("nothing to see", "no file header"),
        ("*** Begin Patch\n*** Update File: f\n", "not a unified diff"),
        ("@@ -1 +1 @@\n-a\n+b\n", "before any"),
        ("--- a/f\n+++ b/f\n", "no hunk"),
        ("--- a/f\n+++ b/f\n@@ foo @@\n-a\n+b\n", "has the form"),
        ("--- a/f\n+++ b/f\n@@\n-a\n+b\n", "has the form"),
        ("--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n a\n", "changes nothing"),
        ("--- a/f\n+++ b/f\n-a\n+b\n", "outside of any hunk|no hunk"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "both sides"),
        ("diff --git a/f b/f\nGIT binary patch\n", "binary"),
        ("diff --git a/f b/f\nBinary files a/f and b/f differ\n", "binary"),
        ("diff --git a/f b/g\ncopy from f\ncopy to g\n", "copies"),
        (
            "diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n",
            "links",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_line(patch: str, message: str) -> None:
    with pytest.raises(Refusal, match=message):
        parse(patch)


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(
            [
                "--- a/f",
                "+++ b/f",
                "--- /dev/null",
                "@@ -1,2 +1 @@",
                "@@ -0,0 +1 @@",
                " a",
                "-a",
                "+b",
                "",
                "\\ No newline",
                "diff --git a/f b/f",
                "new file mode 100644",
                "rename from f",
                "rename to g",
                "-- ",
                "prose",
                "index 1..2",
                '+++ "b/\\303\\251"',
                "deleted file mode 1",
            ]
        ),
        max_size=14,
    ).map("\n".join)
)
def test_any_text_is_a_patch_or_a_refusal(patch: str) -> None:
    try:
        files = parse(patch)
    except Refusal:
        return
    for file in files:
        place_hunks(["a\n", "b\n", "a"], file.hunks)


def test_a_binary_file_is_not_patched(workspace: Workspace, root: Path) -> None:
    (root / "f").write_bytes(b"a\0b\n")
    with pytest.raises(Refusal, match="binary data"):
        apply_patch(workspace, diff("a\n", "b\n"))
    with pytest.raises(Refusal, match="binary data"):
        replace(workspace, "f", "a", "b")


def test_a_file_that_somebody_else_writes_meanwhile_is_not_overwritten(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "f").write_text("a\n")
    from handlers.files import patching

    real = patching.find_replacement

    def slow(*args: object) -> object:
        (root / "f").write_text("theirs\n")
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(patching, "find_replacement", slow)
    with pytest.raises(Refusal, match="changed by somebody else"):
        replace(workspace, "f", "a", "b")
    assert (root / "f").read_text() == "theirs\n"
    assert os.listdir(root) == ["f"]


def test_edits_of_one_file_at_once_all_arrive(workspace: Workspace, root: Path) -> None:
    (root / "f").write_text("".join(f"line {n};\n" for n in range(24)))
    failed: list[Exception] = []

    def work(first: int) -> None:
        try:
            for n in range(first, 24, 4):
                replace(workspace, "f", f"line {n};", f"done {n};")
        except Refusal as refusal:
            failed.append(refusal)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failed
    assert (root / "f").read_text() == "".join(f"done {n};\n" for n in range(24))


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(befores=st.lists(st.none() | TEXTS, min_size=1, max_size=4), data=st.data())
def test_whole_trees_are_turned_into_each_other(
    workspace: Workspace, root: Path, befores: list[str | None], data: st.DataObject
) -> None:
    patch, expected = "", dict[str, bytes]()
    for path in root.iterdir():
        path.unlink()
    for number, before in enumerate(befores):
        after = data.draw(st.none() | TEXTS)
        name = f"f{number}"
        if before is not None:
            (root / name).write_bytes(before.encode())
        if after is not None:
            expected[name] = after.encode()
        if before != after and (before or after):
            patch += diff(
                before or "", after or "",
                "/dev/null" if before is None else f"a/{name}",
                "/dev/null" if after is None else f"b/{name}",
            )  # fmt: skip
        elif before is None and after == "":
            expected.pop(name)
        elif before == "" and after is None:
            expected[name] = b""
    assume(patch)
    apply_patch(workspace, patch)
    assert tree(root) == expected
