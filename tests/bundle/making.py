"""Makes small bundles by hand, with all that belongs to one; what they hold can be run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes_build import layout
from hermes_build.bundle.archive import write_archive
from hermes_build.bundle.entries import COMMENT
from hermes_build.bundle.format import (
    LOCK,
    MANIFEST,
    File,
    Manifest,
    Runtime,
    hexdigest,
    roots_of,
)
from hermes_build.digests import record_digests
from hermes_build.lock import Lock, LockedFile, LockedTool, LockedToolset, render
from tests.runtime_program import catalogue_text, tool, toolset

Make = Callable[..., Path]
"""Makes a bundle of given entries, by default those of `program`."""

PARAMETERS = {"type": "object", "additionalProperties": False}
HANDLER = """\
from generated.registry import registry


@registry.handler("{name}")
def handler(args, **context):
    return "{result}"
"""
CATALOGUE = "program/generated/catalogue.jsonl"
VERSION = "runtime/hermes_build/__init__.py"
REGISTRY = "program/generated/registry.py"


def digest(data: bytes) -> str:
    """A digest as the lock has it."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def registry_module(mark: str, *, format: int = 1, needs: str = "0.1.0") -> bytes:
    return (
        "from hermes_build.runtime.registry import frozen\n\n"
        f'registry = frozen(__file__, "catalogue.jsonl", format={format}, digest="{mark}", '
        f'needs="{needs}")\n'
    ).encode()


def program(name: str = "ping", result: str = "pong") -> dict[str, bytes]:
    """All files of a bundle of one tool but its manifest, by path."""
    module = f"handlers.{name}"
    record = tool_of(tool(name, PARAMETERS, toolset="small", module=module))
    place = {"source": record["source"]}
    text, mark = catalogue_text(
        (f"tool/{name}", record),
        ("toolset/small", toolset("small", [name], **place)),
        (f"module/{module}", {"tools": [name]}),
    )
    text = text.replace('"tools":0,"toolsets":0', '"tools":1,"toolsets":1', 1)
    files = {
        CATALOGUE: text.encode(),
        REGISTRY: registry_module(mark),
        "program/generated/__init__.py": b"",
        "program/handlers/__init__.py": b"",
        f"program/handlers/{name}.py": HANDLER.format(name=name, result=result).encode(),
        VERSION: b'__version__ = "0.1.0"\n',
        f"specs/tool_specs/{name}.yaml": f"name: {name}\n".encode(),
    }
    return {**files, LOCK: render(lock(files))}


def recorded(files: Mapping[str, bytes], *records: tuple[str, Any]) -> dict[str, bytes]:
    """The files with these records in the catalogue, and all that is made of it made anew.

    A record that is a text is put there as it is; None takes one out.
    """
    lines = dict(line.split("\t", 1) for line in files[CATALOGUE].decode().splitlines())
    del lines[layout.HEADER]
    for key, value in records:
        if value is None:
            del lines[key]
        else:
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
            lines[key] = value if isinstance(value, str) else text
    body = "".join(f"{key}\t{lines[key]}\n" for key in sorted(lines)).encode()
    mark = hexdigest(body)
    counts = [sum(key.startswith(kind) for key in lines) for kind in (layout.TOOL, layout.TOOLSET)]
    header = {"format": 1, "digest": mark, "tools": counts[0], "toolsets": counts[1]}
    first = f"!\t{json.dumps(header, separators=(',', ':'))}\n"
    files = {**files, CATALOGUE: first.encode() + body, REGISTRY: registry_module(mark)}
    return {**files, LOCK: render(lock(files))}


def record(files: Mapping[str, bytes], key: str) -> Any:
    """A record in the catalogue."""
    lines = (line.partition("\t") for line in files[CATALOGUE].decode().splitlines())
    return next(json.loads(text) for found, _, text in lines if found == key)


def tool_of(record: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A tool's record with these fields, in their order."""
    made = {**record, **fields}
    return {key: made[key] for key in layout.TOOL_FIELDS if key in made}


def toolset_of(record: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A toolset's record with these fields, in their order."""
    made = {**record, **fields}
    return {key: made[key] for key in layout.TOOLSET_FIELDS if key in made}


def lock(files: Mapping[str, bytes]) -> Lock:
    """The lock of such files; of one whose catalogue cannot be read, that of `program`."""
    lines = [line.partition("\t") for line in files[CATALOGUE].decode().splitlines()]
    try:
        records = [(key, json.loads(text)) for key, _, text in lines]
        tools = [_locked(one, files) for key, one in records if key.startswith(layout.TOOL)]
        sets = [one for key, one in records if key.startswith(layout.TOOLSET)]
        toolsets = [LockedToolset(one["name"], tuple(one["resolved"])) for one in sets]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return lock({**files, CATALOGUE: program()[CATALOGUE]})
    generated = [path for path in files if path.startswith("program/generated/")]
    return Lock(
        runtime=1,
        tools=tuple(tools),
        toolsets=tuple(toolsets),
        files=tuple(
            LockedFile(path.removeprefix("program/"), digest(files[path])) for path in generated
        ),
    )


def _locked(record: dict[str, Any], files: Mapping[str, bytes]) -> LockedTool:
    made = record_digests(record)
    spec = files.get(f"specs/{record['source'].rpartition(':')[0]}", b"")
    return LockedTool(
        record["name"],
        digest(spec),
        made.args,
        made.prompt,
        made.runtime,
        made.result,
        record.get("module"),
    )


def manifest(contents: Mapping[str, bytes], **changes: Any) -> Manifest:
    """The manifest of `program`, or of files like it; ``changes`` replace fields."""
    name = next(path for path in contents if path.startswith("specs/"))[17:-5]
    fields: dict[str, Any] = {
        "name": "small",
        "package": "generated",
        "roots": roots_of(contents),
        "toolsets": ["small"],
        "tools": [name],
        "registry": hexdigest(contents[CATALOGUE].partition(b"\n")[2]),
        "runtime": Runtime(format=1, needs="0.1.0", version="0.1.0"),
        "files": {path: listed(data) for path, data in contents.items()},
    }
    return Manifest(**{**fields, **changes})


def listed(data: bytes) -> File:
    """What a manifest says of a file."""
    return File(hexdigest(data), len(data))


def whole(contents: Mapping[str, bytes], **changes: Any) -> dict[str, bytes]:
    """Files with the manifest that lists them."""
    return {MANIFEST: manifest(contents, **changes).to_bytes(), **contents}


def archive(target: Path, entries: Mapping[str, bytes] | None = None) -> Path:
    """Write an archive, by default that of `program`."""
    write_archive(whole(program()) if entries is None else entries, target)
    return target


def unpacked(target: Path, entries: Mapping[str, bytes] | None = None) -> Path:
    """Write a folder, by default that of `program`."""
    for path, data in (whole(program()) if entries is None else entries).items():
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return target


def comment(manifest: bytes) -> bytes:
    """The comment of an archive with this manifest."""
    return COMMENT + hashlib.sha256(manifest).hexdigest().encode()


def manifest_of(name: str = "ping") -> bytes:
    """The manifest of a bundle of one tool, as bytes."""
    return whole(program(name))[MANIFEST]
