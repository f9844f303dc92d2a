"""The archive: one form, written all or nothing, read by every zip tool and by ours strictly."""

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

from hermes_build.bundle import archive, entries
from hermes_build.bundle.archive import open_archive, write_archive
from hermes_build.bundle.format import MANIFEST, SIGNATURES, BundleError
from hermes_build.bundle.names import check_names, is_plain
from tests.bundle import making
from tests.bundle.forging import forged

FILES = {"b.txt": b"two", "a.txt": b"", "é/ü.txt": b"three", "B/c": b"\0" * 300}

# Writing.


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


def test_a_bad_name_is_refused_before_anything_is_written(tmp_path: Path) -> None:
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
    _refused(tmp_path / "x", "HB8008")


def test_too_many_bytes_are_refused_before_they_are_written(
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
            assert dict(found.digests())["b"] == hashlib.sha256(bytes(1 << 20)).hexdigest()

    sources: dict[str, bytes | Callable[[], Iterator[bytes]]] = {
        "a": megabytes(48),
        "b": megabytes(1),
        "c": bytes(10),
    }
    assert peak(lambda: write_archive(sources, tmp_path / "x")) < 8 << 20
    assert peak(reading) < 8 << 20


# Reading.


def test_entries_are_read_as_they_were_written(tmp_path: Path) -> None:
    contents = {
        **FILES,
        "large": random.Random(3).randbytes((2 << 20) + 17),
        "mega": bytes(1 << 20),
    }
    write_archive(contents, tmp_path / "x")
    with open_archive(tmp_path / "x") as found:
        assert set(found.names()) == set(contents)
        assert {name: found.read(name) for name in found.names()} == contents
        assert all(found.size(name) == len(data) for name, data in contents.items())
        hashes = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
        assert dict(found.digests()) == hashes
        assert list(dict(found.digests())) == list(found.names())
        assert "large" in found
        assert "other" not in found
        with pytest.raises(KeyError):
            found.read("other")


def test_an_empty_archive_is_one(tmp_path: Path) -> None:
    write_archive({}, tmp_path / "x")
    with open_archive(tmp_path / "x") as found:
        assert found.names() == ()
        assert list(found.digests()) == []


@pytest.mark.parametrize("data", [b"", b"P", b"PK", b"x" * 100, b"\x1f\x8b" + b"x" * 100])
def test_what_is_no_archive_is_refused_as_that(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    _refused(tmp_path / "x", "HB8001")


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_archive(tmp_path / "x")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    _refused(tmp_path / "x", "HB8001")


FIELDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "version made by": ("central", {"made": 20}, "HB8002"),
    "version needed": ("central", {"needs": 45}, "HB8002"),
    "encrypted": ("central", {"flags": 1}, "HB8002"),
    "streamed": ("central", {"flags": 8}, "HB8002"),
    "a UTF-8 flag without need": ("central", {"flags": 0x800}, "HB8002"),
    "compressed": ("central", {"method": 8}, "HB8002"),
    "a time": ("central", {"time": 1}, "HB8002"),
    "a date": ("central", {"date": 34}, "HB8002"),
    "a checksum": ("central", {"crc": 1}, "HB8002"),
    "a size": ("central", {"size": 4}, "HB8002"),
    "both sizes": ("central", {"size": 4, "stored": 4}, "HB8002"),
    "huge sizes": ("central", {"size": 2**32 - 2, "stored": 2**32 - 2}, "HB8002"),
    "sizes of zip64": ("central", {"size": 2**32 - 1, "stored": 2**32 - 1}, "HB8002"),
    "an offset": ("central", {"offset": 1}, "HB8002"),
    "overlapping another entry": ("central", {"offset": 0}, "HB8002"),
    "an offset of zip64": ("central", {"offset": 2**32 - 1}, "HB8002"),
    "an extra field": ("central", {"extra": 4, "tail": b"\x01\x00\x00\x00"}, "HB8002"),
    "a comment": ("central", {"comment": 2, "tail": b"hi"}, "HB8002"),
    "another disk": ("central", {"disk": 1}, "HB8002"),
    "a text": ("central", {"internal": 1}, "HB8002"),
    "executable": ("central", {"external": 0o100755 << 16}, "HB8002"),
    "a link": ("central", {"external": 0o120777 << 16}, "HB8003"),
    "a folder": ("central", {"external": 0o040755 << 16 | 16}, "HB8002"),
    "a device": ("central", {"external": 0o060644 << 16}, "HB8002"),
    "a name that ends later": ("central", {"name": 9}, "HB8002"),
    "a local version": ("local", {"needs": 10}, "HB8002"),
    "a local flag": ("local", {"flags": 8}, "HB8002"),
    "a local method": ("local", {"method": 8}, "HB8002"),
    "a local time": ("local", {"time": 1}, "HB8002"),
    "a local checksum": ("local", {"crc": 1}, "HB8002"),
    "a local size": ("local", {"size": 4}, "HB8002"),
    "a local stored size": ("local", {"stored": 0}, "HB8002"),
    "a local name's length": ("local", {"name": 0}, "HB8002"),
    "a local extra field": ("local", {"extra": 4, "tail": b"\x01\x00\x00\x00"}, "HB8002"),
}


@pytest.mark.parametrize("what", FIELDS)
def test_a_field_that_the_writer_never_writes_is_refused(tmp_path: Path, what: str) -> None:
    part, fields, code = FIELDS[what]
    entries = [("a", b"one"), ("b", b"two"), ("c", b"three")]
    assert _opens(tmp_path, forged(entries))
    error = _refused(_written(tmp_path, forged(entries, **{part: {"b": fields}})), code)  # type: ignore[arg-type]
    # Another size of one is another place of the next.
    assert error.path in ("b", "c") or "name" in what


def test_a_last_entry_that_claims_to_be_huge_is_refused(tmp_path: Path) -> None:
    for size in (2**31, 2**32 - 1):
        claim = {"a": {"size": size, "stored": size}}
        _refused(_written(tmp_path, forged([("a", b"one")], central=claim, local=claim)), "HB8008")
    claim = {MANIFEST: {"size": 40 << 20, "stored": 40 << 20}}
    _refused(_written(tmp_path, forged([(MANIFEST, b"{}")], central=claim, local=claim)), "HB8002")


ENDS: dict[str, tuple[dict[str, int], str]] = {
    "fewer entries": ({"count": 1, "all": 1}, "HB8002"),
    "more entries": ({"count": 3, "all": 3}, "HB8002"),
    "no entries": ({"count": 0, "all": 0}, "HB8002"),
    "counts that differ": ({"all": 3}, "HB8002"),
    "a count of zip64": ({"count": 0xFFFF, "all": 0xFFFF}, "HB8008"),
    "another start": ({"start": 3}, "HB8002"),
    "a start of zip64": ({"start": 0xFFFFFFFF}, "HB8002"),
    "another size": ({"size": 3}, "HB8002"),
    "a start and size that fit": ({"start": 0, "size": 162}, "HB8002"),
    "a comment's length": ({"comment": 1}, "HB8002"),
    "another disk": ({"disk": 1}, "HB8002"),
    "another first disk": ({"first": 1}, "HB8002"),
}


@pytest.mark.parametrize("what", ENDS)
def test_an_end_that_the_writer_never_writes_is_refused(tmp_path: Path, what: str) -> None:
    fields, code = ENDS[what]
    data = forged([("a", b"one"), ("b", b"two")])
    assert len(data) - 22 == 162
    assert _opens(tmp_path, data)
    _refused(_written(tmp_path, forged([("a", b"one"), ("b", b"two")], end=fields)), code)


def test_a_directory_as_large_as_the_file_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_DIRECTORY", 5000)
    data = forged(
        [("a", b"one"), ("b", b"two")], between=bytes(5000), end={"start": 0, "size": 5162}
    )
    error = _refused(_written(tmp_path, data), "HB8002")
    assert "longer than that of the largest" in error.message


def test_entries_out_of_order_are_refused(tmp_path: Path) -> None:
    error = _refused(_written(tmp_path, forged([("b", b""), ("a", b"")])), "HB8002")
    assert "order" in error.message
    manifest = (MANIFEST, b"{}")
    _refused(_written(tmp_path, forged([("a", b""), manifest])), "HB8002")
    _refused(_written(tmp_path, forged([manifest, ("a", b""), (SIGNATURES, b"")])), "HB8002")


def test_a_comment_of_another_manifest_is_refused(tmp_path: Path) -> None:
    entries = [(MANIFEST, b"{}")]
    for comment in (b"", b"x", making.comment(b"{ }"), making.comment(b"{}") + b"x"):
        _refused(_written(tmp_path, forged(entries, comment=comment)), "HB8002")
    _refused(_written(tmp_path, forged([("a", b"")], comment=making.comment(b""))), "HB8002")


def test_bytes_between_the_parts_are_refused(tmp_path: Path) -> None:
    entries = [("a", b"one"), ("b", b"two")]
    _refused(_written(tmp_path, forged(entries, between=b"x")), "HB8002")
    # A whole entry of which the directory says nothing.
    hidden = forged([("c", b"three")]).partition(b"PK\1\2")[0]
    _refused(_written(tmp_path, forged(entries, between=hidden)), "HB8002")
    _refused(_written(tmp_path, hidden + forged(entries)), "HB8002")


# Names.

UNSAFE = {
    "empty": "",
    "up": "../x",
    "up inside": "a/../../x",
    "here": "./x",
    "absolute": "/etc/passwd",
    "a folder": "a/",
    "an empty part": "a//b",
    "a backslash": "a\\b",
    "up, with backslashes": "..\\x",
    "a drive": "C:x",
    "a share": "\\\\host\\share",
    "a stream": "a.txt:hidden",
    "NUL": "a\0b",
    "a line end": "a\nb",
    "an escape": "a\x1bb",
    "delete": "a\x7fb",
    "the other direction": "a\u202etxt.py",
    "no width": "a\u200bb",
    "decomposed": "e\u0301",
    "a device": "aux",
    "a device with an ending": "a/NUL.txt",
    "a numbered device": "com1.py",
    "a device with a small number": "COM\u00b9",
    "a device with a space": "con .txt",
    "the console": "conin$",
    "ends with a dot": "a./b",
    "ends with a space": "a /b",
    "begins with a space": "a/ b",
    "three dots": "...",
    "a star": "a*b",
    "a question": "a?",
    "too long a part": "x" * 241,
    "too long a part in bytes": "é" * 121,
    "too long": "/".join(["x" * 100] * 10),
}


@pytest.mark.parametrize("what", UNSAFE)
def test_an_unsafe_name_is_refused(tmp_path: Path, what: str) -> None:
    name = UNSAFE[what]
    assert not is_plain(name)
    error = _refused(_written(tmp_path, forged([(name, b"")])), "HB8003")
    assert error.path == name
    with pytest.raises(BundleError):
        check_names([".a", "b", name])


@pytest.mark.parametrize(
    "name",
    [
        "a",
        ".hidden",
        "a.b.c",
        "-",
        "~",
        "a b",
        "con1",
        "console",
        "aux_/x",
        "nulls.py",
        "é/日本",
        "a+b@c,=#!(1)",
    ],
)
def test_a_plain_name_is_accepted(tmp_path: Path, name: str) -> None:
    assert is_plain(name)
    assert _opens(tmp_path, forged([(name, b"x")]))


@pytest.mark.parametrize(
    "names",
    [
        ["a", "a"],
        ["A", "a"],
        ["a/B", "a/b"],
        ["A/x", "a/y"],
        ["a", "a/b"],
        ["A", "a/b"],
        ["a/b/C/d", "a/b/c/e"],
        ["STRASSE", "straße"],
        ["fi", "ﬁ"],
        ["Å", "å"],
        ["K", "\u212a"],
    ],
    ids=lambda names: "-".join(names).encode("unicode_escape").decode(),
)
def test_names_that_could_meet_are_refused(tmp_path: Path, names: list[str]) -> None:
    names = sorted(names)
    assert all(map(is_plain, names)) or "\u212a" in names
    _refused(_written(tmp_path, forged([(name, b"") for name in names])), "HB8003")


@pytest.mark.parametrize("raw", [b"\xff", b"\xc0\xae\xc0\xae/x", b"\xed\xa0\x80", b"a\xe9"])
def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path, raw: bytes) -> None:
    _refused(_written(tmp_path, forged([(raw, b"")])), "HB8002")


def test_a_bad_name_is_found_among_ten_thousand() -> None:
    names = [f"program/tools/tool_{number}.py" for number in range(10_000)]
    check_names(names)
    for bad in ("program/tools/TOOL_7.py", "program/tools", "a/../b", "program/tools/tool_9.py"):
        with pytest.raises(BundleError) as caught:
            check_names([*names, bad])
        assert caught.value.code == "HB8003"


def _written(folder: Path, data: bytes) -> Path:
    (folder / "x").write_bytes(data)
    return folder / "x"


def _opens(folder: Path, data: bytes) -> bool:
    with open_archive(_written(folder, data)) as found:
        return len(list(found.digests())) == len(found.names())


def _refused(path: Path, code: str) -> BundleError:
    """Read all of it in both ways: one may open what the other does not look at."""
    with pytest.raises(BundleError) as first, open_archive(path) as found:
        list(found.digests())
    with pytest.raises(BundleError) as caught, open_archive(path) as found:
        for name in found.names():
            found.read(name)
    assert (caught.value.code, first.value.code) == (code, code), caught.value.message
    return caught.value


def _is_untouched(folder: Path) -> None:
    assert os.listdir(folder) == ["x"]
    assert (folder / "x").read_bytes() == b"before"
