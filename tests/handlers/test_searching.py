"""A search answers the same with ripgrep and without it, and always in time."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handlers.files import backends, pages
from handlers.files.backends import ripgrep
from handlers.files.searching import FALLBACK, Query, search_files
from handlers.files.workspace import Workspace
from handlers.refusal import Refusal

RG = shutil.which("rg")
PROGRAMS = pytest.mark.parametrize(
    "program",
    [
        pytest.param(RG, id="ripgrep", marks=pytest.mark.skipif(not RG, reason="no ripgrep here")),
        pytest.param(None, id="python"),
    ],
)
both = pytest.mark.skipif(not RG, reason="ripgrep is not installed, so there is nothing to compare")


@pytest.fixture
def tree(root: Path) -> Path:
    files: dict[str, bytes] = {
        "README.md": b"# Title\n\nNeedle in prose.\n",
        "src/app.py": b"\ndef needle():\n    return 1\n\ndef other():\n    return needle()\n",
        "src/app_test.py": b"from app import needle\n\nassert needle() == 1",
        "src/deep/x.py": b"a\nb\nneedle\nc\nneedle\nd\ne\nf\nneedle\n",
        "src-2/y.py": b"needle 2\n",
        "src.txt": b"needle beside the folder\n",
        "crlf.txt": b"one needle\r\ntwo\r\nneedle\r\n",
        "latin.txt": "Grüße an needle\n".encode("latin-1"),
        "utf8.txt": "Grüße an needle – ok\n".encode(),
        "utf16.txt": b"\xff\xfe" + "needle in wide letters\n".encode("utf-16-le"),
        "bom.txt": b"\xef\xbb\xbfneedle first\n",
        "data.bin": b"needle\0needle\n",
        "late.bin": b"needle\n" + b"x\n" * 100_000 + b"\0",
        ".hidden/h.py": b"needle\n",
        ".env": b"needle=1\n",
        ".git/config": b"needle\n",
        "empty.txt": b"",
        "name with space.txt": b"needle\n",
        "long.txt": b"x" * 5_000 + b" needle " + b"y" * 5_000 + b"\n",
    }
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "link.py").symlink_to("src/app.py")
    (root / "loop").symlink_to(".")
    os.mkfifo(root / "pipe")
    return root


QUERIES = [
    Query("needle"),
    Query("needle", limit=1000),
    Query("Needle", ignore_case=True),
    Query("^needle"),
    Query("needle$"),
    Query(r"\bneedle\(\)", context=2),
    Query("needle", path="src/deep", context=1),
    Query("needle", path="src/deep/x.py", context=20),
    Query("needle", path="src/deep", context=1, limit=1),
    Query("needle", path="src/deep", context=2, limit=1, offset=1),
    Query("needle", path=".env"),
    Query("needle", path=".hidden"),
    Query("needle", path="crlf.txt"),
    Query("needle()", literal=True),
    Query("-needle", literal=True),
    Query("--files"),
    Query("needle", file_glob="*.py"),
    Query("needle", file_glob="src/**/*.py"),
    Query("needle", file_glob="*.{py,md}", ignore_case=True),
    Query("needle", file_glob="[a-c]*"),
    Query("needle", include_hidden=True),
    Query("needle", include_hidden=True, file_glob="*.py", output_mode="count"),
    Query("needle", output_mode="files_with_matches", limit=3),
    Query("needle", output_mode="files_with_matches", limit=3, offset=3),
    Query("needle", output_mode="count"),
    Query("Gr.{1,2}e", path="utf8.txt"),
    Query("–"),
    Query("nowhere to be found"),
    Query("needle", path="data.bin"),
    Query("*.py", target="files"),
    Query("*", target="files"),
    Query("*", target="files", include_hidden=True),
    Query("**/x.py", target="files"),
    Query("*.py", target="files", path="src", limit=1, offset=1),
    Query("*", target="files", file_glob="*.{md,txt}"),
    Query(".env", target="files"),
    Query("x.py", target="files", path="src/deep/x.py"),
    Query(r"[^\n]needle"),
    Query("need(le|ful)\\s\\d"),
    Query(r"(?i)NEEDLE"),
]


def answer(workspace: Workspace, query: Query, program: str | None) -> dict[str, Any]:
    found = search_files(workspace, query, program)
    assert found.pop("backend") == ("ripgrep" if program else "python")
    notes = [note for note in found.pop("notes", []) if note != FALLBACK]
    return found | ({"notes": notes} if notes else {})


@both
@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_ripgrep_and_python_give_the_same_answer(
    workspace: Workspace, tree: Path, query: Query
) -> None:
    assert answer(workspace, query, RG) == answer(workspace, query, None)


@both
@settings(
    deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(st.text(st.sampled_from("ab é"), max_size=3), max_size=20),
    pattern=st.sampled_from(["a", "^$", "b$", "é", "[ab]{2}", "a|b", "."]),
    context=st.integers(0, 4),
    limit=st.integers(1, 5),
    offset=st.integers(0, 5),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_any_text_gives_the_same_page_with_both(
    workspace: Workspace, root: Path, lines: list[str], pattern: str, context: int, limit: int,
    offset: int, end: str,
) -> None:  # fmt: skip
    (root / "a").write_bytes(end.join(lines).encode())
    (root / "b").write_bytes(end.join(reversed(lines)).encode())
    query = Query(pattern, context=context, limit=limit, offset=offset)
    assert answer(workspace, query, RG) == answer(workspace, query, None)


@PROGRAMS
def test_lines_come_with_numbers_and_context(
    workspace: Workspace, tree: Path, program: str | None
) -> None:
    assert answer(workspace, Query("needle", path="src/deep", context=1), program) == {
        "results": [
            {
                "path": "src/deep/x.py",
                "lines": ["2-b", "3:needle", "4-c", "5:needle", "6-d", "--", "8-f", "9:needle"],
            }
        ],
        "total": 3,
    }


@PROGRAMS
@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
@pytest.mark.parametrize("limit", [3, 7])
def test_the_pages_put_together_are_the_whole(
    workspace: Workspace, tree: Path, program: str | None, mode: str, limit: int
) -> None:
    def flat(results: list[Any]) -> list[Any]:
        if mode != "content":
            return results
        return [(one["path"], line) for one in results for line in one["lines"]]

    whole = answer(workspace, Query("needle", output_mode=mode, limit=1000), program)
    gathered: list[Any] = []
    offset: int | None = 0
    while offset is not None:
        query = Query("needle", output_mode=mode, limit=limit, offset=offset)
        page = answer(workspace, query, program)
        gathered += flat(page["results"])
        assert page["total"] == whole["total"]
        offset = page.get("next_offset")
    assert gathered == flat(whole["results"])
    assert len(gathered) == whole["total"]


@PROGRAMS
def test_hidden_binary_and_linked_files_are_passed_over(
    workspace: Workspace, tree: Path, program: str | None
) -> None:
    query = Query("needle", output_mode="files_with_matches", limit=100)
    found = answer(workspace, query, program)["results"]
    assert "src/app.py" in found and "utf16.txt" in found and "latin.txt" in found
    assert not {".env", ".hidden/h.py", ".git/config", "data.bin", "late.bin", "link.py"} & set(
        found
    )
    assert not [path for path in found if path.startswith("loop")]
    hidden = Query("needle", output_mode="files_with_matches", limit=100, include_hidden=True)
    shown = answer(workspace, hidden, program)["results"]
    assert {".env", ".hidden/h.py"} <= set(shown) and ".git/config" not in shown


@PROGRAMS
def test_links_that_leave_the_workspace_are_not_searched(
    workspace: Workspace, root: Path, tmp_path: Path, program: str | None
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "s.txt").write_text("needle\n")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "file.txt").symlink_to(tmp_path / "outside" / "s.txt")
    for query in (Query("needle"), Query("*", target="files")):
        assert answer(workspace, query, program)["total"] == 0


@PROGRAMS
def test_a_long_line_is_shown_around_its_match(
    workspace: Workspace, tree: Path, program: str | None
) -> None:
    [found] = answer(workspace, Query("needle", path="long.txt"), program)["results"]
    line = found["lines"][0]
    assert " needle " in line and len(line) < pages.LINE_CHARS + 10
    assert line.startswith("1:…x") and line.endswith("y…")


@PROGRAMS
def test_a_page_ends_early_when_its_lines_are_long(
    workspace: Workspace, root: Path, program: str | None
) -> None:
    (root / "a").write_text(("needle " + "x" * 390 + "\n") * 1000)
    found = answer(workspace, Query("needle", limit=1000), program)
    assert len(json.dumps(found)) < 100_000
    assert found["total"] == 1000 and 100 < found["next_offset"] < 200
    following = answer(workspace, Query("needle", limit=1000, offset=found["next_offset"]), program)
    assert following["results"][0]["lines"][0].startswith(f"{found['next_offset'] + 1}:")


@PROGRAMS
def test_counting_stops_at_a_bound_and_says_so(
    workspace: Workspace, root: Path, program: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "COUNTED", 10)
    for name in range(30):
        (root / f"{name:02}").write_text("needle\n")
    found = answer(workspace, Query("needle", limit=5), program)
    assert found["incomplete"] and "narrow the search" in found["notes"][0]
    assert found["total"] == 11 and found["next_offset"] == 5
    files = answer(workspace, Query("*", target="files", limit=5), program)
    assert files["incomplete"] and len(files["results"]) == 5


@pytest.mark.skipif(not RG, reason="no ripgrep here")
def test_ripgrep_obeys_ignore_files_and_python_says_that_it_does_not(
    workspace: Workspace, root: Path
) -> None:
    (root / ".gitignore").write_text("build/\n*.log\n")
    (root / "build").mkdir()
    for name in ("build/a.txt", "x.log", "a.txt"):
        (root / name).write_text("needle\n")
    for query in (Query("needle", output_mode="files_with_matches"), Query("*", target="files")):
        assert search_files(workspace, query, RG)["results"] == ["a.txt"]
        found = search_files(workspace, query, None)
        assert found["results"] == ["a.txt", "build/a.txt", "x.log"]
        assert ".gitignore is not read" in found["notes"][0]
    narrowed = Query("needle", file_glob="*.log")
    assert search_files(workspace, narrowed, RG)["total"] == 0


@PROGRAMS
@pytest.mark.parametrize("pattern", ["(a", "[z-a]", "*a", "a{2,1}", "(?P<n>"])
def test_a_wrong_expression_is_refused_with_advice(
    workspace: Workspace, tree: Path, program: str | None, pattern: str
) -> None:
    with pytest.raises(Refusal, match=r"not a regular expression.*set literal"):
        search_files(workspace, Query(pattern), program)
    assert answer(workspace, Query(pattern, literal=True), program)["total"] == 0


@PROGRAMS
def test_what_ripgrep_cannot_do_python_does(
    workspace: Workspace, tree: Path, program: str | None
) -> None:
    found = search_files(workspace, Query(r"(?<=def )needle"), program)
    assert found["backend"] == "python" and found["total"] == 1
    assert search_files(workspace, Query(r"(.)\1"), program)["backend"] == "python"


@PROGRAMS
@pytest.mark.parametrize("pattern", ["a\nb", r"a\nb", r"\\\n", "\0", "\ud800"])
def test_patterns_that_cannot_match_a_line_are_refused(
    workspace: Workspace, tree: Path, program: str | None, pattern: str
) -> None:
    with pytest.raises(Refusal):
        search_files(workspace, Query(pattern), program)


@PROGRAMS
def test_backslashes_before_an_n_are_no_line_end(
    workspace: Workspace, root: Path, program: str | None
) -> None:
    (root / "a").write_text("C:\\new\n")
    assert answer(workspace, Query(r"\\new"), program)["total"] == 1
    assert answer(workspace, Query(r"\new", literal=True), program)["total"] == 1


def test_an_expression_that_never_ends_is_stopped(workspace: Workspace, root: Path) -> None:
    (root / "a.txt").write_text("aaab\n")
    (root / "b.txt").write_text("a" * 50 + "c\n")
    started = time.monotonic()
    found = search_files(workspace, Query("(a+)+b"), None, deadline=0.7)
    assert time.monotonic() - started < 5
    assert found["incomplete"]
    assert found["results"] == [{"path": "a.txt", "lines": ["1:aaab"]}]
    assert found["notes"][-1] == "the search was stopped after 0.7 s while it searched b.txt"


def test_an_expression_that_asks_for_too_much_memory_is_refused(
    workspace: Workspace, root: Path
) -> None:
    (root / "a").write_text("a\n")
    with pytest.raises(Refusal, match=r"too much memory|not a regular"):
        search_files(workspace, Query("(" * 500 + "a" + ")" * 500 + "{9999999999999}"), None)


@PROGRAMS
def test_wrong_places_are_refused(workspace: Workspace, tree: Path, program: str | None) -> None:
    with pytest.raises(Refusal, match="Did you mean src"):
        search_files(workspace, Query("x", path="scr"), program)
    with pytest.raises(Refusal, match="named pipe"):
        search_files(workspace, Query("x", path="pipe"), program)
    with pytest.raises(Refusal, match=r"file_glob '\{a': a brace"):
        search_files(workspace, Query("x", file_glob="{a"), program)


@PROGRAMS
def test_files_that_are_too_large_are_not_searched(
    workspace: Workspace, root: Path, program: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "MOST_BYTES", 100)
    (root / "small").write_text("needle\n")
    (root / "large").write_text("needle\n" * 20)
    assert answer(workspace, Query("needle"), program)["total"] == 1


@PROGRAMS
def test_names_of_any_bytes_do_not_end_a_search(
    workspace: Workspace, root: Path, program: str | None
) -> None:
    try:
        os.close(os.open(os.fsencode(root) + b"/caf\xe9\n.txt", os.O_CREAT | os.O_WRONLY))
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9\n.txt")).write_text("needle\n")
    for query in (Query("needle"), Query("*.txt", target="files")):
        json.dumps(answer(workspace, query, program)["results"]).encode()
        assert answer(workspace, query, program)["total"] == 1


def test_a_ripgrep_that_calls_could_have_written_is_not_run(
    workspace: Workspace, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (root / "bin", tmp_path / "bin"):
        folder.mkdir()
        (folder / "rg").write_text("#!/bin/sh\n")
        (folder / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", str(root / "bin"))
    assert ripgrep(workspace) is None
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert ripgrep(workspace) == str(tmp_path / "bin" / "rg")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert ripgrep(workspace) is None


@both
def test_the_users_settings_of_ripgrep_change_nothing(
    workspace: Workspace, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text("--ignore-case\n--max-count=1\n")
    before = answer(workspace, Query("NEEDLE"), RG)
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "config"))
    assert answer(workspace, Query("NEEDLE"), RG) == before


@PROGRAMS
def test_paths_come_in_the_same_order_as_sorted_names(
    workspace: Workspace, root: Path, program: str | None
) -> None:
    for name in ("b/x", "a.txt", "a/x", "a-b/x", "B", "ä", "_"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("")
    found = answer(workspace, Query("*", target="files"), program)["results"]
    assert found == ["B", "_", "a/x", "a-b/x", "a.txt", "b/x", "ä"]
    assert not re.search("//", "".join(found))
