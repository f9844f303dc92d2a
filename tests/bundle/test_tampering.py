"""Whatever is done to a bundle, it is refused, with a code, before anything of it could matter."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_build.bundle.archive import Archive, read_entries
from hermes_build.bundle.entries import in_order
from hermes_build.bundle.format import LOCK, MANIFEST, BundleError
from hermes_build.bundle.verifying import (
    Opened,
    open_contents,
    open_hashed,
    verify,
    verify_container,
)
from hermes_build.bundle.wheel import contained
from hermes_build.runtime.bundles import open_bundle
from tests.bundle import making
from tests.bundle.forging import InMemory, forged, rezipped

FILES = making.program()
ENTRIES = making.whole(FILES)
NAMES = in_order(ENTRIES)
WHOLE = forged((name, ENTRIES[name]) for name in NAMES)
OTHER = making.whole(making.program("pong", "ping"))


Way: TypeAlias = Callable[[Any], Opened]

WAYS: dict[str, Way] = {"verify": verify_container, "open": open_hashed}
"""How a bundle is looked at: by people, and by a program that opens it."""


def _fate(data: bytes, way: Way = verify_container) -> str:
    """The code that an archive is refused with, or the digest of the bundle that it is."""
    file: Any = InMemory(data)
    try:
        with way(contained(Archive("x.hermes", file, read_entries(file)))) as opened:
            return opened.digest
    except BundleError as error:
        assert error.code[:5] == "HB800"
        assert error.message
        return error.code


def _is_refused(data: bytes, way: Way = verify_container) -> None:
    assert data != WHOLE
    fate = _fate(data, way)
    assert fate.startswith("HB"), "a changed bundle was taken for a whole one"


def test_the_bundle_that_is_tampered_with_is_whole(tmp_path: Path) -> None:
    assert making.archive(tmp_path / "x").read_bytes() == WHOLE
    for way in WAYS.values():
        assert _fate(WHOLE, way) == making.manifest(FILES).digest


# Bytes.


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mask", [0x01, 0x20, 0xFF])
def test_every_byte_counts(mask: int, way: str) -> None:
    for place in range(len(WHOLE)):
        changed = bytearray(WHOLE)
        changed[place] ^= mask
        _is_refused(bytes(changed), WAYS[way])


def test_a_byte_of_a_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.hermes"
    for place in range(0, len(WHOLE), 41):
        changed = bytearray(WHOLE)
        changed[place] ^= 0x10
        path.write_bytes(changed)
        for way in (verify, open_bundle):
            with pytest.raises(BundleError):
                way(path)
    path.write_bytes(WHOLE)
    verify(path).close()
    open_bundle(path).close()


def test_every_beginning_is_refused() -> None:
    for length in range(len(WHOLE)):
        _is_refused(WHOLE[:length])


def test_every_end_is_refused() -> None:
    for start in range(1, len(WHOLE)):
        _is_refused(WHOLE[start:])


MORE = {
    "a zero": b"\0",
    "a line end": b"\n",
    "a script": b"#!/usr/bin/env python3\n",
    "itself": WHOLE,
}


@pytest.mark.parametrize("what", MORE)
def test_nothing_stands_before_or_after(what: str) -> None:
    _is_refused(MORE[what] + WHOLE)
    _is_refused(WHOLE + MORE[what])


def test_another_bundle_before_or_after_is_refused() -> None:
    other = forged((name, OTHER[name]) for name in in_order(OTHER))
    assert not _fate(other).startswith("HB")
    _is_refused(WHOLE + other)
    _is_refused(other + WHOLE)


@st.composite
def _mutations(draw: st.DrawFn) -> bytes:
    """The archive after one to four pieces of it were cut, doubled, moved, or written over."""
    data = WHOLE
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(start + draw(st.integers(0, 60)), len(data))
        piece = draw(st.one_of(st.binary(max_size=40), st.just(data[start:end])))
        to = draw(st.integers(0, len(data)))
        how = draw(st.sampled_from(["cut", "put", "over", "move"]))
        if how == "cut":
            data = data[:start] + data[end:]
        elif how == "put":
            data = data[:to] + piece + data[to:]
        elif how == "over":
            data = data[:to] + piece + data[to + len(piece) :]
        else:
            rest = data[:start] + data[end:]
            data = rest[:to] + data[start:end] + rest[to:]
    return data


@settings(max_examples=500, deadline=None, database=None)
@given(data=_mutations())
def test_no_mutation_passes(data: bytes) -> None:
    if data != WHOLE:
        _is_refused(data)


# Entries.


def _each_entry() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Every way to remove, double, rename, replace or move one entry."""
    usual = [(name, ENTRIES[name]) for name in NAMES]
    for at, (name, data) in enumerate(usual):
        before, after = usual[:at], usual[at + 1 :]
        yield f"{name} removed", before + after
        yield f"{name} doubled", [*before, (name, data), (name, data), *after]
        yield f"{name} doubled with another", [*before, (name, data), (name, b"x"), *after]
        yield f"{name} in another case", [*before, (name.upper(), data), *after]
        yield f"{name} renamed", [*before, (name + "_", data), *after]
        yield (
            f"{name} emptied" if data else f"{name} filled",
            [
                *before,
                (name, b"" if data else b"x"),
                *after,
            ],
        )
        yield f"{name} at the end", [*before, *after, (name, data)]
        if OTHER.get(name, data) != data:
            yield f"{name} of another bundle", [*before, (name, OTHER[name]), *after]
        for later, (other, more) in enumerate(after, at + 1):
            swapped = [*usual]
            swapped[at], swapped[later] = (name, more), (other, data)
            if more != data:
                yield f"contents of {name} and {other} swapped", swapped


