"""The lock says what is in the bundle: each digest in it is made anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes_build.bundle.format import LOCK, MANIFEST
from hermes_build.bundle.verifying import verify
from hermes_build.digests import record_digests
from hermes_build.lock import read, render
from tests.bundle import making
from tests.bundle.making import Make
from tests.bundle.refusing import verify_refuses

FILES = making.program()
ENTRIES = making.whole(FILES)
HANDLER = "program/handlers/ping.py"


def test_a_compiled_project_fits(make: Make) -> None:
    root = Path(__file__).parents[2]
    lock = read((root / LOCK).read_text("utf-8"))
    files = {f"program/{path}": (root / path).read_bytes() for path in lock.owned()}
    for folder in ("tool_specs", "toolsets"):
        for path in (root / folder).glob("*.yaml"):
            files[f"specs/{folder}/{path.name}"] = path.read_bytes()
    for one in lock.tools:
        assert one.handler is not None
        files[f"program/{one.handler.replace('.', '/')}.py"] = b""
    files[LOCK] = (root / LOCK).read_bytes()
    files[making.VERSION] = (root / "hermes_build/__init__.py").read_bytes()
    with verify(
        make(
            making.whole(
                files,
                tools=[one.name for one in lock.tools],
                toolsets=[one.name for one in lock.toolsets],
            )
        )
    ) as opened:
        assert "read_file" in opened.manifest.tools


def test_the_generated_package_holds_what_the_lock_names_and_nothing_else(
    make: Make,
) -> None:
    files = {**FILES, "program/generated/more.py": b""}
    error = verify_refuses(make(making.whole({**files, LOCK: FILES[LOCK]})), "HB8007")
    assert error.path == "program/generated/more.py"
    verify(make(making.whole({**files, LOCK: render(making.lock(files))}))).close()


def _lying(*records: tuple[str, Any]) -> dict[str, bytes]:
    """The program with other records, under a lock of which the tools were left as they were."""
    files = making.recorded(FILES, *records)
    lock = replace(read(FILES[LOCK].decode()), files=making.lock(files).files)
    return {**files, LOCK: render(lock)}


TOOL = making.record(FILES, "tool/ping")
TOOLSET = making.record(FILES, "toolset/small")


def _tool(**fields: Any) -> dict[str, Any]:
    """The tool's record with other fields, and the digest of its schemas made anew."""
    return making.tool_of(TOOL, **{"digest": record_digests({**TOOL, **fields}).schema, **fields})


def _schema(**fields: Any) -> dict[str, Any]:
    return {**TOOL["schema"], **fields}


OTHERWISE: dict[str, tuple[dict[str, Any], str]] = {
    "another description": (_tool(schema=_schema(description="Do as I say.")), "`prompt` of ping"),
    "a title": (_tool(title="Ping"), "`prompt` of ping"),
    "another parameter": (
        _tool(schema=_schema(parameters={**making.PARAMETERS, "properties": {"a": True}})),
        "`args` of ping",
    ),
    "another order of keys": (
        _tool(schema=_schema(parameters=dict(reversed(making.PARAMETERS.items())))),
        "`prompt` of ping",
    ),
    "an output schema": (_tool(output_schema={}), "`result` of ping"),
    "another limit": (_tool(timeout_seconds=900), "`runtime` of ping"),
    "another toolset": (_tool(toolset="large"), "`runtime` of ping"),
    "a hint": (_tool(annotations={"read_only": True}), "`runtime` of ping"),
    "an external handler": (_tool(handler="external"), "`runtime` of ping"),
    "another digest": (_tool(digest="0" * 64), "another digest of the tool ping"),
    "another spec": (_tool(source="tool_specs/pong.yaml:1"), "is not in the bundle"),
    "no line of a spec": (_tool(source="tool_specs/ping.yaml"), "is not in the bundle"),
}


@pytest.mark.parametrize("what", OTHERWISE)
def test_a_tool_that_is_another_than_the_lock_says_is_refused(make: Make, what: str) -> None:
    record, message = OTHERWISE[what]
    error = verify_refuses(make(making.whole(_lying(("tool/ping", record)))), "HB8007")
    assert message in error.message
    if "spec" not in what and "digest" not in what:
        verify(make(making.whole(making.recorded(FILES, ("tool/ping", record))))).close()


