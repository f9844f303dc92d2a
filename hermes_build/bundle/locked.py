"""Whether the lock of a bundle says what is in it.

A review reads the lock: which part of which tool changed. So each digest in it is made anew from
what the bundle holds: those of tools from the catalogue, those of texts from the specs, those of
generated files from these.
"""

from __future__ import annotations

import re
from hashlib import sha256

from hermes_build.bundle.fitting import first_difference, misfit, package_of
from hermes_build.bundle.format import LOCK, SPECS, Manifest
from hermes_build.digests import record_digests
from hermes_build.lock import Lock, LockedTool, LockError, read, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from hermes_build.bundle.facts import Facts


_PLACE = re.compile(r"(.+):([1-9][0-9]{0,8})")


def check_lock(manifest: Manifest, facts: Facts, read: Callable[[str], bytes]) -> None:
    """Hold the lock against the catalogue, the specs and the generated files.

    ``facts`` are what the catalogue says, ``read`` returns the content of a file that the manifest
    lists.

    Raises:
        BundleError: ``HB8007``, something is another, the first of it; and what ``read`` raises.
    """
    tools, toolsets = facts.records_of_tools(), facts.records_of_toolsets()
    lock = _read_lock(read(LOCK))
    _agree("runtime format", lock.runtime, manifest.runtime.format)
    _agree("tools", tuple(one.name for one in lock.tools), facts.tools)
    modules = {one.name: one.handler for one in lock.tools if one.handler is not None}
    _agree("handlers", modules, facts.modules)
    resolved = {one.name: sorted(one.tools) for one in lock.toolsets}
    _agree("toolsets", resolved, {name: sorted(tools) for name, tools in facts.toolsets.items()})
    _check_files(manifest, lock)
    for one in lock.tools:
        _check_tool(one, tools[one.name])
    records: list[tuple[str | None, dict[str, Any]]] = [
        (one.source, tools[one.name]) for one in lock.tools
    ]
    records += [(one.source, toolsets[one.name]) for one in lock.toolsets]
    _check_texts(manifest, records, read)


def _read_lock(data: bytes) -> Lock:
    try:
        lock = read(data.decode())
    except (LockError, UnicodeDecodeError) as error:
        misfit(LOCK, f"the lock cannot be read: {error}")
    if render(lock) != data:
        misfit(LOCK, "the lock is not as hermes-build writes it")
    return lock


def _agree(what: str, locked: object, found: object) -> None:
    """Hold a fact of the lock against the catalogue."""
    if locked != found:
        difference = first_difference(locked, found)
        misfit(LOCK, f"the {what} of the lock are not those of the catalogue: {difference}")


def _check_files(manifest: Manifest, lock: Lock) -> None:
    """Hold the generated files that the lock names against those that there are."""
    locked = set()
    for path, digest in lock.owned().items():
        try:
            place = manifest.program_path(path)
        except ValueError as error:
            misfit(LOCK, f"the lock names a file outside the program: {error}")
        file = manifest.files.get(place)
        if file is None:
            misfit(place, f"the lock names {path}, which is not in the bundle")
        if digest != f"sha256:{file.sha256}":
            misfit(place, f"{place} is not the file that the lock names")
        locked.add(place)
    generated = f"{package_of(manifest)}/"
    for place in manifest.files:
        if place.startswith(generated) and place not in locked:
            misfit(place, f"the lock does not name {place}, which is in the generated package")


def _check_tool(locked: LockedTool, record: dict[str, Any]) -> None:
    try:
        found = record_digests(record)
    except (ValueError, RecursionError) as error:
        misfit(LOCK, f"the tool {locked.name} in the catalogue is not made of JSON: {error}")
    if record.get("digest") != found.schema:
        misfit(LOCK, f"the catalogue states another digest of the tool {locked.name} than it has")
    for what in ("args", "result", "prompt", "runtime"):
        if getattr(locked, what) != getattr(found, what):
            misfit(LOCK, f"`{what}` of {locked.name} in the lock is not what the catalogue has")


def _check_texts(
    manifest: Manifest,
    records: Iterable[tuple[str | None, dict[str, Any]]],
    read: Callable[[str], bytes],
) -> None:
    """Hold the digest of each record's document against the specs.

    A toolset that only its tools name has no document of its own, and None for a digest.
    """
    specs: dict[str, _Spec] = {}
    for digest, record in records:
        where = str(record.get("source"))
        found = _PLACE.fullmatch(where)
        place = SPECS + (found[1] if found else where)
        if found is None or place not in manifest.files:
            misfit(place, f"{record['name']} is declared in {where}, which is not in the bundle")
        if place not in specs:
            specs[place] = _Spec(read(place))
        if digest is not None and not specs[place].has_document(int(found[2]), digest):
            misfit(LOCK, f"`source` of {record['name']} in the lock is not the text in {place}")


class _Spec:
    """A YAML text, of which documents are known by their digests."""

    def __init__(self, text: bytes) -> None:
        self._digest = sha256(text).hexdigest()
        self._lines = text.split(b"\n")

    def has_document(self, line: int, digest: str) -> bool:
        """Whether the document that begins at a line, counted from 1, has a digest.

        One that is alone is the whole text. Another one ends where the next begins, and that is
        somewhere behind a marker.
        """
        if f"sha256:{self._digest}" == digest:
            return True
        hashed = sha256()
        marked = False
        for at in range(line - 1, len(self._lines)):
            one = self._lines[at]
            marked = marked or one.startswith((b"---", b"..."))
            if marked and f"sha256:{hashed.hexdigest()}" == digest:
                return True
            hashed.update(one if at == line - 1 else b"\n" + one)
        return f"sha256:{hashed.hexdigest()}" == digest