@pytest.mark.parametrize("sort", [False, True], ids=["as it is", "in order"])
def test_every_entry_counts(sort: bool) -> None:
    tried = 0
    for what, entries in _each_entry():
        if sort:
            entries.sort(key=lambda one: (one[0] != MANIFEST, one[0]))
        data = forged(entries)
        if data != WHOLE:
            tried += 1
            assert _fate(data).startswith("HB"), what
    assert tried > 70


REZIPPED: dict[str, dict[str, Any]] = {
    "deflated": {"method": zipfile.ZIP_DEFLATED},
    "bzip2": {"method": zipfile.ZIP_BZIP2},
    "stored, of today": {"date": (2026, 1, 1, 0, 0, 0)},
    "reversed": {"step": -1},
    "executable": {"mode": 0o100755},
    "without modes": {"mode": 0},
    "links": {"mode": 0o120777},
    "without a comment": {"comment": b""},
    "streamed": {"stream": True},
    "zip64": {"zip64": True},
}


def test_another_tool_may_write_exactly_our_form() -> None:
    assert rezipped(ENTRIES) == WHOLE


@pytest.mark.parametrize("what", REZIPPED)
def test_another_form_of_the_same_contents_is_refused(what: str) -> None:
    data = rezipped(ENTRIES, **REZIPPED[what])
    with zipfile.ZipFile(io.BytesIO(data)) as found:
        assert {name: found.read(name) for name in found.namelist()} == ENTRIES
    _is_refused(data)


# What the digests do not give away: every digest is made anew, as a liar would.


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key in value:
            yield from _leaves(value[key], (*path, key))
    elif isinstance(value, list) and value:
        for place, one in enumerate(value):
            yield from _leaves(one, (*path, place))
    else:
        yield path


def _values(value: Any) -> list[Any]:
    """Values of the same type that are others."""
    if isinstance(value, int):
        return [value + 1, value - 1, 0]
    if isinstance(value, str):
        turned = ("0" if value[0] != "0" else "1") + value[1:]
        return [f"{value}x", turned, value.swapcase(), value[:-1], "x"]
    return [["x"], {"x": "x"}, [{"module": "x", "why": "x"}]]


ABOUT_NOTHING = {"name", "requires_python", "dependencies", "left_out"}
"""What a manifest says, and no file of the bundle: another text makes another bundle."""


def test_every_field_of_the_manifest_counts() -> None:
    document = json.loads(ENTRIES[MANIFEST])
    digests = {making.manifest(FILES).digest}
    refused = 0
    for path in _leaves(document):
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        kept = holder[path[-1]]
        for value in _values(kept):
            holder[path[-1]] = value
            if value != kept:
                text = json.dumps(document, sort_keys=True, separators=(",", ":"))
                manifest = (text + "\n").encode()
                entries = [(name, ENTRIES[name]) for name in NAMES[1:]]
                fate = _fate(forged([(MANIFEST, manifest), *entries]))
                if fate.startswith("HB"):
                    refused += 1
                else:
                    assert path[0] in ABOUT_NOTHING, (path, value)
                    assert fate not in digests
                    digests.add(fate)
        holder[path[-1]] = kept
    assert refused > 80
    assert len(digests) > 5


