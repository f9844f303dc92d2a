"""What a bundle holds, and the manifest that says so.

A bundle is a tree of files, whatever it comes in: an archive, a wheel, a folder::

    hermes-bundle.json       the manifest
    hermes-bundle.dsse.json  signatures of the manifest, where there are any
    hermes-build.lock        the lock of the program
    pylock.toml              its dependencies, pinned, where there are any
    LICENSE, NOTICE, ...     as the project has them
    specs/PATH               specs and toolsets, as they were reviewed; PATH is in the project
    program/PATH             generated files, handlers, what they need; PATH is from an import path
    runtime/hermes_build/... the runtime that the bundle was made with
    __main__.py              runs a tool of the bundle by that runtime

The manifest lists every file but itself and the signatures, with size and SHA-256. It is canonical
JSON, so that its own SHA-256 is the content address of the bundle, equal for every container. It
holds no time, no host, no user and no path outside the bundle.

This module imports next to nothing: a program that opens a bundle waits for it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

FORMAT = 1
"""The format of bundles: it grows when an older reader could misread a newer bundle."""

SUFFIX = ".hermes"
"""How the name of an archive ends."""

MANIFEST = "hermes-bundle.json"
SIGNATURES = "hermes-bundle.dsse.json"
LOCK = "hermes-build.lock"
PYLOCK = "pylock.toml"
MAIN = "__main__.py"
SPECS = "specs/"
PROGRAM = "program/"
RUNTIME = "runtime/hermes_build/"

MAX_BYTES = 2**31 - 1
"""The largest bundle, in bytes: no older tool misreads the offsets in an archive of this size."""

MAX_FILES = 65_000
"""The most files in a bundle: an archive of more would need an extension of the zip format."""

MAX_MANIFEST = 32 * 1024 * 1024
"""The largest manifest, in bytes; one of `MAX_FILES` is about half as large."""

_LICENCES = ("LICENSE", "LICENCE", "COPYING", "NOTICE")


class BundleError(RuntimeError):
    """A bundle is refused, or cannot be made.

    Attributes:
        code: ``HB8xxx``, which ``hermes-build explain`` has a page for.
        message: one sentence without its full stop that says what is wrong.
        path: the file in the bundle that it is about; empty for the bundle as a whole.
        help: what to do about it; may be empty.
    """

    def __init__(self, code: str, message: str, path: str = "", help: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.path = path
        self.help = help


class _Frozen:
    """Holds what its constructor was given; equal to another by its fields."""

    __slots__: tuple[str, ...] = ()

    def _put(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _fields(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._fields() == self._fields()

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        pairs = (f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({', '.join(pairs)})"


class File(_Frozen):
    """One file: ``sha256`` in 64 lower-case hexadecimal digits, ``size`` in bytes."""

    __slots__ = ("sha256", "size")
    sha256: str
    size: int

    def __init__(self, sha256: str, size: int) -> None:
        _put_sha256(self, sha256)
        _put_size(self, size)


_put_sha256, _put_size = vars(File)["sha256"].__set__, vars(File)["size"].__set__


class Runtime(_Frozen):
    """What runs the program.

    ``format`` is the runtime format of its generated files, ``needs`` the first version of
    hermes-build that reads them, ``version`` the one that the bundle was made with and carries.
    """

    __slots__ = ("format", "needs", "version")
    format: int
    needs: str
    version: str

    def __init__(self, format: int, needs: str, version: str) -> None:
        self._put(format=format, needs=needs, version=version)


class Manifest(_Frozen):
    """A whole manifest; frozen, its sequences sorted.

    Attributes:
        name: what people call the bundle.
        package: the generated package, as dotted name.
        source: the folder of the project that ``program/`` stands for; ``.`` for the project's own.
        roots: the top-level names that can be imported from ``program/``; see `roots_of`.
        toolsets: the name of every toolset in the catalogue.
        tools: the name of every tool in the catalogue.
        registry: the digest of the catalogue's records, in hexadecimal digits, as the generated
            ``registry.py`` states it.
        runtime: what runs the program.
        requires_python: a version specifier, such as ``>=3.11``.
        dependencies: every import name that the program takes from elsewhere, to the distribution
            that has it, or to None where that is not known.
        left_out: modules that the program may ask for and the bundle does not hold, as pairs of
            the module's name and why.
        files: every file but the manifest and the signatures, by its path in the bundle.
    """

    __slots__ = (
        "dependencies",
        "files",
        "left_out",
        "name",
        "package",
        "registry",
        "requires_python",
        "roots",
        "runtime",
        "source",
        "tools",
        "toolsets",
    )
    name: str
    package: str
    source: str
    roots: tuple[str, ...]
    toolsets: tuple[str, ...]
    tools: tuple[str, ...]
    registry: str
    runtime: Runtime
    requires_python: str
    dependencies: Mapping[str, str | None]
    left_out: tuple[tuple[str, str], ...]
    files: Mapping[str, File]

    def __init__(
        self,
        *,
        name: str,
        package: str,
        source: str = ".",
        roots: Iterable[str],
        toolsets: Iterable[str],
        tools: Iterable[str],
        registry: str,
        runtime: Runtime,
        requires_python: str = ">=3.11",
        dependencies: Mapping[str, str | None] | None = None,
        left_out: Iterable[tuple[str, str]] = (),
        files: Mapping[str, File],
    ) -> None:
        self._put(
            name=name,
            package=package,
            source=source,
            roots=tuple(sorted(roots)),
            toolsets=tuple(sorted(toolsets)),
            tools=tuple(sorted(tools)),
            registry=registry,
            runtime=runtime,
            requires_python=requires_python,
            dependencies=dict(sorted((dependencies or {}).items())),
            left_out=tuple(sorted(left_out)),
            files=dict(sorted(files.items())),
        )

    def to_bytes(self) -> bytes:
        """The one byte form: JSON with sorted keys, compact, UTF-8, a line feed at the end.

        Raises:
            UnicodeEncodeError: a text holds half a surrogate pair.
        """
        from json.encoder import encode_basestring as quoted

        from hermes_build.canonical import compact

        runtime = self.runtime
        document = {
            "format": FORMAT,
            "name": self.name,
            "package": self.package,
            "source": self.source,
            "roots": self.roots,
            "toolsets": self.toolsets,
            "tools": self.tools,
            "registry": self.registry,
            "runtime": {
                "format": runtime.format,
                "needs": runtime.needs,
                "version": runtime.version,
            },
            "requires_python": self.requires_python,
            "dependencies": self.dependencies,
            "left_out": [{"module": module, "why": why} for module, why in self.left_out],
        }
        # Most of a manifest is its files: it is put together by hand, in the room that it takes.
        text = bytearray()
        for key in sorted([*document, "files"]):
            text += f'{"," if text else "{"}"{key}":'.encode()
            if key != "files":
                text += compact(document[key]).encode()
                continue
            mark = "{"
            for path, one in self.files.items():
                row = f'{mark}{quoted(path)}:{{"sha256":"{one.sha256}","size":{one.size}}}'
                text += row.encode()
                mark = ","
            text += b"}" if self.files else b"{}"
        text += b"}\n"
        return bytes(text)

    @property
    def digest(self) -> str:
        """The bundle's content address: the SHA-256 of `to_bytes`, in hexadecimal digits."""
        return hexdigest(self.to_bytes())

    def program_path(self, path: str) -> str:
        """Where a file of the project, such as ``src/agent/tools.py``, stands in the bundle."""
        if self.source not in (".", ""):
            if not path.startswith(self.source + "/"):
                raise ValueError(f"{path} is not in {self.source}")
            path = path[len(self.source) + 1 :]
        return PROGRAM + path


