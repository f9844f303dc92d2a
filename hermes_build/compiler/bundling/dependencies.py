"""The distributions that a bundle needs, each pinned to its files: ``pylock.toml`` (PEP 751).

`uv` finds them, for every system and every Python that the bundle is for, from whatever index it is
set up with; nothing of them is built or run, so that each must have wheels. What is written has
neither times nor sizes, and files of PyPI are named as PyPI names them, whichever mirror they were
seen at: so the lock is the same wherever it is made from the same versions.

Which versions those are, the project decides: those in its own ``pylock.toml``, or else in its
``uv.lock``, are kept while they fit. Without either they are the newest that fit today. A bundle's
``pylock.toml`` can be copied into the project, to keep what was bundled once.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from hermes_build.bundle.format import PYLOCK
from hermes_build.compiler.bundling.distributions import UV_LOCK
from hermes_build.compiler.bundling.requirements import least_python
from hermes_build.compiler.diagnostics import Findings, Span
from hermes_build.compiler.project import Project
from hermes_build.compiler.regular import read_regular

_PYPI = "https://files.pythonhosted.org"
_PYPI_PATH = re.compile(r"/packages/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{60}/[^/]+$")
"""PyPI, and what mirrors it, names a file by what it holds."""

_CHOOSING = (
    *("UV_BUILD_CONSTRAINT", "UV_CONSTRAINT", "UV_CUSTOM_COMPILE_COMMAND", "UV_EXCLUDE"),
    *("UV_EXCLUDE_NEWER", "UV_FORK_STRATEGY", "UV_OVERRIDE", "UV_PRERELEASE", "UV_PROJECT"),
    *("UV_PYTHON", "UV_RESOLUTION", "UV_TORCH_BACKEND", "UV_WORKING_DIR", "UV_WORKING_DIRECTORY"),
)
"""Variables that change which versions `uv` takes: a shell has no say in what a bundle needs."""

_WITHOUT = "or leave the lock out: `hermes-build bundle --no-deps-lock`"


def lock_dependencies(
    project: Project, requirements: Sequence[str], requires_python: str, findings: Findings
) -> bytes | None:
    """Pin requirements, and all that these require, to versions and the digests of their files.

    ``requirements`` are those of `requirements_of`, ``requires_python`` is a version specifier.

    Returns:
        The content of ``pylock.toml``, or None with a finding that says why there is none.
    """
    uv = find_uv()
    if uv is None:
        findings.add(
            "HB8150",
            "the dependencies cannot be pinned: `uv` is not installed",
            help=(f"install it: `{os.path.basename(sys.executable)} -m pip install uv`", _WITHOUT),
        )
        return None
    with tempfile.TemporaryDirectory(prefix="hermes-build-") as folder:
        run = _Run(uv, project.root, Path(folder), findings)
        if not run.bring_preferences():
            return None
        return run.lock(requirements, requires_python)


def find_uv() -> str | None:
    """The program `uv`: the one that is installed beside this Python, or else that on the path."""
    beside = shutil.which("uv", path=sysconfig.get_path("scripts"))
    return beside or shutil.which("uv")


@dataclass(frozen=True, slots=True)
class _Run:
    uv: str
    root: Path
    folder: Path
    findings: Findings

    @property
    def place(self) -> Path:
        """Where `uv` looks for the versions to keep, and writes those that it found."""
        return self.folder / PYLOCK

    def bring_preferences(self) -> bool:
        """Put the versions that the project holds where `uv` looks for them."""
        if os.path.lexists(self.root / PYLOCK):
            try:
                self.place.write_bytes(read_regular(self.root / PYLOCK))
            except OSError as error:
                self._fail(f"`{PYLOCK}` cannot be read: {error.strerror}", Span(PYLOCK))
                return False
        elif os.path.lexists(self.root / UV_LOCK):
            done = self._uv(
                "export",
                *("--project", os.fspath(self.root), "--frozen", "--all-extras", "--all-groups"),
                *("--no-emit-project", "--format", PYLOCK, "--output-file", os.fspath(self.place)),
            )
            if done is not None:
                self._tell(f"what `{UV_LOCK}` holds cannot be read", done, Span(UV_LOCK))
                return False
        return True

    def lock(self, requirements: Sequence[str], requires_python: str) -> bytes | None:
        """Let `uv` find the versions, and write them down in our own way."""
        held = self._held()
        if held is None:
            return None
        wanted = self.folder / "requirements.in"
        wanted.write_text("".join(f"{one}\n" for one in requirements), encoding="utf-8")
        done = self._uv(
            *("pip", "compile", os.fspath(wanted), "--project", os.fspath(self.root)),
            *("--universal", "--python-version", least_python(requires_python)),
            *("--no-build", "--generate-hashes", "--no-sources", "--no-header", "--no-annotate"),
            *("--resolution", "highest", "--prerelease", "if-necessary-or-explicit"),
            *("--fork-strategy", "requires-python", "--python", sys.executable),
            *("--format", PYLOCK, "--output-file", os.fspath(self.place)),
        )
        if done is not None:
            self._tell("the dependencies cannot be pinned", done)
            return None
        found = tomllib.loads(self.place.read_text(encoding="utf-8"))
        packages = []
        for package in found.get("packages", []):
            known = held.get((package.get("name"), package.get("version")), {})
            one = self._package({**package, "wheels": known.get("wheels") or package.get("wheels")})
            if one is None:
                return None
            packages.append(one)
        return _rendered(packages, requires_python).encode()

    def _held(self) -> dict[tuple[Any, Any], Any] | None:
        """The packages that the project holds, by name and version."""
        try:
            data = tomllib.loads(self.place.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError) as error:
            self._fail(f"`{PYLOCK}` cannot be read: {error}", Span(PYLOCK))
            return None
        packages = data.get("packages", [])
        if not isinstance(packages, list):
            return {}
        rows = [one for one in packages if isinstance(one, dict)]
        return {(one.get("name"), one.get("version")): one for one in rows}

    def _package(self, package: Mapping[str, Any]) -> dict[str, Any] | None:
        """One package with its files, sorted; None with a finding where it has no fitting ones."""
        name = str(package.get("name"))
        wheels: list[dict[str, Any]] = []
        for wheel in package["wheels"] or ():
            url, hashes = _public(str(wheel.get("url", ""))), wheel.get("hashes", {})
            if not url or not hashes:
                wheels = []
                break
            hashes = {"sha256": hashes["sha256"]} if "sha256" in hashes else hashes
            wheels.append({"url": url, "hashes": dict(sorted(hashes.items()))})
        if not wheels:
            self.findings.add(
                "HB8151",
                f"`{name}` is not found as wheels with digests in a package index",
                help=("publish it there, so that every place gets the same files", _WITHOUT),
            )
            return None
        wheels.sort(key=lambda one: (_file_name(one["url"]), one["url"]))
        kept = {key: package[key] for key in ("marker", "requires-python") if key in package}
        return {"name": name, "version": str(package.get("version")), **kept, "wheels": wheels}

    def _uv(self, *arguments: str) -> str | None:
        """Run `uv`; returns what it complains of, and None where it does not."""
        environment = {key: value for key, value in os.environ.items() if key not in _CHOOSING}
        environment["UV_PYTHON_DOWNLOADS"] = "never"
        try:
            done = subprocess.run(
                [self.uv, *arguments, "--quiet", "--no-progress", "--color", "never"],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except OSError as error:
            return f"`{self.uv}` cannot be run: {error.strerror}"
        return None if done.returncode == 0 else done.stderr.strip() or "it does not say why"

    def _tell(self, what: str, said: str, span: Span | None = None) -> None:
        lines = [" ".join(line.split()) for line in said.splitlines()]
        lines = [line.removeprefix("error: ").removeprefix("cause: ") for line in lines if line]
        self._fail(f"{what}: {lines[0]}", span, lines[1:])

    def _fail(self, message: str, span: Span | None = None, notes: Sequence[str] = ()) -> None:
        advice = "mend the bounds in `pyproject.toml`, or let `uv` reach a package index"
        if span is not None:
            advice = f"make `{span.path}` anew"
        self.findings.add("HB8150", message, span, notes=notes, help=(advice, _WITHOUT))


def _public(url: str) -> str:
    """The address of a file as others know it; empty where they cannot get it.

    Credentials and what follows the path are left out.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        return ""
    found = _PYPI_PATH.search(parts.path)
    if found:
        return _PYPI + found[0]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _file_name(url: str) -> str:
    return unquote(url.rpartition("/")[2])


def _rendered(packages: Sequence[Mapping[str, Any]], requires_python: str) -> str:
    """The text of the file: each key and each wheel on a line of its own."""
    head = {"lock-version": "1.0", "created-by": "hermes-build", "requires-python": requires_python}
    lines = [f"{key} = {json.dumps(value)}" for key, value in head.items()]
    for one in sorted(packages, key=lambda one: (one["name"], one["version"])):
        lines += ["", "[[packages]]", *_fields(one)]
    return "\n".join(lines) + "\n"


def _fields(package: Mapping[str, Any]) -> Iterator[str]:
    for key, value in package.items():
        if key != "wheels":
            yield f"{key} = {json.dumps(value)}"
    yield "wheels = ["
    for wheel in package["wheels"]:
        hashes = ", ".join(f"{key} = {json.dumps(one)}" for key, one in wheel["hashes"].items())
        yield f"    {{url = {json.dumps(wheel['url'])}, hashes = {{{hashes}}}}},"
    yield "]"
