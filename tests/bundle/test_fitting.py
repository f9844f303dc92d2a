"""The manifest says what the program says, whatever the digests say."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hermes_build.bundle.format import LOCK, MANIFEST, Runtime
from hermes_build.bundle.verifying import verify
from hermes_build.lock import read, render
from tests.bundle import making
from tests.bundle.making import Make
from tests.bundle.refusing import verify_refuses

FILES = making.program()
ENTRIES = making.whole(FILES)
HANDLER = "program/handlers/ping.py"


def test_files_of_a_project_are_found_in_its_source_folder(make: Make) -> None:
    lock = read(FILES[LOCK].decode().replace("file generated/", "file src/generated/"))
    files = {**FILES, LOCK: render(lock)}
    verify(make(making.whole(files, source="src"))).close()


@pytest.mark.parametrize("path", [LOCK, making.CATALOGUE, making.REGISTRY, making.VERSION])
def test_what_every_bundle_holds_must_be_listed(make: Make, path: str) -> None:
    files = {name: data for name, data in FILES.items() if name != path}
    whole = making.manifest(FILES)
    listed = making.manifest(FILES, files={name: whole.files[name] for name in files})
    assert verify_refuses(make({MANIFEST: listed.to_bytes(), **files}), "HB8004").path == path


FIELDS: dict[str, Any] = {
    "package": "handlers",
    "source": "src",
    "roots": ["generated"],
    "toolsets": ["small", "large"],
    "tools": [],
    "registry": "0" * 64,
    "runtime": Runtime(2, "0.1.0", "0.1.0"),
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_does_not_fit_is_refused_whatever_the_digests_say(
    make: Make, field: str
) -> None:
    path = make(making.whole(FILES, **{field: FIELDS[field]}))
    error = verify_refuses(path, "HB8004" if field == "package" else "HB8007")
    if field not in ("package", "source"):
        assert f"`{field}" in error.message


def test_the_version_that_registry_py_needs_is_held_against_the_manifest(make: Make) -> None:
    error = verify_refuses(make(making.whole(FILES, runtime=Runtime(1, "9", "0.1.0"))), "HB8007")
    assert error.message == f"{making.REGISTRY} states the needs 0.1.0, not 9"


def test_the_version_of_the_runtime_is_that_of_its_files(make: Make) -> None:
    files = {**FILES, making.VERSION: b'__version__ = "1.2.3"\n'}
    error = verify_refuses(make(making.whole(files)), "HB8007")
    assert "it states `0.1.0`, and the files say `1.2.3`" in error.message
    verify(make(making.whole(files, runtime=Runtime(1, "0.1.0", "1.2.3")))).close()


def test_a_handler_module_must_be_there(make: Make) -> None:
    files = {name: data for name, data in FILES.items() if name != HANDLER}
    error = verify_refuses(make(making.whole(files)), "HB8007")
    assert error.message == "the handler module handlers.ping is not in the bundle"
    files["program/handlers/ping/__init__.py"] = b""
    verify(make(making.whole(files))).close()


CATALOGUES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "no header": lambda data: data.partition(b"\n")[2],
    "another count": lambda data: data.replace(b'"tools":1', b'"tools":2', 1),
    "a number that is none": lambda data: data.replace(b'"format":1', b'"format":true', 1),
    "a header with more": lambda data: data.replace(b'"format":1', b'"format":1,"x":1', 1),
    "a header with spaces": lambda data: data.replace(b'"format":1', b'"format": 1', 1),
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "cut off": lambda data: data[:-1],
    "the header alone": lambda data: data.partition(b"\n")[0],
    "a record twice": lambda data: data + data.split(b"\n")[-2] + b"\n",
    "an empty line": lambda data: data + b"\n",
    "a changed record": lambda data: data.replace(b"The tool", b"A tool", 1),
    "a toolset of no list": lambda data: data.replace(b'"resolved":["ping"]', b'"resolved":"ping"'),
    "deep": lambda data: data + b"toolset/x\t" + b"[" * 99_999 + b"\n",
}


@pytest.mark.parametrize("what", CATALOGUES)
def test_a_damaged_catalogue_is_refused_whatever_the_digests_say(make: Make, what: str) -> None:
    data = CATALOGUES[what](FILES[making.CATALOGUE])
    assert data != FILES[making.CATALOGUE]
    files = {**FILES, making.CATALOGUE: data}
    verify_refuses(make(making.whole({**files, LOCK: render(making.lock(files))})), "HB8007")


TOOL = making.record(FILES, "tool/ping")
TOOLSET = making.record(FILES, "toolset/small")
TEXT = json.dumps(TOOL, separators=(",", ":"))

RECORDS: dict[str, tuple[list[tuple[str, Any]], str]] = {
    "a key of no kind": ([("tools/ping", {})], "nobody looks for 'tools/ping'"),
    "a key that says nothing": ([("junk", 1)], "nobody looks for 'junk'"),
    "an alias of nothing": ([("alias/tool/pong", {"name": "ping"})], "aliases"),
    "an alias that is not found": (
        [("tool/ping", making.tool_of(TOOL, aliases=["pong"]))],
        "aliases",
    ),
    "an alias of another": (
        [
            ("alias/toolset/tiny", {"name": "smaller"}),
            ("toolset/small", making.toolset_of(TOOLSET, aliases=["tiny"])),
        ],
        "aliases",
    ),
    "a tool by another name": ([("tool/ping", {**TOOL, "name": "pong"})], "of another name"),
    "a toolset by another name": ([("toolset/small", {**TOOLSET, "name": "x"})], "another name"),
    "the definition of another": (
        [("tool/ping", {**TOOL, "schema": {**TOOL["schema"], "name": "pong"}})],
        "defines another",
    ),
    "a definition with more": (
        [("tool/ping", {**TOOL, "schema": {**TOOL["schema"], "strict": True}})],
        "has no definition",
    ),
    "no definition": ([("tool/ping", {**TOOL, "schema": []})], "has no definition"),
    "an unknown field": ([("tool/ping", {**TOOL, "junk": 1})], "not as hermes-build writes it"),
    "an unknown field of a toolset": (
        [("toolset/small", {**TOOLSET, "junk": 1})],
        "not as hermes-build writes it",
    ),
    "fields in another order": ([("tool/ping", dict(reversed(TOOL.items())))], "not as hermes-b"),
    "a space": ([("tool/ping", TEXT.replace(":", ": ", 1))], "not as hermes-build writes it"),
    "a field twice": (
        [("tool/ping", TEXT.replace('"name"', '"name":"pong","name"', 1))],
        "not as hermes-build writes it",
    ),
    "no JSON": ([("tool/ping", TEXT[:-1])], "a line cannot be read"),
    "no object": ([("tool/ping", [])], "a line cannot be read"),
    "a module of another tool": ([("module/handlers.ping", {"tools": []})], "another module"),
    "another module": (
        [("tool/ping", {**TOOL, "module": "handlers.pong"})],
        "names another module",
    ),
    "no module": (
        [("tool/ping", {key: TOOL[key] for key in TOOL if key != "module"})],
        "names another module",
    ),
    "two modules": ([("module/handlers", {"tools": ["ping"]})], "two modules"),
    "a member that is no tool": (
        [("toolset/small", {**TOOLSET, "resolved": ["ping", "pong"]})],
        "holds pong",
    ),
}


@pytest.mark.parametrize("what", RECORDS)
def test_a_record_that_is_not_what_its_key_says_is_refused(make: Make, what: str) -> None:
    records, message = RECORDS[what]
    files = making.recorded(FILES, *records)
    error = verify_refuses(make(making.whole(files)), "HB8007")
    assert message in error.message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'digest="', b'digest="0'),
        (b"digest=", b"digesting="),
        (b"format=1", b"format=2"),
        (b'needs="0.1.0"', b"needs='0.2.0'"),
    ],
)
def test_a_registry_module_that_states_something_else_is_refused(
    make: Make, old: bytes, new: bytes
) -> None:
    files = {**FILES, making.REGISTRY: FILES[making.REGISTRY].replace(old, new)}
    files[LOCK] = render(making.lock(files))
    assert verify_refuses(make(making.whole(files)), "HB8007").path == making.REGISTRY
