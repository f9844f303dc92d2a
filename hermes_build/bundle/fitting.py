"""Whether the manifest of a bundle says what its files say.

Each fact about the program is in one file that was made with it: the catalogue has the tools and
toolsets, ``registry.py`` the digest of the catalogue, the lock every generated file. The manifest
repeats them, so that nobody must open these files to know what is in a bundle; here they are taken
from the files again. Nothing is imported: the files are looked at as text.
"""

from __future__ import annotations

import re
from typing import NoReturn

from hermes_build import layout
from hermes_build.bundle.format import (
    LOCK,
    PROGRAM,
    RUNTIME,
    BundleError,
    Manifest,
    hexdigest,
    roots_of,
)
from hermes_build.lock import Lock, LockError, read, render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_STATED = re.compile(r"""\b(digest|needs|format) ?= ?(?:["']([^"'\n]*)["']|([0-9]+))""")
_RUNTIME = f"{RUNTIME}__init__.py"
_VERSION = re.compile(r"""^__version__ = ["']([^"'\n]+)["']""", re.MULTILINE)


def told_by(manifest: Manifest) -> tuple[str, ...]:
    """The files that `check_fit` looks into.

    Raises:
        BundleError: ``HB8004``, one of these is not in the manifest.
    """
    paths = (LOCK, _catalogue(manifest), _registry(manifest), _RUNTIME)
    for path in paths:
        if path not in manifest.files:
            raise BundleError("HB8004", f"a bundle must hold {path}", path, _ANEW)
    return paths


def check_fit(manifest: Manifest, contents: Mapping[str, bytes]) -> None:
    """Hold the manifest against the files of `told_by`, whose ``contents`` are those it lists.

    Raises:
        BundleError: ``HB8007``, with the first fact that is another.
    """
    _same("roots", manifest.roots, roots_of(manifest.files))
    facts = _Facts(contents[_catalogue(manifest)], _catalogue(manifest))
    _same("registry", manifest.registry, facts.digest)
    _same("runtime.format", manifest.runtime.format, facts.format)
    _same("tools", manifest.tools, facts.tools)
    _same("toolsets", manifest.toolsets, tuple(facts.toolsets))
    _check_registry(manifest, contents[_registry(manifest)])
    _check_modules(manifest, set(facts.modules.values()))
    _check_lock(manifest, facts, contents[LOCK])
    version = _VERSION.search(contents[_RUNTIME].decode("utf-8", "replace"))
    _same("runtime.version", manifest.runtime.version, version and version[1])


_ANEW = "make the bundle anew from its project"


def _package(manifest: Manifest) -> str:
    return PROGRAM + manifest.package.replace(".", "/")


def _catalogue(manifest: Manifest) -> str:
    return f"{_package(manifest)}/{layout.CATALOGUE}"


def _registry(manifest: Manifest) -> str:
    return f"{_package(manifest)}/registry.py"


class _Facts:
    """What a catalogue says: see `hermes_build.layout`.

    ``toolsets`` maps each to its resolved tools, ``modules`` each tool that has a handler module
    to that module.
    """

    def __init__(self, data: bytes, path: str) -> None:
        from json import JSONDecoder

        self.path = path
        self._decode = JSONDecoder().decode
        first, _, body = data.partition(b"\n")
        header = self._value(first, layout.HEADER)
        self.digest = hexdigest(body)
        self.format = header.get("format")
        if type(self.format) is not int:
            self._damaged("it does not state its format")
        self.toolsets: dict[str, list[str]] = {}
        self.modules: dict[str, str] = {}
        tools = []
        last = b""
        if body and not body.endswith(b"\n"):
            self._damaged("its last line is cut off")
        # The records of tools, nearly all of the file, are known by the digest; their keys suffice.
        for line in body.split(b"\n")[:-1]:
            key = line[: line.find(b"\t")]
            if key <= last:
                self._damaged(f"{key.decode('utf-8', 'replace')} is not in order")
            last = key
            if key.startswith(b"tool/"):
                tools.append(key[5:].decode("utf-8", "replace"))
            elif key.startswith(b"toolset/"):
                name = key[8:].decode("utf-8", "replace")
                self.toolsets[name] = self._names(line, key, "resolved")
            elif key.startswith(b"module/"):
                module = key[7:].decode("utf-8", "replace")
                self.modules.update(dict.fromkeys(self._names(line, key, "tools"), module))
        self.tools = tuple(tools)
        stated = {
            "format": self.format,
            "digest": self.digest,
            "tools": len(tools),
            "toolsets": len(self.toolsets),
        }
        if first.decode("utf-8", "replace") != f"{layout.HEADER}\t{_compact(stated)}":
            self._damaged("its first line does not fit the others")

    def _names(self, line: bytes, key: bytes, field: str) -> list[str]:
        names = self._value(line, key.decode("utf-8", "replace")).get(field)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self._damaged(f"`{field}` is not a list of names")
        return names

    def _value(self, line: bytes, key: str) -> dict[str, Any]:
        found, _, text = line.partition(b"\t")
        try:
            value = self._decode(text.decode()) if found == key.encode() else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            self._damaged(f"its record {key} cannot be read")
        return value

    def _damaged(self, what: str) -> NoReturn:
        raise BundleError("HB8007", f"{self.path} is no catalogue: {what}", self.path, _ANEW)


