"""The contents of a bundle are read when they are written, and must be what they were."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from hermes_build.bundle.archive import open_archive, write_archive
from hermes_build.bundle.format import BundleError
from hermes_build.compiler.bundling.build import Judged, make_bundle, write_hermes
from hermes_build.compiler.bundling.kept import Disk, at_line_ends, keep, keep_bytes
from hermes_build.compiler.bundling.places import Mentions
from hermes_build.compiler.diagnostics import Findings
from hermes_build.compiler.project import Project, read_project
from tests.bundling.programs import FILES, made, program, whole


@pytest.mark.parametrize(
    "path",
    [
        "LICENSE",
        "handlers/words.py",
        "tool_specs/tell.yaml",
        "generated/tools/tell.py",
        "generated/catalogue.jsonl",
        "hermes-build.lock",
    ],
)
@pytest.mark.parametrize("how", ["changed", "gone"])
def test_a_file_that_changes_before_it_is_written_is_refused(
    tmp_path: Path, path: str, how: str
) -> None:
    root = program(tmp_path / "p")
    bundle = made(root)
    if how == "gone":
        (root / path).unlink()
    else:
        (root / path).write_bytes((root / path).read_bytes()[:-2] + b"#\n")
    target = tmp_path / "x.hermes"
    target.write_bytes(b"the old one")
    with pytest.raises(BundleError, match="was changed while the bundle was made") as refused:
        write_hermes(bundle, Project(root, "pyproject.toml"), str(target))
    assert (refused.value.code, target.read_bytes()) == ("HB8006", b"the old one")


def test_no_content_is_held_in_memory(tmp_path: Path) -> None:
    filler = "# A line of a comment, of which there are many.\n" * 5000
    more = {f"handlers/part_{n}.py": f'WORD = "{n}"\n{filler}' for n in range(40)}
    lines = "".join(f"from handlers import part_{n}\n" for n in range(40))
    more["handlers/words.py"] = lines + FILES["handlers/words.py"]
    root = program(tmp_path / "p", more)
    project = read_project(root, Findings())

    def bundle() -> None:
        made = make_bundle(project, (), Judged())
        write_hermes(made, project, str(tmp_path / "x.hermes"))

    bundle()  # imports what is needed for that
    tracemalloc.start()
    bundle()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "x.hermes").stat().st_size > 40 * len(filler)
    assert peak < 40 * len(filler) / 2


def test_a_content_that_was_measured_is_read_once_to_be_written(tmp_path: Path) -> None:
    reads = []

    def read(path: str) -> list[bytes]:
        reads.append(path)
        return [b"one ", b"two"]

    kept = keep(read, "a.txt")
    write_archive({"a.txt": kept, "b.txt": keep_bytes(b"", "b.txt")}, tmp_path / "x.zip")
    assert reads == ["a.txt"] * 2
    with open_archive(tmp_path / "x.zip") as archive:
        assert archive.read("a.txt") == b"one two"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_pieces_can_be_cut_at_line_ends(size: int) -> None:
    text = b"one\ntwo\n\nthree and more\nlast"
    pieces = list(at_line_ends(text[at : at + size] for at in range(0, len(text), size)))
    assert b"".join(pieces) == text
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])


def test_a_text_has_lf_line_ends_wherever_a_piece_ends(tmp_path: Path) -> None:
    text = b"x" * ((1 << 16) - 1) + b"\r\n" + b"y\r\r\n\r"
    (tmp_path / "a.txt").write_bytes(text)
    disk = Disk(tmp_path)
    assert whole(lambda: disk.text("a.txt")) == text.replace(b"\r\n", b"\n")
    assert whole(lambda: disk.data("a.txt")) == text


@pytest.mark.parametrize("size", [1, 3, 5, 100])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"nothing of this kind", False),
        (b"it is in /srv/agent/x", True),
        (b"it is in /srv/other/x", False),
        (b"see /home/ada/notes", True),
        (b"C:\\Users\\ada", True),
    ],
)
def test_a_place_is_seen_wherever_a_piece_ends(size: int, text: bytes, expected: bool) -> None:
    mentions = Mentions(("/srv/agent",))
    for at in range(0, len(text), size):
        mentions.look(text[at : at + size])
    assert mentions.found is expected


def test_a_lock_that_somebody_has_touched_is_bundled_in_its_one_form(tmp_path: Path) -> None:
    root = program(tmp_path / "p")
    before = whole(made(root).contents.files["hermes-build.lock"])
    text = (root / "hermes-build.lock").read_text()
    (root / "hermes-build.lock").write_text(text.replace("\n\n", "\n# a note\n\n", 1))
    bundle = made(root)
    assert bundle.manifest is not None
    assert whole(bundle.contents.files["hermes-build.lock"]) == before
