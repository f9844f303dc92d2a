"""Writing an archive: one form, all or nothing, which every zip tool reads."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_build.bundle import entries
from hermes_build.bundle.archive import open_archive, write_archive
from hermes_build.bundle.format import MANIFEST, SIGNATURES, BundleError
from tests.bundle import making
from tests.bundle.forging import forged
from tests.bundle.refusing import archive_refuses

FILES = {"b.txt": b"two", "a.txt": b"", "é/ü.txt": b"three", "B/c": b"\0" * 300}


def test_equal_entries_give_equal_bytes_in_any_order(tmp_path: Path) -> None:
    names = list(FILES)
    written = set()
    for turn in range(5):
        random.Random(turn).shuffle(names)
        digest = write_archive({name: FILES[name] for name in names}, tmp_path / "x")
        written.add((digest, (tmp_path / "x").read_bytes()))
    assert len(written) == 1


def test_the_bytes_are_promised(tmp_path: Path) -> None:
    digest = write_archive({"b.py": b"b = 1\n", MANIFEST: b"{}\n", "é": b""}, tmp_path / "x")
    assert digest == hashlib.sha256((tmp_path / "x").read_bytes()).hexdigest()
    assert digest == "6e69412cdad1ab4a96eb159406757a705ef87caf19051a687174538df996a340"


def test_an_archive_is_what_its_form_says(tmp_path: Path) -> None:
    made = making.archive(tmp_path / "x").read_bytes()
    entries = making.whole(making.program())
    assert made == forged(sorted(entries.items(), key=lambda one: (one[0] != MANIFEST, one[0])))


def test_the_manifest_comes_first_then_the_signatures_then_names_by_their_bytes(
    tmp_path: Path,
) -> None:
    rest = ["X", "_", "a-b", "a/b", "a/\uffee", "a/\U0001f40d", "z", "é"]
    write_archive(dict.fromkeys([*reversed(rest), SIGNATURES, MANIFEST], b""), tmp_path / "x")
    with open_archive(tmp_path / "x") as found:
        assert found.names() == (MANIFEST, SIGNATURES, *rest)
    assert rest == sorted(rest, key=str.encode)


def test_other_zip_tools_read_what_we_wrote(tmp_path: Path) -> None:
    write_archive(FILES, tmp_path / "x")
    with zipfile.ZipFile(tmp_path / "x") as found:
        assert found.testzip() is None
        assert {name: found.read(name) for name in found.namelist()} == FILES
        for one in found.infolist():
            assert one.date_time == (1980, 1, 1, 0, 0, 0)
            assert (one.compress_type, one.external_attr >> 16) == (0, 0o100644)


def test_the_comment_states_the_manifest(tmp_path: Path) -> None:
    entries = making.whole(making.program())
    with zipfile.ZipFile(making.archive(tmp_path / "x")) as found:
        digest = hashlib.sha256(entries[MANIFEST]).hexdigest()
        assert found.comment.decode() == f"hermes-bundle 1 sha256:{digest}"


def test_python_runs_an_archive_with_a_main_module(tmp_path: Path) -> None:
    main = b"import a.b\nprint(a.b.x)\n"
    entries = {"__main__.py": main, "a/__init__.py": b"", "a/b.py": b"x = 7\n"}
    write_archive(entries, tmp_path / "x")
    done = subprocess.run([sys.executable, tmp_path / "x"], capture_output=True, check=True)
    assert done.stdout.split() == [b"7"]


def _growing() -> Callable[[], Iterator[bytes]]:
    calls = iter(range(10))
    return lambda: iter([b"x" * next(calls)])


def test_a_content_that_changes_while_it_is_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"before")
    with pytest.raises(BundleError, match="b was changed while it was written") as caught:
        write_archive({"a": b"", "b": _growing()}, tmp_path / "x")
    assert (caught.value.code, caught.value.path) == ("HB8006", "b")
    _is_untouched(tmp_path)


def test_a_bad_name_is_refused_before_anything_iswritten(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"before")
    with pytest.raises(BundleError) as caught:
        write_archive({"../x": b""}, tmp_path / "x")
    assert caught.value.code == "HB8003"
    _is_untouched(tmp_path)


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "MAX_FILES", 3)
    write_archive(dict.fromkeys("abc", b""), tmp_path / "x")
    with pytest.raises(BundleError) as caught:
        write_archive(dict.fromkeys("abcd", b""), tmp_path / "y")
    assert caught.value.code == "HB8008"
    monkeypatch.setattr(entries, "MAX_FILES", 2)
    archive_refuses(tmp_path / "x", "HB8008")


def test_too_many_bytes_are_refused_before_they_arewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "MAX_BYTES", 9_000_000)
    (tmp_path / "x").write_bytes(b"before")
    megabyte = bytes(1 << 20)

    def endless() -> Iterator[bytes]:
        while True:
            yield megabyte

    with pytest.raises(BundleError) as caught:
        write_archive({"a": endless}, tmp_path / "x")
    assert caught.value.code == "HB8008"
    _is_untouched(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full disk at hand")
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").write_bytes(b"before")
    real = os.open
    opened: list[str] = []

    def on_a_full_disk(path: Any, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith(".part"):
            opened.append(path)
            return real("/dev/full", os.O_WRONLY)
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", on_a_full_disk)
    with pytest.raises(OSError) as caught:
        write_archive({"a": bytes(1 << 20)}, tmp_path / "x")
    monkeypatch.undo()
    assert opened
    assert caught.value.errno == errno.ENOSPC
    _is_untouched(tmp_path)


KILLED = """
import os, sys
from hermes_build.bundle.archive import write_archive