def _compact(value: dict[str, object]) -> str:
    from json import dumps

    return dumps(value, separators=(",", ":"))


def _check_registry(manifest: Manifest, data: bytes) -> None:
    """Hold ``registry.py`` against the manifest; its template may be the project's own."""
    path = _registry(manifest)
    stated = {"digest": manifest.registry, "needs": manifest.runtime.needs}
    wanted = {**stated, "format": str(manifest.runtime.format)}
    seen = set()
    for key, text, number in _STATED.findall(data.decode("utf-8", "replace")):
        seen.add(key)
        if (text or number) != wanted[key]:
            _misfit(path, f"{path} states the {key} {text or number}, not {wanted[key]}")
    if "digest" not in seen:
        _misfit(path, f"{path} does not state the digest of the catalogue")


def _check_modules(manifest: Manifest, modules: Iterable[str]) -> None:
    for module in sorted(modules):
        path = PROGRAM + module.replace(".", "/")
        if f"{path}.py" not in manifest.files and f"{path}/__init__.py" not in manifest.files:
            _misfit(f"{path}.py", f"the handler module {module} is not in the bundle")


def _check_lock(manifest: Manifest, facts: _Facts, data: bytes) -> None:
    lock = _read_lock(data)
    _agree("runtime format", lock.runtime, manifest.runtime.format)
    _agree("tools", tuple(one.name for one in lock.tools), facts.tools)
    modules = {one.name: one.handler for one in lock.tools if one.handler is not None}
    _agree("handlers", modules, facts.modules)
    resolved = {one.name: sorted(one.tools) for one in lock.toolsets}
    _agree("toolsets", resolved, {name: sorted(tools) for name, tools in facts.toolsets.items()})
    locked = set()
    for path, digest in lock.owned().items():
        try:
            place = manifest.program_path(path)
        except ValueError as error:
            _misfit(LOCK, f"the lock names a file outside the program: {error}")
        file = manifest.files.get(place)
        if file is None:
            _misfit(place, f"the lock names {path}, which is not in the bundle")
        if digest != f"sha256:{file.sha256}":
            _misfit(place, f"{place} is not the file that the lock names")
        locked.add(place)
    generated = f"{_package(manifest)}/"
    for place in manifest.files:
        if place.startswith(generated) and place not in locked:
            _misfit(place, f"the lock does not name {place}, which is in the generated package")


def _read_lock(data: bytes) -> Lock:
    try:
        lock = read(data.decode())
    except (LockError, UnicodeDecodeError) as error:
        _misfit(LOCK, f"the lock cannot be read: {error}")
    if render(lock) != data:
        _misfit(LOCK, "the lock is not as hermes-build writes it")
    return lock


def _same(key: str, stated: object, found: object) -> None:
    """Hold a field of the manifest against what the files say."""
    if stated != found:
        what = _first_difference(stated, found)
        raise BundleError("HB8007", f"the manifest's `{key}` does not fit: {what}", "", _ANEW)


def _agree(what: str, locked: object, found: object) -> None:
    """Hold a fact of the lock against the catalogue."""
    if locked != found:
        difference = _first_difference(locked, found)
        _misfit(LOCK, f"the {what} of the lock are not those of the catalogue: {difference}")


def _first_difference(stated: Any, found: Any) -> str:
    if isinstance(stated, dict) and isinstance(found, dict):
        stated = [f"{key}: {value}" for key, value in sorted(stated.items())]
        found = [f"{key}: {value}" for key, value in sorted(found.items())]
    if isinstance(stated, tuple | list) and isinstance(found, tuple | list):
        for one in sorted(set(stated) - set(found)):
            return f"it states `{one}`, which is not there"
        for one in sorted(set(found) - set(stated)):
            return f"it does not state `{one}`"
        return "it states another order"
    return f"it states `{stated}`, and the files say `{found}`"


def _misfit(path: str, what: str) -> NoReturn:
    raise BundleError("HB8007", what, path, _ANEW)