def hexdigest(data: bytes | memoryview) -> str:
    """Return the SHA-256 of ``data``: 64 lower-case hexadecimal digits."""
    from hashlib import sha256

    return sha256(data).hexdigest()


def is_name(name: str) -> bool:
    """Whether a bundle can have this name, which becomes part of the names of files.

    It begins with a letter or digit, goes on with these, ``.``, ``_`` and ``-``, does not end with
    ``.``, and has at most 100 characters; all of ASCII.
    """
    rest = name.replace(".", "a").replace("_", "a").replace("-", "a")
    return (
        name[:1].isalnum()
        and rest.isalnum()
        and name.isascii()
        and len(name) <= 100
        and not name.endswith(".")
    )


def has_place(path: str) -> bool:
    """Whether a file of this path belongs into a bundle, beside manifest and signatures."""
    if path in (LOCK, PYLOCK, MAIN) or path.startswith((PROGRAM, SPECS, RUNTIME)):
        return True
    return is_licence(path)


def is_licence(path: str) -> bool:
    """Whether a file of a bundle is one by which the project states its licence."""
    return path.upper().startswith(_LICENCES)


def roots_of(paths: Iterable[str], outside: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the top-level names that can be imported from ``program/``, sorted.

    ``paths`` are those of all files of the bundle, ``outside`` the names that the program imports
    from elsewhere. A folder of data alone counts too, which would else be looked for outside of the
    bundle; except where a module of its name is there, which Python prefers.
    """
    from sys import stdlib_module_names

    code, data = set(), set()
    for path in paths:
        if path.startswith(PROGRAM):
            first, _, rest = path[len(PROGRAM) :].partition("/")
            if path.endswith(".py"):
                code.add(first if rest else first[:-3])
            elif rest and first.isidentifier() and first not in stdlib_module_names:
                data.add(first)
    return tuple(sorted(code | (data - set(outside))))
