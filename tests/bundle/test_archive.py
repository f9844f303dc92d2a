"""Reading an archive: what the writer would not have written is refused, to the byte."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from hermes_build.bundle import archive
from hermes_build.bundle.archive import open_archive, write_archive
from hermes_build.bundle.format import MANIFEST, SIGNATURES, BundleError
from tests.bundle import making
from tests.bundle.forging import forged
from tests.bundle.refusing import archive_refuses, opens, written

FILES = {"b.txt": b"two", "a.txt": b"", "é/ü.txt": b"three", "B/c": b"\0" * 300}


def test_entries_are_read_as_they_werewritten(tmp_path: Path) -> None:
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
        for sums in (False, True):
            assert dict(found.digests(sums=sums)) == hashes
            assert list(dict(found.digests(sums=sums))) == list(found.names())
        assert "large" in found
        assert "other" not in found
        with pytest.raises(KeyError):
            found.read("other")


def test_an_empty_archive_is_one(tmp_path: Path) -> None:
    write_archive({}, tmp_path / "x")
    with open_archive(tmp_path / "x") as found:
        assert found.names() == ()
        assert list(found.digests(sums=True)) == []


@pytest.mark.parametrize("data", [b"", b"P", b"PK", b"x" * 100, b"\x1f\x8b" + b"x" * 100])
def test_what_is_no_archive_is_refused_as_that(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    archive_refuses(tmp_path / "x", "HB8001")


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_archive(tmp_path / "x")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x")
    archive_refuses(tmp_path / "x", "HB8001")


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
    assert opens(written(tmp_path, forged(entries)))
    error = archive_refuses(written(tmp_path, forged(entries, **{part: {"b": fields}})), code)  # type: ignore[arg-type]
    # Another size of one is another place of the next.
    assert error.path in ("b", "c") or "name" in what


def test_a_last_entry_that_claims_to_be_huge_is_refused(tmp_path: Path) -> None:
    for size in (2**31, 2**32 - 1):
        claim = {"a": {"size": size, "stored": size}}
        archive_refuses(
            written(tmp_path, forged([("a", b"one")], central=claim, local=claim)), "HB8008"
        )
    claim = {MANIFEST: {"size": 40 << 20, "stored": 40 << 20}}
    archive_refuses(
        written(tmp_path, forged([(MANIFEST, b"{}")], central=claim, local=claim)), "HB8002"
    )


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
    assert opens(written(tmp_path, data))
    archive_refuses(written(tmp_path, forged([("a", b"one"), ("b", b"two")], end=fields)), code)


def test_a_directory_as_large_as_the_file_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_DIRECTORY", 5000)
    data = forged(
        [("a", b"one"), ("b", b"two")], between=bytes(5000), end={"start": 0, "size": 5162}
    )
    error = archive_refuses(written(tmp_path, data), "HB8002")
    assert "longer than that of the largest" in error.message


def test_entries_out_of_order_are_refused(tmp_path: Path) -> None:
    error = archive_refuses(written(tmp_path, forged([("b", b""), ("a", b"")])), "HB8002")
    assert "order" in error.message
    manifest = (MANIFEST, b"{}")
    archive_refuses(written(tmp_path, forged([("a", b""), manifest])), "HB8002")
    archive_refuses(written(tmp_path, forged([manifest, ("a", b""), (SIGNATURES, b"")])), "HB8002")


def test_a_comment_of_another_manifest_is_refused(tmp_path: Path) -> None:
    entries = [(MANIFEST, b"{}")]
    for comment in (b"", b"x", making.comment(b"{ }"), making.comment(b"{}") + b"x"):
        archive_refuses(written(tmp_path, forged(entries, comment=comment)), "HB8002")
    archive_refuses(written(tmp_path, forged([("a", b"")], comment=making.comment(b""))), "HB8002")


def test_bytes_between_the_parts_are_refused(tmp_path: Path) -> None:
    entries = [("a", b"one"), ("b", b"two")]
    archive_refuses(written(tmp_path, forged(entries, between=b"x")), "HB8002")
    # A whole entry of which the directory says nothing.
    hidden = forged([("c", b"three")]).partition(b"PK\1\2")[0]
    archive_refuses(written(tmp_path, forged(entries, between=hidden)), "HB8002")
    archive_refuses(written(tmp_path, hidden + forged(entries)), "HB8002")


@pytest.mark.parametrize("content", [b"two", bytes(1 << 20)], ids=["small", "large"])
def test_a_checksum_is_held_against_the_content_where_checksums_are_asked_for(
    tmp_path: Path, content: bytes
) -> None:
    wrong = {"b": {"crc": zlib.crc32(content) ^ 1}}
    path = written(tmp_path, forged([("a", b"one"), ("b", content)], local=wrong, central=wrong))
    with open_archive(path) as found:
        assert dict(found.digests(sums=False))["b"] == hashlib.sha256(content).hexdigest()
        for look in (lambda: list(found.digests(sums=True)), lambda: found.read("b")):
            with pytest.raises(BundleError, match="the checksum of b is not that of its content"):
                look()
