"""What is used of a bundle is what its manifest lists, when it is used and however it opened."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.format import MANIFEST, SIGNATURES, BundleError
from hermes_build.bundle.glance import Glance
from hermes_build.runtime.bundles import BundledRegistry, open_bundle
from hermes_build.runtime.catalogue import Catalogue
from hermes_build.runtime.errors import CatalogueError
from hermes_build.runtime.pinned import Pinned
from tests.bundle.containers import CONTAINERS, entries
from tests.bundle.making import CATALOGUE, PARAMETERS, manifest, program, whole
from tests.runtime_program import catalogue_text, tool, toolset

SEEN = b"The tool ping."
LIED = b"The tool evil."


@pytest.fixture(params=CONTAINERS)
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A small bundle, in each container."""
    return CONTAINERS[request.param](tmp_path, entries())


def change(bundle: Path, old: bytes, new: bytes) -> None:
    """Change the catalogue in place, as another process can where the file is open."""
    path = bundle if bundle.is_file() else next(bundle.rglob("catalogue.jsonl"))
    data = path.read_bytes()
    assert data.count(old) == 1
    assert len(old) == len(new)
    with path.open("r+b") as file:
        file.seek(data.index(old))
        file.write(new)


LOOKS: list[Callable[[BundledRegistry], object]] = [
    lambda registry: registry.get_all_tool_names(),
    lambda registry: registry.get_definition("ping"),
    lambda registry: registry.find("ping"),
    lambda registry: registry.resolve_toolset("small"),
    lambda registry: registry.session(["small"]),
    lambda registry: registry.load(),
    lambda registry: registry.verify(),
]


@pytest.mark.parametrize("nth", range(len(LOOKS)))
def test_a_changed_catalogue_is_neither_listed_nor_run(small: Path, nth: int) -> None:
    change(small, SEEN, LIED)
    with open_bundle(small, verify=False) as registry:
        with pytest.raises(BundleError) as refused:
            LOOKS[nth](registry)
        assert refused.value.code == "HB8006"
        assert refused.value.path == CATALOGUE
        answer = json.loads(registry.call("ping", {}))
        assert "HB8006" in answer["error"] and CATALOGUE in answer["error"]


def test_a_signature_holds_the_catalogue_where_verifying_is_left_out(tmp_path: Path) -> None:
    pytest.importorskip("securesystemslib")
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    from hermes_build.signing.dsse import sign

    key = ed25519.Ed25519PrivateKey.generate()
    files = entries()
    signed = {**files, SIGNATURES: sign(files[MANIFEST], [key])}
    for name, make in CONTAINERS.items():
        (tmp_path / name).mkdir()
        path = make(tmp_path / name, signed)
        change(path, SEEN, LIED)
        with (
            open_bundle(
                path, keys=[key.public_key()], require_signature=True, verify=False
            ) as registry,
            pytest.raises(BundleError, match="HB8006"),
        ):
            registry.get_definitions(["ping"])


