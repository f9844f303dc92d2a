"""Makes small bundles by hand, with all that belongs to one; what they hold can be run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
from hermes_build.lock import Lock, LockedFile, LockedTool, LockedToolset, render
from tests.runtime_program import catalogue_text, tool, toolset

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
    records: list[tuple[str, dict[str, Any]]] = [
        (f"tool/{name}", tool(name, PARAMETERS, toolset="small", module=module)),
        ("toolset/small", toolset("small", [name])),
        (f"module/{module}", {"tools": [name]}),
    ]
    text, mark = catalogue_text(*records)
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
    return {**files, LOCK: render(lock(files, name))}


def lock(files: Mapping[str, bytes], name: str = "ping") -> Lock:
    """The lock of `program`."""
    generated = [path for path in files if path.startswith("program/generated/")]
    return Lock(
        runtime=1,
        tools=(LockedTool(name, *(digest(b""),) * 4, handler=f"handlers.{name}"),),
        toolsets=(LockedToolset("small", (name,)),),
        files=tuple(
            LockedFile(path.removeprefix("program/"), digest(files[path])) for path in generated
        ),
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
        "files": {path: File(hexdigest(data), len(data)) for path, data in contents.items()},
    }
    return Manifest(**{**fields, **changes})


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
