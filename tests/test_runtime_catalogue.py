"""Reading a compiled catalogue."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_build.runtime.catalogue import Catalogue
from hermes_build.runtime.errors import CatalogueError
from hermes_build.runtime.registry import frozen
from tests.runtime_program import catalogue_text, tool, write_program


def write(folder: Path, text: str) -> str:
    path = folder / "catalogue.jsonl"
    path.write_bytes(text.encode())
    return str(path)


@settings(deadline=None, max_examples=60)
@given(
    names=st.sets(st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,20}", fullmatch=True), max_size=40),
    lengths=st.lists(st.integers(0, 20_000), min_size=40, max_size=40),
    crlf=st.booleans(),
    last_break=st.booleans(),
)
def test_every_record_is_found_and_no_other(
    tmp_path_factory: pytest.TempPathFactory,
    names: set[str],
    lengths: list[int],
    crlf: bool,
    last_break: bool,
) -> None:
    records = {
        f"tool/{name}": {"name": name, "text": "é" * length}
        for name, length in zip(sorted(names), lengths, strict=False)
    }
    text, digest = catalogue_text(*records.items(), ("zoo/last", {"a": 1}))
    text = text if last_break else text.removesuffix("\n")
    text = text.replace("\n", "\r\n") if crlf else text
    opened = Catalogue(write(tmp_path_factory.mktemp("catalogue"), text), digest)
    for key, value in records.items():
        assert opened.record(key) == value
        assert key in opened
    assert opened.names("tool/") == sorted(names)
    assert dict(opened.records("zoo/")) == {"last": {"a": 1}}
    for absent in ("", "!", "tool/", "tool/~", "zoo/lasts", "tool/\ud800"):
        assert opened.record(absent) is None
        assert absent not in opened
    if last_break:
        opened.verify(digest)


def test_records_are_fresh_copies(tmp_path: Path) -> None:
    text, digest = catalogue_text(("tool/a", {"tags": []}))
    opened = Catalogue(write(tmp_path, text), digest)
    record = opened.record("tool/a")
    assert record is not None
    record["tags"].append("changed")
    assert opened.record("tool/a") == {"tags": []}


def test_a_catalogue_without_records_is_empty_not_broken(tmp_path: Path) -> None:
    text, digest = catalogue_text()
    opened = Catalogue(write(tmp_path, text), digest)
    assert opened.names("tool/") == []
    opened.verify(digest)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "is missing"),
        (b"", "is empty"),
        (b"hello\n", "is not a catalogue"),
        (b"!\t{broken\n", "is damaged"),
        (b'!\t{"format":1,"digest":"0000"}\n', "two compilations"),
        (b'!\t{"format":0,"digest":"abc"}\n', "runtime format 0"),
        (b'!\t{"format":true,"digest":"abc"}\n', "runtime format True"),
        (b'!\t{"digest":"abc"}\n', "runtime format None"),
    ],
)
def test_what_cannot_be_read_says_to_compile(
    tmp_path: Path, content: bytes | None, says: str
) -> None:
    path = tmp_path / "catalogue.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CatalogueError, match=says) as caught:
        Catalogue(str(path), "abc")
    assert "hermes-build compile" in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_folder_in_the_catalogues_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "catalogue.jsonl").mkdir()
    with pytest.raises(CatalogueError, match="cannot be read"):
        Catalogue(str(tmp_path / "catalogue.jsonl"), "abc")


def test_a_newer_format_names_the_version_to_install(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"pip install 'hermes-build>=0\.7'"):
        frozen(str(tmp_path / "registry.py"), format=2, digest="abc", needs="0.7")
    with pytest.raises(CatalogueError, match="a newer hermes-build"):
        frozen(str(tmp_path / "registry.py"), format=2, digest="abc")


def test_a_damaged_record_names_its_key(tmp_path: Path) -> None:
    text, digest = catalogue_text(("tool/a", {"name": "a"}))
    opened = Catalogue(write(tmp_path, text.replace('"name":', '"name"')), digest)
    with pytest.raises(CatalogueError, match="tool/a"):
        opened.record("tool/a")


def test_load_refuses_a_catalogue_that_was_edited(tmp_path: Path) -> None:
    program = write_program(tmp_path, [tool("a", handler="external")])
    program.catalogue.write_text(program.catalogue.read_text().replace("The tool", "An evil tool"))
    with pytest.raises(CatalogueError, match="was changed after it was compiled"):
        program.registry.load()


def test_a_replaced_catalogue_is_still_read_as_it_was(tmp_path: Path) -> None:
    text, digest = catalogue_text(("tool/a", {"name": "a"}))
    path = write(tmp_path, text)
    opened = Catalogue(path, digest)
    (tmp_path / "new").write_text("!\t{}\n")
    os.replace(tmp_path / "new", path)
    assert opened.record("tool/a") == {"name": "a"}


@pytest.mark.skipif(not hasattr(os, "pread"), reason="descriptors are taken again at once on POSIX")
def test_a_descriptor_that_became_another_files_is_noticed(tmp_path: Path) -> None:
    text, digest = catalogue_text(("tool/a", {"name": "a"}))
    opened = Catalogue(write(tmp_path, text), digest)
    descriptor = opened._file._descriptor
    (tmp_path / "other").write_text(text.replace('"a"', '"b"'))
    other = os.open(tmp_path / "other", os.O_RDONLY)
    try:
        os.dup2(other, descriptor)
        with pytest.raises(CatalogueError, match="daemon"):
            opened.record("tool/a")
    finally:
        os.close(other)
        os.close(descriptor)


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_an_installed_package_without_its_catalogue_says_how_it_was_built(
    tmp_path: Path, folder: str
) -> None:
    registry = tmp_path / folder / "generated" / "registry.py"
    registry.parent.mkdir(parents=True)
    with pytest.raises(CatalogueError, match=r"built without its data file.*`\*\.jsonl`") as caught:
        frozen(str(registry), format=1, digest="0" * 64)
    assert "hermes-build compile" not in str(caught.value)


def test_a_package_in_a_zip_file_is_refused_in_words(tmp_path: Path) -> None:
    program = write_program(tmp_path / "program", [tool("a")])
    archive = shutil.make_archive(str(tmp_path / "program"), "zip", program.root)
    code = f"import sys; sys.path[:0] = [{archive!r}]; import {program.package}.registry"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert "is inside a zip file" in done.stderr.splitlines()[-1]


def test_a_registry_that_lives_to_the_end_of_the_interpreter_ends_in_silence(
    tmp_path: Path,
) -> None:
    program = write_program(tmp_path, [tool("a", handler="external")])
    kept = "import os; os.kept = registry"  # it goes after the modules of the registry have gone
    code = f"from {program.package}.registry import registry; registry.find('a'); {kept}"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
