"""Where a project keeps its things: ``[tool.hermes-build]`` or ``hermes-build.toml``."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from posixpath import normpath
from typing import Any, Literal

from hermes_build.compiler.codes import CODES, which_code
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.nearest import did_you_mean
from hermes_build.compiler.regular import read_regular
from hermes_build.compiler.root import SETTINGS

MODELS = ("typed-dict", "pydantic")

_PACKAGE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Ignore:
    """A suppression in the settings: ``code`` may be a prefix, ``files`` is a glob on paths."""

    code: str
    reason: str
    files: str
    span: Span


@dataclass(frozen=True, slots=True)
class Lint:
    """Which lint rules run: those whose code starts with one of ``select``, less the ignored."""

    select: tuple[str, ...] = ("HB",)
    ignore: tuple[Ignore, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """One project's settings; folders are relative to ``root``, with forward slashes.

    ``source`` is the folder that holds the packages named by ``output`` and ``handlers``, as
    ``src`` does in many projects. ``file`` is the settings' own file. ``bundle_modules`` are dotted
    names, some with ``.*`` behind them, and ``bundle_data`` globs; both are in the source folder.
    """

    root: Path
    file: str
    specs: str = "tool_specs"
    toolsets: str = "toolsets"
    handlers: tuple[str, ...] = ("handlers",)
    output: str = "generated"
    source: str = "."
    templates: str = "templates"
    models: Literal["typed-dict", "pydantic"] = "typed-dict"
    bundle_modules: tuple[str, ...] = ()
    bundle_data: tuple[str, ...] = ()
    lint: Lint = field(default_factory=Lint)

    @property
    def source_root(self) -> Path:
        """The folder to put on ``sys.path`` so that the program can be imported."""
        return self.root / self.source

    @property
    def output_folder(self) -> str:
        """The output package's folder, relative to the root."""
        parts = [] if self.source == "." else [self.source]
        return "/".join([*parts, *self.output.split(".")])


def read_project(root: Path, findings: Findings) -> Project:
    """Read the settings of the project at ``root``; mistakes become findings and defaults stand."""
    alone, shared = SETTINGS
    file = alone if os.path.lexists(root / alone) else shared
    table = "" if file == alone else "tool.hermes-build"
    try:
        text = read_regular(root / file).decode("utf-8-sig")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        findings.add("HB1403", f"the settings cannot be read: {reason}", Span(file))
        return Project(root, file)
    if table:
        data = _shared_table(data)
    elif _shared_table(_toml(root / shared)):
        findings.add(
            "HB1404",
            f"`{shared}` has settings too, which nobody reads: those in `{alone}` count alone",
            Span(shared),
            help=(f"move them to `{alone}`, or remove that file",),
        )
    return _Reader(root, file, text, table, findings).project(data)


def _shared_table(data: dict[str, Any]) -> Any:
    """The settings in a file that other tools have theirs in, too."""
    tool = data.get("tool", {})
    return tool.get("hermes-build", {}) if isinstance(tool, dict) else {}