def test_every_line_of_the_lock_counts() -> None:
    lines = FILES[LOCK].decode().splitlines(keepends=True)
    tried = 0
    for at, line in enumerate(lines):
        before, after = lines[:at], lines[at + 1 :]
        swapped = [*before, *after[:1], line, *after[1:]]
        changes = [[*before, *after], [*before, line, line, *after], swapped]
        if len(line) > 10:
            turned = "0" if line[-9] != "0" else "1"
            changes += [[*before, line[:-9] + turned + line[-8:], *after]]
            changes += [[*before, line[:-1] + "x\n", *after], [*before, f" {line}", *after]]
        for changed in changes:
            files = {**FILES, LOCK: "".join(changed).encode()}
            if files[LOCK] == FILES[LOCK]:
                continue
            entries = making.whole(files)
            fate = _fate(forged((name, entries[name]) for name in in_order(entries)))
            assert fate == "HB8007", changed
            tried += 1
    assert tried > 80


def test_a_file_of_another_bundle_is_refused_with_any_manifest_of_both() -> None:
    for name in ENTRIES.keys() & OTHER.keys():
        if ENTRIES[name] == OTHER[name] or name == MANIFEST:
            continue
        files = {**FILES, name: OTHER[name]}
        entries = making.whole(files)
        data = forged((one, entries[one]) for one in in_order(entries))
        assert _fate(data) == "HB8007", name


# Folders.


def test_every_file_of_a_folder_counts(tmp_path: Path) -> None:
    folder = making.unpacked(tmp_path / "x")
    for name, data in ENTRIES.items():
        place = folder / name
        for changed in (data + b"\n", data[:-1], bytes(len(data)), b""):
            if changed != data:
                place.write_bytes(changed)
                with pytest.raises(BundleError):
                    verify(folder)
        place.unlink()
        with pytest.raises(BundleError):
            verify(folder)
        place.mkdir()
        with pytest.raises(BundleError):
            verify(folder)
        (place / "x").write_bytes(data)
        with pytest.raises(BundleError):
            verify(folder)
        shutil.rmtree(place)
        place.write_bytes(data)
    verify(folder).close()


# What a refusal leaves behind.

WATCHED = """
import os, sys
from hermes_build.bundle.format import BundleError
from hermes_build.bundle.verifying import verify

def fate(path):
    try:
        verify(path).close()
        return "whole"
    except BundleError as error:
        return error.code

first, *paths = sys.argv[1:]
for path in (first, *paths):  # what the verifier itself imports late
    fate(path)

seen = []

def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if mode and set(mode) & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            seen.append((event, path))
    elif event != "os.listdir" and event != "os.scandir" and event != "builtins.id":
        seen.append((event, str(arguments)[:80]))

sys.addaudithook(watch)
fates = [fate(path) for path in (first, *paths)]
noted = list(seen)
print(*fates)
print(noted)
"""


def test_nothing_is_imported_run_or_written(tmp_path: Path) -> None:
    (tmp_path / "whole").write_bytes(WHOLE)
    place = random.Random(4)
    paths = [tmp_path / "whole"]
    for what, entries in list(_each_entry())[::3]:
        path = tmp_path / f"entries{len(paths)}"
        path.write_bytes(forged(entries))
        paths.append(path)
        assert what
    for _ in range(60):
        changed = bytearray(WHOLE)
        changed[place.randrange(len(WHOLE))] ^= 0xFF
        path = tmp_path / f"bytes{len(paths)}"
        path.write_bytes(changed)
        paths.append(path)
    paths.append(making.unpacked(tmp_path / "folder"))
    paths.append(making.unpacked(tmp_path / "wrong", {**ENTRIES, "x.py": b"raise SystemExit\n"}))
    before = sorted(tmp_path.rglob("*"))
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", WATCHED, *map(str, paths)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    fates, seen = done.stdout.splitlines()
    assert fates.split()[0] == "whole"
    assert fates.split()[-2:] == ["whole", "HB8005"]
    assert fates.split().count("whole") == 2
    assert seen == "[]"
    assert sorted(tmp_path.rglob("*")) == before


def test_an_unverified_opening_refuses_every_changed_byte_it_reads() -> None:
    def read_all(container: Any) -> Opened:
        opened = open_contents(container)
        for name in opened.names():
            opened.read(name)
        return opened

    assert not _fate(WHOLE, read_all).startswith("HB")
    for place in range(len(WHOLE)):
        changed = bytearray(WHOLE)
        changed[place] ^= 0x10
        _is_refused(bytes(changed), read_all)