def dying():
    yield b"first"
    if sys.argv[2] == "now" and any(name.endswith(".part") for name in os.listdir(".")):
        os.kill(os.getpid(), 9)
    yield b"second"

write_archive({"a": bytes(1 << 20), "b": dying}, sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_a_killed_writer_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"before")
    command = [sys.executable, "-c", KILLED, "x"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([*command, "now"], cwd=tmp_path, env=env)
    assert done.returncode == -9
    assert (tmp_path / "x").read_bytes() == b"before"
    subprocess.run([*command, "never"], cwd=tmp_path, env=env, check=True)
    with open_archive(tmp_path / "x") as found:
        assert found.read("b") == b"firstsecond"


def test_writing_over_an_open_archive_leaves_its_reader_alone(tmp_path: Path) -> None:
    write_archive({"a": b"old"}, tmp_path / "x")
    with open_archive(tmp_path / "x") as found:
        if sys.platform != "win32":
            write_archive({"a": b"new"}, tmp_path / "x")
        assert found.read("a") == b"old"


def test_neither_writing_nor_reading_takes_memory_that_grows_with_the_contents(
    tmp_path: Path,
) -> None:
    def megabytes(number: int) -> Callable[[], Iterator[bytes]]:
        return lambda: (bytes([turn % 251]) * (1 << 20) for turn in range(number))

    def peak(action: Callable[[], object]) -> int:
        tracemalloc.start()
        try:
            action()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def reading() -> None:
        with open_archive(tmp_path / "x") as found:
            assert sum(len(piece) for piece in found.pieces("a")) == 48 << 20
            assert dict(found.digests(sums=True))["b"] == hashlib.sha256(bytes(1 << 20)).hexdigest()

    sources: dict[str, bytes | Callable[[], Iterator[bytes]]] = {
        "a": megabytes(48),
        "b": megabytes(1),
        "c": bytes(10),
    }
    assert peak(lambda: write_archive(sources, tmp_path / "x")) < 8 << 20
    assert peak(reading) < 8 << 20


def _is_untouched(folder: Path) -> None:
    assert os.listdir(folder) == ["x"]
    assert (folder / "x").read_bytes() == b"before"