def _toml(place: Path) -> dict[str, Any]:
    """A TOML file's content; nothing of one that is not there or cannot be read."""
    try:
        return tomllib.loads(read_regular(place).decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return {}


class _Reader:
    """Reads one settings table, and finds the line that a finding speaks of."""

    def __init__(self, root: Path, file: str, text: str, table: str, findings: Findings) -> None:
        self.root, self.file, self.findings = root, file, findings
        self.lines = text.splitlines()
        self.table = table

    def span(self, key: str, nth: int = 0) -> Span:
        """The line that sets ``key``: TOML's own reader keeps no positions, so look for it."""
        start = 0
        if self.table:
            heads = [i for i, line in enumerate(self.lines) if self.table in line]
            start = heads[0] if heads else 0
        pattern = re.compile(rf"""^\s*(?:\[+[^\]]*)?["']?{re.escape(key)}["']?\s*(?:=|\])""")
        hits = [i for i in range(start, len(self.lines)) if pattern.search(self.lines[i])]
        if not hits:
            hits, nth = [start], 0
        at = hits[min(nth, len(hits) - 1)]
        line = self.lines[at] if self.lines else ""
        indent = len(line) - len(line.lstrip())
        return Span(self.file, at + 1, indent + 1, at + 1, len(line) + 1)

    def project(self, data: Any) -> Project:
        if not isinstance(data, dict):
            self.wrong("hermes-build", "must be a table")
            return Project(self.root, self.file)
        known = {one.name.replace("_", "-") for one in fields(Project)} - {"root", "file"}
        self.unknown(data, known)
        got: dict[str, Any] = {}
        for key in ("specs", "toolsets", "source", "templates"):
            if key in data and self.want(key, data[key], _is_folder, "a folder inside the project"):
                got[key] = normpath(data[key].replace("\\", "/"))
        for key in ("toolsets", "templates"):
            # Those of the default names may be absent; a folder that somebody names is wanted.
            if key in got and not os.path.lexists(self.root / got[key]):
                self.wrong(key, f"names a folder that is not there: `{got[key]}`")
        if "output" in data and self.want(
            "output", data["output"], _is_package, "a dotted package"
        ):
            got["output"] = data["output"]
        if "handlers" in data and self.want(
            "handlers", data["handlers"], _is_packages, "a list of dotted packages"
        ):
            got["handlers"] = tuple(data["handlers"])
        if "bundle-modules" in data and self.want(
            "bundle-modules",
            data["bundle-modules"],
            _is_patterns,
            "a list of modules, or `package.*`",
        ):
            got["bundle_modules"] = tuple(data["bundle-modules"])
        if "bundle-data" in data and self.want(
            "bundle-data", data["bundle-data"], _is_globs, "a list of globs in the source folder"
        ):
            got["bundle_data"] = tuple(data["bundle-data"])
        if "models" in data and self.want(
            "models", data["models"], lambda v: v in MODELS, " or ".join(f'"{m}"' for m in MODELS)
        ):
            got["models"] = data["models"]
        if "lint" in data:
            got["lint"] = self.lint(data["lint"])
        return Project(self.root, self.file, **got)

    def lint(self, data: Any) -> Lint:
        if not isinstance(data, dict):
            self.wrong("lint", "must be a table")
            return Lint()
        self.unknown(data, {"select", "ignore"})
        select = data.get("select", ["HB"])
        if not self.want("select", select, _is_texts, "a list of codes or their beginnings"):
            select = ["HB"]
        for code in select:
            self.code("select", code, 0)
        rows = data.get("ignore", [])
        if not self.want("ignore", rows, lambda v: isinstance(v, list), "a list of tables"):
            rows = []
        ignore = [self.ignore(row, nth) for nth, row in enumerate(rows)]
        return Lint(tuple(select), tuple(one for one in ignore if one))

    def ignore(self, row: Any, nth: int) -> Ignore | None:
        if not isinstance(row, dict) or not isinstance(row.get("code"), str):
            form = 'a list of {code = "HB1205", reason = "...", files = "..."}'
            self.wrong("ignore", f"must be {form}")
            return None
        span = self.span("code", nth)
        self.unknown(row, {"code", "reason", "files"})
        if not self.code("code", row["code"], nth):
            return None
        reason = row.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            self.findings.add(
                "HB1290",
                f"the suppression of `{row['code']}` gives no reason",
                span,
                help=('add `reason = "..."` beside the code',),
            )
            return None
        files = row.get("files", "**")
        if not isinstance(files, str):
            self.wrong("files", "must be a glob on paths, as text")
            return None
        return Ignore(row["code"], reason, files, span)

    def code(self, key: str, code: str, nth: int) -> bool:
        if any(one.startswith(code) for one in CODES) and code:
            return True
        self.findings.add(
            "HB1292",
            f"`{code}` is no code, nor the beginning of one",
            self.span(key, nth),
            help=which_code(code),
        )
        return False

    def unknown(self, data: Mapping[str, Any], known: set[str]) -> None:
        for key in data:
            if key not in known:
                self.findings.add(
                    "HB1401",
                    f"unknown setting `{key}`",
                    self.span(key),
                    help=did_you_mean(key, known)
                    or (f"known settings: {', '.join(sorted(known))}",),
                )

    def want(self, key: str, value: Any, fits: Callable[[Any], bool], what: str) -> bool:
        if fits(value):
            return True
        self.wrong(key, f"must be {what}")
        return False

    def wrong(self, key: str, sentence: str) -> None:
        self.findings.add("HB1402", f"`{key}` {sentence}", self.span(key))


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_package(value: Any) -> bool:
    return isinstance(value, str) and _PACKAGE.fullmatch(value) is not None


def _is_packages(value: Any) -> bool:
    return isinstance(value, list) and all(_is_package(one) for one in value)


def _is_patterns(value: Any) -> bool:
    return _is_texts(value) and all(_is_package(one.removesuffix(".*")) for one in value)


def _is_globs(value: Any) -> bool:
    return isinstance(value, list) and all(_is_folder(one) and "\\" not in one for one in value)


def _is_folder(value: Any) -> bool:
    if not isinstance(value, str) or not value or "\0" in value:
        return False
    path = value.replace("\\", "/")
    return not path.startswith("/") and ":" not in path and ".." not in path.split("/")