@pytest.mark.parametrize("looked", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_a_catalogue_that_changes_after_the_bundle_was_opened_is_not_used(
    small: Path, verify: bool, looked: bool
) -> None:
    with open_bundle(small, verify=verify) as registry:
        if looked:
            registry.find("ping")
        change(small, SEEN, LIED)
        try:
            found: Any = registry.get_schema("ping")
        except BundleError as error:
            assert (error.code, error.path) == ("HB8006", CATALOGUE)
        else:
            assert found["description"].encode() == SEEN
            assert verify or looked


def many(count: int) -> dict[str, bytes]:
    """A bundle of many tools, of which only the catalogue is looked at."""
    names = [f"tool_{number:04d}" for number in range(count)]
    records = [(f"tool/{name}", tool(name, PARAMETERS, note="x" * 900)) for name in names]
    text, mark = catalogue_text(*records, ("toolset/all", toolset("all", names)))
    files = {**program(), CATALOGUE: text.encode()}
    return whole(files, registry=mark, tools=names, toolsets=["all"])


def test_of_a_large_catalogue_a_part_that_changed_is_refused_and_others_are_used(
    tmp_path: Path,
) -> None:
    for make in (CONTAINERS["archive"], CONTAINERS["folder"]):
        path = make(tmp_path, many(3000))
        with open_bundle(path, verify=False) as registry:
            assert len(registry.get_all_tool_names()) == 3000
            change(path, b"The tool tool_1003.", b"The tool tool_0666.")
            schema = registry.get_schema("tool_0003")
            assert schema is not None and schema["description"] == "The tool tool_0003."
            for _ in range(2):
                with pytest.raises(BundleError, match="HB8006"):
                    registry.get_schema("tool_1003")
        # One that was cut off, or has grown, is another one as well.
        whole_file = path if path.is_file() else path / CATALOGUE
        with open_bundle(path, verify=False) as registry:
            whole_file.write_bytes(whole_file.read_bytes()[:-300_000])
            with pytest.raises(BundleError, match="HB800"):
                registry.get_all_tool_names()


def test_memory_does_not_grow_with_the_catalogue(tmp_path: Path) -> None:
    path = CONTAINERS["archive"](tmp_path, many(6000))
    registry = open_bundle(path, verify=False)
    assert len(registry.bundle.manifest.tools) == 6000
    tracemalloc.start()
    try:
        for number in range(0, 6000, 100):
            assert f"tool/tool_{number:04d}" in registry._catalogue
        assert sum(1 for _ in registry._catalogue.records("tool/")) == 6000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = registry.bundle.manifest.files[CATALOGUE].size
    assert size > 7_000_000
    assert peak < size / 2
    registry.close()


BLOCK = 4096


@settings(max_examples=60, deadline=None)
@given(
    size=st.one_of(
        st.integers(0, 3 * BLOCK), st.sampled_from([BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])
    ),
    reads=st.lists(st.tuples(st.integers(0, 3 * BLOCK), st.integers(0, 3 * BLOCK)), max_size=8),
)
def test_a_pinned_file_reads_as_the_file_does(
    tmp_path_factory: pytest.TempPathFactory, size: int, reads: list[tuple[int, int]]
) -> None:
    data = bytes(position * 31 % 251 for position in range(size))
    files = {**program(), CATALOGUE: data}
    path = tmp_path_factory.mktemp("pinned") / "a.hermes"
    write_archive(whole(files), path)
    pinned = Pinned(Glance(path), CATALOGUE)
    assert pinned.size == size
    for position, length in reads:
        assert pinned.read(position, length) == data[position : position + length]
    pinned.close()
    with pytest.raises(CatalogueError, match="closed"):
        pinned.read(0, 1)


def test_a_catalogue_of_another_program_is_refused_where_the_manifest_lists_it(
    tmp_path: Path,
) -> None:
    files = program()
    listed = manifest(files, registry="0" * 64)
    path = tmp_path / "a.hermes"
    write_archive({MANIFEST: listed.to_bytes(), **files}, path)
    with open_bundle(path, verify=False) as registry:
        with pytest.raises(CatalogueError, match="is not the catalogue"):
            registry.find("ping")
        with pytest.raises(CatalogueError, match="is not the catalogue"):
            registry.get_all_tool_names()


def test_a_manifest_that_changed_since_the_glance_is_refused(tmp_path: Path) -> None:
    for make in (CONTAINERS["archive"], CONTAINERS["folder"]):
        path = make(tmp_path, entries())
        with open_bundle(path, verify=False) as registry:
            file = path if path.is_file() else path / MANIFEST
            text = file.read_bytes().replace(b'"needs":"0.1.0"', b'"needs":"0.0.0"')
            file.write_bytes(text)
            with pytest.raises(BundleError, match="HB800"):
                registry.find("ping")


@pytest.mark.skipif(os.name == "nt", reason="files there are not sparse")
def test_a_manifest_of_any_size_is_refused_without_being_read(tmp_path: Path) -> None:
    size = 300_000_000
    folder = tmp_path / "folder"
    folder.mkdir()
    with (folder / MANIFEST).open("wb") as file:
        file.truncate(size)
    path = tmp_path / "a.hermes"
    with path.open("wb") as file:
        head = b"PK\3\4" + bytes(14) + size.to_bytes(4, "little") * 2
        file.write(head + len(MANIFEST).to_bytes(4, "little") + MANIFEST.encode())
        file.truncate(size + 1000)
    for one, code in [(folder, "HB8008"), (path, "HB8002")]:
        for verify in (True, False):
            tracemalloc.start()
            try:
                with pytest.raises(BundleError) as refused:
                    open_bundle(one, verify=verify)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert refused.value.code == code
            assert peak < 100_000_000


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes in folders")
def test_a_manifest_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / MANIFEST)
    for verify in (True, False):
        with pytest.raises(BundleError, match="HB8003"):
            open_bundle(tmp_path, verify=verify)


def test_the_catalogue_of_a_tree_is_judged_when_it_is_opened(tmp_path: Path) -> None:
    text, mark = catalogue_text(("tool/ping", tool("ping")))
    path = tmp_path / "catalogue.jsonl"
    path.write_text(text, encoding="utf-8", newline="")
    Catalogue(str(path), mark).close()
    with pytest.raises(CatalogueError, match="is not the catalogue"):
        Catalogue(str(path), "0" * 64)