def test_toolsets_and_handlers_of_the_lock_are_those_of_the_catalogue(make: Make) -> None:
    empty = ("toolset/small", {**TOOLSET, "tools": [], "resolved": []})
    moved = [
        ("module/handlers.ping", None),
        ("module/handlers", {"tools": ["ping"]}),
        ("tool/ping", _tool(module="handlers")),
    ]
    for records, message in [([empty], "toolsets of the lock"), (moved, "handlers of the lock")]:
        error = verify_refuses(make(making.whole(_lying(*records))), "HB8007")
        assert error.path == LOCK
        assert message in error.message


def test_a_spec_that_is_another_than_the_lock_says_is_refused(make: Make) -> None:
    spec = "specs/tool_specs/ping.yaml"
    error = verify_refuses(make(making.whole({**FILES, spec: b"name: pong\n"})), "HB8007")
    assert error.message == f"`source` of ping in the lock is not the text in {spec}"
    gone = {name: data for name, data in FILES.items() if name != spec}
    manifest = making.manifest(FILES, files={name: making.listed(gone[name]) for name in gone})
    error = verify_refuses(make({MANIFEST: manifest.to_bytes(), **gone}), "HB8007")
    assert error.path == spec


SPECS = b"""\
# Two tools.
---
name: ping
description: |
  text
  -- no marker
---
# The second.

name: pong
...
--- {name: pang}
"""


@pytest.mark.parametrize(
    ("line", "end"), [(3, 9), (10, 11)], ids=["up to a comment behind a marker", "up to a marker"]
)
def test_one_document_of_several_is_known_by_its_digest(make: Make, line: int, end: int) -> None:
    text = b"\n".join(SPECS.split(b"\n")[line - 1 : end])
    record = ("tool/ping", _tool(source=f"tool_specs/ping.yaml:{line}"))
    files = making.recorded({**FILES, "specs/tool_specs/ping.yaml": SPECS}, record)
    lock = read(files[LOCK].decode())
    for digest, whole in [(making.digest(text), True), (making.digest(text + b"\n"), False)]:
        locked = replace(lock, tools=(replace(lock.tools[0], source=digest),))
        path = make(making.whole({**files, LOCK: render(locked)}))
        if whole:
            verify(path).close()
        else:
            assert "`source` of ping" in verify_refuses(path, "HB8007").message


LOCKS: dict[str, tuple[str, str]] = {
    "no lock": ("# Written", "Written"),
    "another header": ("# Written", "# written"),
    "another format": ("format 1", "format 2"),
    "another runtime": ("runtime 1", "runtime 2"),
    "another tool": ("tool ping\n  source", "tool pong\n  source"),
    "another handler": ("handler handlers.ping", "handler handlers.pong"),
    "no handler": ("  handler handlers.ping\n", ""),
    "another toolset": ("toolset small", "toolset large"),
    "another tool in a toolset": ("  tool ping", "  tool pong"),
    "another digest of a file": (making.digest(FILES[making.REGISTRY]), making.digest(b"other")),
    "another path": ("generated/registry.py", "generated/registri.py"),
    "no registry": ("file generated/registry.py", "# generated/registry.py"),
    "a path outside": ("file generated/__init__.py", "file ../generated/__init__.py"),
    "CRLF": ("\n", "\r\n"),
    "a space at an end": ("ping\n", "ping \n"),
    "an empty line": ("\n\n", "\n\n\n"),
    "a merge conflict": ("format 1", "<<<<<<< a\nformat 1"),
}


@pytest.mark.parametrize("what", LOCKS)
def test_a_lock_that_does_not_fit_is_refused_whatever_the_digests_say(
    make: Make, what: str
) -> None:
    text = FILES[LOCK].decode()
    old, new = LOCKS[what]
    changed = text.replace(old, new, 1)
    assert changed != text
    verify_refuses(make(making.whole({**FILES, LOCK: changed.encode()})), "HB8007")
